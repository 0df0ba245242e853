"""Budget: limits on the units (a provider's measure of calls) that may be spent in time windows.

A window is the period of some length that ends now, such as the last hour. Spent units are counted
in buckets of a sixtieth of that length, so that they leave the window step by step. A `Ledger`
shares the counts among processes, as rows of the database (`storage.budgets`).
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import msgspec
import structlog

from location_context.settings.parsers import WINDOWS

SECOND, MINUTE, HOUR, DAY, MONTH = WINDOWS.values()
BUCKETS = 60  # per window
_NAMES = {seconds: name for name, seconds in WINDOWS.items()}


class SpentUnits(msgspec.Struct, frozen=True):
    """Units spent in one bucket, a sixtieth of a window.

    Attributes:
        seconds: length of the window.
        bucket: number of the bucket, counted from 1970.
        units: units spent by all traffic.
        public_units: the part of `units` that public traffic (the widget) spent.
    """

    seconds: float
    bucket: int
    units: float
    public_units: float


@dataclass(frozen=True)
class WindowState:
    """The state of one limit of a budget: the units allowed in a window, and the units used.

    `free_in` is the time in seconds until a unit is available, 0 if one is now.
    """

    window: str
    limit: float
    used: float
    free_in: float

    @property
    def left(self) -> float:
        return max(0.0, self.limit - self.used)


class Window:
    """The units of a provider that were spent in the last `seconds`, and their limit.

    Public traffic (the widget) may spend half of the limit. If `least`, the cost of an answer for
    which nothing is cached, is more than that half, public traffic may spend `least`.
    """

    def __init__(self, seconds: float, limit: float, least: float) -> None:
        self.name = _NAMES.get(seconds, f"{seconds:g} s")
        self.seconds = seconds
        self.limit = limit
        self.public_limit = max(limit / 2, min(limit, least))
        self.buckets: dict[int, tuple[float, float]] = {}
        self._logged_until = [0.0, 0.0]

    @property
    def spent(self) -> tuple[float, float]:
        """Units spent by all traffic, and by public traffic."""
        return (
            sum(units for units, _ in self.buckets.values()),
            sum(units for _, units in self.buckets.values()),
        )

    def part(self, *, public: bool) -> tuple[float, float]:
        """Return (limit, spent units): of public traffic if `public`, otherwise of all traffic."""
        return (self.public_limit if public else self.limit), self.spent[public]

    def oldest(self, now: float) -> int:
        """Return the number of the oldest bucket in the window that ends at `now`."""
        return self.bucket(now) - BUCKETS

    def bucket(self, now: float) -> int:
        return int(now / self.seconds * BUCKETS)

    def forget(self, now: float) -> None:
        """Remove the units that are older than the window.

        Count units in future buckets (after the clock was set back) as spent now.
        """
        newest, held = self.bucket(now), self.buckets
        self.buckets = {}
        for number, (units, public) in held.items():
            if (place := min(number, newest)) >= newest - BUCKETS:
                before = self.buckets.get(place, (0.0, 0.0))
                self.buckets[place] = (before[0] + units, before[1] + public)

    def allows(self, spent: tuple[float, float], units: float, *, public: bool) -> bool:
        """Return True if `units` may be spent in addition to `spent`.

        `spent` has the units of all traffic and of public traffic. If `public`, both limits
        apply, else only the limit of all traffic.
        """
        if spent[0] + units > self.limit:
            return False
        return not public or spent[1] + units <= self.public_limit

    def row(self, now: float, units: float, *, public: bool) -> SpentUnits:
        """Return the row that records `units` as spent at the time `now`."""
        return SpentUnits(self.seconds, self.bucket(now), units, units if public else 0.0)

    def should_log(self, now: float, *, public: bool) -> bool:
        """Return True if a refusal is to be logged: once per window, for each kind of traffic."""
        if now < self._logged_until[public]:
            return False
        self._logged_until[public] = now + self.seconds
        return True

    def wait(self, now: float, units: float, *, public: bool = False) -> float:
        """Return the seconds until so many old units have expired that `units` may be spent.

        If `public`, only the limit of public traffic is considered.
        """
        limit, used = self.part(public=public)
        units, free = min(units, limit), limit - used
        if free >= units:
            return 0.0
        for number in sorted(self.buckets):
            free += self.buckets[number][public]
            if free >= units:
                return max(0.0, (number + BUCKETS + 1) / BUCKETS * self.seconds - now)
        return self.seconds


class Budget:
    """The limits on one provider's units, and the spent units as far as this process knows.

    Attributes:
        offset: seconds to add to this process's clock to get the ledger's clock.
        name: the provider's name, for the log.
    """

    def __init__(
        self,
        limits: Mapping[float, float],
        now: Callable[[], float] = time.time,
        *,
        share: float = 1.0,
        least: float = 0.0,
        name: str = "",
    ) -> None:
        """Set `limits`, the allowed units by window length in seconds; `{}` sets no limit.

        `share` is the fraction of each limit that this installation may spend. `least` is the cost
        in units of an answer for which nothing is cached. If it is more than half of a limit,
        public traffic may spend `least` instead of that half.
        """
        self.windows = [Window(seconds, limit * share, least) for seconds, limit in limits.items()]
        self.offset = 0.0
        self.name = name
        self._clock = now

    def now(self) -> float:
        """Return the time of the ledger's clock, in seconds since 1970."""
        return self._clock() + self.offset

    def _current(self) -> float:
        """Forget spent units whose window has passed; return the current time."""
        now = self.now()
        for window in self.windows:
            window.forget(now)
        return now

    def take(self, units: float, *, public: bool = False) -> bool:
        """Spend `units` and return True; if a window's limit forbids it, only return False."""
        self._current()
        if not all(one.allows(one.spent, units, public=public) for one in self.windows):
            self.refuse(units, public=public)
            return False
        self.spend(units, public=public)
        return True

    def spend(self, units: float, *, public: bool) -> list[SpentUnits]:
        """Count `units` as spent, without a check of the limits; return a row for each window."""
        rows = self.rows(units, public=public)
        self.add(rows)
        return rows

    def rows(self, units: float, *, public: bool) -> list[SpentUnits]:
        """Return, for each window, the row that records `units` as spent now."""
        now = self.now()
        return [window.row(now, units, public=public) for window in self.windows]

    def give_back(self, units: float, *, public: bool = False) -> list[SpentUnits]:
        """Refund the units of a call not made; return, for each window, a row of negative units."""
        return self.spend(-units, public=public)

    def refuse(self, units: float, *, public: bool) -> None:
        """Log each window whose limit refuses `units`, at most once per length of the window."""
        now = self._current()
        for one in self.windows:
            refuses = not one.allows(one.spent, units, public=public)
            if refuses and one.should_log(now, public=public):
                limit, used = one.part(public=public)
                structlog.get_logger().warning(
                    "budget_spent",
                    provider=self.name,
                    window=one.name,
                    share="the widget's" if public else "all",
                    limit=round(limit, 1),
                    used=round(used, 1),
                    free_in=round(one.wait(now, units, public=public)),
                )

    def load(self, rows: Iterable[SpentUnits]) -> None:
        """Replace the counts of spent units by `rows`, which count the units of all processes."""
        for window in self.windows:
            window.buckets = {}
        self.add(rows)

    def add(self, rows: Iterable[SpentUnits]) -> None:
        """Add the units of `rows` to the counts of spent units."""
        windows = {window.seconds: window for window in self.windows}
        for row in rows:
            held = windows[row.seconds].buckets.get(row.bucket, (0.0, 0.0))
            spent = held[0] + row.units, held[1] + row.public_units
            windows[row.seconds].buckets[row.bucket] = spent

    def spent_share(self) -> float:
        """Return the largest of the limits' spent shares, from 0 (nothing spent) to 1."""
        self._current()
        return max((one.spent[0] / one.limit for one in self.windows), default=0.0)

    def states(self) -> list[WindowState]:
        """Return each window's state, as far as this process knows it; `[]` without limits."""
        now = self._current()
        return [
            WindowState(one.name, one.limit, one.spent[0], one.wait(now, 1.0))
            for one in self.windows
        ]


class Ledger(Protocol):
    """A store that counts the units of a budget for all processes."""

    async def take(self, budget: Budget, units: float, *, public: bool) -> bool:
        """Spend units as `Budget.take` does, for all processes that share this ledger."""
        ...

    async def give_back(self, budget: Budget, units: float, *, public: bool) -> None:
        """Refund units that `take` spent for a call that was not made."""
        ...

    async def refresh(self, budget: Budget) -> None:
        """Set the budget's counts of spent units to those of all processes."""
        ...
