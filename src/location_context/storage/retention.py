"""Retention: deletes what the settings no longer keep, a little at a time.

Climate months go by cell, once nobody has asked for it for CLIMATE_KEEP_DAYS; imported events once
they are past for EVENTS_KEEP_DAYS; versions of the guide above GUIDE_VERSIONS; answers of providers
once they have expired. Each batch is a transaction of some ten milliseconds, followed by a pause
four times as long, so that others write as before. What is found to delete is looked up by an
index, and a pass that is killed goes on with the next one.

One process at a time passes, once a day: whoever finds that a pass is due moves `retention_due` (in
`facts`) an hour ahead, and further while it works. A killed process thus costs an hour.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import msgspec
import structlog
from sqlalchemy import ColumnElement, or_, select

from location_context.errors import StorageError
from location_context.settings import Settings
from location_context.stay import Clock, system_clock
from location_context.storage.database import Database
from location_context.storage.datasets import SqlCacheStore, SqlClimateStore, SqlGuideStore
from location_context.storage.events import SqlEventStore
from location_context.storage.schema import metadata_kv

DUE = "retention_due"
PASS_EVERY, LEASE = timedelta(days=1), timedelta(hours=1)
CHECK_SECONDS = 600.0  # between two looks whether a pass is due
PAUSE = 4.0  # times what a batch took: a fifth of the time at most somebody waits for it
_GET_DUE = select(metadata_kv.c.value).where(metadata_kv.c.name == DUE)


class Deleted(msgspec.Struct):
    """How many rows a pass deleted."""

    climate_months: int = 0
    events: int = 0
    guide_versions: int = 0
    answers: int = 0


class Retention:
    """The retention of one database."""

    def __init__(self, database: Database, settings: Settings, clock: Clock = system_clock) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock
        self._lease_until = clock()
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
        """Delete all that is no longer kept, batch by batch.

        Raises:
            StorageError: the database cannot be read or written; what was deleted stays deleted.
        """
        settings, database, now = self._settings, self._database, self._clock()
        guides = SqlGuideStore(database, settings.guide_versions)
        deleted = Deleted(
            guide_versions=await self._paced(guides.prune()),
            answers=await self._paced(SqlCacheStore(database).prune(now)),
        )
        if (days := settings.climate_keep_days) is not None:
            climate = SqlClimateStore(database).prune(now.date() - timedelta(days))
            deleted.climate_months = await self._paced(climate)
        if (days := settings.events_keep_days) is not None:
            events = SqlEventStore(database).prune(now.date() - timedelta(days))
            deleted.events = await self._paced(events)
        await self._paced(database.shrink())
        return deleted

    async def _paced(self, batches: AsyncIterator[int]) -> int:
        """The sum of what each batch deleted, with a pause after each; the lease is kept."""
        total, began = 0, time.monotonic()
        async for count in batches:
            total += count
            if self._lease_until - LEASE / 2 < self._clock() < self._lease_until:
                await self._put_off(LEASE)
            await asyncio.sleep(PAUSE * (time.monotonic() - began))
            began = time.monotonic()
        return total

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
        """Make the next pass due then, if the condition holds of the row; whether it did."""
        self._lease_until = self._clock() + until
        row = {"name": DUE, "value": _moment(self._lease_until)}
        statement = self._database.insert(metadata_kv).values(**row)
        async with self._database.write() as connection:
            done = await connection.execute(
                statement.on_conflict_do_update(
                    index_elements=["name"], set_={"value": row["value"]}, where=condition
                )
            )
            return done.rowcount == 1


def _moment(at: datetime) -> str:
    """A moment in UTC as a text that sorts like it."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
