"""Retention: deletes once a day what is no longer kept.

Climate months go by cell, once nobody has asked for it for 400 days; imported events once they are
past for 31 days; versions of the guide beyond the five newest; answers of providers once they have
expired. Large deletions are split into batches, so that other writers come between.

One process at a time passes: whoever finds that a pass is due moves `retention_due` (in `facts`) an
hour ahead, and to the next day once it is done. A killed process thus costs an hour.
"""

import asyncio
import random
from datetime import datetime, timedelta

import msgspec
import structlog
from sqlalchemy import ColumnElement, or_, select

from location_context.errors import StorageError
from location_context.stay import Clock, system_clock
from location_context.storage.budgets import delete_old
from location_context.storage.database import Database
from location_context.storage.datasets import SqlCacheStore, SqlClimateStore, SqlGuideStore
from location_context.storage.events import SqlEventStore
from location_context.storage.schema import metadata_kv

DUE = "retention_due"
PASS_EVERY, LEASE = timedelta(days=1), timedelta(hours=1)
CLIMATE_KEPT = timedelta(days=400)  # since somebody asked for the cell
EVENTS_KEPT = timedelta(days=31)  # since they ended
CHECK_SECONDS = 600.0  # between two looks whether a pass is due
_GET_DUE = select(metadata_kv.c.value).where(metadata_kv.c.name == DUE)


class Deleted(msgspec.Struct):
    """How many rows a pass deleted."""

    climate_months: int = 0
    events: int = 0
    guide_versions: int = 0
    answers: int = 0


class Retention:
    """The retention of one database."""

    def __init__(self, database: Database, clock: Clock = system_clock) -> None:
        self._database = database
        self._clock = clock
        self._is_failing = False

    async def run(self) -> None:
        """Pass whenever it is due, until cancelled; workers of one start look at other times."""
        await asyncio.sleep(CHECK_SECONDS * random.uniform(0.1, 1))  # noqa: S311  spread, no secret
        while True:
            try:
                await self.pass_if_due()
                self._is_failing = False
            except StorageError as error:
                if not self._is_failing:  # once: the folder may be read-only for good
                    structlog.get_logger().warning("retention_failed", why=error.message)
                self._is_failing = True
            await asyncio.sleep(CHECK_SECONDS)

    async def pass_if_due(self) -> Deleted | None:
        """Delete, if no process did so in the last day; None where it is not due."""
        if not await self._claim(self._clock()):
            return None
        deleted = await self.prune()
        await self._put_off(PASS_EVERY)
        structlog.get_logger().info("retention_done", **msgspec.structs.asdict(deleted))
        return deleted

    async def prune(self) -> Deleted:
        """Delete all that is no longer kept; return how many rows.

        Raises:
            StorageError: the database cannot be read or written; what was deleted stays deleted.
        """
        database, now = self._database, self._clock()
        await delete_old(database, now.timestamp())
        return Deleted(
            guide_versions=await SqlGuideStore(database).prune(),
            answers=await SqlCacheStore(database).prune(now),
            climate_months=await SqlClimateStore(database).prune(now.date() - CLIMATE_KEPT),
            events=await SqlEventStore(database).prune(now.date() - EVENTS_KEPT),
        )

    async def _claim(self, now: datetime) -> bool:
        """Whether a pass is due, and this process the one that found it first."""
        due = await self._database.scalar(_GET_DUE)
        too_far = _moment(now + 2 * PASS_EVERY)  # by a clock that was wrong
        if due is not None and _moment(now) < due < too_far:
            return False
        value = metadata_kv.c.value
        is_due = or_(value <= _moment(now), value >= too_far)
        return await self._put_off(LEASE, is_due)

    async def _put_off(
        self, until: timedelta, condition: ColumnElement[bool] | None = None
    ) -> bool:
        """Make the next pass due then, if the condition holds of the row; return whether it did."""
        statement = self._database.insert(metadata_kv)
        due = statement.excluded.value
        put_off = statement.on_conflict_do_update(
            index_elements=["name"], set_={"value": due}, where=condition
        )
        row = {"name": DUE, "value": _moment(self._clock() + until)}
        return await self._database.execute((put_off, row)) == 1


def _moment(at: datetime) -> str:
    """A moment in UTC as a text that sorts like it."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
