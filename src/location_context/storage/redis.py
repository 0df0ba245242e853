"""Redis or Valkey: the connection, and the quota counter that all replicas share.

While Redis is unavailable, each process counts on its own: `execute` returns None at once, and only
one call a second tries to reach Redis.
"""

import asyncio
import math
import secrets
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from importlib.resources import files
from itertools import chain
from typing import Any, TypeAlias

import structlog

from location_context.access.quota import Limits, MemoryCounter, RateLimitResult
from location_context.errors import OperatorError
from location_context.settings import Secret
from location_context.stay import Clock, posix_seconds

MAX_CONNECTIONS = 16
TIMEOUT = 0.25  # seconds that a caller waits for a free connection and the reply together
SOCKET_TIMEOUT = 1.0  # seconds without a reply, after which a connection is closed
RETRY_AFTER = 1.0  # seconds between a failed or late command and the next attempt
PASSES = 3  # turns of the event loop until a reply that has arrived is surely read
LOG_SECONDS = 60.0  # between two log lines on commands that Redis refuses
NOT_INSTALLED = "REDIS_URL needs the client of Redis: pip install 'location-context[redis]'."


class RedisLink:
    """An optional connection to Redis: if it fails, callers continue. Keys begin with `prefix`.

    Attributes:
        degraded: True if Redis is unavailable: the last command failed or was late.
    """

    def __init__(
        self, url: Secret, prefix: str = "location-context:", timeout: float = TIMEOUT
    ) -> None:
        """Prepare a connection; `timeout` is the longest time that a caller waits, in seconds.

        Raises:
            OperatorError: the Redis client library is not installed.
        """
        # imported here: it takes 0.1 s and 15 MB, and most services run without Redis
        try:
            from redis import exceptions  # noqa: PLC0415  large, and rare
            from redis.asyncio import Redis  # noqa: PLC0415  large, and rare
            from redis.asyncio.retry import Retry  # noqa: PLC0415  large, and rare
            from redis.backoff import NoBackoff  # noqa: PLC0415  large, and rare
        except ModuleNotFoundError:
            raise OperatorError(NOT_INSTALLED) from None

        self.prefix = prefix
        self.degraded = False
        self._timeout = timeout
        self._retry_at = 0.0
        self._semaphore = asyncio.Semaphore(MAX_CONNECTIONS)
        self._under_way: set[asyncio.Task[tuple[str, Any]]] = set()
        self._refusals = exceptions.ResponseError  # such as a key of another type, or no memory
        self._failures = (exceptions.RedisError, OSError, TimeoutError)
        self._logged_at = -math.inf
        self.redis = Redis.from_url(
            url.reveal(),
            socket_timeout=max(timeout, SOCKET_TIMEOUT),
            socket_connect_timeout=max(timeout, SOCKET_TIMEOUT),
            retry=Retry(NoBackoff(), 1, supported_errors=(exceptions.ConnectionError,)),
        )

    def script(self, text: str) -> Callable[..., Awaitable[Any]]:
        """Return a function that runs a Lua script; Redis receives its text once, then its hash."""
        return self.redis.register_script(text)

    async def execute(self, command: Callable[[], Awaitable[Any]]) -> Any:
        """Run a command and return the reply; None if Redis is unavailable, late or refuses it.

        `command` is a function that sends the command. A late command continues in the background.
        For a second after a late or failed command, calls return None without sending anything.
        """
        if self.is_unavailable:
            return None
        if self.degraded:
            self._retry_at = time.monotonic() + self._timeout + RETRY_AFTER
        task = asyncio.ensure_future(self._connected(command))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        await asyncio.wait({task}, timeout=self._timeout)
        for _ in range(PASSES):  # a busy event loop may not have read the reply yet
            if not task.done():
                await asyncio.sleep(0)
        failure, reply = task.result() if task.done() else ("late", None)
        if failure:
            self._retry_at = time.monotonic() + RETRY_AFTER
            if not self.degraded:
                structlog.get_logger().warning(
                    "quota_store_unavailable", why=failure, counting="in this process"
                )
        elif self.degraded:
            structlog.get_logger().info("quota_store_back")
        self.degraded = bool(failure)
        return reply

    async def _connected(self, command: Callable[[], Awaitable[Any]]) -> tuple[str, Any]:
        """Run a command; return ("", its reply).

        If Redis refuses the command, return ("", None). After a failure such as a lost connection,
        return (the error's name, None).
        """
        async with self._semaphore:
            try:
                return "", await command()
            except self._refusals as error:
                self._log_refusal(error)
                return "", None
            except self._failures as error:
                return type(error).__name__, None

    def _log_refusal(self, error: Exception) -> None:
        """Log that Redis refused a command, at most once a minute."""
        if time.monotonic() - self._logged_at >= LOG_SECONDS:
            self._logged_at = time.monotonic()
            code = str(error).partition(" ")[0]
            structlog.get_logger().warning("redis_refused", why=type(error).__name__, code=code)

    @property
    def is_unavailable(self) -> bool:
        """True for one second after a failure; during that time, no command is sent to Redis."""
        return self.degraded and time.monotonic() < self._retry_at

    async def close(self) -> None:
        await asyncio.gather(*self._under_way, return_exceptions=True)
        await self.redis.aclose()
        await self.redis.connection_pool.disconnect()


