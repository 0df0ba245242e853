"""Slots counted in Redis or Valkey, over the workers of several machines; by files without it.

A slot is a lease in a sorted set, by Redis' own clock, so that one whose holder died comes free.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from location_context.storage.redis import RedisLink
    from location_context.upstream.slots import Slots

_ACQUIRE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
"""
_LEASE_MS = 45_000  # longer than any call may take: 30 s
_LOOK_AGAIN_SECONDS = 0.03  # a round trip is under a millisecond, a call 50 and more


class RedisSlots:
    """`upstream.slots.Slots` on Redis: `count` calls at once over all who name the same slots."""

    def __init__(self, link: RedisLink, name: str, count: int, fallback: Slots) -> None:
        self._link = link
        self._key = f"{link.prefix}slots:{name}"
        self._count = count
        self._fallback = fallback
        self._acquire = link.script(_ACQUIRE)
        self._semaphore = asyncio.Semaphore(count)

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        async with self._semaphore:
            token = secrets.token_hex(8)
            if await self._acquired(token):
                try:
                    yield
                finally:
                    await asyncio.shield(self._release(token))
            else:
                async with self._fallback.hold():
                    yield

    async def _acquired(self, token: str) -> bool:
        """True once there is a slot; False while Redis is gone."""
        arguments: list[str | int] = [self._count, token, _LEASE_MS]
        while True:
            given = await self._link.ask(lambda: self._acquire([self._key], arguments))
            if given is None:
                return False
            if given:
                return True
            await asyncio.sleep(_LOOK_AGAIN_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311  jitter, no secret

    async def _release(self, token: str) -> None:
        await self._link.ask(lambda: self._link.redis.zrem(self._key, token))
