"""Budget: the units of a provider that may be spent in each window, and their count (`Ledger`).

Spent units are stored by sixtieths of a window (`bucket`), so that no period of a window's length
exceeds the limit. Processes share these counts as rows of the database (`storage.budgets`).
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
    """Units spent in a sixtieth of a window.

    Attributes:
        seconds: length of the window.
        bucket: number of the sixtieth, counted from 1970.
        units: units spent by all traffic.
        public_units: units spent by public traffic (widgets).
    """

    seconds: float
    bucket: int
    units: float
    public_units: float


@dataclass(frozen=True)
class WindowState:
    """A window of a budget, in the provider's units.

    `free_in` is in seconds: the wait until the requested units are free, 0 if they are now.
    """

    window: str
    limit: float
    used: float
    free_in: float

    @property
    def left(self) -> float:
        return max(0.0, self.limit - self.used)


class Window:
    """The units of a provider that were spent in the last `seconds`.

    Public traffic may spend half of the limit, or what one answer costs (`least`) where that is
    more.
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
        """Return limit and units used: of all traffic or, if `public`, of public traffic."""
        return (self.public_limit if public else self.limit), self.spent[public]

    def oldest(self, now: float) -> int:
        """Return the number of the oldest bucket in the window."""
        return self.bucket(now) - BUCKETS

    def bucket(self, now: float) -> int:
        return int(now / self.seconds * BUCKETS)

    def forget(self, now: float) -> None:
        """Drop the units that have left the window.

        Units in future buckets (after a clock was set back) count as spent now.
        """
        newest, held = self.bucket(now), self.buckets
        self.buckets = {}
        for number, (units, public) in held.items():
            if (place := min(number, newest)) >= newest - BUCKETS:
                before = self.buckets.get(place, (0.0, 0.0))
                self.buckets[place] = (before[0] + units, before[1] + public)

    def allows(self, spent: tuple[float, float], units: float, *, public: bool) -> bool:
        """Return True if units may be spent on top of those already spent."""
        if spent[0] + units > self.limit:
            return False
        return not public or spent[1] + units <= self.public_limit

    def row(self, now: float, units: float, *, public: bool) -> SpentUnits:
        """Return a row for `units` that are spent now."""
        return SpentUnits(self.seconds, self.bucket(now), units, units if public else 0.0)

    def should_log(self, now: float, *, public: bool) -> bool:
        """Return True if the log should report the spent budget, at most once in each window."""
        if now < self._logged_until[public]:
            return False
        self._logged_until[public] = now + self.seconds
        return True

    def wait(self, now: float, units: float, *, public: bool = False) -> float:
        """Return the seconds until enough of the oldest units have expired for `units` to fit."""
        limit, used = self.part(public=public)
        units, free = min(units, limit), limit - used
        if free >= units:
            return 0.0
        for number in sorted(self.buckets):
            free += self.buckets[number][public]
            if free >= units:
                return max(0.0, (number + BUCKETS + 1) / BUCKETS * self.seconds - now)
        return self.seconds

    def span(self, units: float) -> float:
        """Return the estimated seconds to spend `units`.

        Units beyond those free now are assumed to become free at an even rate.
        """
        over = max(0.0, units - (self.limit - self.spent[0]))
        return over / self.limit * self.seconds


class Budget:
    """The units spent of one provider, as this process knows them; `{}` as limits allows all.

    Attributes:
        total: units spent by this process.
        offset: seconds to add to this process's clock to get the ledger's clock.
        name: of the provider, for the log.
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
        """Set `limits`, units by window length in seconds; each is multiplied by `share`.

        `least` is the most units that one answer costs; public traffic's limit is never below it.
        """
        self.windows = [Window(seconds, limit * share, least) for seconds, limit in limits.items()]
        self.total = 0.0
        self.offset = 0.0
        self.name = name
        self._clock = now

    def now(self) -> float:
        """Return the time of the ledger's clock, in seconds since 1970."""
        return self._clock() + self.offset

    def _current(self) -> float:
        """Drop the units that have left the windows; return the time."""
        now = self.now()
        for window in self.windows:
            window.forget(now)
        return now

    def take(self, units: float, *, public: bool = False) -> bool:
        """Spend `units` and return True; spend nothing and return False if a window refuses."""
        self._current()
        if not all(one.allows(one.spent, units, public=public) for one in self.windows):
            self.refuse(units, public=public)
            return False
        self.spend(units, public=public)
        return True

    def spend(self, units: float, *, public: bool) -> list[SpentUnits]:
        """Count `units` as spent, without a check; return them as a row for each window."""
        self.total += units
        rows = self.rows(units, public=public)
        self.add(rows)
        return rows

    def rows(self, units: float, *, public: bool) -> list[SpentUnits]:
        """Return a row for each window, for `units` that are spent now."""
        now = self.now()
        return [window.row(now, units, public=public) for window in self.windows]

    def give_back(self, units: float, *, public: bool = False) -> list[SpentUnits]:
        """Refund the units of a call that was not made; return them as negative rows."""
        return self.spend(-units, public=public)

    def refuse(self, units: float, *, public: bool) -> None:
        """Log each window that refuses the units, at most once per length of the window."""
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
        """Replace the known units by the units that all processes spent."""
        for window in self.windows:
            window.buckets = {}
        self.add(rows)

    def add(self, rows: Iterable[SpentUnits]) -> None:
        """Count units that were spent."""
        windows = {window.seconds: window for window in self.windows}
        for row in rows:
            held = windows[row.seconds].buckets.get(row.bucket, (0.0, 0.0))
            spent = held[0] + row.units, held[1] + row.public_units
            windows[row.seconds].buckets[row.bucket] = spent

    def spent_share(self) -> float:
        """Return the spent share, from 0 to 1, of the window nearest to its limit."""
        self._current()
        return max((one.spent[0] / one.limit for one in self.windows), default=0.0)

    def wait(self, units: float) -> float:
        """Return the seconds until `units` may be spent: 0 if now, at most a window's length."""
        now = self._current()
        return max((window.wait(now, units) for window in self.windows), default=0.0)

    def span(self, units: float) -> float:
        """Return the estimated seconds to spend `units`, which may exceed a window's limit."""
        self._current()
        return max((one.span(units) for one in self.windows), default=0.0)

    def states(self, units: float = 1.0, *, public: bool = False) -> list[WindowState]:
        """Return each window's state and its wait for `units`; if `public`, of public traffic."""
        now = self._current()
        return [
            WindowState(one.name, *one.part(public=public), one.wait(now, units, public=public))
            for one in self.windows
        ]


class Ledger(Protocol):
    """A store that counts the units of a budget for all processes."""

    async def take(self, budget: Budget, units: float, *, public: bool) -> bool:
        """Spend units as `Budget.take` does, for all processes that share this ledger."""
        ...

    async def give_back(self, budget: Budget, units: float, *, public: bool) -> None:
        """Return units that `take` spent for a call that was not made."""
        ...

    async def refresh(self, budget: Budget) -> None:
        """Load the units that all processes spent into the budget."""
        ...
