"""Building the archive for many places ahead of their guests, as far as the budget reaches.

Each cell costs one request for all ten years (about 400 weighted units). What is stored is never
asked for again, so that a build that was broken off goes on where it was.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import date

from location_context.errors import ProviderBackoff, ProviderError
from location_context.point import Point
from location_context.sections.weather.climatology.years import last_year, latest
from location_context.sections.weather.providers.base import ArchiveProvider
from location_context.sections.weather.records import Cell, YearMonth, month_span
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.stay import Clock

PAUSE_SECONDS = 30.0
MAX_ATTEMPTS = 3


@dataclass
class BuildReport:
    """How far a build came, in cells."""

    cells: int = 0
    held: int = 0
    fetched: int = 0
    failed: int = 0


@dataclass(frozen=True)
class ArchiveBuilder:
    """Fills the repository from one archive. `pause` waits so many seconds."""

    archive: ArchiveProvider
    repository: ArchiveRepository
    clock: Clock
    say: Callable[[str], None]
    pause: Callable[[float], Awaitable[None]]

    async def build(self, points: Iterable[Point]) -> BuildReport:
        """Every cell that holds a point; a cell that fails is counted and passed over."""
        cells = {self.archive.cell(point): point for point in points}
        built = BuildReport(cells=len(cells))
        for number, (cell, point) in enumerate(cells.items(), 1):
            today = point.today(self.clock())
            wanted = all_months(today)
            held = await self.repository.get(self.archive.source, cell.key, wanted)
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
        """Ask until the cell is stored; waits where the budget or the provider asks for backoff."""
        attempts = 0
        while attempts < MAX_ATTEMPTS:
            try:
                months = await self.archive.fetch_months(cell, missing, today, public=False)
            except ProviderBackoff as backoff:
                self.say(f"Waiting: {backoff.message}")
                await self.pause(self._seconds(backoff))
            except ProviderError as error:
                attempts += 1
                self.say(error.message)
            else:
                self.repository.put(self.archive.source, cell.key, months)
                await self.repository.flush()
                return True
        return False

    def _seconds(self, backoff: ProviderBackoff) -> float:
        if backoff.until is None:
            return PAUSE_SECONDS
        return max(1.0, (backoff.until - self.clock()).total_seconds())


def all_months(today: date) -> list[YearMonth]:
    """Every month of the ten years, and those after them that a stay over New Year reaches."""
    years = latest(last_year(today))
    after = [(years[-1] + 1, month) for month in (1, 2, 3)]
    wanted = [(year, month) for year in years for month in range(1, 13)]
    return wanted + [one for one in after if (today - month_span(*one)[1]).days > 6]