_REFUND_SCRIPT = """
for i = 2, #ARGV, 2 do
  local held = redis.call('HMGET', KEYS[1], ARGV[i] .. ':used', ARGV[i] .. ':ends')
  if held[2] == ARGV[i + 1] then
    local counted = math.min(tonumber(held[1]), tonumber(ARGV[1]))
    redis.call('HINCRBY', KEYS[1], ARGV[i] .. ':used', -counted)
  end
end
"""
SECRET_TTL = 2 * 86400  # seconds for which Redis stores a secret; it is used for a day
CLOCK_SLACK_MS = 5000  # smaller differences from Redis' clock are ignored: commands take time


Waiting: TypeAlias = dict[tuple[str, Limits, int], list[asyncio.Future[RateLimitResult | None]]]


class RedisCounter:
    """The `Counter` of `access.quota` in Redis; while Redis is unavailable, counts in this process.

    Requests that arrive during a call to Redis are counted together by the next call. One script
    counts each request in all windows of its subject (API key or client) or in none, so concurrent
    counts are exact. The rules are those of `access.quota.Windows`. Times are whole milliseconds of
    `clock`. If this machine's clock differs from Redis' by 5 s or more, the difference is added to
    all times. So replicas agree about the end of a window.
    """

    def __init__(
        self, link: RedisLink, clock: Clock, machine: Callable[[], float] = time.time
    ) -> None:
        """Set the clocks: `clock` times the windows, `machine` is compared with Redis' clock."""
        self._link = link
        self._clock = posix_seconds(clock)
        self._machine = machine
        self._off = 0.0  # seconds by which this machine's clock is behind Redis' clock
        self._refused = False  # whether Redis refused to count the last requests
        self._local = MemoryCounter(lambda: datetime.fromtimestamp(self._now(), UTC))
        self._secret: tuple[str, bytes] = ("", b"")
        count = files("location_context.storage").joinpath("quota.lua").read_text("utf-8")
        self._consume_script = link.script(count)
        self._refund_script = link.script(_REFUND_SCRIPT)
        self._waiting: Waiting = {}  # requests to be counted by the next call
        self._calls: asyncio.Task[None] | None = None

    @property
    def degraded(self) -> bool:
        return self._link.degraded or self._refused

    def _now(self) -> float:
        return self._clock() + self._off

    @property
    def _calling(self) -> bool:
        return self._calls is not None and not self._calls.done()

    @property
    def _alone(self) -> bool:
        """True if requests are counted in this process's memory, because Redis has failed.

        After a second, one request tries Redis again; until Redis replies, this is still True.
        """
        return self._link.is_unavailable or (self._link.degraded and self._calling)

    def consume_nowait(self, subject: str, limits: Limits, cost: int = 1) -> RateLimitResult | None:
        return self._local.consume_nowait(subject, limits, cost) if self._alone else None

    async def consume(self, subject: str, limits: Limits, cost: int = 1) -> RateLimitResult:
        if (counted := self.consume_nowait(subject, limits, cost)) is not None:
            return counted
        future = asyncio.get_running_loop().create_future()
        self._waiting.setdefault((subject, limits, cost), []).append(future)
        if not self._calling:
            self._calls = asyncio.create_task(self._call())
        return await future or self._local.consume_nowait(subject, limits, cost)

    async def _call(self) -> None:
        """Count all waiting requests against quotas with one command; repeat while more arrive."""
        while waiting := self._waiting:
            self._waiting = {}
            try:
                await self._count(waiting)
            finally:  # None makes `consume` count in this process the requests that Redis did not
                for future in chain.from_iterable(waiting.values()):
                    if not future.done():
                        future.set_result(None)

    async def _count(self, waiting: Waiting) -> None:
        now = self._now()
        here = int((self._machine() + self._off) * 1000)
        arguments: list[str | int] = [int(now * 1000), here, CLOCK_SLACK_MS]
        for (_, limits, cost), futures in waiting.items():
            arguments += [len(futures), cost, len(limits.windows)]
            for limit in limits.windows:
                length = int(limit.end(now) * 1000) - int(now * 1000)
                arguments += [limit.name, limit.quota, length, int(limit.max_remaining * 1000)]
        keys = [self._link.prefix + subject for subject, *_ in waiting]
        reply = await self._link.execute(lambda: self._consume_script(keys, arguments))
        self._refused = reply is None and not self._link.degraded
        counts = iter(reply or (0,))
        off = next(counts) / 1000
        self._off += off
        now += off
        for (request, futures), granted in zip(waiting.items(), counts, strict=False):
            subject, limits, cost = request
            counted = [(next(counts), next(counts) / 1000) for _ in limits.windows]
            ends = tuple(end for _, end in counted)
            for number, future in enumerate(futures, 1):
                later = cost * max(0, granted - number)  # units that later requests spent
                used = tuple(used - later for used, _ in counted)
                result = RateLimitResult(subject, number <= granted, limits, used, ends, now, cost)
                if not future.done():  # its request may have been cancelled
                    future.set_result(result)
            self._local.record(result)

    async def refund(self, result: RateLimitResult) -> None:
        arguments: list[str | int] = [result.cost]
        for name, end in zip(result.limits.names, result.ends, strict=True):
            arguments += [name, round(end * 1000)]
        key = self._link.prefix + result.subject
        await self._link.execute(lambda: self._refund_script([key], arguments))
        await self._local.refund(result)

    async def secret(self, name: str) -> bytes:
        if self._secret[0] == name:
            return self._secret[1]
        key, made = self._link.prefix + name, secrets.token_hex(16)
        await self._link.execute(lambda: self._link.redis.set(key, made, nx=True, ex=SECRET_TTL))
        stored = await self._link.execute(lambda: self._link.redis.get(key))
        if not stored:
            return await self._local.secret(name)
        self._secret = (name, bytes(stored))
        return self._secret[1]
