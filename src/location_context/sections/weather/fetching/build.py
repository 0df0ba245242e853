"""Building the archive for many places ahead of their guests, as far as the budget reaches.

Each cell costs one request for all ten years (about 400 weighted units). What is held is never
asked for again, so that a build that was broken off goes on where it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from location_context.errors import ProviderBackoff, ProviderError
from location_context.sections.weather.climatology.years import last_year, latest
from location_context.sections.weather.records import month_span

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from datetime import date

    from location_context.point import Point
    from location_context.sections.weather.cells import Cell
    from location_context.sections.weather.fetching.holdings import Holdings
    from location_context.sections.weather.providers.contract import ArchiveProvider, YearMonth
    from location_context.stay import Clock

_PAUSE_SECONDS = 30.0
_ATTEMPTS = 3


@dataclass
class Built:
    """How far a build came, in cells."""

    cells: int = 0
    held: int = 0
    fetched: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Builder:
    """Fills the holdings from one archive. `pause` waits so many seconds."""

    archive: ArchiveProvider
    holdings: Holdings
    clock: Clock
    say: Callable[[str], None]
    pause: Callable[[float], Awaitable[None]]

    async def build(self, points: Iterable[Point]) -> Built:
        """Every cell that holds a point; a cell that fails is counted and passed over."""
        cells = {self.archive.cell(point): point for point in points}
        built = Built(cells=len(cells))
        for number, (cell, point) in enumerate(cells.items(), 1):
            today = point.today(self.clock())
            wanted = all_months(today)
            held = await self.holdings.held(self.archive.source, cell.key, wanted)
            missing = [month for month in wanted if month not in held]
            if not missing:
                built.held += 1
            elif await self._fetch(cell, missing, today):
                built.fetched += 1
            else:
                built.failed += 1
            self.say(f"{number} of {len(cells)} cells: {built.fetched} fetched, {built.held} held")
        return built

    async def _fetch(self, cell: Cell, missing: list[YearMonth], today: date) -> bool:
        """Ask until the cell is held; waits where the budget or the provider asks for quiet."""
        attempts = 0
        while attempts < _ATTEMPTS:
            try:
                months = await self.archive.months(cell, missing, today, public=False)
            except ProviderBackoff as quiet:
                self.say(f"Waiting: {quiet.message}")
                await self.pause(self._seconds(quiet))
            except ProviderError as error:
                attempts += 1
                self.say(error.message)
            else:
                self.holdings.keep(self.archive.source, cell.key, months)
                await self.holdings.flush()
                return True
        return False

    def _seconds(self, quiet: ProviderBackoff) -> float:
        if quiet.until is None:
            return _PAUSE_SECONDS
        return max(1.0, (quiet.until - self.clock()).total_seconds())


def all_months(today: date) -> list[YearMonth]:
    """Every month of the ten years, and those after them that a stay over New Year reaches."""
    years = latest(last_year(today))
    after = [(years[-1] + 1, month) for month in (1, 2, 3)]
    wanted = [(year, month) for year in years for month in range(1, 13)]
    return wanted + [one for one in after if (today - month_span(*one)[1]).days > 6]
