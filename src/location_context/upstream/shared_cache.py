"""SharedCache: providers' answers that processes share; only one process fetches each answer.

Records are stored in the database (`CacheStore`) and in Redis (`SharedStore`). The database is
written with a delay and keeps records over restarts. A process takes a lock in Redis before it
fetches; the others wait for the lock and then read the fetched value. Without Redis, and while it
is unavailable, each process fetches for itself.
"""

import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Protocol

import msgspec
import structlog

from location_context.errors import StorageError
from location_context.stay import Clock
from location_context.upstream.deadline import WriteBehind

_MAX_UNSHARED = 20  # records that wait to be written to Redis; beyond, the oldest are dropped
_MAX_UNWRITTEN = 2_000  # the same for the database; a record has a few kB


def inflate(data: bytes, most: int) -> bytes:
    """Return `data` decompressed by zlib, at most `most` bytes.

    Raises:
        zlib.error: the data are damaged, cut off or larger.
    """
    decompressor = zlib.decompressobj()
    inflated = decompressor.decompress(data, most)
    if not decompressor.eof:
        raise zlib.error("the value in the shared cache is truncated, or larger than allowed")
    return inflated


class CacheRecord(msgspec.Struct, frozen=True):
    """A provider's answer, named by `provider` and `key`; `Sharing.pack` encodes `data`."""

    provider: str
    key: str
    expires_at: datetime
    data: bytes


class CacheStore(Protocol):
    """Stores records until they expire; `storage` implements it."""

    async def load(self, provider: str, key: str, now: datetime) -> bytes | None:
        """Return the data of a record; None if it is missing or has expired at `now`.

        Raises:
            StorageError: the store cannot be read.
        """
        ...

    async def save(self, records: Sequence[CacheRecord], now: datetime) -> None:
        """Store records, replace those with the same provider and key, and delete expired ones.

        Raises:
            StorageError: the store cannot be written.
        """
        ...


class SharedStore(Protocol):
    """A store that running processes share; `storage` implements it in Redis.

    The methods raise no errors. While the store is unavailable, `load` and `locked` give None, so
    that each process fetches for itself.
    """

    async def load(self, provider: str, key: str) -> bytes | None:
        """Return the data of a record; None if it is missing or has expired."""
        ...

    def locked(self, provider: str, key: str) -> AbstractAsyncContextManager[bytes | None]:
        """Wait for a record's lock, hold it in the block, and yield the stored data or None."""
        ...

    async def save(self, records: Sequence[CacheRecord], now: datetime) -> None:
        """Store records until they expire."""
        ...


class SharedCache:
    """A cache of providers' answers, written with a delay; without stores it is always empty.

    If a store cannot be read or written, the provider is called more often; no answer fails.
    """

    def __init__(
        self, store: CacheStore | None, clock: Clock, shared: SharedStore | None = None
    ) -> None:
        self._store = store
        self._shared = shared
        self._clock = clock
        self.unwritten: dict[tuple[str, str], CacheRecord] = {}
        self._unshared: list[CacheRecord] = []
        self._writes = WriteBehind(self._write)

    async def load(self, provider: str, key: str, *, stored: bool = True) -> bytes | None:
        """Return the data of a record that has not expired; None without a record or a store.

        With `stored=False`, only Redis is read: for records that are never in the database.
        """
        if self._shared is not None and (data := await self._shared.load(provider, key)):
            return data
        if self._store is None or not stored:
            return None
        try:
            return await self._store.load(provider, key, self._clock())
        except StorageError as error:
            structlog.get_logger().warning("shared_cache_not_read", why=error.message)
            return None

    @asynccontextmanager
    async def locked(self, provider: str, key: str) -> AsyncIterator[bytes | None]:
        """Hold the lock of a record in the block, so that only one process fetches its data.

        Yield the data if another process stored them before this one received the lock, else None.
        Records that are saved in the block are written to Redis before the lock is released.
        """
        if self._shared is None:
            yield None
            return
        async with self._shared.locked(provider, key) as data:
            try:
                yield data
            finally:
                records, self._unshared = self._unshared, []
                await self._shared.save(records, self._clock())

    def saves(self, *, stored: bool) -> bool:
        """Return True if `save` with this `stored` would write to Redis or the database."""
        return self._shared is not None or (stored and self._store is not None)

    def save(self, record: CacheRecord, *, stored: bool = True) -> None:
        """Store a record later: in the database (only if `stored`), and in Redis.

        Redis is written when the next `locked` block of this process ends. If too many records
        wait to be written, the oldest are dropped.
        """
        if self._shared is not None:
            self._unshared = [*self._unshared[1 - _MAX_UNSHARED :], record]
        if self._store is None or not stored:
            return
        self.unwritten[record.provider, record.key] = record
        while len(self.unwritten) > _MAX_UNWRITTEN:
            del self.unwritten[next(iter(self.unwritten))]
        self._writes.start()

    async def _write(self) -> bool:
        records, self.unwritten = self.unwritten, {}
        try:
            if records and self._store is not None:
                await self._store.save(list(records.values()), self._clock())
        except StorageError as error:
            structlog.get_logger().warning("shared_cache_not_written", why=error.message)
            self.unwritten = {**records, **self.unwritten}  # written with the next records
            return False
        return bool(self.unwritten)

    async def close(self) -> None:
        """Write the pending records to the database; if that fails, they are lost."""
        if self.unwritten or self._writes.active:
            await self._writes.flush()
