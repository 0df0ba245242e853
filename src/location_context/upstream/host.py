"""Host: what a provider counts by caller, whichever of its addresses is asked; and its breaker.

Units spent (`Budget`), calls in flight (`Slots`) and the time it asked to be left alone belong to
the host: every `ProviderClient` that asks it, of whatever section, shares one `Host`, which `Hosts`
hands out by name. Calls are counted within this process, within this machine by locks on files that
all workers and commands of one data directory share, or over machines (`storage.redis.RedisSlots`).
"""

import asyncio
import os
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

try:
    import fcntl
except ImportError:  # not a POSIX system: each process counts alone
    fcntl = None  # type: ignore[assignment]  # it is asked for before it is used

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
_BUCKETS = 60  # per window
_RETRY_LOCK_SECONDS = 0.02  # short beside a call of 50 ms and more, long beside a try of 20 µs
State = Literal["closed", "open", "half_open"]


@dataclass
class _Window:
    """Units spent in the last `seconds`, in buckets of a sixtieth of it."""

    seconds: float
    limit: float
    spent: float = 0.0
    public: float = 0.0
    buckets: deque[tuple[int, float, float]] = field(default_factory=deque)

    def drop_old(self, now: float) -> None:
        oldest = int(now / self.seconds * _BUCKETS) - _BUCKETS
        while self.buckets and self.buckets[0][0] < oldest:
            _, units, public = self.buckets.popleft()
            self.spent -= units
            self.public -= public

    def allows(self, units: float, *, public: bool) -> bool:
        fits = self.spent + units <= self.limit
        return fits and (not public or self.public + units <= self.limit / 2)

    def wait(self, now: float, units: float) -> float:
        """Seconds until so many of the oldest units have left the window that `units` fit."""
        units, free = min(units, self.limit), self.limit - self.spent
        for bucket, spent, _ in self.buckets:
            if free >= units:
                break
            free += spent
            leaves = (bucket + _BUCKETS + 1) / _BUCKETS * self.seconds
            if free >= units:
                return max(0.0, leaves - now)
        return 0.0 if free >= units else self.seconds

    def span(self, units: float) -> float:
        """Seconds until `units` are spent: what does not fit now comes free at an even pace."""
        over = max(0.0, units - (self.limit - self.spent))
        return over / self.limit * self.seconds

    def add(self, now: float, units: float, *, public: bool) -> None:
        bucket = int(now / self.seconds * _BUCKETS)
        self.spent += units
        self.public += units if public else 0.0
        self.buckets.append((bucket, units, units if public else 0.0))


class Budget:
    """Weighted units for one provider. An empty mapping of limits allows everything."""

    def __init__(
        self,
        limits: Mapping[float, float],
        now: Callable[[], float] = time.monotonic,
        *,
        share: float = 1.0,
    ) -> None:
        """`limits` maps a window's length in seconds to its units; `share` is this process's part.

        Windows under a minute are too short to share out: a 429 then asks for a pause.
        """
        self._windows = [
            _Window(seconds, limit * (share if seconds >= MINUTE else 1.0))
            for seconds, limit in limits.items()
        ]
        self._now = now
        self.total = 0.0  # units spent since the start
        self.refused = 0  # calls it did not allow

    def _drop_old(self) -> float:
        """Forget what has left the windows; gives the time."""
        now = self._now()
        for window in self._windows:
            window.drop_old(now)
        return now

    def take(self, units: float, *, public: bool = False) -> bool:
        """Spend `units` if every window allows it; False, and nothing spent, if one does not."""
        now = self._drop_old()
        if not all(window.allows(units, public=public) for window in self._windows):
            self.refused += 1
            return False
        for window in self._windows:
            window.add(now, units, public=public)
        self.total += units
        return True

    def spent_share(self) -> float:
        """How much is spent of the window that has the least left, from 0 to 1."""
        self._drop_old()
        return max((window.spent / window.limit for window in self._windows), default=0.0)

    def wait(self, units: float) -> float:
        """Seconds until `units` may be spent, or a whole window's; 0 when they may be now."""
        now = self._drop_old()
        return max((window.wait(now, units) for window in self._windows), default=0.0)

    def span(self, units: float) -> float:
        """Seconds, about, until so many units are spent, more than a window holds included."""
        self._drop_old()
        return max((window.span(units) for window in self._windows), default=0.0)

    def spent(self) -> dict[float, float]:
        """Units spent in each window, by its length in seconds."""
        self._drop_old()
        return {window.seconds: window.spent for window in self._windows}


class Slots(Protocol):
    """So many calls at once.

    Example:
        async with slots.hold():
            answer = await call()
    """

    def hold(self) -> AbstractAsyncContextManager[None]:
        """Waits until there is a slot, and holds it until the block ends."""
        ...


class LocalSlots:
    """`count` calls at once in this process."""

    def __init__(self, count: int) -> None:
        self._semaphore = asyncio.Semaphore(count)

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        async with self._semaphore:
            yield


