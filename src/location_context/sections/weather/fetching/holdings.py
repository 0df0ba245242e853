"""Holdings: months of the archive and heights at hand, in memory before the store.

A store that cannot be read or written costs a request to the provider, never the answer; damaged
rows count as not held.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from location_context.errors import StorageError
from location_context.sections.recent import Recent
from location_context.sections.weather.providers.contract import settled
from location_context.sections.weather.records import Month, MonthRow
from location_context.upstream.flights import Flights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.sections.weather.providers.contract import YearMonth
    from location_context.sections.weather.store import ClimateStore
    from location_context.stay import Clock

_CELL_MONTHS = 600  # about 36 kB each
_HEIGHTS = 20_000


class Holdings:
    """What was fetched before, for good."""

    def __init__(self, store: ClimateStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._months: Recent[tuple[str, str, int], dict[int, Month]] = Recent(_CELL_MONTHS)
        self._heights: Recent[tuple[float, float], float] = Recent(_HEIGHTS)
        self._readings: Flights[None] = Flights()
        self._writings: Flights[None] = Flights()
        self._unkept: list[tuple[str, str, Month]] = []
        self._unkept_heights: dict[tuple[float, float], float] = {}

    async def held(
        self, source: str, cell: str, wanted: Sequence[YearMonth]
    ) -> dict[YearMonth, Month]:
        """The wanted months that are held."""
        names = sorted({month for _, month in wanted})
        unread = [name for name in names if self._months.get((source, cell, name)) is None]
        if unread:
            await self._read(source, cell, unread)
        now, found = self._clock(), {}
        for year, name in wanted:
            month = (self._months.get((source, cell, name)) or {}).get(year)
            if month is not None and settled(month, now):
                found[year, name] = month
        return found

    async def _read(self, source: str, cell: str, names: Sequence[int]) -> None:
        """Read months of a cell into memory; callers for the same ones share one reading."""
        await asyncio.shield(
            self._readings.start((source, cell, *names), lambda: self._load(source, cell, names))
        )

    async def _load(self, source: str, cell: str, names: Sequence[int]) -> None:
        try:
            rows = await self._store.load(source, cell, names)
        except StorageError as error:
            structlog.get_logger().warning("climate_not_read", why=error.message)
            return
        by_name: dict[int, dict[int, Month]] = {name: {} for name in names}
        for row in rows:
            if (month := row.unpack()) is None:
                structlog.get_logger().warning("climate_row_damaged", source=source)
            else:
                by_name[row.month][row.year] = month
        for name, years in by_name.items():
            self._months.put((source, cell, name), years)

    def keep(self, source: str, cell: str, months: Sequence[Month]) -> None:
        """Keep months: in memory at once, in the store soon; a locked store delays no answer."""
        for month in months:
            key = (source, cell, month.month)
            years = {**(self._months.get(key) or {}), month.year: month}
            self._months.put(key, years)
        self._unkept += [(source, cell, month) for month in months]
        self._writings.start("all", self._write)

    async def height(self, lat: float, lng: float) -> float | None:
        """The height of a point, if it was asked for before."""
        if (metres := self._heights.get((lat, lng))) is not None:
            return metres
        try:
            metres = await self._store.height(lat, lng)
        except StorageError:
            return None
        if metres is not None:
            self._heights.put((lat, lng), metres)
        return metres

    def keep_height(self, lat: float, lng: float, metres: float) -> None:
        self._heights.put((lat, lng), metres)
        self._unkept_heights[lat, lng] = metres
        self._writings.start("all", self._write)

    async def _write(self) -> None:
        """Write what is not kept yet, and what gathers meanwhile."""
        while self._unkept or self._unkept_heights:
            months, self._unkept = self._unkept, []
            heights, self._unkept_heights = self._unkept_heights, {}
            try:
                if months:
                    await self._store.keep([MonthRow.pack(*month) for month in months])
                if heights:
                    await self._store.keep_heights(heights)
            except StorageError as error:
                structlog.get_logger().warning("climate_not_kept", why=error.message)

    async def flush(self) -> None:
        """Wait until everything is written that can be."""
        if self._unkept or self._unkept_heights or len(self._writings):
            await self._writings.start("all", self._write)
