"""Holdings: months of the archive and heights at hand, in memory before the store.

A store that cannot be read costs a request to the provider, never the answer; one that cannot be
written is tried again until it can. Damaged rows count as not held. What other workers or `warm`
stored meanwhile is looked for before anything is asked of a provider.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import structlog

from location_context.errors import StorageError
from location_context.lru import LRUCache
from location_context.sections.weather.providers.contract import settled
from location_context.sections.weather.records import Month, MonthRow
from location_context.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.sections.weather.providers.contract import YearMonth
    from location_context.sections.weather.store import ClimateStore
    from location_context.stay import Clock

_CELL_MONTHS = 600  # about 36 kB each
_HEIGHTS = 20_000
_MAX_UNKEPT = 20_000  # months of 3 kB each, 60 MB: about 160 cells with all their ten years
_LOOK_AGAIN_SECONDS = 60.0
_WRITE_AGAIN_SECONDS = 10.0


class Holdings:
    """What was fetched before, for good."""

    def __init__(self, store: ClimateStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._months: LRUCache[tuple[str, str, int], dict[int, Month]] = LRUCache(_CELL_MONTHS)
        self._heights: LRUCache[tuple[float, float], float] = LRUCache(_HEIGHTS)
        self._read_at: LRUCache[tuple[str, str, int], float] = LRUCache(_CELL_MONTHS)
        self._readings: SingleFlight[None] = SingleFlight()
        self._writings: SingleFlight[None] = SingleFlight()
        self._unkept: list[tuple[str, str, Month]] = []
        self._unkept_heights: dict[tuple[float, float], float] = {}

    async def held(
        self, source: str, cell: str, wanted: Sequence[YearMonth], *, look_again: bool = True
    ) -> dict[YearMonth, Month]:
        """The wanted months that are held.

        What is not in memory is looked for in the store, or with `look_again` false only where
        nothing was read lately.
        """
        found = self._in_memory(source, cell, wanted)
        missing = {name for year, name in wanted if (year, name) not in found}
        unread = sorted(
            name for name in missing if look_again or not self._was_read((source, cell, name))
        )
        if unread:
            await self._read(source, cell, unread)
            found = self._in_memory(source, cell, wanted)
        return found

    def _in_memory(
        self, source: str, cell: str, wanted: Sequence[YearMonth]
    ) -> dict[YearMonth, Month]:
        now, found = self._clock(), {}
        for year, name in wanted:
            month = (self._months.get((source, cell, name)) or {}).get(year)
            if month is not None and settled(month, now):
                found[year, name] = month
        return found

    def _was_read(self, key: tuple[str, str, int]) -> bool:
        """Whether the store was read for this month of a cell in the last minute."""
        read = self._read_at.get(key)
        return read is not None and time.monotonic() - read < _LOOK_AGAIN_SECONDS

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
            key = (source, cell, name)
            for year, month in (self._months.get(key) or {}).items():
                if year not in years or years[year].fetched_at < month.fetched_at:
                    years[year] = month  # newer than the store has, or not written yet
            self._months.put(key, years)
            self._read_at.put(key, time.monotonic())

    def keep(self, source: str, cell: str, months: Sequence[Month]) -> None:
        """Keep months: in memory at once, in the store soon; a locked store delays no answer."""
        for month in months:
            key = (source, cell, month.month)
            years = {**(self._months.get(key) or {}), month.year: month}
            self._months.put(key, years)
        self._unkept += [(source, cell, month) for month in months]
        self._unkept = self._unkept[-_MAX_UNKEPT:]
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
        """Write what is not kept yet, and what gathers meanwhile; what fails stays unkept."""
        while self.unkept:
            months, heights = list(self._unkept), dict(self._unkept_heights)
            try:
                if months:
                    await self._store.keep([MonthRow.pack(*month) for month in months])
                if heights:
                    await self._store.keep_heights(heights)
            except StorageError as error:
                log = structlog.get_logger()
                log.warning("climate_not_kept", why=error.message, unkept=self.unkept)
                return
            written = set(map(id, months))
            self._unkept = [month for month in self._unkept if id(month) not in written]
            for spot in heights:
                self._unkept_heights.pop(spot, None)

    @property
    def unkept(self) -> int:
        """How many months and heights are not written yet."""
        return len(self._unkept) + len(self._unkept_heights)

    async def keep_writing(self) -> None:
        """Write again, until cancelled, what could not be written: a full disk is made room on."""
        while True:
            await asyncio.sleep(_WRITE_AGAIN_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Write what is not written yet, as far as that can be done now."""
        if self.unkept or len(self._writings):
            await self._writings.start("all", self._write)
