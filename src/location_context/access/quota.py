"""Quotas: how many requests a subject (an API key or a client) may make in each time window.

A window opens with its first request; a minute lasts 60 seconds, a day until midnight UTC. A
request is counted in all windows of its subject or in none; requests that should not count are
refunded. If the clock is set back, windows that would last too long are shortened and keep their
count. So nobody is locked out, and nobody receives a second quota. Times are POSIX seconds.
"""

import math
import operator
import secrets
from collections import OrderedDict
from typing import Protocol, Self, TypeAlias

from msgspec import Struct

from location_context.stay import Clock, posix_seconds

DAY = 86400
CLOCK_SLACK_SECONDS = 2 * 3600  # by which a clock may be set back before a day is shortened


class Limit(Struct, frozen=True):
    """A limit of `quota` requests in a window of `seconds`; 86,400 seconds mean a UTC day."""

    name: str
    quota: int
    seconds: int

    def end(self, now: float) -> float:
        """Return the end of a window that opens at `now`, in POSIX seconds."""
        return now + self.seconds if self.seconds != DAY else (now // DAY + 1) * DAY

    @property
    def max_remaining(self) -> float:
        """The most seconds that a window can have left; if it has more, the clock was set back."""
        return float(self.seconds + (CLOCK_SLACK_SECONDS if self.seconds == DAY else 0))


class Limits:
    """The limits of a subject (an API key or a client); all of them apply to each request.

    Attributes:
        windows: the limits, one for each window (such as a minute and a day), the shortest first.
        names: the limits' names; `MemoryCounter` counts separately for each tuple of names.
        quotas: the number of requests that each limit allows, in the order of `windows`.
        policy: name and value of the header `RateLimit-Policy` of the IETF draft.
        state: a template of the header `RateLimit`; each window has two `%d`, for the requests left
            and for the seconds to its end.
    """

    def __init__(self, *limits: Limit) -> None:
        self.windows = limits
        self.names = tuple(limit.name for limit in limits)
        self.quotas = tuple(limit.quota for limit in limits)
        policy = ", ".join(f'"{one.name}";q={one.quota};w={one.seconds}' for one in limits)
        self.policy = (b"ratelimit-policy", policy.encode())
        self.state = ", ".join(f'"{one.name}";r=%d;t=%d' for one in limits).encode()


class RateLimitResult(Struct, frozen=True):
    """The result of counting one request of `subject`.

    Attributes:
        allowed: True if the request was counted, False if a quota is used up.
        used: requests used in each window, in the order of `limits`.
        ends: end of each window, in POSIX seconds.
        now: time of counting, in POSIX seconds.
        cost: the number of requests that this request counts as.
    """

    subject: str
    allowed: bool
    limits: Limits
    used: tuple[int, ...]
    ends: tuple[float, ...]
    now: float
    cost: int = 1

    @property
    def used_up(self) -> Limit | None:
        """The longest limit that has fewer than `cost` requests left; None if all have enough."""
        left = zip(reversed(self.limits.windows), reversed(self.used), strict=True)
        return next((one for one, used in left if used + self.cost > one.quota), None)

    @property
    def retry_after(self) -> int:
        """Whole seconds until all limits allow the request again, at least 1."""
        counts = zip(self.limits.quotas, self.used, self.ends, strict=True)
        ends = (end for quota, used, end in counts if used + self.cost > quota)
        full_until = max(ends, default=self.now)
        return max(1, math.ceil(full_until - self.now))

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """The headers `RateLimit-Policy` and `RateLimit` of the IETF draft.

        The remaining requests are at least 0, even if a quota was lowered after more were used.
        """
        limits, now, left = self.limits, self.now, list[int]()
        for quota, used, end in zip(limits.quotas, self.used, self.ends, strict=True):
            left.append(quota - used if used < quota else 0)
            left.append(math.ceil(end - now))
        return [limits.policy, (b"ratelimit", limits.state % tuple(left))]


class Windows:
    """The windows of one subject: the requests used and the end of each.

    The windows are valid from `since` until `until`. At other times, call `advance` before use.
    """

    __slots__ = ("ends", "since", "until", "used")

    def __init__(self, limits: Limits, used: tuple[int, ...], ends: tuple[float, ...]) -> None:
        self.set(limits, used, ends)

    @classmethod
    def opened(cls, limits: Limits, now: float) -> Self:
        """Return unused windows that open at `now`."""
        return cls(limits, (0,) * len(limits.names), tuple(one.end(now) for one in limits.windows))

    def set(self, limits: Limits, used: tuple[int, ...], ends: tuple[float, ...]) -> None:
        self.used, self.ends = used, ends
        self.until = min(ends)
        rest = zip(ends, limits.windows, strict=True)
        self.since = max(end - limit.max_remaining for end, limit in rest)

    def advance(self, limits: Limits, now: float) -> None:
        """Open a new window for each that ended; shorten windows after the clock was set back."""
        used, ends = list(self.used), list(self.ends)
        for number, limit in enumerate(limits.windows):
            if ends[number] <= now:
                used[number], ends[number] = 0, limit.end(now)
            elif ends[number] - now > limit.max_remaining:
                ends[number] = limit.end(now)
        self.set(limits, tuple(used), tuple(ends))


class Counter(Protocol):
    """A counter of requests by subject and window, in memory or in a shared store."""

    @property
    def degraded(self) -> bool:
        """True if the shared store is unreachable, so that this process counts on its own."""
        ...

    async def consume(self, subject: str, limits: Limits, cost: int = 1) -> RateLimitResult:
        """Count a request as `cost` requests unless that exceeds a quota; return the result."""
        ...

    def consume_nowait(self, subject: str, limits: Limits, cost: int = 1) -> RateLimitResult | None:
        """Count like `consume`, but at once; return None if a shared store must be asked."""
        ...

    async def refund(self, result: RateLimitResult) -> None:
        """Subtract a counted request from its windows, except from windows that have ended."""
        ...

    async def secret(self, name: str) -> bytes:
        """Return random bytes that all processes share under this name, unchanged for two days."""
        ...


Kind: TypeAlias = OrderedDict[str, Windows]


class MemoryCounter:
    """A `Counter` in the memory of this process.

    The number of subjects is bounded separately for each set of limits. So a flood of client
    addresses cannot displace the counts of API keys.
    """

    degraded = False

    def __init__(self, clock: Clock, subjects: int = 50_000) -> None:
        self._now = posix_seconds(clock)
        self._subjects = subjects
        self._kinds: dict[tuple[str, ...], Kind] = {}
        self._secrets: OrderedDict[str, bytes] = OrderedDict()

    def consume_nowait(self, subject: str, limits: Limits, cost: int = 1) -> RateLimitResult:
        """Count a request as `cost` requests unless that exceeds a quota; return the result."""
        now, kind = self._now(), self._kind(limits)
        if (windows := kind.get(subject)) is None:
            self._forget(kind, now)
            windows = kind[subject] = Windows.opened(limits, now)
        else:
            kind.move_to_end(subject)
        if not windows.since <= now < windows.until:
            windows.advance(limits, now)
        then = tuple([used + cost for used in windows.used])
        allowed = all(map(operator.le, then, limits.quotas))
        if allowed:
            windows.used = then
        return RateLimitResult(subject, allowed, limits, windows.used, windows.ends, now, cost)

    async def consume(self, subject: str, limits: Limits, cost: int = 1) -> RateLimitResult:
        return self.consume_nowait(subject, limits, cost)

    def record(self, result: RateLimitResult) -> None:
        """Copy the counts in another counter's result, to continue from them if that one fails."""
        kind, subject = self._kind(result.limits), result.subject
        if subject not in kind:
            self._forget(kind, result.now)
        kind[subject] = Windows(result.limits, result.used, result.ends)
        kind.move_to_end(subject)

    def _forget(self, kind: Kind, now: float) -> None:
        """Remove the oldest subjects of `kind` if all their windows ended or `kind` is full."""
        while kind:
            oldest = next(iter(kind.values()))
            if len(kind) < self._subjects and max(oldest.ends) > now:
                return
            kind.popitem(last=False)

    async def refund(self, result: RateLimitResult) -> None:
        if (windows := self._kind(result.limits).get(result.subject)) is not None:
            same = map(operator.eq, windows.ends, result.ends)
            pairs = zip(windows.used, same, strict=True)
            cost = result.cost
            windows.used = tuple([max(0, used - cost * is_same) for used, is_same in pairs])

    async def secret(self, name: str) -> bytes:
        if name not in self._secrets:
            self._secrets[name] = secrets.token_bytes(32)
            while len(self._secrets) > 2:
                self._secrets.popitem(last=False)
        return self._secrets[name]

    def __len__(self) -> int:
        return sum(len(kind) for kind in self._kinds.values())

    def _kind(self, limits: Limits) -> Kind:
        if (kind := self._kinds.get(limits.names)) is None:
            kind = self._kinds[limits.names] = OrderedDict()
        return kind
