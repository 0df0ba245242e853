"""ApiKeyCache: every key in memory, a few seconds old at most, so that requests need no look-up.

The store is asked for its version at most every two seconds, and read again only when that has
changed: a key that is revoked anywhere stops here within five seconds. A key that is not known is
looked for again, since it may be new; concurrent requests share one look-up. While the store does
not answer, the cached keys stay valid for a while: nobody can revoke a key then either.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

import structlog

from location_context.access.keys import ApiKey, KeyStore
from location_context.errors import ServiceOverloaded, StorageError

REFRESH_SECONDS = 2.0
MAX_AGE_SECONDS = 4.5  # a revoked key must stop within five seconds
SLOWED_REFRESH_SECONDS = 0.05  # twenty look-ups a second for all slowed clients
READ_TIMEOUT = 1.0
RETRY_AFTER_FAILURE_SECONDS = 2.0


class ApiKeyCache:
    """The keys by digest. Seconds are on the monotonic clock.

    Attributes:
        damaged: the ids of keys whose record cannot be read.
        read_at: when the store last told these keys.
    """

    def __init__(
        self, store: KeyStore, now: Callable[[], float] = time.monotonic, *, hold: float = 60.0
    ) -> None:
        """`hold`: seconds for which keys are valid while the store does not answer."""
        self._store = store
        self._now = now
        self._hold = hold
        self._keys: Mapping[bytes, ApiKey] = {}
        self.damaged: Sequence[str] = ()
        self._version: str | None = None
        self.read_at = float("-inf")
        self._tried_at = float("-inf")
        self._lock = asyncio.Lock()

    async def prepare(self) -> None:
        """Read the keys before the first request, for as long as the store takes.

        A store that fails is asked again by the first request.
        """
        try:
            began = self._now()
            await self._read()
            self.read_at = began
        except StorageError as error:
            structlog.get_logger().warning("keys_not_read", why=error.message)

    @property
    def age(self) -> float:
        """Seconds since the store told these keys."""
        return self._now() - self.read_at

    @property
    def is_recent(self) -> bool:
        """Whether the keys need not be read again yet."""
        return self._now() - self.read_at < REFRESH_SECONDS

    async def find(self, digest: bytes) -> ApiKey | None:
        """The key with this digest, as it was in the store at most five seconds ago.

        Raises:
            ServiceOverloaded: the store has not answered for `hold` seconds.
        """
        if not self._is_being_refreshed():
            await self._refresh(self._now() - REFRESH_SECONDS)
        self._require_recent()
        return self._keys.get(digest)

    async def find_new(self, digest: bytes, *, slowed: bool) -> ApiKey | None:
        """The key with this digest, as it is in the store now; for slowed clients, a moment ago.

        Raises:
            ServiceOverloaded: the store does not answer.
        """
        await self._refresh(self._now() - (SLOWED_REFRESH_SECONDS if slowed else 0.0))
        if (key := self._keys.get(digest)) is None and self._failing:
            raise _unavailable()  # the key may have been made since
        return key

    def _is_being_refreshed(self) -> bool:
        """Whether another request is reading, and the cache is recent enough until then."""
        return self._lock.locked() and (
            self._failing or self._now() - self.read_at < MAX_AGE_SECONDS
        )

    @property
    def _failing(self) -> bool:
        return self._tried_at > self.read_at

    async def awaited(self) -> str | None:
        """What must come before keys can be checked: the `keys`, or the `database` again."""
        await self._refresh(self._now() - REFRESH_SECONDS)
        if self._now() - self.read_at <= self._hold:
            return None
        return "keys" if self._version is None else "database"

    def _require_recent(self) -> None:
        if self._now() - self.read_at > self._hold:
            raise _unavailable()

    async def _refresh(self, since: float) -> None:
        """Make sure the cache was read at `since` or later, as far as the store answers."""
        if self.read_at >= since:
            return
        async with self._lock:
            now = self._now()
            if self.read_at < since and now - self._tried_at >= RETRY_AFTER_FAILURE_SECONDS:
                await self._try_read(now)

    async def _try_read(self, now: float) -> None:
        reading = asyncio.ensure_future(self._read())
        reading.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                await asyncio.shield(reading)
            self.read_at = now
        except (StorageError, TimeoutError):
            reading.cancel()  # not awaited: closing a silent connection takes seconds
            self._tried_at = self._now()
            structlog.get_logger().warning("keys_not_read")

    async def _read(self) -> None:
        version = await self._store.version()
        if version != self._version:
            keys = {key.digest: key for key in await self._store.all()}
            if self._version is not None:
                _log_changes(self._keys, keys)
            self._keys = keys
            self._version, self.damaged = version, tuple(self._store.damaged)
            if self.damaged:
                structlog.get_logger().error("key_records_damaged", key_ids=self.damaged)


def _log_changes(before: Mapping[bytes, ApiKey], now: Mapping[bytes, ApiKey]) -> None:
    """A line for each key that was made or revoked since, whoever did it where."""
    for digest, key in now.items():
        former = before.get(digest)
        if former is None:
            structlog.get_logger().info("key_made", key_id=key.id, expires_at=key.expires_at)
        elif key.revoked_at is not None and former.revoked_at is None:
            structlog.get_logger().info("key_revoked", key_id=key.id, at=key.revoked_at)
        elif key.replaced_by != former.replaced_by:
            structlog.get_logger().info("key_rotated", key_id=key.id, ends_at=key.expires_at)


def _unavailable() -> ServiceOverloaded:
    return ServiceOverloaded("API keys cannot be checked at this moment.", retry_after=2)
