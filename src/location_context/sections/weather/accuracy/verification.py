"""Verification: fetches the observed weather for the days of stored forecasts.

The observed values come from a weather archive. Answers for guests have priority for the archive's
request budget. So a process makes at most one request an hour, which costs about 4 units, and only
while at least half of the budget is free. A grid cell is fetched at most once in five days. The
archive ERA5 is five days behind; after six days its values are final enough for a score. The
fetched months are stored together with those that were fetched for typical weather.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np
import structlog

from location_context import errors
from location_context.point import Point
from location_context.sections.weather import climatology
from location_context.sections.weather.accuracy.records import LEADS, RETENTION_DAYS, CellExtent
from location_context.sections.weather.providers.base import ArchiveProvider
from location_context.sections.weather.records import (
    ROW,
    Cell,
    Floats,
    Month,
    copy_days,
)
from location_context.sections.weather.retrieval.archives import Archives, has_spare_budget
from location_context.stay import Clock, Stay

LAG_DAYS = 6
FETCH_EVERY = timedelta(days=5)
RETRY_AFTER = timedelta(days=1)  # after a failure of the archive
GIVE_UP_DAYS = 30
OBSERVED = [ROW["temperature_max"], ROW["temperature_min"], ROW["precipitation_sum"]]


@dataclass(frozen=True, slots=True)
class ObservedDays:
    """The observed weather of a grid cell for consecutive days from `first` on.

    `values` has three rows (highs and lows in °C, rain in mm) with a value for each day, NaN where
    unknown. `elevation` is the elevation in m to which the temperatures apply.
    """

    first: date
    elevation: float | None
    values: Floats

    @classmethod
    def of(cls, months: Sequence[Month], first: date, last: date) -> "ObservedDays":
        """Return the days from `first` to `last`, taken from stored months.

        Stored months overlap. If a day is in several months, the value fetched last is used.
        """
        values, elevation = np.full((len(OBSERVED), (last - first).days + 1), np.nan), None
        for month in sorted(months, key=lambda month: month.fetched_at):
            new = np.full_like(values, np.nan)
            copy_days(month.values[OBSERVED].astype(float), month.first, new, first)
            values = np.where(np.isfinite(new), new, values)
            elevation = month.grid.elevation if month.grid.elevation is not None else elevation
        return cls(first, elevation, values)

    def on(self, first: date, days: int) -> Floats:
        """Return highs, lows and rain (3 x `days`) from the date `first` on, NaN where unknown."""
        found = np.full((len(OBSERVED), days), np.nan)
        copy_days(self.values, self.first, found, first)
        return found


class Verification:
    """Fetches the observed weather for days with stored forecasts, from the preferred archive."""

    def __init__(self, archives: Archives, clock: Clock) -> None:
        self._archives = archives.providers
        self._repository = archives.repository
        self._clock = clock
        self._next_at: dict[str, datetime] = {}  # when a cell of the archive may be fetched

    @property
    def archive(self) -> ArchiveProvider | None:
        """The first archive provider that the plan of the operator's API key includes, or None."""
        usable = (one for one in self._archives if one.client.is_in_plan)
        return next(usable, None)

    async def find_all(self, cells: Sequence[str]) -> dict[str, ObservedDays]:
        """Return the stored observed weather of each forecast cell, by the cell's key.

        Raises:
            StorageError: the store cannot be read.
        """
        if (archive := self.archive) is None:
            return {}
        today = self._clock().date()
        first, last = today - timedelta(RETENTION_DAYS), today - timedelta(LAG_DAYS)
        found = {}
        for key in cells:
            cell = archive_cell(archive, key)
            months = await self._repository.load(archive.source, cell.key, first, last)
            if months:
                found[key] = ObservedDays.of(months, first, last)
        return found

    async def verify_next(self, cells: dict[str, CellExtent]) -> bool:
        """Fetch missing observed weather for one grid cell with stored forecasts.

        Of the cells with missing days, the most recently requested is chosen. Nothing is fetched if
        more than half of the archive's call budget (of any time window) is spent.

        Args:
            cells: the extent of the stored forecasts, by the key of the forecast's cell.

        Returns:
            True if the archive was called.

        Raises:
            StorageError: the store cannot be read.
        """
        archive = self.archive
        if archive is None or not has_spare_budget(archive):
            return False
        now = self._clock()
        latest_first = sorted(cells.items(), key=lambda item: item[1].last, reverse=True)
        for key, extent in latest_first:
            cell = archive_cell(archive, key)
            if now < self._next_at.get(cell.key, now):
                continue
            if unknown := await self._unknown_days(archive, cell, extent):
                await self._fetch(archive, cell, unknown)
                return True
        return False

    async def _unknown_days(
        self, archive: ArchiveProvider, cell: Cell, extent: CellExtent
    ) -> list[date]:
        """Return the days to fetch now: those with forecasts, but without an observed high or low.

        Days less than six days old are left out, since the archive does not have them yet. A day
        that was over 30 days old at the cell's last fetch, and is still unknown, is not requested
        again: the archive lacks it. Return no days if any process fetched the cell in the last five
        days.
        """
        now = self._clock()
        first = max(extent.first, now.date() - timedelta(RETENTION_DAYS))
        last = min(now.date() - timedelta(LAG_DAYS), extent.last + timedelta(LEADS - 1))
        if last < first:
            return []
        months = await self._repository.load(archive.source, cell.key, first, last)
        if months:
            fetched_at = max(month.fetched_at for month in months)
            if fetched_at > now - FETCH_EVERY:
                return []
            first = max(first, fetched_at.date() - timedelta(GIVE_UP_DAYS))
        if last < first:
            return []
        high, low, _ = ObservedDays.of(months, first, last).values
        return [first + timedelta(int(n)) for n in np.flatnonzero(~np.isfinite(high + low))]

    async def _fetch(self, archive: ArchiveProvider, cell: Cell, unknown: Sequence[date]) -> None:
        now = self._clock()
        wanted = climatology.months_of(Stay(unknown[0], unknown[-1]), unknown[0].year)
        try:
            months = await archive.fetch_months(cell, wanted, now.date(), public=False)
        except errors.ProviderError as error:
            structlog.get_logger().info("forecasts_not_verified", why=error.message)
            self._next_at[cell.key] = now + RETRY_AFTER
        else:
            self._next_at[cell.key] = now + FETCH_EVERY
            self._repository.put(archive.source, cell.key, months)
            await self._repository.flush()


def archive_cell(archive: ArchiveProvider, key: str) -> Cell:
    """Return the cell of the archive's grid that contains the centre of a forecast cell.

    `key` is the key of the forecast cell; its grid is not the grid of the archive.
    """
    lat, lng, timezone = key.split(",", 2)
    return archive.cell(Point(float(lat), float(lng), timezone))
