"""Retention: each process deletes expired rows once a day.

Climate months are deleted 400 days after their cell was last used, imported events 31 days after
their end, and request counts of keys after 90 days. Large deletions are split into batches, so
that other writers need not wait.
"""

import asyncio
import random
from datetime import timedelta

import structlog

from location_context.access.usage import USAGE_DAYS
from location_context.errors import StorageError
from location_context.stay import Clock, system_clock
from location_context.storage.access import SqlUsageStore
from location_context.storage.budgets import delete_old
from location_context.storage.database import Database
from location_context.storage.datasets import SqlClimateStore
from location_context.storage.events import SqlEventStore

CLIMATE_RETENTION = timedelta(days=400)  # since the cell was last used
EVENTS_RETENTION = timedelta(days=31)  # since they ended
PASS_SECONDS = 86_400.0  # between two passes of a process
START_SECONDS = 600.0  # longest random delay of the first pass, so that workers start apart


class Retention:
    """A task that deletes expired rows from one database."""

    def __init__(self, database: Database, clock: Clock = system_clock) -> None:
        self._database = database
        self._clock = clock

    async def run(self) -> None:
        """Call `prune` once a day until cancelled; log a failure and continue."""
        await asyncio.sleep(START_SECONDS * random.uniform(0.1, 1))  # noqa: S311  spread, no secret
        while True:
            try:
                await self.prune()
            except StorageError as error:
                structlog.get_logger().warning("retention_failed", why=error.message)
            await asyncio.sleep(PASS_SECONDS)

    async def prune(self) -> dict[str, int]:
        """Delete all expired rows; log and return the numbers of climate months and events deleted.

        Raises:
            StorageError: the database cannot be used; earlier batches stay deleted.
        """
        database, now = self._database, self._clock()
        await delete_old(database, now.timestamp())
        await SqlUsageStore(database).prune(now.date() - timedelta(USAGE_DAYS - 1))
        deleted = {
            "climate_months": await SqlClimateStore(database).prune(now.date() - CLIMATE_RETENTION),
            "events": await SqlEventStore(database).prune(now.date() - EVENTS_RETENTION),
        }
        structlog.get_logger().info("retention_done", **deleted)
        return deleted
