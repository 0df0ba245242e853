"""The repository of archive data (past weather): a cache in memory in front of the store.

If the store cannot be read, months count as missing, so that they are fetched from the provider and
answers do not fail. A failed write is retried until it succeeds. Damaged rows count as missing. The
store is always read before a provider is called, since other workers or the command `warm` may have
stored the months meanwhile. Elevations of points are kept here too.

The last use of each cell is written to the store at most once a week, because cells unused for long
are deleted from the store (`storage/retention.py`).
"""

import asyncio
from collections.abc import Sequence
from datetime import date, timedelta

import structlog

from location_context.errors import StorageError
from location_context.lru import LRUCache
from location_context.sections.weather.records import (
    PAD_DAYS,
    ArchiveCell,
    ClimateStore,
    Month,
    MonthRow,
    Spot,
    YearMonth,
    month_span,
)
from location_context.stay import Clock
from location_context.upstream.deadline import WriteBehind

MAX_CELL_MONTHS = 600  # in memory, about 36 kB each
MAX_PENDING = 20_000  # months of 3 kB each, 60 MB: about 160 cells with all their ten years
RETRY_WRITE_SECONDS = 10.0
TOUCH_DAYS = 7  # retention counts in months, so that a week is exact enough
MAX_TOUCHED = 20_000  # cells in memory; a cell that was dropped costs a small write

CellMonth = tuple[str, str, int]  # source, cell and month (1 to 12)


class ArchiveRepository:
    """A repository of fetched months of past weather, and of elevations of points."""

    def __init__(self, store: ClimateStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._months: LRUCache[CellMonth, dict[int, Month]] = LRUCache(MAX_CELL_MONTHS)
        self._touched: LRUCache[ArchiveCell, date] = LRUCache(MAX_TOUCHED)
        self._pending_touches: dict[ArchiveCell, date] = {}
        self._writes = WriteBehind(self._write)
        self._pending_months: list[tuple[str, str, Month]] = []
        self._pending_elevations: dict[Spot, float] = {}

    async def get(
        self, source: str, cell: str, wanted: Sequence[YearMonth]
    ) -> dict[YearMonth, Month]:
        """Return the wanted months that are stored and need not be fetched again."""
        self._touch((source, cell))
        found = self._in_memory(source, cell, wanted)
        missing = {month for year, month in wanted if (year, month) not in found}
        if missing:
            await self._read(source, cell, sorted(missing))
            found = self._in_memory(source, cell, wanted)
        return found

    async def load(self, source: str, cell: str, first: date, last: date) -> list[Month]:
        """Return every stored month that has a value for a date from `first` to `last`.

        A stored month also has the 15 days before and after it. Months whose data are not final yet
        are included.

        Raises:
            StorageError: the store cannot be read.
        """
        await self.flush()
        self._touch((source, cell))
        days = range(-PAD_DAYS, (last - first).days + PAD_DAYS + 1)
        names = sorted({(first + timedelta(n)).month for n in days})
        found = []
        for row in await self._store.load(source, cell, names):
            begin, end = month_span(row.year, row.month)
            if begin <= last and first <= end and (month := row.unpack()) is not None:
                found.append(month)
        return found

    def _touch(self, cell: ArchiveCell) -> None:
        """Note that a cell is used today, unless a use in the last week is already noted."""
        today, noted = self._clock().date(), self._touched.get(cell)
        if noted is None or not 0 <= (today - noted).days < TOUCH_DAYS:
            self._touched.put(cell, today)
            self._pending_touches[cell] = today

    def _in_memory(
        self, source: str, cell: str, wanted: Sequence[YearMonth]
    ) -> dict[YearMonth, Month]:
        now, found = self._clock(), {}
        for year, name in wanted:
            month = (self._months.get((source, cell, name)) or {}).get(year)
            if month is not None and month.is_settled(now):
                found[year, name] = month
        return found

    async def _read(self, source: str, cell: str, names: Sequence[int]) -> None:
        """Read the months `names` (1 to 12) of a cell from the store into memory, for all years."""
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
                    years[year] = month  # newer than the stored month, or not written yet
            self._months.put(key, years)

    def hold(self, source: str, cell: str, months: Sequence[Month]) -> None:
        """Keep months in the memory cache, and do not write them to the store."""
        for month in months:
            key = (source, cell, month.month)
            self._months.put(key, {**(self._months.get(key) or {}), month.year: month})

    def put(self, source: str, cell: str, months: Sequence[Month]) -> None:
        """Keep months in the memory cache, and write them to the store in the background."""
        self.hold(source, cell, months)
        self._pending_months += [(source, cell, month) for month in months]
        self._pending_months = self._pending_months[-MAX_PENDING:]
        self._writes.start()

    async def load_elevation(self, spot: Spot) -> float | None:
        """Return the stored elevation of a point in m; None if there is none."""
        if spot in self._pending_elevations:
            return self._pending_elevations[spot]
        try:
            return await self._store.load_elevation(*spot)
        except StorageError:
            return None

    def put_elevation(self, spot: Spot, elevation: float) -> None:
        """Store the elevation of a point in m; it is written to the store in the background."""
        self._pending_elevations[spot] = elevation
        self._writes.start()

    async def _write(self) -> bool:
        """Write the waiting data to the store; return True if more data were added meanwhile.

        The data are months, elevations, and the days on which cells were last used. Months and
        elevations that could not be written are kept for the next attempt.
        """
        months, elevations = list(self._pending_months), dict(self._pending_elevations)
        touches, self._pending_touches = self._pending_touches, {}  # noted again in a week
        try:
            if touches:
                await self._store.touch(touches)
            if months:  # packed in a thread, since some tens of cells may have gathered
                rows = await asyncio.to_thread(lambda: [MonthRow.pack(*month) for month in months])
                await self._store.save(rows)
            if elevations:
                await self._store.save_elevations(elevations)
        except StorageError as error:
            log = structlog.get_logger()
            log.warning("climate_not_written", why=error.message, pending=self.pending)
            return False
        written = set(map(id, months))
        self._pending_months = [one for one in self._pending_months if id(one) not in written]
        for spot in elevations:
            self._pending_elevations.pop(spot, None)
        return self.pending > 0

    @property
    def pending(self) -> int:
        """The number of months and elevations that wait to be written."""
        return len(self._pending_months) + len(self._pending_elevations)

    async def retry_writes(self) -> None:
        """Try every ten seconds to write unwritten data to the store, until cancelled.

        A write may succeed later, for example once a full disk has space again.
        """
        while True:
            await asyncio.sleep(RETRY_WRITE_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Write unwritten data to the store at once; a failure is only logged."""
        if self.pending or self._pending_touches or self._writes.active:
            await self._writes.flush()
