"""Keyring: every key in memory, at most a moment old, so that a request costs no look-up.

The store is asked for its version at most every two seconds, and read anew only when that
changed: a key that is revoked anywhere stops here within five seconds, and a flood of unknown
keys costs a bounded number of look-ups. While the store does not answer, what is known holds for
a minute: nobody can revoke a key then either.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import structlog

from location_context.errors import ServiceOverloaded, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from location_context.access.keys import ApiKey, KeyStore

FRESH = 2.0
_EAGER = 0.25
_HELD_WITHOUT_STORE = 60.0
_PATIENCE = 2.0
_RETRY_AFTER_FAILURE = 0.5


class Keyring:
    """The keys by digest. Seconds are on the monotonic clock."""

    def __init__(self, store: KeyStore, now: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._now = now
        self._keys: Mapping[bytes, ApiKey] = {}
        self._version: str | None = None
        self._read_at = float("-inf")
        self._tried_at = float("-inf")
        self._turn = asyncio.Lock()

    async def find(self, digest: bytes) -> ApiKey | None:
        """The key with this digest, as the store had it at most two seconds ago.

        Raises:
            ServiceOverloaded: the store has not answered for a minute.
        """
        await self._refresh(FRESH)
        if (key := self._keys.get(digest)) is None:
            await self._refresh(_EAGER)  # it may have been made a moment ago
            key = self._keys.get(digest)
        return key

    async def _refresh(self, age: float) -> None:
        """See that what is held is younger than `age`, as far as the store answers."""
        if self._now() - self._read_at < age:
            return
        async with self._turn:
            now = self._now()
            if now - self._read_at >= age and now - self._tried_at >= _RETRY_AFTER_FAILURE:
                await self._try_reading(now)
        if self._now() - self._read_at > _HELD_WITHOUT_STORE:
            raise ServiceOverloaded("API keys cannot be checked at this moment.", retry_after=2)

    async def _try_reading(self, now: float) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._read()
            self._read_at = now
        except (StorageError, TimeoutError):
            self._tried_at = self._now()
            structlog.get_logger().warning("keys_not_read")

    async def _read(self) -> None:
        version = await self._store.version()
        if version != self._version:
            self._keys = {key.digest: key for key in await self._store.all()}
            self._version = version
