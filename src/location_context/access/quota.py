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
from datetime import UTC, datetime, time, timedelta
from typing import Protocol, TypeAlias

from msgspec import Struct

from location_context.stay import Clock

CLOCK_SLACK_SECONDS = 2 * 3600


class Limit(Struct, frozen=True):
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


class Limits:
    """The limits under which a subject is counted, all at once.

    Attributes:
        windows: each limit.
        names: which they are; subjects of other names are counted apart.
        longest: the most seconds left in each window.
        policy: `RateLimit-Policy` of the IETF draft.
    """

    def __init__(self, *limits: Limit) -> None:
        self.windows = limits
        self.names = tuple(limit.name for limit in limits)
        self.longest = tuple(limit.max_remaining for limit in limits)
        self.policy = ", ".join(f'"{one.name}";q={one.quota};w={one.seconds}' for one in limits)


class Window(Struct, frozen=True):
    """How much of a limit is used; `ends` is a POSIX timestamp in seconds."""

    limit: Limit
    used: int
    ends: float

    @property
    def is_used_up(self) -> bool:
        return self.used >= self.limit.quota

    def at(self, now: datetime, limit: Limit) -> "Window":
        """This window now, under the limit: a new one if it has ended, cut if the clock went back.

        The limit may have another quota than the window was opened with.
        """
        left = self.ends - now.timestamp()
        if left <= 0:
            return open_window(limit, now)
        if left > limit.max_remaining:
            return Window(limit, self.used, now.timestamp() + limit.length(now))
        return self if limit is self.limit else Window(limit, self.used, self.ends)


def open_window(limit: Limit, now: datetime) -> Window:
    """A window that opens now."""
    return Window(limit, 0, now.timestamp() + limit.length(now))


class RateLimitResult(Struct, frozen=True):
    """The result for one request: whether it is allowed, and the windows after it."""

    allowed: bool
    limits: Limits
    windows: Sequence[Window]
    now: datetime

    @property
    def retry_after(self) -> int:
        """Seconds until every used-up window has ended."""
        now = self.now.timestamp()
        ends = max((w.ends for w in self.windows if w.is_used_up), default=now)
        return max(1, math.ceil(ends - now))

    @property
    def headers(self) -> dict[str, str]:
        """`RateLimit-Policy` and `RateLimit` of the IETF draft."""
        return {"RateLimit-Policy": self.limits.policy, "RateLimit": self.state}

    @property
    def state(self) -> str:
        """`RateLimit` of the IETF draft: what is left in each window, and for how long."""
        now, parts = self.now.timestamp(), []
        for window in self.windows:
            left, seconds = window.limit.quota - window.used, math.ceil(window.ends - now)
            parts.append(f'"{window.limit.name}";r={max(0, left)};t={seconds}')
        return ", ".join(parts)


class Counter(Protocol):
    """Where windows are counted."""

    @property
    def degraded(self) -> bool:
        """Whether the shared store is unreachable, and this process counts on its own."""
        ...

    async def consume(self, subject: str, limits: Limits) -> RateLimitResult:
        """Count one request of `subject` if every window has room."""
        ...

    async def refund(self, subject: str, result: RateLimitResult) -> None:
        """Take back the count of a request, unless its window has ended."""
        ...

    async def secret(self, name: str) -> bytes:
        """32 random bytes, the same for all who share the store, kept for two days at most."""
        ...

    async def close(self) -> None: ...


Kind: TypeAlias = OrderedDict[str, Sequence[Window]]


class MemoryCounter:
    """Counts in this process.

    The number of subjects is bounded for each kind (each set of limits), so that a flood of
    client addresses never drives out the count of a key.
    """

    degraded = False

    def __init__(self, clock: Clock, subjects: int = 50_000) -> None:
        self._clock = clock
        self._subjects = subjects
        self._kinds: dict[tuple[str, ...], Kind] = {}
        self._secrets: OrderedDict[str, bytes] = OrderedDict()

    async def consume(self, subject: str, limits: Limits) -> RateLimitResult:
        now = self._clock()
        at = now.timestamp()
        kind = self._kind(limits)
        stored = kind.get(subject)
        windows, allowed = [], True
        for number, limit in enumerate(limits.windows):
            window = stored[number] if stored is not None else open_window(limit, now)
            # what holds for nearly every request is asked here, without a call
            if not 0 < window.ends - at <= limits.longest[number] or window.limit is not limit:
                window = window.at(now, limit)
            if window.used >= limit.quota:
                allowed = False
            windows.append(window)
        if allowed:
            windows = [Window(w.limit, w.used + 1, w.ends) for w in windows]
        if stored is None:
            self._forget(kind, at)
        kind[subject] = windows
        kind.move_to_end(subject)
        return RateLimitResult(allowed, limits, windows, now)

    def record(self, subject: str, result: RateLimitResult) -> None:
        """Continue from windows that were counted elsewhere."""
        kind = self._kind(result.limits)
        if subject not in kind:
            self._forget(kind, result.now.timestamp())
        kind[subject] = result.windows
        kind.move_to_end(subject)

    def _forget(self, kind: Kind, now: float) -> None:
        """Make room for a new subject: of those unused for longest, the ended ones go."""
        while kind and (
            len(kind) >= self._subjects or _have_all_ended(next(iter(kind.values())), now)
        ):
            kind.popitem(last=False)

    async def refund(self, subject: str, result: RateLimitResult) -> None:
        kind = self._kind(result.limits)
        if subject in kind:
            kind[subject] = [
                Window(stored.limit, max(0, stored.used - 1), stored.ends)
                if stored.ends == given.ends
                else stored
                for stored, given in zip(kind[subject], result.windows, strict=True)
            ]

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

    def _kind(self, limits: Limits) -> Kind:
        if (kind := self._kinds.get(limits.names)) is None:
            kind = self._kinds[limits.names] = OrderedDict()
        return kind


def _have_all_ended(windows: Sequence[Window], now: float) -> bool:
    return all(window.ends <= now for window in windows)
