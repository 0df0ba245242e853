"""What processes tell each other in Redis: what they fetched, and who fetches.

A value has the life that its owner gives it, two days at most. A lease is a key that its holder
renews, so that it ends soon after its holder; behind it lies, for a moment, what came of the
fetch. That is also published: one subscription a process hears of everything, and whoever missed
a message looks at the key. All of it is by Redis' own clock, and all of it ends by itself.
"""

import asyncio
import secrets
import zlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from location_context.errors import DAMAGED
from location_context.storage.redis import RedisLink
from location_context.upstream.shared_cache import CacheRecord, Lease, Outcome, inflate

MAX_LIFE_MS = 2 * 86_400_000
LEASE_MS = 2_000  # after which a holder that died is followed by another
RENEW_SECONDS = 0.5  # so that a holder may be busy for 1.5 s
TOLD_MS = 10_000  # for which who missed a message finds it
LOOK_SECONDS = 0.25  # at which who waits looks whether it missed one
MAX_UNPACKED = 8_000_000  # bytes, many times the largest that is stored
MIN_COMPRESSED = 500  # bytes; a forecast of 4 kB becomes 2, a hundred events of 35 kB 6
ROOM_SHARE = 0.8  # of Redis' `maxmemory`, beyond which values are told and not stored
ROOM_SECONDS = 5.0  # for which that is known
OUTCOMES = ("hit", "miss", "waited", "alone")
_PLAIN, _PACKED = b"\x00", b"\x01"
_TAKEN, _DONE = b"L", b"D"
_TOKEN_BYTES = 16

_ACQUIRE = """
local held = redis.call('GET', KEYS[1])
if held and string.sub(held, 1, 1) == 'L' then return {0, held} end
redis.call('SET', KEYS[1], 'L' .. ARGV[1], 'PX', ARGV[2])
return {1, redis.call('GET', KEYS[2])}
"""
_RENEW = """
if redis.call('GET', KEYS[1]) == 'L' .. ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
"""
# KEYS: the lease, then each record. ARGV: token, outcome (empty: the lease is given up), its life,
# channel, message, then life and data of each record.
_RELEASE = """
for i = 2, #KEYS do redis.call('SET', KEYS[i], ARGV[2 * i + 3], 'PX', ARGV[2 * i + 2]) end
if redis.call('GET', KEYS[1]) == 'L' .. ARGV[1] then
  if ARGV[2] == '' then redis.call('DEL', KEYS[1])
  else redis.call('SET', KEYS[1], 'D' .. ARGV[1] .. ARGV[2], 'PX', ARGV[3]) end
end
redis.call('PUBLISH', ARGV[4], ARGV[5])
"""


class _News(msgspec.Struct, frozen=True, array_like=True):
    """A message: the fetch of `name` under the lease `token` ended; without outcome by its end."""

    name: str
    token: str
    outcome: Outcome | None


