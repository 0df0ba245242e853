"""SharedCache: what providers answered, shared by processes until it expires.

`CacheStore` is the seam, filled by `storage`. A store that cannot be read or written costs a call
to the provider, never the answer.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec
import structlog

from location_context.errors import StorageError
from location_context.stay import Clock
from location_context.upstream.single_flight import SingleFlight

_MAX_UNWRITTEN = 2_000  # records of some kB each; a store that is slower loses the oldest


class CacheRecord(msgspec.Struct, frozen=True):
    """One answer: `provider` and `key` name it; `data` is its owner's own encoding."""

    provider: str
    key: str
    expires_at: datetime
    data: bytes


class CacheStore(Protocol):
    """Stores records until they expire."""

    async def load(self, provider: str, key: str, now: datetime) -> bytes | None:
        """The data of the record of this name that has not expired, or None.

        Raises:
            StorageError: it cannot be read.
        """
        ...

    async def save(self, records: Sequence[CacheRecord], now: datetime) -> None:
        """Store records in place of older ones of the same name, and delete what has expired.

        Raises:
            StorageError: they cannot be written.
        """
        ...


class SharedCache:
    """Reads records at once and writes them behind; without a store it holds nothing."""

    def __init__(self, store: CacheStore | None = None, clock: Clock | None = None) -> None:
        self._store = store if clock else None
        self._clock = clock
        self._unwritten: dict[tuple[str, str], CacheRecord] = {}
        self._writes: SingleFlight[None] = SingleFlight()

    async def load(self, provider: str, key: str) -> bytes | None:
        """The data that have not expired; None where there are none, or no store."""
        if self._store is None or self._clock is None:
            return None
        try:
            return await self._store.load(provider, key, self._clock())
        except StorageError as error:
            structlog.get_logger().warning("shared_cache_not_read", why=error.message)
            return None

    def save(self, record: CacheRecord) -> None:
        """Write the record soon; only the newest ones where the store cannot keep up."""
        if self._store is None:
            return
        self._unwritten[record.provider, record.key] = record
        while len(self._unwritten) > _MAX_UNWRITTEN:
            del self._unwritten[next(iter(self._unwritten))]
        self._writes.start("all", self._write)

    async def _write(self) -> None:
        while self._unwritten and self._store is not None and self._clock is not None:
            records, self._unwritten = self._unwritten, {}
            try:
                await self._store.save(list(records.values()), self._clock())
            except StorageError as error:
                structlog.get_logger().warning("shared_cache_not_written", why=error.message)
                self._unwritten = {**records, **self._unwritten}  # again with the next ones
                return

    async def close(self) -> None:
        """Write what is not written yet, as far as that is possible now."""
        if self._unwritten or len(self._writes):
            await self._writes.start("all", self._write)
