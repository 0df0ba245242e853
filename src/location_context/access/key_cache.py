"""ApiKeyCache: all API keys in memory, so that requests need no database query.

One task reads the store's version every second, and all keys again after the version changed. So a
key that is revoked in any process is rejected here within five seconds. While the store does not
answer, cached keys stay valid for a minute; no key can be revoked in that time. An unknown key may
be new, so the store is read for it. Concurrent requests share that read, and retry it if it fails.
When the store has failed for four seconds, requests with unknown keys fail without waiting.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import structlog

from location_context.access.keys import ApiKey, KeyStore
from location_context.errors import ServiceOverloaded, StorageError

REFRESH_SECONDS = 1.0
READ_SECONDS = 2.0  # time-out of a read; leaves time for another within the five seconds
HOLD_SECONDS = 60.0  # for which cached keys stay valid while the store does not answer
SLOWED_SECONDS = 0.05  # between two reads for clients that sent many unknown keys
RETRY_SECONDS = 0.1  # between two reads while requests wait for the store
PATIENCE_SECONDS = 4.0  # longest wait of a request; with its section's, below a proxy's time-out
START_PATIENCE_SECONDS = 30.0  # longest wait for the store at startup


class ApiKeyCache:
    """All API keys in memory, by the digest (an HMAC) that is stored instead of a key's text.

    Attributes:
        damaged: the ids of keys whose database record cannot be read.
        read_at: when the last successful read began, in seconds of the monotonic clock.
    """

    def __init__(self, store: KeyStore, now: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._now = now
        self._keys: Mapping[bytes, ApiKey] = {}
        self.damaged: Sequence[str] = ()
        self._version: str | None = None
        self.read_at = float("-inf")
        self._failing_since = float("inf")
        self._reading = asyncio.Lock()
        self._failures = 0

    async def prepare(self) -> None:
        """Read the keys before the first request; if the store fails, retry for up to 30 s."""
        with suppress(TimeoutError):
            async with asyncio.timeout(START_PATIENCE_SECONDS):
                while not await self.refresh():  # noqa: ASYNC110  the store sends no signal
                    await asyncio.sleep(RETRY_SECONDS)

    async def run(self) -> None:
        """Refresh the keys every second until cancelled."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            await self.refresh()

    async def refresh(self) -> bool:
        """Read the keys now if they have changed in the store; return False if the store failed."""
        return await self._read_since(float("inf"))

    @property
    def age(self) -> float:
        """Seconds since the keys were read from the store; infinite before the first read."""
        return self._now() - self.read_at

    @property
    def awaited(self) -> str | None:
        """The reason why keys cannot be checked, or None if they can.

        The reason is `keys` before the first read, and `database` if the store has not answered
        for a minute.
        """
        if self.age <= HOLD_SECONDS:
            return None
        return "keys" if self._version is None else "database"

    def find(self, digest: bytes) -> ApiKey | None:
        """Return the key with this digest, or None if it is not cached.

        Raises:
            ServiceOverloaded: the store has not answered for a minute.
        """
        if self.age > HOLD_SECONDS:
            raise _overloaded()
        return self._keys.get(digest)

    async def find_new(self, digest: bytes, *, slowed: bool) -> ApiKey | None:
        """Read the store, and return the key with this digest; None if the key does not exist.

        If `slowed` and the last read began less than 0.05 s ago, the store is not read again.

        Raises:
            ServiceOverloaded: the store does not answer.
        """
        since = self._now() - (SLOWED_SECONDS if slowed else 0.0)
        while self._now() - self._failing_since < PATIENCE_SECONDS:
            if await self._read_since(since):
                return self._keys.get(digest)
            await asyncio.sleep(RETRY_SECONDS)
        raise _overloaded()

    async def _read_since(self, since: float) -> bool:
        """Read the keys unless they were read at `since` or later; waiting callers share the read.

        Returns:
            False if the store failed.
        """
        failures = self._failures
        async with self._reading:
            if self.read_at >= since:
                return True
            if self._failures != failures:
                return False
            began = self._now()
            try:
                async with asyncio.timeout(READ_SECONDS):
                    await self._read()
            except (StorageError, TimeoutError) as error:
                self._failures += 1
                self._failing_since = min(self._failing_since, began)
                why = error.message if isinstance(error, StorageError) else "late"
                structlog.get_logger().warning("keys_not_read", why=why)
                return False
            self.read_at, self._failing_since = began, float("inf")
            return True

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


def _overloaded() -> ServiceOverloaded:
    return ServiceOverloaded(
        "API keys cannot be checked right now; try again in a moment.", retry_after=2
    )


def _log_changes(before: Mapping[bytes, ApiKey], now: Mapping[bytes, ApiKey]) -> None:
    """Log each key that any process created, revoked or rotated between two reads."""
    for digest, key in now.items():
        former = before.get(digest)
        if former is None:
            structlog.get_logger().info("key_created", key_id=key.id, expires_at=key.expires_at)
        elif key.revoked_at is not None and former.revoked_at is None:
            structlog.get_logger().info("key_revoked", key_id=key.id, at=key.revoked_at)
        elif key.replaced_by != former.replaced_by:
            structlog.get_logger().info("key_rotated", key_id=key.id, ends_at=key.expires_at)
