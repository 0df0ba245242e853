"""Keyring: every key in memory, at most a moment old, so that a request costs no look-up.

The store is asked for its version at most every two seconds, and read anew only when that
changed: a key that is revoked anywhere stops here within five seconds. A key that is not known is
looked for again, since it may have been made a moment ago; all who wait share one look-up. While
the store does not answer, what is known holds for a minute: nobody can revoke a key then either.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import structlog

from location_context.errors import ServiceOverloaded, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from location_context.access.keys import ApiKey, KeyStore

FRESH = 2.0
_OLDEST = 4.5  # within the five seconds in which a revoked key must stop
_SLOWED = 0.05
_HELD_WITHOUT_STORE = 60.0
_PATIENCE = 1.0
_RETRY_AFTER_FAILURE = 2.0


class Keyring:
    """The keys by digest. Seconds are on the monotonic clock."""

    def __init__(self, store: KeyStore, now: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._now = now
        self._keys: Mapping[bytes, ApiKey] = {}
        self.damaged: Sequence[str] = ()  # the ids of keys whose record cannot be read
        self._version: str | None = None
        self._read_at = float("-inf")
        self._tried_at = float("-inf")
        self._turn = asyncio.Lock()

    async def prepare(self) -> None:
        """Read the keys before the first request, for as long as the store takes.

        A store that fails is asked again by the first request.
        """
        try:
            began = self._now()
            await self._read()
            self._read_at = began
        except StorageError as error:
            structlog.get_logger().warning("keys_not_read", why=error.message)

    async def find(self, digest: bytes) -> ApiKey | None:
        """The key with this digest, as the store had it at most five seconds ago.

        Raises:
            ServiceOverloaded: the store has not answered for a minute.
        """
        if not self._seen_to():
            await self._refresh(self._now() - FRESH)
        self._still_held()
        return self._keys.get(digest)

    async def find_new(self, digest: bytes, *, slowed: bool) -> ApiKey | None:
        """The key with this digest, as the store has it now; for the slowed, a moment ago.

        Raises:
            ServiceOverloaded: the store does not answer.
        """
        await self._refresh(self._now() - (_SLOWED if slowed else 0.0))
        if (key := self._keys.get(digest)) is None and self._failing:
            raise _unchecked()  # it may be a key that was made since
        return key

    def _seen_to(self) -> bool:
        """Whether another request is reading, and what is held will do until it has."""
        return self._turn.locked() and (self._failing or self._now() - self._read_at < _OLDEST)

    @property
    def _failing(self) -> bool:
        return self._tried_at > self._read_at

    def _still_held(self) -> None:
        if self._now() - self._read_at > _HELD_WITHOUT_STORE:
            raise _unchecked()

    async def _refresh(self, since: float) -> None:
        """See that what is held was read at `since` or later, as far as the store answers."""
        if self._read_at >= since:
            return
        async with self._turn:
            now = self._now()
            if self._read_at < since and now - self._tried_at >= _RETRY_AFTER_FAILURE:
                await self._try_reading(now)

    async def _try_reading(self, now: float) -> None:
        reading = asyncio.ensure_future(self._read())
        reading.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            async with asyncio.timeout(_PATIENCE):
                await asyncio.shield(reading)
            self._read_at = now
        except (StorageError, TimeoutError):
            reading.cancel()  # not waited for: to close a silent connection takes seconds
            self._tried_at = self._now()
            structlog.get_logger().warning("keys_not_read")

    async def _read(self) -> None:
        version = await self._store.version()
        if version != self._version:
            self._keys = {key.digest: key for key in await self._store.all()}
            self._version, self.damaged = version, tuple(self._store.damaged)
            if self.damaged:
                structlog.get_logger().error("key_records_damaged", key_ids=self.damaged)


def _unchecked() -> ServiceOverloaded:
    return ServiceOverloaded("API keys cannot be checked at this moment.", retry_after=2)
