"""Verification: what the archive knows of the days that forecasts were given for.

Asked behind all guests: one request an hour at most in a process, of about 4 weighted units, only
while half of every window of the provider's budget is free, and for a cell once in five days over
all processes. ERA5 lags five days; what is six days old is settled enough for a score.
"""

from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np
import structlog

from location_context import errors
from location_context.point import Point
from location_context.sections.weather import records
from location_context.sections.weather.accuracy.records import (
    LEADS,
    OBSERVED_COLUMNS,
    AccuracyStore,
    CellExtent,
    ObservedDays,
    ObservedRow,
)
from location_context.sections.weather.providers.base import ArchiveProvider
from location_context.sections.weather.records import ROW, Cell, Month, YearMonth
from location_context.stay import Clock

LAG_DAYS = 6
ASK_EVERY = timedelta(days=5)
RETRY_AFTER = timedelta(days=1)  # where the archive failed
GIVE_UP_DAYS = 30
BUSY_SHARE = 0.5  # spent of a window of the budget: what is left is for guests
_FIELDS = [ROW["temperature_max"], ROW["temperature_min"], ROW["precipitation_sum"]]


class Verification:
    """Asks the preferred archive for the days of forecasts. `days` is how far back they reach."""

    def __init__(
        self, store: AccuracyStore, archives: Sequence[ArchiveProvider], clock: Clock, days: int
    ) -> None:
        self._store = store
        self._archives = archives
        self._clock = clock
        self._days = days

    @property
    def archive(self) -> ArchiveProvider | None:
        """The preferred archive that the plan has; its source names what is stored."""
        usable = (one for one in self._archives if one.client.configured and one.client.is_in_plan)
        return next(usable, None)

    async def find_all(self, cells: Sequence[str]) -> dict[str, ObservedDays]:
        """What is stored of the days at each of these forecast cells.

        Raises:
            StorageError: the store cannot be read.
        """
        if (archive := self.archive) is None:
            return {}
        stored = {row.cell: row for row in await self._store.load_observed(archive.source)}
        keys = {cell: archive_cell(archive, cell).key for cell in cells}
        return {cell: stored[key].unpack() for cell, key in keys.items() if key in stored}

    async def verify_next(self, cells: dict[str, CellExtent]) -> bool:
        """Ask about one cell that is due, those asked for most lately first; whether one was.

        Raises:
            StorageError: the store cannot be read or written.
        """
        archive = self.archive
        if archive is None or not archive.client.available:
            return False
        if archive.client.host.budget.spent_share() > BUSY_SHARE:
            return False
        now = self._clock()
        stored = {row.cell: row for row in await self._store.load_observed(archive.source)}
        latest_first = sorted(cells.items(), key=lambda item: item[1].last, reverse=True)
        for key, extent in latest_first:
            cell = archive_cell(archive, key)
            row = stored.get(cell.key)
            if row is not None and row.asked_at > now - ASK_EVERY:
                continue
            if not (unknown := self._unknown_days(extent, row)):
                continue
            if await self._store.claim(archive.source, cell.key, now, now - ASK_EVERY):
                await self._ask(archive, cell, unknown, row)
                return True
        return False

    def _unknown_days(self, extent: CellExtent, row: ObservedRow | None) -> list[date]:
        """Days that forecasts were given for, that the archive should know and the store does not.

        A day that the archive left out is asked for again for a month, and then given up.
        """
        today = self._clock().date()
        days = row.unpack() if row is not None else None
        first = max(extent.first, today - timedelta(self._days))
        if row is not None and days is not None and days.values.size:
            first = max(first, row.asked_at.date() - timedelta(GIVE_UP_DAYS))
        last = min(today - timedelta(LAG_DAYS), extent.last + timedelta(LEADS - 1))
        count = (last - first).days + 1
        if count < 1:
            return []
        known = days.known_on(first, count) if days is not None else np.zeros(count, bool)
        return [first + timedelta(int(place)) for place in np.flatnonzero(~known)]

    async def _ask(
        self, archive: ArchiveProvider, cell: Cell, unknown: Sequence[date], row: ObservedRow | None
    ) -> None:
        now = self._clock()
        before = row.unpack() if row is not None else None
        try:
            today = now.date()
            wanted = months_around(unknown[0], unknown[-1])
            months = await archive.fetch_months(cell, wanted, today, public=False)
        except errors.ProviderError as error:
            structlog.get_logger().info("forecasts_not_verified", why=error.message)
            before = before or ObservedDays(unknown[0], None, np.empty((len(OBSERVED_COLUMNS), 0)))
            soon = now - ASK_EVERY + RETRY_AFTER
            await self._store.save_observed(
                ObservedRow.pack(archive.source, cell.key, soon, before)
            )
            return
        oldest, last = today - timedelta(self._days), today - timedelta(LAG_DAYS)
        days = merge(before, months, oldest, last)
        await self._store.save_observed(ObservedRow.pack(archive.source, cell.key, now, days))


def merge(
    before: ObservedDays | None, months: Sequence[Month], oldest: date, last: date
) -> ObservedDays:
    """The days from `oldest` to `last`: those of the months where they are known, else as before.

    The archive's cell has one height; the newest one named holds for all days.
    """
    count = (last - oldest).days + 1
    values = np.full((len(OBSERVED_COLUMNS), count), np.nan)
    if before is not None:
        values = before.on(oldest, count)
    elevation = before.elevation if before is not None else None
    for month in months:
        new = np.full_like(values, np.nan)
        records.copy_days(month.values[_FIELDS].astype(float), month.first, new, oldest)
        values = np.where(np.isfinite(new), new, values)
        if month.grid.elevation is not None:
            elevation = month.grid.elevation
    return ObservedDays(oldest, elevation, values)


def months_around(first: date, last: date) -> list[YearMonth]:
    """The fewest months that cover these dates with the fortnight which comes with each."""
    wanted: list[YearMonth] = []
    day = first
    while day <= last:
        month = (day.year, day.month)
        after = (day.year + day.month // 12, day.month % 12 + 1)
        if records.month_span(*after)[0] <= day:  # it has fewer days that nobody asked for
            month = after
        wanted.append(month)
        day = records.month_span(*month)[1] + timedelta(1)
    return wanted


def archive_cell(archive: ArchiveProvider, key: str) -> Cell:
    """The archive's cell at the centre of a forecast's cell, in the same days."""
    lat, lng, timezone = key.split(",", 2)
    return archive.cell(Point(float(lat), float(lng), timezone))
