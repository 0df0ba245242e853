"""Quotas counted in Redis or Valkey, shared by all replicas; counted here while it is gone.

One script takes from all windows of a subject at once, so that counts are exact whatever the
concurrency. The rules are those of `access.quota.Window`; the moment is the caller's, so that
a moved clock means the same here and in memory.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import TYPE_CHECKING, Any

import structlog
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from location_context.access.quota import Limit, MemoryCounter, Taken, Window

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from location_context.settings import Secret
    from location_context.stay import Clock

_TAKE = """
local now, reply, allowed, last = tonumber(ARGV[1]), {}, 1, 0
for i = 2, #ARGV, 4 do
  local name, quota = ARGV[i], tonumber(ARGV[i + 1])
  local length, longest = tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local held = redis.call('HMGET', KEYS[1], name .. ':used', name .. ':ends')
  local used, ends = tonumber(held[1]) or 0, tonumber(held[2]) or 0
  if ends <= now then used, ends = 0, now + length
  elseif ends - now > longest then ends = now + length end
  if used >= quota then allowed = 0 end
  if ends > last then last = ends end
  reply[#reply + 1], reply[#reply + 2] = used, ends
end
for i = 2, #ARGV, 4 do
  local at = (i - 2) / 2 + 1
  reply[at] = reply[at] + allowed
  redis.call('HSET', KEYS[1], ARGV[i] .. ':used', reply[at], ARGV[i] .. ':ends', reply[at + 1])
end
redis.call('PEXPIRE', KEYS[1], last - now + 1000)
return {allowed, unpack(reply)}
"""
_GIVE_BACK = """
for i = 1, #ARGV, 2 do
  local held = redis.call('HMGET', KEYS[1], ARGV[i] .. ':used', ARGV[i] .. ':ends')
  if held[2] == ARGV[i + 1] and tonumber(held[1]) > 0 then
    redis.call('HINCRBY', KEYS[1], ARGV[i] .. ':used', -1)
  end
end
"""
_CONNECTIONS = 16
PATIENCE = 1.0  # seconds; less would take a busy processor for a silent Redis
_ALONE = 1.0  # seconds before a store that failed is asked again
_SECRET_LIFE = 2 * 86400


class RedisCounter:
    """`access.quota.Counter` on Redis. Moments go in and come out as whole milliseconds."""

    def __init__(
        self,
        url: Secret,
        clock: Clock,
        prefix: str = "location-context:",
        patience: float = PATIENCE,
    ) -> None:
        self._clock = clock
        self._patience = patience
        self._prefix = prefix
        self._local = MemoryCounter(clock)
        self._secret: tuple[str, bytes] = ("", b"")
        self._alone_until = 0.0
        self.degraded = False
        self._turns = asyncio.Semaphore(_CONNECTIONS)  # to wait for a turn is not a fault of Redis
        self._redis: Redis = Redis.from_url(
            url.reveal(),
            socket_timeout=patience,
            socket_connect_timeout=patience,
            retry=Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,)),
        )
        self._take = self._redis.register_script(_TAKE)
        self._give_back = self._redis.register_script(_GIVE_BACK)

    async def take(self, subject: str, limits: Sequence[Limit]) -> Taken:
        now = self._clock()
        arguments: list[str | int] = [int(now.timestamp() * 1000)]
        for limit in limits:
            length = int(limit.length(now) * 1000)
            arguments += [limit.name, limit.quota, length, int(limit.longest * 1000)]
        reply = await self._ask(lambda: self._take([self._prefix + subject], arguments))
        if reply is None:
            return await self._local.take(subject, limits)
        allowed, *counts = reply
        windows = tuple(
            Window(limit, counts[2 * i], counts[2 * i + 1] / 1000) for i, limit in enumerate(limits)
        )
        taken = Taken(bool(allowed), windows, now)
        self._local.hold(subject, taken)
        return taken

    async def give_back(self, subject: str, taken: Taken) -> None:
        arguments: list[str | int] = []
        for window in taken.windows:
            arguments += [window.limit.name, round(window.ends * 1000)]
        await self._ask(lambda: self._give_back([self._prefix + subject], arguments))
        await self._local.give_back(subject, taken)

    async def secret(self, name: str) -> bytes:
        if self._secret[0] == name:
            return self._secret[1]
        key, made = self._prefix + name, secrets.token_hex(16)
        await self._ask(lambda: self._redis.set(key, made, nx=True, ex=_SECRET_LIFE))
        kept = await self._ask(lambda: self._redis.get(key))
        if not kept:
            return await self._local.secret(name)
        self._secret = (name, bytes(kept))
        return self._secret[1]

    async def close(self) -> None:
        await self._redis.aclose()
        await self._redis.connection_pool.disconnect()

    def ask_again(self) -> None:
        """Ask Redis at the next request, however short its absence."""
        self._alone_until = 0.0

    async def _ask(self, command: Callable[[], Awaitable[Any]]) -> Any:
        """What Redis answers; None while it is gone."""
        async with self._turns:
            if self.degraded:
                if time.monotonic() < self._alone_until:
                    return None
                self._alone_until = time.monotonic() + self._patience + _ALONE  # the others go on
            try:
                answer = await command()
            except (RedisError, OSError, TimeoutError) as error:
                self._alone_until = time.monotonic() + _ALONE
                self._note(degraded=True, why=type(error).__name__)
                return None
            self._note(degraded=False)
            return answer

    def _note(self, *, degraded: bool, why: str | None = None) -> None:
        if degraded != self.degraded:
            self.degraded = degraded
            log = structlog.get_logger()
            if degraded:
                log.warning("quota_store_gone", why=why, counting="in this process")
            else:
                log.info("quota_store_back")
