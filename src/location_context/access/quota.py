"""Quotas: how many requests a subject may make in each time window, counted exactly.

A window opens with its first request; a minute lasts 60 seconds, a day until midnight UTC. A
request is counted in all windows of its subject or in none; one that should not count is
refunded. When the clock is set back, a window that would now last too long is cut to its
length and keeps its count, so that nobody is locked out and nobody gets a second quota.
"""

import math
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Protocol

from location_context.stay import Clock

CLOCK_SLACK_SECONDS = 2 * 3600


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `quota` requests in a window of `seconds`; one of 86,400 is the UTC day."""

    name: str
    quota: int
    seconds: int

    def length(self, now: datetime) -> float:
        """How long a window that opens now lasts, in seconds."""
        if self.seconds != 86400:
            return float(self.seconds)
        today = now.astimezone(UTC).date()
        return (datetime.combine(today + timedelta(days=1), time(), UTC) - now).total_seconds()

    @property
    def max_remaining(self) -> float:
        """The most seconds left in a window; more mean that the clock was set back."""
        return float(self.seconds + (CLOCK_SLACK_SECONDS if self.seconds == 86400 else 0))


@dataclass(frozen=True, slots=True)
class Window:
    """How much of a limit is used; `ends` is a POSIX timestamp in seconds."""

    limit: Limit
    used: int
    ends: float

    @property
    def is_used_up(self) -> bool:
        return self.used >= self.limit.quota

    def at(self, now: datetime) -> "Window":
        """This window now: unchanged, a new one if it has ended, cut if the clock went back."""
        left = self.ends - now.timestamp()
        if left <= 0:
            return open_window(self.limit, now)
        if left > self.limit.max_remaining:
            return replace(self, ends=now.timestamp() + self.limit.length(now))
        return self


def open_window(limit: Limit, now: datetime) -> Window:
    """A window that opens now."""
    return Window(limit, 0, now.timestamp() + limit.length(now))


@dataclass(frozen=True, slots=True)
class RateLimitResult:
    """The result for one request: whether it is allowed, and the windows after it."""

    allowed: bool
    windows: tuple[Window, ...]
    now: datetime

    def seconds_left(self, window: Window) -> int:
        return max(1, math.ceil(window.ends - self.now.timestamp()))

    @property
    def retry_after(self) -> int:
        """Seconds until every used-up window has ended."""
        return max((self.seconds_left(w) for w in self.windows if w.is_used_up), default=1)

    @property
    def headers(self) -> dict[str, str]:
        """`RateLimit-Policy` and `RateLimit` of the IETF draft."""
        limits = [w.limit for w in self.windows]
        policy = [f'"{limit.name}";q={limit.quota};w={limit.seconds}' for limit in limits]
        state = [
            f'"{w.limit.name}";r={max(0, w.limit.quota - w.used)};t={self.seconds_left(w)}'
            for w in self.windows
        ]
        return {"RateLimit-Policy": ", ".join(policy), "RateLimit": ", ".join(state)}


class Counter(Protocol):
    """Where windows are counted."""

    @property
    def degraded(self) -> bool:
        """Whether the shared store is unreachable, and this process counts on its own."""
        ...

    async def consume(self, subject: str, limits: Sequence[Limit]) -> RateLimitResult:
        """Count one request of `subject` if every window has room."""
        ...

    async def refund(self, subject: str, result: RateLimitResult) -> None:
        """Take back the count of a request, unless its window has ended."""
        ...

    async def secret(self, name: str) -> bytes:
        """32 random bytes, the same for all who share the store, kept for two days at most."""
        ...

    async def close(self) -> None: ...


class MemoryCounter:
    """Counts in this process.

    The number of subjects is bounded for each kind (each set of limits), so that a flood of
    client addresses never drives out the count of a key.
    """

    degraded = False

    def __init__(self, clock: Clock, subjects: int = 50_000) -> None:
        self._clock = clock
        self._subjects = subjects
        self._kinds: dict[tuple[str, ...], OrderedDict[str, tuple[Window, ...]]] = {}
        self._secrets: OrderedDict[str, bytes] = OrderedDict()

    async def consume(self, subject: str, limits: Sequence[Limit]) -> RateLimitResult:
        now = self._clock()
        stored = self._kind(limits).get(subject) or tuple(
            open_window(limit, now) for limit in limits
        )
        windows = tuple(
            replace(window, limit=limit).at(now)
            for window, limit in zip(stored, limits, strict=True)
        )
        allowed = not any(window.is_used_up for window in windows)
        if allowed:
            windows = tuple(replace(window, used=window.used + 1) for window in windows)
        result = RateLimitResult(allowed, windows, now)
        self.record(subject, result)
        return result

    def record(self, subject: str, result: RateLimitResult) -> None:
        """Continue from windows that may have been counted elsewhere."""
        kind = self._kind([window.limit for window in result.windows])
        kind[subject] = result.windows
        kind.move_to_end(subject)
        while len(kind) > self._subjects or _have_all_ended(next(iter(kind.values())), result.now):
            kind.popitem(last=False)

    async def refund(self, subject: str, result: RateLimitResult) -> None:
        kind = self._kind([window.limit for window in result.windows])
        if subject in kind:
            kind[subject] = tuple(
                replace(stored, used=max(0, stored.used - 1))
                if stored.ends == given.ends
                else stored
                for stored, given in zip(kind[subject], result.windows, strict=True)
            )

    async def secret(self, name: str) -> bytes:
        if name not in self._secrets:
            self._secrets[name] = secrets.token_bytes(32)
            while len(self._secrets) > 2:
                self._secrets.popitem(last=False)
        return self._secrets[name]

    async def close(self) -> None:
        self._kinds.clear()

    def __len__(self) -> int:
        return sum(len(kind) for kind in self._kinds.values())

    def _kind(self, limits: Sequence[Limit]) -> OrderedDict[str, tuple[Window, ...]]:
        return self._kinds.setdefault(tuple(limit.name for limit in limits), OrderedDict())


def _have_all_ended(windows: tuple[Window, ...], now: datetime) -> bool:
    return all(window.ends <= now.timestamp() for window in windows)
