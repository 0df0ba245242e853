"""Providers' answers that processes share in Redis, with locks so that only one process fetches.

A process takes the lock of a key before it fetches the value. The other processes retry ten times a
second until the lock is free, and then read the value. A lock expires after ten seconds, so a
crashed process cannot block its key. A value expires at the
`expires_at` of its `CacheRecord`, but after two days at the latest.
"""

import asyncio
import secrets
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from location_context.storage.redis import RedisLink
from location_context.upstream.shared_cache import CacheRecord, inflate

MAX_LIFE_MS = 2 * 86_400_000
LOCK_MS = 10_000
LOOK_SECONDS = 0.1  # between two attempts of a process that waits for a lock
MAX_UNPACKED = 8_000_000  # bytes; many times the largest stored value
MIN_COMPRESSED = 500  # bytes; a forecast of 4 kB shrinks to 2, a hundred events from 35 kB to 6
ROOM_SHARE = 0.8  # share of Redis' `maxmemory`; beyond it, values are not stored
ROOM_SECONDS = 5.0  # between two readings of how much memory Redis uses
OUTCOMES = ("hit", "miss", "waited", "alone")
_PLAIN, _PACKED = b"\x00", b"\x01"

# KEYS: the lock, the value. ARGV: token, life in ms.
_LOCK = """
local taken = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
return {taken and 1 or 0, redis.call('GET', KEYS[2])}
"""
_UNLOCK = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
"""


class RedisSharedStore:
    """The `SharedStore` of `upstream.shared_cache` in Redis or Valkey.

    Attributes:
        looked_up: counts of lookups by outcome: `hit`, `miss`, `waited` for another process'
            fetch, or `alone` because Redis was unavailable.
    """

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._lock, self._unlock = link.script(_LOCK), link.script(_UNLOCK)
        self._token = secrets.token_hex(8)
        self._room = True
        self._room_known_until = 0.0
        self.looked_up = dict.fromkeys(OUTCOMES, 0)

    async def load(self, provider: str, key: str) -> bytes | None:
        async def get() -> tuple[Any]:
            return (await self._link.redis.get(self._value_key(provider, key)),)

        reply = await self._link.execute(get)
        self.looked_up["alone" if reply is None else "hit" if reply[0] else "miss"] += 1
        return unpacked(reply[0]) if reply else None

    @asynccontextmanager
    async def locked(self, provider: str, key: str) -> AsyncIterator[bytes | None]:
        keys = [f"{self._link.prefix}lock:{provider}:{key}", self._value_key(provider, key)]
        waited = False
        while True:
            reply = await self._link.execute(lambda: self._lock(keys, [self._token, LOCK_MS]))
            if reply is None or reply[0]:
                break
            self.looked_up["waited"] += not waited
            waited = True
            await asyncio.sleep(LOOK_SECONDS)
        self.looked_up["alone"] += reply is None
        try:
            yield unpacked(reply[1]) if reply else None
        finally:
            await self._link.execute(lambda: self._unlock(keys[:1], [self._token]))

    async def save(self, records: Sequence[CacheRecord], now: datetime) -> None:
        lives = {
            self._value_key(one.provider, one.key): (packed(one.data), _life(one, now))
            for one in records
        }
        if not lives or not await self._has_room():
            return

        async def store() -> int:
            async with self._link.redis.pipeline(transaction=False) as pipeline:
                for key, (data, life) in lives.items():
                    if life > 0:
                        pipeline.set(key, data, px=life)
                await pipeline.execute()
            return 1

        await self._link.execute(store)

    async def _has_room(self) -> bool:
        """Return True if Redis uses less than `ROOM_SHARE` of its memory, or has no limit."""
        now = asyncio.get_running_loop().time()
        if now >= self._room_known_until:
            self._room_known_until = now + ROOM_SECONDS
            used, limit = await memory(self._link) or (0, 0)
            self._room = not limit or used <= limit * ROOM_SHARE
        return self._room

    def _value_key(self, provider: str, key: str) -> str:
        return f"{self._link.prefix}value:{provider}:{key}"


async def memory(link: RedisLink) -> tuple[int, int] | None:
    """Return Redis' used and maximum memory in bytes; None if Redis is unavailable.

    Both numbers are 0 if they are unknown; the maximum is also 0 if Redis has no limit.
    """
    from redis.exceptions import ResponseError  # noqa: PLC0415  large, and rare

    async def read() -> tuple[int, int]:
        try:
            info = await link.redis.info("memory")
        except ResponseError:  # the Redis user may not run INFO
            return 0, 0
        return info.get("used_memory", 0), info.get("maxmemory", 0)

    found: tuple[int, int] | None = await link.execute(read)
    return found


def _life(record: CacheRecord, now: datetime) -> int:
    """Return the milliseconds until a record expires, at most two days; negative if it expired."""
    return min(MAX_LIFE_MS, round((record.expires_at - now).total_seconds() * 1000))


def packed(data: bytes) -> bytes:
    """Return data in the form for Redis: a marker byte, then the data, compressed if shorter."""
    if len(data) >= MIN_COMPRESSED and len(smaller := zlib.compress(data, 1)) < len(data):
        return _PACKED + smaller
    return _PLAIN + data


def unpacked(stored: bytes | None) -> bytes | None:
    """Return the data of a value made by `packed`; None if it is missing or damaged."""
    if not stored:
        return None
    try:
        return inflate(stored[1:], MAX_UNPACKED) if stored[:1] == _PACKED else stored[1:]
    except zlib.error:
        return None
