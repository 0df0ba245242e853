"""What replicas share in Redis or Valkey: the connection, quotas, and slots for calls in flight.

While Redis is gone, callers go on alone: `execute` returns None at once, and one caller a second
tries again.
"""

import asyncio
import random
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import structlog

from location_context.access.quota import Limits, MemoryCounter, RateLimitResult, Window
from location_context.settings import Secret
from location_context.stay import Clock, posix_seconds
from location_context.upstream.host import Slots

MAX_CONNECTIONS = 16
TIMEOUT = 1.0  # seconds; with less, a busy processor would look like a silent Redis
RETRY_AFTER = 1.0  # seconds until a Redis that failed is tried again


class RedisLink:
    """A connection to Redis that callers can do without. `prefix` stands before every key.

    Attributes:
        degraded: whether the last command failed.
    """

    def __init__(
        self, url: Secret, prefix: str = "location-context:", timeout: float = TIMEOUT
    ) -> None:
        """`timeout`: seconds to wait for a connection or an answer."""
        # imported here: it costs a start 0.1 s and 15 MB, and most services run without Redis
        from redis.asyncio import Redis  # noqa: PLC0415  large, and rare
        from redis.asyncio.retry import Retry  # noqa: PLC0415  large, and rare
        from redis.backoff import NoBackoff  # noqa: PLC0415  large, and rare
        from redis.exceptions import ConnectionError as RedisConnectionError  # noqa: PLC0415  large, and rare
        from redis.exceptions import RedisError  # noqa: PLC0415  large, and rare

        self.prefix = prefix
        self.degraded = False
        self._timeout = timeout
        self._retry_at = 0.0
        # callers wait here for a connection, since that is not a failure of Redis
        self._semaphore = asyncio.Semaphore(MAX_CONNECTIONS)
        self._failures = (RedisError, OSError, TimeoutError)
        self.redis = Redis.from_url(
            url.reveal(),
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,)),
        )

    def script(self, text: str) -> Callable[..., Awaitable[Any]]:
        """A script in Lua, sent once and called by its hash."""
        return self.redis.register_script(text)

    async def execute(self, command: Callable[[], Awaitable[Any]]) -> Any:
        """The reply of Redis; None while it is gone."""
        async with self._semaphore:
            if self.degraded:
                if time.monotonic() < self._retry_at:
                    return None
                self._retry_at = time.monotonic() + self._timeout + RETRY_AFTER
            try:
                answer = await command()
            except self._failures as error:
                self._retry_at = time.monotonic() + RETRY_AFTER
                if not self.degraded:
                    why, counting = type(error).__name__, "in this process"
                    structlog.get_logger().warning("quota_store_gone", why=why, counting=counting)
                self.degraded = True
                return None
            if self.degraded:
                structlog.get_logger().info("quota_store_back")
            self.degraded = False
            return answer

    def retry_now(self) -> None:
        """Try Redis at the next request, however recently it failed."""
        self._retry_at = 0.0

    async def close(self) -> None:
        await self.redis.aclose()
        await self.redis.connection_pool.disconnect()


_CONSUME_SCRIPT = """
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
_REFUND_SCRIPT = """
for i = 1, #ARGV, 2 do
  local held = redis.call('HMGET', KEYS[1], ARGV[i] .. ':used', ARGV[i] .. ':ends')
  if held[2] == ARGV[i + 1] and tonumber(held[1]) > 0 then
    redis.call('HINCRBY', KEYS[1], ARGV[i] .. ':used', -1)
  end
