"""KeyUsage: the admitted requests of each key by UTC day, without addresses or places.

Counts gather in this process and are added to the store once a minute and at shutdown; a process
that is killed loses those of its last minute. While the store does not answer, counts wait for the
next attempt. They stay few: without the database no request is admitted after a minute.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Protocol

import structlog

from location_context.access.quota import DAY, RateLimitResult
from location_context.errors import StorageError

FLUSH_SECONDS = 60.0
USAGE_DAYS = 90  # stored, today included


@dataclass(frozen=True)
class UsedDay:
    """The requests of a key on a day, or those to add to them."""

    key_id: str
    day: date
    requests: int


class UsageStore(Protocol):
    """A store of counts."""

    async def add(self, used: Sequence[UsedDay]) -> None:
        """Add requests to the stored ones, all or none."""
        ...


class KeyUsage:
    """The requests that are not stored yet."""

    def __init__(self, store: UsageStore) -> None:
        self._store = store
        self._counts = Counter[tuple[str, int]]()  # by key and day since 1970

    def count(self, result: RateLimitResult, requests: int = 1) -> None:
        """Count an admitted request; -1 takes it back, on the day on which it was counted."""
        self._counts[result.subject, int(result.now // DAY)] += requests

    async def run(self) -> None:
        """Store the counts once a minute until cancelled."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Store the counts; if the store fails, they stay for the next time."""
        counts, self._counts = self._counts, Counter()
        used = [
            UsedDay(key_id, datetime.fromtimestamp(day * DAY, UTC).date(), requests)
            for (key_id, day), requests in sorted(counts.items())
            if requests
        ]
        try:
            if used:
                await self._store.add(used)
        except StorageError as error:
            self._counts.update(counts)
            structlog.get_logger().warning("usage_not_stored", why=error.message)
