"""SharedCache: what processes share of the answers of providers, and who of them asks for one.

Records lie in a `CacheStore`, the database, which keeps them over restarts and is written behind,
and in a `SharedStore` (Redis), where they are before anybody is told of them. Whoever wants to ask
takes a lease there: of all processes one asks, and the others hear what came of it. Without a
`SharedStore`, and while it is gone, each process asks for itself.
"""

import zlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol, Self

import msgspec
import structlog

from location_context import errors
from location_context.errors import ProviderError, StorageError
from location_context.stay import Clock
from location_context.upstream.deadline import WriteBehind

_MAX_UNSHARED = 20  # between two leases that end: a value, and what came along with it
_MAX_UNWRITTEN = 2_000  # records of some kB each; a store that is slower loses the oldest


def inflate(data: bytes, most: int) -> bytes:
    """The bytes that zlib compressed, whose size is `most` at most.

    Raises:
        zlib.error: they are damaged, cut, or more.
    """
    decompressor = zlib.decompressobj()
    inflated = decompressor.decompress(data, most)
    if not decompressor.eof:
        raise zlib.error("cut, or larger than allowed")
    return inflated


class CacheRecord(msgspec.Struct, frozen=True):
    """One answer: `provider` and `key` name it; `data` is its owner's own encoding."""

    provider: str
    key: str
    expires_at: datetime
    data: bytes


class CacheStore(Protocol):
    """Stores records until they expire; `storage` implements it."""

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


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """A `ProviderError` as other processes are told of it, without the provider's own words."""

    kind: str
    provider: str
    message: str
    status: int = 0
    until: datetime | None = None
    reason: str = ""

    @classmethod
    def of(cls, error: ProviderError) -> Self:
        return cls(
            type(error).__name__,
            error.provider,
            error.message.removeprefix(f"{error.provider}: "),
            getattr(error, "status", 0),
            getattr(error, "until", None),
            getattr(error, "reason", ""),
        )

    def error(self) -> ProviderError:
        """The error to raise here."""
        kind: Any = getattr(errors, self.kind, None)
        if not (isinstance(kind, type) and issubclass(kind, ProviderError)):
            kind = ProviderError  # of another version
        if kind is errors.ProviderBackoff:
            backoff = (self.provider, self.message, self.until)
            return errors.ProviderBackoff(*backoff, reason=self.reason)
        is_status = issubclass(kind, errors.ProviderStatusError)
        error: ProviderError = kind(self.provider, self.status if is_status else self.message)
        return error


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of the fetch of another process.

    Attributes:
        public: whether it was made for public traffic.
        data: an incomplete value, or one that is not kept; without it and a failure there is a
            record to be loaded.
        failure: why there is none, or why it is incomplete.
    """

    public: bool
    data: bytes | None = None
    failure: Failure | None = None


class Lease(msgspec.Struct, frozen=True):
    """The right to ask for one value, until it is given back or its holder dies.

    `token` tells it from others; `data` is what was stored when it was taken.
    """

    provider: str
    key: str
    token: str
    data: bytes | None


class SharedStore(Protocol):
    """What running processes share at once; `storage` implements it in Redis.

    Nothing is raised: while it is gone there is nothing in it, and everyone has to ask.
    """

    async def load(self, provider: str, key: str) -> bytes | None:
        """The data of the record of this name that has not expired, or None."""
        ...

    async def acquire(self, provider: str, key: str) -> Lease | Outcome | None:
        """A lease, at once or after a holder who died; else what came of its holder's fetch.

        None: nobody can be asked, and nobody told.
        """
        ...

    async def release(
        self, lease: Lease, outcome: Outcome | None, records: Sequence[CacheRecord], now: datetime
    ) -> None:
        """Store records, then tell who waits for the lease; None: the next of them is to ask."""
        ...


class SharedCache:
    """What providers answered, read at once and written behind; without stores it holds nothing.

    A store that cannot be read or written costs a call to the provider, never the answer.
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
        """The data that have not expired; None where there are none, or no store.

        Only those that are `stored` are looked for in the database too.
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

    async def acquire(self, provider: str, key: str) -> Lease | Outcome | None:
        """See `SharedStore`; None without one."""
        return None if self._shared is None else await self._shared.acquire(provider, key)

    async def release(self, lease: Lease, outcome: Outcome | None) -> None:
        """Share what was saved since, and tell who waits for the lease."""
        records, self._unshared = self._unshared, []
        if self._shared is not None:
            await self._shared.release(lease, outcome, records, self._clock())

    def save(self, record: CacheRecord, *, stored: bool = True) -> None:
        """Write the record soon; only the newest ones where the store cannot keep up.

        Others find it in Redis once the lease is released under which it was fetched.
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
            self.unwritten = {**records, **self.unwritten}  # again with the next ones
            return False
        return bool(self.unwritten)

    async def close(self) -> None:
        """Write what is not written yet, as far as that is possible now."""
        if self.unwritten or self._writes.active:
            await self._writes.flush()