class RedisSharedStore:
    """`upstream.shared_cache.SharedStore` in Redis or Valkey.

    Attributes:
        looked_up: how often a value was a `hit` or a `miss`, how often another process was waited
            for (`waited`), and how often Redis was gone (`alone`).
    """

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._channel = f"{link.prefix}fetched"
        link.listeners[self._channel] = self._hear
        self._acquire, self._renew, self._release = map(link.script, (_ACQUIRE, _RENEW, _RELEASE))
        self._waiting: dict[str, set[asyncio.Queue[_News]]] = {}
        self._renewals: dict[Lease, asyncio.Task[None]] = {}
        self._room = True
        self._room_known_until = 0.0
        self.looked_up = dict.fromkeys(OUTCOMES, 0)

    async def load(self, provider: str, key: str) -> bytes | None:
        reply = await self._get(self._value_key(f"{provider}:{key}"))
        outcome = "alone" if reply is None else "hit" if reply[0] else "miss"
        self.looked_up[outcome] += 1
        return unpacked(reply[0]) if reply else None

    async def acquire(self, provider: str, key: str) -> Lease | Outcome | None:
        name, news = f"{provider}:{key}", asyncio.Queue[_News]()
        heard = self._waiting.setdefault(name, set())
        heard.add(news)
        try:
            while True:
                token = secrets.token_hex(_TOKEN_BYTES // 2)
                keys = [self._lease_key(name), self._value_key(name)]
                reply = await self._link.execute(
                    lambda: self._acquire(keys, [token, LEASE_MS])  # noqa: B023  awaited at once
                )
                if reply is None:
                    self.looked_up["alone"] += 1
                    return None
                taken, held = reply
                if taken:
                    lease = Lease(provider, key, token, unpacked(held))
                    self._renewals[lease] = asyncio.create_task(self._renew_on(name, token))
                    return lease
                self.looked_up["waited"] += 1
                outcome = await self._outcome(name, held[1 : 1 + _TOKEN_BYTES], news)
                if outcome is not None:
                    return outcome
        finally:
            heard.discard(news)
            if not heard:
                self._waiting.pop(name, None)

    async def release(
        self, lease: Lease, outcome: Outcome | None, records: Sequence[CacheRecord], now: datetime
    ) -> None:
        self._renewals.pop(lease).cancel()
        name = f"{lease.provider}:{lease.key}"
        if not await self._has_room():
            own = [one.data for one in records if (one.provider, one.key) == lease_name(lease)]
            if outcome is not None and own:
                outcome = msgspec.structs.replace(outcome, data=own[-1])
            records = ()
        keys, values = [self._lease_key(name)], list[str | int | bytes]()
        for one in records:
            if (life := _life(one, now)) > 0:
                keys.append(self._value_key(f"{one.provider}:{one.key}"))
                values += [life, packed(one.data)]
        told = b"" if outcome is None else msgspec.msgpack.encode(outcome)
        message = msgspec.msgpack.encode(_News(name, lease.token, outcome))
        arguments = [lease.token, told, TOLD_MS, self._channel, message, *values]
        await asyncio.shield(self._link.execute(lambda: self._release(keys, arguments)))

    def _hear(self, message: bytes) -> None:
        try:
            news = msgspec.msgpack.decode(message, type=_News)
        except DAMAGED:
            return  # of another version: whoever waits will look
        for one in self._waiting.get(news.name, ()):
            one.put_nowait(news)

    async def _outcome(self, name: str, token: bytes, news: asyncio.Queue[_News]) -> Outcome | None:
        """What comes of the fetch under another's lease; None if that was given up, or ended."""
        while True:
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    told = await news.get()
            except TimeoutError:
                reply = await self._get(self._lease_key(name))
                held = reply[0] if reply and reply[0] else b""
                if held == _TAKEN + token:
                    continue
                if not held.startswith(_DONE + token):
                    return None
                return _decoded(held[1 + _TOKEN_BYTES :])
            if told.token.encode() == token:
                return told.outcome

    async def _renew_on(self, name: str, token: str) -> None:
        keys, arguments = [self._lease_key(name)], [token, LEASE_MS]
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            await self._link.execute(lambda: self._renew(keys, arguments))

    async def _has_room(self) -> bool:
        """Whether Redis is far enough from its limit that nothing else is pushed out for values."""
        now = asyncio.get_running_loop().time()
        if now >= self._room_known_until:
            self._room_known_until = now + ROOM_SECONDS
            used, limit = await memory(self._link) or (0, 0)
            self._room = not limit or used <= limit * ROOM_SHARE
        return self._room

    async def _get(self, key: str) -> tuple[bytes | None] | None:
        """What lies there, in a tuple; None while Redis is gone."""

        async def get() -> tuple[Any]:
            return (await self._link.redis.get(key),)

        reply: tuple[bytes | None] | None = await self._link.execute(get)
        return reply

    def _value_key(self, name: str) -> str:
        return f"{self._link.prefix}value:{name}"

    def _lease_key(self, name: str) -> str:
        return f"{self._link.prefix}lease:{name}"


async def memory(link: RedisLink) -> tuple[int, int] | None:
    """Bytes used and `maxmemory`, 0 where it is not set or not told; None while Redis is gone."""
    from redis.exceptions import ResponseError  # noqa: PLC0415  large, and rare

    async def read() -> tuple[int, int]:
        try:
            info = await link.redis.info("memory")
        except ResponseError:  # a user that may not ask
            return 0, 0
        return info.get("used_memory", 0), info.get("maxmemory", 0)

    told: tuple[int, int] | None = await link.execute(read)
    return told


def lease_name(lease: Lease) -> tuple[str, str]:
    """The name of the record that its holder asks for."""
    return lease.provider, lease.key


def _life(record: CacheRecord, now: datetime) -> int:
    """Milliseconds for which it is stored."""
    return min(MAX_LIFE_MS, round((record.expires_at - now).total_seconds() * 1000))


def packed(data: bytes) -> bytes:
    """As it is stored: compressed where that pays."""
    if len(data) >= MIN_COMPRESSED and len(smaller := zlib.compress(data, 1)) < len(data):
        return _PACKED + smaller
    return _PLAIN + data


def unpacked(stored: bytes | None) -> bytes | None:
    """What was packed; None where there is nothing, or it is damaged."""
    if not stored:
        return None
    try:
        return inflate(stored[1:], MAX_UNPACKED) if stored[:1] == _PACKED else stored[1:]
    except zlib.error:
        return None


def _decoded(outcome: bytes) -> Outcome | None:
    try:
        return msgspec.msgpack.decode(outcome, type=Outcome)
    except DAMAGED:
        return None