class FileSlots:
    """`count` calls at once over all processes that share `folder`.

    Where the folder cannot be written to, this process counts alone.
    """

    def __init__(self, folder: Path, name: str, count: int) -> None:
        self._paths = [folder / f"{name}-{number}.lock" for number in range(count)]
        self._semaphore = asyncio.Semaphore(count)

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        async with self._semaphore:
            descriptor = await self._locked()
            try:
                yield
            finally:
                if descriptor is not None:
                    os.close(descriptor)  # which releases the lock

    async def _locked(self) -> int | None:
        """The descriptor of a file that this call alone has locked; None without a folder."""
        while True:
            try:
                for path in self._paths:
                    if (descriptor := _try_lock(path)) is not None:
                        return descriptor
            except OSError:
                return None
            await asyncio.sleep(_RETRY_LOCK_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311  jitter, no secret


def _try_lock(path: Path) -> int | None:
    """A descriptor that holds the lock of the file, or None while another holds it.

    Raises:
        OSError: the file cannot be opened or locked at all.
    """
    if fcntl is None:
        raise OSError
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return descriptor


class Host:
    """One provider's machines as its terms count them."""

    def __init__(self, budget: Budget | None = None, slots: Slots | None = None) -> None:
        """`budget` in the provider's units; `slots` for calls in flight; None is without limit."""
        self.budget = budget or Budget({})
        self.backoff_until: datetime | None = None
        self.answers = False  # whether the newest call to it succeeded, or was refused in form
        self.quiet = asyncio.Event()  # set while no call is under way or waits for its turn
        self.quiet.set()
        self._slots = slots
        self._calls = 0

    @contextmanager
    def call(self) -> Iterator[None]:
        """Counts a call with its wait for a slot until the block ends."""
        self._calls += 1
        self.quiet.clear()
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self.quiet.set()

    def slot(self) -> AbstractAsyncContextManager[None]:
        """Waits until one more call may be in flight, and counts it until the block ends."""
        return self._slots.hold() if self._slots else nullcontext()


class Hosts:
    """The shared hosts of one process, by name. `make_slots` counts calls beyond the process.

    Example:
        host = hosts.get("open_meteo", {MINUTE: 480.0}, at_once=3)
        upstream = ProviderClient("open_meteo_marine", url, client, clock, host=host)
    """

    def __init__(
        self,
        make_slots: Callable[[str, int], Slots] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`now` is the clock of the budgets, in seconds."""
        self._now = now
        self._make_slots = make_slots or (lambda _, count: LocalSlots(count))
        self._hosts: dict[str, Host] = {}

    @property
    def refused(self) -> int:
        """How many calls the budgets of hosts that answer did not allow so far."""
        return sum(host.budget.refused for host in self._hosts.values() if host.answers)

    def wait(self, units: float) -> float:
        """Seconds until every host may be asked for so many units."""
        return max((host.budget.wait(units) for host in self._hosts.values()), default=0.0)

    def span(self, share: float) -> float:
        """Seconds that spending so many times what was spent so far will take."""
        budgets = [host.budget for host in self._hosts.values()]
        return max((budget.span(budget.total * share) for budget in budgets), default=0.0)

    def get(
        self, name: str, limits: Mapping[float, float], *, share: float = 1.0, at_once: int | None
    ) -> Host:
        """The host of that name; whoever asks first settles its limits.

        Args:
            name: a word for file names and Redis keys, such as `open_meteo`.
            limits: units by the length of their window in seconds, as `Budget` takes them.
            share: this process's part of them.
            at_once: calls in flight, over all processes; None is without limit.
        """
        if name not in self._hosts:
            slots = None if at_once is None else self._make_slots(name, at_once)
            self._hosts[name] = Host(Budget(limits, self._now, share=share), slots)
        return self._hosts[name]


@dataclass
class Breaker:
    """Stops asking a provider that does not answer, and finds out when it is back.

    Closed until `threshold` failures in a row. Open for `pause` seconds, doubling up to `longest`;
    then one caller probes (half open) and its outcome closes or reopens. Times are on the monotonic
    clock.
    """

    threshold: int = 3
    pause: float = 5.0
    longest: float = 120.0
    _failures: int = field(default=0, init=False)
    _opened: int = field(default=0, init=False)
    _until: float = field(default=0.0, init=False)
    _probing: float = field(default=0.0, init=False)

    @property
    def state(self) -> State:
        if not self._opened:
            return "closed"
        return "open" if time.monotonic() < self._until else "half_open"

    def allows(self) -> bool:
        """Whether a call may be made now; in the half-open state one caller at a time may."""
        if self.state != "half_open":
            return self.state == "closed"
        if time.monotonic() < self._probing:
            return False
        self._probing = time.monotonic() + self.pause
        return True

    def retry_in(self) -> float:
        """Seconds until the next probe may be made."""
        return max(0.0, max(self._until, self._probing) - time.monotonic())

    def succeed(self) -> None:
        self._failures = self._opened = 0
        self._until = self._probing = 0.0

    def fail(self) -> None:
        """A call failed."""
        self._failures += 1
        if self._failures >= self.threshold or self._opened:
            self._open()

    def _open(self) -> None:
        self._until = time.monotonic() + min(self.longest, self.pause * 2**self._opened)
        self._opened = min(self._opened + 1, 16)
        self._probing = 0.0
