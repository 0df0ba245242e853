"""Host: a provider's limits on calls to all its URLs; Breaker: stops calls that keep failing.

A host has a budget of units (`Budget`), a limit on concurrent calls (`Slots`), a limit on calls a
second (`Pace`), and the pause that the provider requested. All `ProviderClient`s of a provider
share its `Host`, which `Hosts.get` returns. Each process applies its share of the limits on
calls. Units are counted in the database for all processes together (`storage.budgets`).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from location_context.upstream.budget import SECOND, Budget, Ledger

MAX_TURN_SECONDS = 5.0  # longest time that a call waits until `Pace` lets it start
REFRESH_SECONDS = 2.0  # between two reads of the units that other processes spent
State = Literal["closed", "open", "half_open"]


class Slots:
    """A limit on the concurrent calls of this process; each call in flight holds a slot.

    Public (widget) traffic holds at most two thirds of the slots. So if there are several slots, at
    least one is left for requests with an API key.

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
    """A limit on calls a second: the calls of this process start at least `seconds` apart."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next_at = 0.0

    @property
    def is_crowded(self) -> bool:
        """True if a new call would have to wait for more than 5 s."""
        return self._next_at - time.monotonic() > MAX_TURN_SECONDS

    async def wait(self) -> None:
        """Wait until this call may start; the next call may start `seconds` later."""
        turn = max(time.monotonic(), self._next_at)
        self._next_at = turn + self._seconds
        await asyncio.sleep(turn - time.monotonic())


class Host:
    """The limits on calls to one provider, which the clients of all its URLs share."""

    def __init__(
        self,
        budget: Budget | None = None,
        slots: Slots | None = None,
        *,
        name: str = "",
        ledger: Ledger | None = None,
        pace: Pace | None = None,
    ) -> None:
        """Set the limits on units, on concurrent calls and on calls a second; None: unlimited.

        `ledger` counts the units of all processes; without it, this process counts its own units.
        """
        self.name = name
        self.budget = budget or Budget({})
        self._ledger = ledger
        self.backoff_until: datetime | None = None
        self._slots = slots
        self._pace = pace

    @property
    def is_crowded(self) -> bool:
        """True if the `pace` would make a new call wait for more than 5 s."""
        return self._pace is not None and self._pace.is_crowded

    async def spend(self, units: float, *, public: bool) -> bool:
        """Spend units for a call, wait until it may start, and return True.

        If too few units are left, return False at once. With a ledger, one database transaction
        checks and spends, so that two processes cannot spend the same units.
        """
        if self.budget.windows and not await self._take(units, public=public):
            return False
        if self._pace:
            await self._pace.wait()
        return True

    async def give_back(self, units: float, *, public: bool) -> None:
        """Refund units that `spend` took for a call that was not made."""
        if self._ledger is None or not self.budget.windows:
            self.budget.give_back(units, public=public)
        else:
            await self._ledger.give_back(self.budget, units, public=public)

    async def _take(self, units: float, *, public: bool) -> bool:
        if self._ledger is None:
            return self.budget.take(units, public=public)
        return await self._ledger.take(self.budget, units, public=public)

    async def refresh(self) -> None:
        """Update the budget with the units that other processes spent."""
        if self._ledger is not None and self.budget.windows:
            await self._ledger.refresh(self.budget)

    def slot(self, *, public: bool) -> AbstractAsyncContextManager[None]:
        """Wait until one more call may be in flight, and count it until the block ends."""
        return self._slots.hold(public=public) if self._slots else nullcontext()


class Hosts:
    """The `Host`s of one process by provider name; `get` creates them.

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
        """Set what all hosts have in common.

        Args:
            make_ledger: returns the ledger for a host's name; None: this process counts alone.
            now: returns the time in seconds since 1970, for the budgets.
            processes: the number of worker processes, which divide the limits on calls. Each may
                have at least one call in flight.
        """
        self._now = now
        self._processes = processes
        self._make_ledger = make_ledger
        self._hosts: dict[str, Host] = {}

    def __iter__(self) -> Iterator[Host]:
        return iter(self._hosts.values())

    def get(
        self,
        name: str,
        limits: Mapping[float, float],
        *,
        share: float = 1.0,
        least: float = 0.0,
        at_once: int | None = None,
    ) -> Host:
        """Return the host with this name; the first call creates it with these limits.

        Args:
            name: a short name such as `open_meteo`, under which the database counts the units.
            limits: the allowed units by the length of a time window in seconds. A limit for a
                window of one second counts calls instead of units.
            share: the fraction of the limits that this installation may use, if several
                installations share them.
            least: the cost in units of an answer for which nothing is cached. If it is more than
                half of a limit, public traffic may spend `least` instead of that half.
            at_once: the limit on concurrent calls of all workers; None for no limit.
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
        """Update all budgets every 2 s with the units of other processes, until cancelled."""
        while True:
            for host in self:
                await host.refresh()
            await asyncio.sleep(REFRESH_SECONDS)


@dataclass
class Breaker:
    """A circuit breaker: after failed calls, it stops calls until a trial call succeeds.

    The breaker is closed (calls are allowed) until `threshold` calls in a row have failed. Then it
    is open (calls are refused) for `pause` seconds, and after that half open: it allows one trial
    call. If the trial succeeds, the breaker closes. If the trial fails, the breaker opens for twice
    as long as before, at most for `longest` seconds.
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
        """Return True if a call may be made now.

        If the breaker is half open, that call is the trial: others are refused for `pause` seconds.
        """
        state = self.state
        if state == "half_open":
            self._until = time.monotonic() + self.pause
        return state != "open"

    def retry_in(self) -> float:
        """Return the seconds until the next trial call is allowed; 0 if calls are allowed now."""
        return max(0.0, self._until - time.monotonic())

    def succeed(self) -> None:
        self._failures = self._opened = 0
        self._until = 0.0

    def fail(self) -> None:
        """Count a failed call; open the breaker after `threshold` in a row or a failed trial."""
        self._failures += 1
        if self._failures >= self.threshold or self._opened:
            self._until = time.monotonic() + min(self.longest, self.pause * 2**self._opened)
            self._opened = min(self._opened + 1, 16)
