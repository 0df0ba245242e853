"""ApiKeyCache: every key in memory, a few seconds old at most, so that requests need no look-up.

The store is asked for its version at most every two seconds, and read again only when that has
changed: a key that is revoked anywhere stops here within five seconds. A key that is not known is
looked for again, since it may be new; concurrent requests share one look-up. While the store does
not answer, the cached keys stay valid for a while: nobody can revoke a key then either. A request
whose key is not among them waits for the store, but for no longer than the first seconds in which
it fails: so a moment costs nobody an error, and an outage holds no requests.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import structlog

from location_context.access.keys import ApiKey, KeyStore
from location_context.errors import ServiceOverloaded, StorageError

REFRESH_SECONDS = 2.0
MAX_AGE_SECONDS = 4.5  # a revoked key must stop within five seconds
SLOWED_REFRESH_SECONDS = 0.05  # twenty look-ups a second for all slowed clients
READ_TIMEOUT = 1.0  # for which a request waits whose key is known
RETRY_SECONDS = 2.0  # after a reading began that has failed, or goes on still
RETRY_SOON_SECONDS = 0.1  # while requests wait for the store
PATIENCE_SECONDS = 4.0  # of them; with a section's deadline it is less than a proxy's time-out
START_PATIENCE_SECONDS = 30.0


class ApiKeyCache:
    """The keys by digest. Seconds are on the monotonic clock.

    Attributes:
        damaged: the ids of keys whose record cannot be read.
        read_at: when the store last told these keys.
    """

    def __init__(
        self,
        store: KeyStore,
        now: Callable[[], float] = time.monotonic,
        *,
        hold: float = 60.0,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        """`hold`: seconds for which keys are valid while the store does not answer.

        `patience`: seconds of a failure for which requests wait that need the store.
        """
        self._store = store
        self._now = now
        self._hold = hold
        self._patience = patience
        self._keys: Mapping[bytes, ApiKey] = {}
        self.damaged: Sequence[str] = ()
        self._version: str | None = None
        self.read_at = float("-inf")
        self._reading: asyncio.Task[None] | None = None
        self._tried_at = float("-inf")  # when it began, or the last one, if that has failed
        self._failed_at = float("inf")  # since when the store has failed

    async def prepare(self) -> None:
        """Read the keys before the first request; a store that fails is asked again for a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(START_PATIENCE_SECONDS):
                await self._try_read(self._now())
                while self._failing:
                    await asyncio.sleep(RETRY_SOON_SECONDS)
                    await self._try_read(self._now())

    @property
    def age(self) -> float:
        """Seconds since the store told these keys."""
        return self._now() - self.read_at

    def recent(self, digest: bytes) -> ApiKey | None:
        """The key with this digest, if the store told it a moment ago."""
        return self._keys.get(digest) if self.age < REFRESH_SECONDS else None

    async def find(self, digest: bytes) -> ApiKey | None:
        """The key with this digest, as it was in the store at most five seconds ago.

        Raises:
            ServiceOverloaded: the store has not answered for `hold` seconds.
        """
        if self.age > self._hold:
            await self._insist(self._now() - REFRESH_SECONDS)
        elif not self._is_being_refreshed():
            await self._refresh(self._now() - REFRESH_SECONDS)
        return self._keys.get(digest)

    async def find_new(self, digest: bytes, *, slowed: bool) -> ApiKey | None:
        """The key with this digest, as it is in the store now; for slowed clients, a moment ago.

        Raises:
            ServiceOverloaded: the store does not answer.
        """
        await self._insist(self._now() - (SLOWED_REFRESH_SECONDS if slowed else 0.0))
        return self._keys.get(digest)

    def _is_being_refreshed(self) -> bool:
        """Whether another request is reading, and the cache is recent enough until then."""
        return (
            self._reading is not None
            and self._now() - self._tried_at < RETRY_SECONDS
            and (self._failing or self.age < MAX_AGE_SECONDS)
        )

    @property
    def _failing(self) -> bool:
        return self._failed_at < float("inf")

    async def awaited(self) -> str | None:
        """What must come before keys can be checked: the `keys`, or the `database` again."""
        await self._refresh(self._now() - REFRESH_SECONDS)
        if self.age <= self._hold:
            return None
        return "keys" if self._version is None else "database"

    async def _insist(self, since: float) -> None:
        """Make sure the cache was read at `since` or later, trying again while patience lasts.

        Raises:
            ServiceOverloaded: the store does not answer.
        """
        await self._refresh(since)
        if self.read_at >= since:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self._failed_at + self._patience - self._now()):
                while self.read_at < since:
                    await asyncio.sleep(RETRY_SOON_SECONDS)
                    await self._refresh(since, RETRY_SOON_SECONDS)
        if self.read_at < since:
            raise ServiceOverloaded("API keys cannot be checked at this moment.", retry_after=2)

    async def _refresh(self, since: float, retry: float = RETRY_SECONDS) -> None:
        """Make sure the cache was read at `since` or later, as far as the store answers in time."""
        while self.read_at < since and (reading := self._under_way(retry)) is not None:
            await asyncio.wait([reading], timeout=READ_TIMEOUT)
            if not reading.done():
                if not self._failing:
                    self._fail("late")
                return

    def _under_way(self, retry: float) -> asyncio.Task[None] | None:
        """The reading, begun if need be; None until `retry` seconds after one that failed."""
        now = self._now()
        if now - self._tried_at < (RETRY_SECONDS if self._reading else retry):
            return self._reading
        if self._reading is not None:
            self._fail("given up")
            self._reading.cancel()  # not awaited: closing a silent connection takes seconds
        self._tried_at = now
        self._reading = asyncio.create_task(self._try_read(now))
        return self._reading

    async def _try_read(self, began: float) -> None:
        try:
            await self._read()
            self.read_at, self._tried_at, self._failed_at = began, float("-inf"), float("inf")
        except StorageError as error:
            self._fail(error.message)
        finally:
            if self._reading is asyncio.current_task():
                self._reading = None

    def _fail(self, why: str) -> None:
        self._failed_at = min(self._failed_at, self._now())
        structlog.get_logger().warning("keys_not_read", why=why)

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
