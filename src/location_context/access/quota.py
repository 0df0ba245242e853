"""Quotas: how many requests a subject may make in each time window, counted exactly.

A window opens with its first request; a minute lasts 60 seconds, a day until midnight UTC. A
request is counted in all windows of its subject or in none; one that should not count is
refunded. When the clock is set back, a window that would now last too long is cut to its
length and keeps its count, so that nobody is locked out and nobody gets a second quota. Moments
are POSIX seconds.
"""

import math
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from location_context.stay import Clock, posix_seconds

DAY = 86400
CLOCK_SLACK_SECONDS = 2 * 3600


class Limit(Struct, frozen=True):
    """At most `quota` requests in a window of `seconds`; one of 86,400 is the UTC day."""

    name: str
    quota: int
    seconds: int

    def end(self, now: float) -> float:
        """When a window ends that opens now."""
        return now + self.seconds if self.seconds != DAY else (now // DAY + 1) * DAY

    @property
    def max_remaining(self) -> float:
        """The most seconds left in a window; more mean that the clock was set back."""
        return float(self.seconds + (CLOCK_SLACK_SECONDS if self.seconds == DAY else 0))


class Limits:
    """The limits under which a subject is counted, all at once.

    Attributes:
        windows: each limit.
        names: which they are; subjects of other names are counted apart.
        policy: `RateLimit-Policy` of the IETF draft.
        policy_header: the same as a header of an answer.
        state: `RateLimit` of it, with a place for what is left in each window, and for how long.
    """

    def __init__(self, *limits: Limit) -> None:
        self.windows = limits
        self.names = tuple(limit.name for limit in limits)
        self.policy = ", ".join(f'"{one.name}";q={one.quota};w={one.seconds}' for one in limits)
        self.policy_header = (b"ratelimit-policy", self.policy.encode())
        self.state = ", ".join(f'"{one.name}";r=%s;t=%d' for one in limits)


class Window(Struct, frozen=True):
    """How much of a limit is used, and when it ends."""

    limit: Limit
    used: int
    ends: float

    @property
    def left(self) -> int:
        """How many requests are left, never below 0: a quota may have been lowered."""
        return max(0, self.limit.quota - self.used)

    def at(self, now: float, limit: Limit) -> "Window":
        """This window now, under the limit: a new one if it has ended, cut if the clock went back.

        The limit may have another quota than the window was opened with.
        """
        left = self.ends - now
        if 0 < left <= limit.max_remaining and limit is self.limit:
            return self
        if left <= 0:
            return Window(limit, 0, limit.end(now))
        ends = self.ends if left <= limit.max_remaining else limit.end(now)
        return Window(limit, self.used, ends)


class RateLimitResult(Struct, frozen=True):
    """The result for one request: whether it is allowed, and the windows after it."""

    allowed: bool
    limits: Limits
    windows: Sequence[Window]
    now: float

    @property
    def retry_after(self) -> int:
        """Seconds until every used-up window has ended."""
        ends = max((w.ends for w in self.windows if not w.left), default=self.now)
        return max(1, math.ceil(ends - self.now))

    @property
    def headers(self) -> dict[str, str]:
        """`RateLimit-Policy` and `RateLimit` of the IETF draft."""
        return {"RateLimit-Policy": self.limits.policy, "RateLimit": self.state}

    @property
    def state(self) -> str:
        """`RateLimit` of the IETF draft: what is left in each window, and for how long."""
        left: list[int] = []
        for window in self.windows:
            left += (window.left, math.ceil(window.ends - self.now))
        return self.limits.state % tuple(left)


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


Windows: TypeAlias = Sequence[Window]
Kind: TypeAlias = OrderedDict[str, Windows]


class MemoryCounter:
    """Counts in this process.

    The number of subjects is bounded for each kind (each set of limits), so that a flood of
    client addresses never drives out the count of a key.
    """

    degraded = False

    def __init__(self, clock: Clock, subjects: int = 50_000) -> None:
        self._now = posix_seconds(clock)
        self._subjects = subjects
        self._kinds: dict[tuple[str, ...], Kind] = {}
        self._secrets: OrderedDict[str, bytes] = OrderedDict()

    def consume_nowait(self, subject: str, limits: Limits) -> RateLimitResult:
        """Count one request of `subject` if every window has room."""
        now, kind = self._now(), self._kind(limits)
        stored = kind.get(subject)
        if stored is None:
            self._forget(kind, now)
            stored = [Window(limit, 0, limit.end(now)) for limit in limits.windows]
        allowed = True
        windows, counted = [], []
        for kept, limit in zip(stored, limits.windows, strict=True):
            window = kept.at(now, limit)
            allowed = allowed and window.used < limit.quota
            windows.append(window)
            counted.append(Window(limit, window.used + 1, window.ends))
        windows = counted if allowed else windows
        kind[subject] = windows
        kind.move_to_end(subject)
        return RateLimitResult(allowed, limits, windows, now)

    async def consume(self, subject: str, limits: Limits) -> RateLimitResult:
        return self.consume_nowait(subject, limits)

    def record(self, subject: str, result: RateLimitResult) -> None:
        """Continue from windows that were counted elsewhere."""
        kind = self._kind(result.limits)
        if subject not in kind:
            self._forget(kind, result.now)
        kind[subject] = result.windows
        kind.move_to_end(subject)

    def _forget(self, kind: Kind, now: float) -> None:
        """Make room for a new subject: of those unused for longest, the ended ones go."""
        while kind and (len(kind) >= self._subjects or _has_ended(next(iter(kind.values())), now)):
            kind.popitem(last=False)

    async def refund(self, subject: str, result: RateLimitResult) -> None:
        kind = self._kind(result.limits)
        if subject in kind:
            kind[subject] = [
                Window(one.limit, max(0, one.used - 1), one.ends) if one.ends == end.ends else one
                for one, end in zip(kind[subject], result.windows, strict=True)
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


def _has_ended(windows: Windows, now: float) -> bool:
    return all(window.ends <= now for window in windows)
