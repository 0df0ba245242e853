"""Host: the limits that a provider sets for each caller, across all its addresses; and its breaker.

A host holds the units spent (`Budget`), the calls in flight (`Slots`) and the pause that the
provider requested. All `ProviderClient`s that call a provider share its `Host`, which `Hosts`
returns by name. Each process limits its own calls at once and their pace to its part of the
host's limits. The database counts units for all processes that share it (`storage.budgets`).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from location_context.upstream.budget import SECOND, Budget, Ledger, WindowState

MAX_TURN_SECONDS = 5.0  # longest wait of a call for its turn
REFRESH_SECONDS = 2.0  # between two reads of the units that other processes spent
State = Literal["closed", "open", "half_open"]


class Slots:
    """A limit on calls at once in this process; public traffic takes at most two thirds.

    At least one slot is left for keyed calls, unless there is only one slot.

    Example:
        async with slots.hold(public=False):
            answer = await call()
    """

    def __init__(self, count: int) -> None:
        self._all = asyncio.Semaphore(count)
        self._public = asyncio.Semaphore(max(1, count * 2 // 3))

    @asynccontextmanager
    async def hold(self, *, public: bool) -> AsyncIterator[None]:
        """Wait for a free slot, and hold it until the block ends."""
        async with self._public if public else nullcontext(), self._all:
            yield


class Pace:
    """A pace that keeps the calls of this process at least `seconds` apart."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next_at = 0.0

    @property
    def is_crowded(self) -> bool:
        """True if the next turn is too far away to wait for it."""
        return self._next_at - time.monotonic() > MAX_TURN_SECONDS

    async def wait(self) -> None:
        """Wait for the next turn, and take it."""
        turn = max(time.monotonic(), self._next_at)
        self._next_at = turn + self._seconds
        await asyncio.sleep(turn - time.monotonic())


class Host:
    """The limits of a provider, from its terms, shared by all its addresses."""

    def __init__(
        self,
        budget: Budget | None = None,
        slots: Slots | None = None,
        *,
        name: str = "",
        ledger: Ledger | None = None,
        pace: Pace | None = None,
    ) -> None:
        """Set the limits: `budget` in the provider's units, `slots` for calls; None: unlimited.

        `pace` spaces the calls that the budget allows. `ledger` counts the budget for all
        processes; without it this process counts alone.
        """
        self.name = name
        self.budget = budget or Budget({})
        self.refused = 0  # calls that only the budget refused: their address was answering
        self._ledger = ledger
        self.backoff_until: datetime | None = None
        self._slots = slots
        self._pace = pace

    @property
    def is_crowded(self) -> bool:
        """True if too many calls wait for their turn."""
        return self._pace is not None and self._pace.is_crowded

    async def spend(self, units: float, *, public: bool) -> bool:
        """Spend units and wait for a turn; return False at once if the budget refuses the units.

        With a ledger, the limits are checked in a transaction of the database.
        """
        if not self.budget.windows:
            self.budget.total += units
        elif not await self._take(units, public=public):
            return False
        if self._pace:
            await self._pace.wait()
        return True

    async def give_back(self, units: float, *, public: bool) -> None:
        """Return units that `spend` took for a call that was not made."""
        if self._ledger is None or not self.budget.windows:
            self.budget.give_back(units, public=public)
        else:
            await self._ledger.give_back(self.budget, units, public=public)

    async def _take(self, units: float, *, public: bool) -> bool:
        if self._ledger is None:
            return self.budget.take(units, public=public)
        return await self._ledger.take(self.budget, units, public=public)

    async def refresh(self) -> None:
        """Load the units that other processes spent."""
        if self._ledger is not None and self.budget.windows:
            await self._ledger.refresh(self.budget)

    def budgets(self) -> Sequence[WindowState]:
        """Return each window of the budget as this process knows it; empty without limits."""
        return self.budget.states()

    def slot(self, *, public: bool) -> AbstractAsyncContextManager[None]:
        """Wait until one more call may be in flight, and count it until the block ends."""
        return self._slots.hold(public=public) if self._slots else nullcontext()


