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
        longest: the most seconds left in each window.
        policy: `RateLimit-Policy` of the IETF draft.
        policy_header: the same as a header of an answer.
        state: `RateLimit` of it, with a place for what is left in each window, and for how long.
    """

    def __init__(self, *limits: Limit) -> None:
        self.windows = limits
        self.names = tuple(limit.name for limit in limits)
        self.longest = tuple(limit.max_remaining for limit in limits)
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
        return max(0, self.limit.quota - self.used)

    def at(self, now: float, limit: Limit) -> "Window":
        """This window now, under the limit: a new one if it has ended, cut if the clock went back.

        The limit may have another quota than the window was opened with.
        """
        left = self.ends - now
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

    def consume_now(self, subject: str, limits: Limits) -> RateLimitResult | None:
        """Count one request of `subject` if every window has room; None if that takes waiting."""
        ...

    def consume_again(self, subject: str, limits: Limits) -> "Account | None":
        """Count one more of a subject that was counted in this second; its account has the state.

        None where that does not tell all, or there is no room; nothing is counted then.
        """
        ...

    async def consume(self, subject: str, limits: Limits) -> RateLimitResult:
        """The same as `consume_now`, however long it takes."""
        ...

    async def refund(self, subject: str, result: RateLimitResult) -> None:
        """Take back the count of a request, unless its window has ended."""
        ...

    async def secret(self, name: str) -> bytes:
        """32 random bytes, the same for all who share the store, kept for two days at most."""
        ...

    def secret_now(self, name: str) -> bytes | None:
        """The same; None if that takes waiting."""
        ...

    async def close(self) -> None: ...


class Account:
    """The windows of a subject, and how many requests came after in the same second of each.

    In that second nothing changes but the count, so that all else of the header is kept.

    Attributes:
        limits: those of the windows.
        since, until: the span in which `again` may be asked.
        room: how often.
    """

    __slots__ = ("_again", "_left", "_state", "_windows", "limits", "room", "since", "until")

    def __init__(self, limits: Limits, windows: Sequence[Window]) -> None:
        self.limits = limits
        self._windows = windows
        self._again = self.room = 0
        self.since = self.until = 0.0

    def prepare(self, now: float) -> None:
        """Make `again` possible from now on."""
        ends = [(window.ends, math.ceil(window.ends - now)) for window in self._windows]
        self.since = max(end - seconds for end, seconds in ends)
        self.until = min(end - seconds + 1 for end, seconds in ends)
        self._left = [window.left for window in self._windows]
        self.room = min(self._left)
        shown = [part for _, seconds in ends for part in ("%d", seconds)]
        self._state = (self.limits.state % tuple(shown)).encode()

    def again(self) -> "Account":
        """Count one more request."""
        self.room -= 1
        self._again += 1
        return self

    @property
    def state(self) -> bytes:
        """`RateLimit` of the answer to the request that was counted last, by `again`."""
        again = self._again
        return self._state % tuple([left - again for left in self._left])

    @property
    def windows(self) -> Sequence[Window]:
        """All that was counted."""
        if again := self._again:
            self._windows = [Window(w.limit, w.used + again, w.ends) for w in self._windows]
            self._again = self.room = 0
        return self._windows


Kind: TypeAlias = OrderedDict[str, Account]


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

    def consume_now(self, subject: str, limits: Limits) -> RateLimitResult:
        now, kind = self._now(), self._kind(limits)
        account = kind.get(subject)
        if account is None:
            self._forget(kind, now)
            stored: Sequence[Window] = [Window(one, 0, one.end(now)) for one in limits.windows]
        else:
            stored = account.windows
        windows: list[Window] = []
        counted: list[Window] = []
        allowed = True
        for window, limit, longest in zip(stored, limits.windows, limits.longest, strict=True):
            # what holds for nearly every request is asked here, without a call
            if not 0 < window.ends - now <= longest or window.limit is not limit:
                window = window.at(now, limit)  # noqa: PLW2901  the same window, as it is now
            windows.append(window)
            counted.append(Window(limit, window.used + 1, window.ends))
            allowed = allowed and window.used < limit.quota
        windows = counted if allowed else windows
        kind[subject] = again = Account(limits, windows)
        if account is not None:  # most addresses come once
            again.prepare(now)
        kind.move_to_end(subject)
        return RateLimitResult(allowed, limits, windows, now)

    def consume_again(self, subject: str, limits: Limits) -> Account | None:
        kind = self._kinds.get(limits.names)
        account = kind.get(subject) if kind is not None else None
        if account is None or account.limits is not limits or not account.room:
            return None
        return account.again() if account.since <= self._now() < account.until else None

    async def consume(self, subject: str, limits: Limits) -> RateLimitResult:
        return self.consume_now(subject, limits)

    def record(self, subject: str, result: RateLimitResult) -> None:
        """Continue from windows that were counted elsewhere."""
        kind = self._kind(result.limits)
        if subject not in kind:
            self._forget(kind, result.now)
        kind[subject] = Account(result.limits, result.windows)
        kind.move_to_end(subject)

    def _forget(self, kind: Kind, now: float) -> None:
        """Make room for a new subject: of those unused for longest, the ended ones go."""
        while kind and (len(kind) >= self._subjects or _has_ended(next(iter(kind.values())), now)):
            kind.popitem(last=False)

    async def refund(self, subject: str, result: RateLimitResult) -> None:
        kind = self._kind(result.limits)
        if subject in kind:
            account, given = kind[subject], result.windows
            windows = [
                Window(one.limit, max(0, one.used - 1), one.ends) if one.ends == end.ends else one
                for one, end in zip(account.windows, given, strict=True)
            ]
            kind[subject] = Account(account.limits, windows)

    async def secret(self, name: str) -> bytes:
        return self.secret_now(name)

    def secret_now(self, name: str) -> bytes:
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


def _has_ended(account: Account, now: float) -> bool:
    return all(window.ends <= now for window in account.windows)
