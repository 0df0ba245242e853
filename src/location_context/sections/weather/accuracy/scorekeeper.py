"""Scorekeeper: stores the forecasts that guests received, and reports their accuracy.

For each grid cell, the first forecast of a day is stored, after the guest has received the answer.
Forecasts of at most fifty cells are stored. If a cell is not requested for a week, another cell can
replace it. Forecasts are deleted after 120 days. If the store fails, the report has fewer
forecasts, but guests still receive their answers.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import groupby

import numpy as np
import structlog

from location_context.errors import StorageError
from location_context.lru import LRUCache
from location_context.sections.contract import Query
from location_context.sections.weather.accuracy.records import (
    LEADS,
    RETENTION_DAYS,
    AccuracyStore,
    CellExtent,
    ForecastRow,
    given_columns,
)
from location_context.sections.weather.accuracy.report import Report, make_report
from location_context.sections.weather.accuracy.verification import Verification
from location_context.sections.weather.estimate import Estimator, height_between
from location_context.sections.weather.providers.base import Forecast, ForecastProvider
from location_context.sections.weather.records import Cell, Columns
from location_context.sections.weather.retrieval.archives import Archives
from location_context.sections.weather.retrieval.sources import Sources
from location_context.stay import Clock, Stay
from location_context.upstream.deadline import WriteBehind

IDLE_DAYS = 7  # a cell that is requested weekly keeps its place
PASS_SECONDS = 3600.0  # between two passes; each pass verifies one cell
MAX_WAITING = 500  # forecasts of some kB, received within a quarter of a second
SCORED_CELLS = 50
MAX_REMEMBERED = 5_000  # cells whose forecast of the day is known to be stored
REPORT_TTL = timedelta(minutes=10)

GetColumns = Callable[[], Awaitable[Columns]]
FirstForecast = tuple[str, str, date]  # provider, cell and day of issue


class Scorekeeper:
    """Stores the forecasts of one installation, and reports how accurate they were.

    Args:
        store: the store of forecasts.
        archives: the weather archives, which fetch and store the observed values.
        clock: returns the current time in UTC.
    """

    def __init__(self, store: AccuracyStore, archives: Archives, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._verification = Verification(archives, clock)
        self._cells: dict[str, date] | None = None  # with a place: their last day of issue
        self._seen: LRUCache[FirstForecast, bool] = LRUCache(MAX_REMEMBERED)
        self._waiting: dict[FirstForecast, tuple[float | None, GetColumns]] = {}
        self._writes = WriteBehind(self._write)
        self._report: tuple[Report, datetime] | None = None
        self._report_lock = asyncio.Lock()

    def record(
        self,
        provider: str,
        cell: Cell,
        issued_on: date,
        elevation: float | None,
        columns: GetColumns,
    ) -> None:
        """Store, in the background, a provider's first forecast of a day for a cell; ignore others.

        Args:
            provider: the provider's title.
            cell: the forecast's grid cell.
            issued_on: the local date of issue.
            elevation: the elevation in m to which the temperatures apply.
            columns: returns the values to store (`FORECAST_COLUMNS`); called after the answer is
                sent.
        """
        key = (provider, cell.key, issued_on)
        if key not in self._seen and len(self._waiting) < MAX_WAITING:
            self._waiting.setdefault(key, (elevation, columns))
            self._writes.start()

    async def _has_place(self, cell: str, today: date) -> bool:
        """Return True if forecasts for this grid cell may be stored.

        The result is True if the cell has stored forecasts, or if fewer than fifty cells were
        requested within the last week. It is False if the store cannot be read.
        """
        if self._cells is None:
            try:
                extents = await self._store.cells()
            except StorageError as error:
                structlog.get_logger().warning("score_not_read", why=error.message)
                return False
            self._cells = {key: one.last for key, one in extents.items()}
        if cell not in self._cells:
            taken = sum(last >= today - timedelta(IDLE_DAYS) for last in self._cells.values())
            if taken >= SCORED_CELLS:
                return False
        self._cells[cell] = today
        return True

    async def _write(self) -> bool:
        """Write the waiting forecasts to the store; return True if more were recorded meanwhile.

        At most fifty cells have stored forecasts (see `_has_place`); forecasts of further cells are
        dropped. If the write fails, the forecasts are lost.
        """
        waiting, self._waiting = self._waiting, {}
        rows = []
        for (provider, cell, issued_on), (elevation, columns) in waiting.items():
            if await self._has_place(cell, issued_on):
                self._seen.put((provider, cell, issued_on), value=True)
                try:
                    given = await columns()
                except Exception:  # noqa: BLE001  whatever it is, the others are written
                    structlog.get_logger().exception("forecast_not_recorded")
                    continue
                rows.append(ForecastRow.pack(provider, cell, issued_on, elevation, given))
        try:
            await self._store.save_forecasts(rows)
        except StorageError as error:
            structlog.get_logger().warning("score_not_written", why=error.message)
        return bool(self._waiting)

    async def report(self) -> Report:
        """Return the accuracy report on all stored forecasts; it is at most ten minutes old.

        Raises:
            StorageError: the store cannot be read.
        """
        async with self._report_lock:
            now = self._clock()
            if self._report is None or now >= self._report[1]:
                self._report = (await self._make_report(), now + REPORT_TTL)
            return self._report[0]

    async def _make_report(self) -> Report:
        rows = await self._store.load_forecasts(self._clock().date() - timedelta(RETENTION_DAYS))
        cells = sorted({row.cell for row in rows})
        found = await self._verification.find_all(cells)
        return await asyncio.to_thread(make_report, rows, found.get)

    async def run(self) -> None:
        """Call `pass_once` every hour until cancelled.

        A random first wait keeps the workers of an installation from calling at the same time.
        """
        await asyncio.sleep(PASS_SECONDS * random.uniform(0.1, 1))  # noqa: S311  spread, no secret
        while True:
            try:
                await self.pass_once()
            except Exception:  # noqa: BLE001  whatever it is, guests are answered all the same
                structlog.get_logger().exception("score_failed")
            await asyncio.sleep(PASS_SECONDS)

    async def pass_once(self) -> bool:
        """Write pending forecasts, delete old ones, and fetch the observed weather of one cell.

        Return True if the weather archive was called.
        """
        await self.flush()
        try:
            cells = await self._prune()
            return await self._verification.verify_next(cells)
        except StorageError as error:
            structlog.get_logger().warning("score_not_kept", why=error.message)
            return False

    async def _prune(self) -> dict[str, CellExtent]:
        """Delete old forecasts, and all forecasts for surplus cells; return the cells that remain.

        Several workers together may have stored more than fifty cells; at most fifty remain. Cells
        requested within the last week have priority, then cells with more forecasts.
        """
        now = self._clock()
        oldest = now.date() - timedelta(RETENTION_DAYS)
        idle = now.date() - timedelta(IDLE_DAYS)
        cells = {key: one for key, one in (await self._store.cells()).items() if one.last >= oldest}
        ranked = sorted(cells, key=lambda key: (cells[key].last >= idle, cells[key].rows))
        dropped = ranked[:-SCORED_CELLS]
        await self._store.prune(oldest, dropped)
        kept = {key: cells[key] for key in ranked[len(dropped) :]}
        self._cells = {key: one.last for key, one in kept.items()}
        return kept

    async def flush(self) -> None:
        """Write the recorded forecasts to the store now; a failure is only logged."""
        if self._waiting or self._writes.active:
            await self._writes.flush()

    async def close(self) -> None:
        """Wait for writes under way, and write the pending forecasts."""
        await self.flush()


class Recorder:
    """Passes each new forecast to the scorekeeper, with the values that guests receive."""

    def __init__(self, score: Scorekeeper, sources: Sources, estimator: Estimator) -> None:
        self._score = score
        self._sources = sources
        self._estimator = estimator

    def record(self, provider: ForecastProvider, query: Query, forecast: Forecast) -> None:
        """Pass a new forecast to the scorekeeper, which stores the first of each day and cell."""
        issued = (forecast.issued_at or forecast.fetched_at).astimezone(query.point.zone).date()
        last = min(forecast.last_known, issued + timedelta(LEADS - 1))
        if last < issued:
            return

        async def columns() -> Columns:
            # month by month, since the climatology may be stored for only one of them
            months = [
                await self._given(replace(query, stay=stay), provider, forecast)
                for stay in by_month(Stay(issued, last))
            ]
            return {name: np.concatenate([one[name] for one in months]) for name in months[0]}

        cell = Cell.of(query.point, provider.cell_degrees)
        self._score.record(provider.title, cell, issued, forecast.grid.elevation, columns)

    async def _given(self, query: Query, provider: ForecastProvider, forecast: Forecast) -> Columns:
        """Return the values to store (`FORECAST_COLUMNS`) for the query's dates.

        These are the values that guests receive and those that the provider issued. Typical values
        of past years are included if they are already stored; nothing is fetched.
        """
        series = self._sources.forecasts.part_of(provider, query, forecast)
        typical = await self._sources.archives.load(query)
        given = self._estimator.estimate(query, replace(series, typical=typical), None)
        grid = typical.grid if typical is not None else None
        return given_columns(given, height_between(given.grid, grid, None))


def by_month(stay: Stay) -> Iterator[Stay]:
    """Split a stay by calendar months: yield the part that lies in each month."""
    for _, dates in groupby(stay.dates(), lambda day: (day.year, day.month)):
        days = list(dates)
        yield Stay(days[0], days[-1])
