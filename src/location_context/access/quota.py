"""Quotas: how many requests a subject may make in each window, counted exactly.

A window opens with its first request; a minute lasts 60 seconds, a day until midnight UTC. All
windows of a subject are taken from together or not at all. A request that should not count is
given back. When the clock is set back, a window that would now last too long is cut to its
length and keeps its count, so that nobody is locked out and nobody gets a second quota.
"""

from __future__ import annotations

import math
import secrets
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.stay import Clock

_CLOCK_SLACK = 2 * 3600


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
    def longest(self) -> float:
        """More seconds than this left in a window mean that the clock was set back."""
        return float(self.seconds + (_CLOCK_SLACK if self.seconds == 86400 else 0))


@dataclass(frozen=True, slots=True)
class Window:
    """What was used of a limit; `ends` is a POSIX timestamp in seconds."""

    limit: Limit
    used: int
    ends: float

    @property
    def spent(self) -> bool:
        return self.used >= self.limit.quota

    def at(self, now: datetime) -> Window:
        """This window now: as it is, anew when it has ended, or cut when the clock went back."""
        left = self.ends - now.timestamp()
        if left <= 0:
            return opened(self.limit, now)
        if left > self.limit.longest:
            return replace(self, ends=now.timestamp() + self.limit.length(now))
        return self


def opened(limit: Limit, now: datetime) -> Window:
    """A window that opens now."""
    return Window(limit, 0, now.timestamp() + limit.length(now))


@dataclass(frozen=True, slots=True)
class Taken:
    """The outcome for one request: whether it may pass, and the windows after it."""

    allowed: bool
    windows: tuple[Window, ...]
    at: datetime

    def seconds_left(self, window: Window) -> int:
        return max(1, math.ceil(window.ends - self.at.timestamp()))

    @property
    def retry_after(self) -> int:
        """Seconds until every spent window has ended."""
        return max((self.seconds_left(w) for w in self.windows if w.spent), default=1)

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
        """Whether the shared store is gone, and this process counts on its own."""
        ...

    async def take(self, subject: str, limits: Sequence[Limit]) -> Taken:
        """Count one request of `subject` if every window has room."""
        ...

    async def give_back(self, subject: str, taken: Taken) -> None:
        """Uncount a request, unless its window has ended."""
        ...

    async def secret(self, name: str) -> bytes:
        """32 random bytes, the same for all who share the store, kept for two days at most."""
        ...

    async def close(self) -> None: ...


class MemoryCounter:
    """Counts in this process.

    The number of subjects held is bounded for each kind (each set of limits), so that a flood of
    client addresses never drives out the count of a key.
    """

    degraded = False

    def __init__(self, clock: Clock, subjects: int = 50_000) -> None:
        self._clock = clock
        self._subjects = subjects
        self._kinds: dict[tuple[str, ...], OrderedDict[str, tuple[Window, ...]]] = {}
        self._secrets: OrderedDict[str, bytes] = OrderedDict()

    async def take(self, subject: str, limits: Sequence[Limit]) -> Taken:
        now = self._clock()
        held = self._kind(limits).get(subject) or tuple(opened(limit, now) for limit in limits)
        windows = tuple(
            replace(window, limit=limit).at(now) for window, limit in zip(held, limits, strict=True)
        )
        allowed = not any(window.spent for window in windows)
        if allowed:
            windows = tuple(replace(window, used=window.used + 1) for window in windows)
        taken = Taken(allowed, windows, now)
        self.hold(subject, taken)
        return taken

    def hold(self, subject: str, taken: Taken) -> None:
        """Go on from windows that may have been counted elsewhere."""
        kind = self._kind([window.limit for window in taken.windows])
        kind[subject] = taken.windows
        kind.move_to_end(subject)
        while len(kind) > self._subjects or _all_ended(next(iter(kind.values())), taken.at):
            kind.popitem(last=False)

    async def give_back(self, subject: str, taken: Taken) -> None:
        kind = self._kind([window.limit for window in taken.windows])
        if subject in kind:
            kind[subject] = tuple(
                replace(held, used=max(0, held.used - 1)) if held.ends == given.ends else held
                for held, given in zip(kind[subject], taken.windows, strict=True)
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


def _all_ended(windows: tuple[Window, ...], now: datetime) -> bool:
    return all(window.ends <= now.timestamp() for window in windows)