class Hosts:
    """The hosts of one process, by name, with the ledger that counts for all processes.

    Example:
        host = hosts.get("open_meteo", {MINUTE: 480.0}, at_once=3)
        upstream = ProviderClient("open_meteo_marine", url, client, clock, host=host)
    """

    def __init__(
        self,
        make_ledger: Callable[[str], Ledger | None] = lambda _: None,
        now: Callable[[], float] = time.time,
        processes: int = 1,
    ) -> None:
        """Set `now`, the clock of the budgets, which returns seconds since 1970.

        `processes` is the number of workers that share the calls at once; each may make at least 1.
        """
        self._now = now
        self._processes = processes
        self._make_ledger = make_ledger
        self._hosts: dict[str, Host] = {}

    def __iter__(self) -> Iterator[Host]:
        return iter(self._hosts.values())

    @property
    def refused(self) -> int:
        """The number of calls that only a spent budget refused, so that waiting would help."""
        return sum(host.refused for host in self)

    def wait(self, units: float) -> float:
        """Return the seconds until `units` are free at every host that has refused calls."""
        return max((host.budget.wait(units) for host in self if host.refused), default=0.0)

    def span(self, share: float) -> float:
        """Return the estimated seconds to spend `share` times the units spent so far."""
        budgets = [host.budget for host in self]
        return max((budget.span(budget.total * share) for budget in budgets), default=0.0)

    def get(
        self,
        name: str,
        limits: Mapping[float, float],
        *,
        share: float = 1.0,
        least: float = 0.0,
        at_once: int | None = None,
    ) -> Host:
        """Return the host with this name; the first caller sets its limits.

        Args:
            name: a word for file names and Redis keys, such as `open_meteo`.
            limits: units by the length of their window in seconds, as `Budget` takes them; a limit
                for one second becomes a pace of calls, whatever they cost.
            share: this installation's part of the limits, where several share one address.
            least: units that one answer may cost, as `Budget` takes them.
            at_once: calls in flight, over all workers; None is without limit.
        """
        if name not in self._hosts:
            slots = None if at_once is None else Slots(max(1, at_once // self._processes))
            windows = {seconds: limit for seconds, limit in limits.items() if seconds != SECOND}
            budget = Budget(windows, self._now, share=share, least=least, name=name)
            rate = limits.get(SECOND)
            pace = Pace(self._processes / (rate * share)) if rate else None
            ledger = self._make_ledger(name)
            self._hosts[name] = Host(budget, slots, name=name, ledger=ledger, pace=pace)
        return self._hosts[name]

    async def run(self) -> None:
        """Load the units that other processes spend, until cancelled."""
        while True:
            for host in self:
                await host.refresh()
            await asyncio.sleep(REFRESH_SECONDS)


@dataclass
class Breaker:
    """A breaker: it stops calls to a provider that does not answer, and probes for its return.

    It is closed until `threshold` failures in a row, then open for `pause` seconds, doubled at each
    failed probe up to `longest`. After that it is half open: one call in each `pause` is a probe,
    whose outcome closes or reopens it. Times are on the monotonic clock.
    """

    threshold: int = 3
    pause: float = 5.0
    longest: float = 120.0
    _failures: int = field(default=0, init=False)
    _opened: int = field(default=0, init=False)
    _until: float = field(default=0.0, init=False)

    @property
    def state(self) -> State:
        if not self._opened:
            return "closed"
        return "open" if time.monotonic() < self._until else "half_open"

    def allows(self) -> bool:
        """Return True if a call may be made now; a probe blocks other calls for `pause` seconds."""
        state = self.state
        if state == "half_open":
            self._until = time.monotonic() + self.pause
        return state != "open"

    def retry_in(self) -> float:
        """Return the seconds until the next probe may be made."""
        return max(0.0, self._until - time.monotonic())

    def succeed(self) -> None:
        self._failures = self._opened = 0
        self._until = 0.0

    def fail(self) -> None:
        """Count a failed call."""
        self._failures += 1
        if self._failures >= self.threshold or self._opened:
            self._open()

    def _open(self) -> None:
        self._until = time.monotonic() + min(self.longest, self.pause * 2**self._opened)
        self._opened = min(self._opened + 1, 16)
