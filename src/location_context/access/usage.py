"""KeyUsage: counts the admitted requests of each API key by UTC day, and stores nothing else.

Counts are collected in this process and added to the store once a minute and at shutdown. A killed
process loses the counts of its last minute. While the store does not answer, counts are kept for
the next attempt. They stay few: a minute after the store fails, requests with keys are rejected.
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
USAGE_DAYS = 90  # for which counts are stored, today included


@dataclass(frozen=True)
class UsedDay:
    """Requests of a key on a day: the stored total, or a number to add to the stored total."""

    key_id: str
    day: date
    requests: int


class UsageStore(Protocol):
    """A store of request counts by key and day."""

    async def add(self, used: Sequence[UsedDay]) -> None:
        """Add these requests to the stored counts, in one transaction."""
        ...


class KeyUsage:
    """Counts requests by key and day in memory, and adds the counts to the store once a minute."""

    def __init__(self, store: UsageStore) -> None:
        self._store = store
        self._counts = Counter[tuple[str, int]]()  # by key and day since 1970

    def count(self, result: RateLimitResult, requests: int = 1) -> None:
        """Add `requests` to the key's count on the day of `result`; a negative number refunds."""
        self._counts[result.subject, int(result.now // DAY)] += requests

    async def run(self) -> None:
        """Store the counts once a minute until cancelled."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Add the counts to the store; if it fails, keep them for the next call."""
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