end
"""
SECRET_TTL = 2 * 86400


class RedisCounter:
    """`access.quota.Counter` in Redis, shared by all replicas; counted here while it is gone.

    One script consumes from all windows of a subject at once, so that counts are exact whatever the
    concurrency. The rules are those of `access.quota.Window`; the time is the caller's, so that a
    moved clock means the same here and in memory. Times are whole milliseconds.
    """

    def __init__(self, link: RedisLink, clock: Clock) -> None:
        self._link = link
        self._now = posix_seconds(clock)
        self._local = MemoryCounter(clock)
        self._secret: tuple[str, bytes] = ("", b"")
        self._consume_script = link.script(_CONSUME_SCRIPT)
        self._refund_script = link.script(_REFUND_SCRIPT)

    @property
    def degraded(self) -> bool:
        return self._link.degraded

    def consume_now(self, _: str, __: Limits) -> None:
        """What is counted together takes waiting."""

    def consume_again(self, _: str, __: Limits) -> None:
        """Likewise."""

    async def consume(self, subject: str, limits: Limits) -> RateLimitResult:
        now = self._now()
        arguments: list[str | int] = [int(now * 1000)]
        for limit in limits.windows:
            length = int(limit.end(now) * 1000) - int(now * 1000)
            arguments += [limit.name, limit.quota, length, int(limit.max_remaining * 1000)]
        reply = await self._link.execute(
            lambda: self._consume_script([self._link.prefix + subject], arguments)
        )
        if reply is None:
            return await self._local.consume(subject, limits)
        allowed, *counts = reply
        windows = tuple(
            Window(limit, counts[2 * i], counts[2 * i + 1] / 1000)
            for i, limit in enumerate(limits.windows)
        )
        result = RateLimitResult(bool(allowed), limits, windows, now)
        self._local.record(subject, result)
        return result

    async def refund(self, subject: str, result: RateLimitResult) -> None:
        arguments: list[str | int] = []
        for window in result.windows:
            arguments += [window.limit.name, round(window.ends * 1000)]
        await self._link.execute(
            lambda: self._refund_script([self._link.prefix + subject], arguments)
        )
        await self._local.refund(subject, result)

    def secret_now(self, name: str) -> bytes | None:
        return self._secret[1] if self._secret[0] == name else None

    async def secret(self, name: str) -> bytes:
        if (secret := self.secret_now(name)) is not None:
            return secret
        key, made = self._link.prefix + name, secrets.token_hex(16)
        await self._link.execute(lambda: self._link.redis.set(key, made, nx=True, ex=SECRET_TTL))
        kept = await self._link.execute(lambda: self._link.redis.get(key))
        if not kept:
            return await self._local.secret(name)
        self._secret = (name, bytes(kept))
        return self._secret[1]

    async def close(self) -> None:
        """Whoever opened the link closes it."""


_ACQUIRE_SCRIPT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
"""
LEASE_MS = 45_000  # longer than any call may take: 30 s
POLL_SECONDS = 0.03  # a round trip is under a millisecond, a call 50 and more


class RedisSlots:
    """`upstream.host.Slots` in Redis: at most `count` calls at once among all who use this name.

    A slot is a lease in a sorted set, by Redis' own clock, so that one whose holder died is freed.
    While Redis is gone, `fallback` counts.
    """

    def __init__(self, link: RedisLink, name: str, count: int, fallback: Slots) -> None:
        self._link = link
        self._key = f"{link.prefix}slots:{name}"
        self._count = count
        self._fallback = fallback
        self._acquire = link.script(_ACQUIRE_SCRIPT)
        self._semaphore = asyncio.Semaphore(count)

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        async with self._semaphore:
            token = secrets.token_hex(8)
            if await self._acquire_slot(token):
                try:
                    yield
                finally:
                    release = self._link.execute(lambda: self._link.redis.zrem(self._key, token))
                    await asyncio.shield(release)
            else:
                async with self._fallback.hold():
                    yield

    async def _acquire_slot(self, token: str) -> bool:
        """Wait for a slot; False while Redis is gone."""
        arguments: list[str | int] = [self._count, token, LEASE_MS]
        while True:
            given = await self._link.execute(lambda: self._acquire([self._key], arguments))
            if given is None:
                return False
            if given:
                return True
            await asyncio.sleep(POLL_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311  jitter, no secret
