"""Quotas counted in Redis or Valkey, shared by all replicas; counted here while it is gone.

One script takes from all windows of a subject at once, so that counts are exact whatever the
concurrency. The rules are those of `access.quota.Window`; the moment is the caller's, so that
a moved clock means the same here and in memory.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from location_context.access.quota import Limit, MemoryCounter, Taken, Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.stay import Clock
    from location_context.storage.redis import RedisLink

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
_SECRET_LIFE = 2 * 86400


class RedisCounter:
    """`access.quota.Counter` on Redis. Moments go in and come out as whole milliseconds."""

    def __init__(self, link: RedisLink, clock: Clock) -> None:
        self._link = link
        self._clock = clock
        self._local = MemoryCounter(clock)
        self._secret: tuple[str, bytes] = ("", b"")
        self._take = link.script(_TAKE)
        self._give_back = link.script(_GIVE_BACK)

    @property
    def degraded(self) -> bool:
        return self._link.degraded

    async def take(self, subject: str, limits: Sequence[Limit]) -> Taken:
        now = self._clock()
        arguments: list[str | int] = [int(now.timestamp() * 1000)]
        for limit in limits:
            length = int(limit.length(now) * 1000)
            arguments += [limit.name, limit.quota, length, int(limit.longest * 1000)]
        reply = await self._link.ask(lambda: self._take([self._link.prefix + subject], arguments))
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
        await self._link.ask(lambda: self._give_back([self._link.prefix + subject], arguments))
        await self._local.give_back(subject, taken)

    async def secret(self, name: str) -> bytes:
        if self._secret[0] == name:
            return self._secret[1]
        key, made = self._link.prefix + name, secrets.token_hex(16)
        await self._link.ask(lambda: self._link.redis.set(key, made, nx=True, ex=_SECRET_LIFE))
        kept = await self._link.ask(lambda: self._link.redis.get(key))
        if not kept:
            return await self._local.secret(name)
        self._secret = (name, bytes(kept))
        return self._secret[1]

    async def close(self) -> None:
        """The link is closed by who opened it."""
