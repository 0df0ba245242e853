"""What a weather provider promises: a forecast of a cell, or months of its archive."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np

from location_context.sections.weather.records import Columns, Grid, month_span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from location_context.point import Point
    from location_context.sections.contract import Attribution
    from location_context.sections.weather.cells import Cell
    from location_context.sections.weather.records import Month
    from location_context.stay import Stay
    from location_context.upstream.client import ProviderClient

YearMonth = tuple[int, int]


class _Kept(msgspec.Struct, array_like=True):
    """A forecast as it is kept."""

    first: date
    columns: dict[str, bytes]
    lat: float
    lng: float
    elevation: float | None
    fetched_at: datetime
    until: datetime
    issued_at: datetime | None


@dataclass(frozen=True)
class Forecast:
    """Daily columns from `first` on, as a provider gave them. `until` is when to ask again."""

    first: date
    columns: Columns
    grid: Grid
    fetched_at: datetime
    until: datetime
    issued_at: datetime | None = None

    def of(self, stay: Stay) -> Columns:
        """The columns on the dates of the stay, NaN where the forecast has none."""
        return {name: self._cut(values, stay) for name, values in self.columns.items()}

    def pack(self) -> bytes:
        """As it is kept for other processes."""
        columns = {name: values.astype("<f4").tobytes() for name, values in self.columns.items()}
        kept = _Kept(
            self.first, columns, self.grid.lat, self.grid.lng, self.grid.elevation,
            self.fetched_at, self.until, self.issued_at,
        )  # fmt: skip
        return msgspec.msgpack.encode(kept)

    @classmethod
    def unpack(cls, data: bytes) -> Forecast | None:
        """A forecast that was packed; None where the data are damaged."""
        try:
            kept = msgspec.msgpack.decode(data, type=_Kept)
            columns = {
                name: np.frombuffer(raw, "<f4").astype(np.float64)
                for name, raw in kept.columns.items()
            }
        except (msgspec.MsgspecError, ValueError):
            return None
        grid = Grid(kept.lat, kept.lng, kept.elevation)
        return cls(kept.first, columns, grid, kept.fetched_at, kept.until, kept.issued_at)

    def _cut(self, values: NDArray[np.float64], stay: Stay) -> NDArray[np.float64]:
        cut = np.full(stay.days, np.nan)
        shift = (self.first - stay.start).days
        begin, end = max(0, shift), min(stay.days, shift + len(values))
        if begin < end:
            cut[begin:end] = values[begin - shift : end - shift]
        return cut


class ForecastProvider(Protocol):
    """A source of daily forecasts."""

    name: str
    model: str | None
    attribution: Sequence[Attribution]
    upstream: ProviderClient
    degrees: float
    at_point: bool  # asked for at the first point of a cell, whose height the answer's grid tells

    async def forecast(self, cell: Cell, today: date, past_days: int, *, public: bool) -> Forecast:
        """A fresh forecast that begins `past_days` before today, if it can.

        All temperatures are those at the height that the forecast's grid names.

        Raises:
            ProviderError: none came.
        """
        ...


class ArchiveProvider(Protocol):
    """A source of daily values of past years. `source` names it in the store, for good."""

    source: str
    name: str
    model: str
    upstream: ProviderClient

    def cell(self, point: Point) -> Cell: ...

    def attribution(self, today: date) -> Sequence[Attribution]: ...

    async def months(
        self, cell: Cell, wanted: Sequence[YearMonth], today: date, *, public: bool
    ) -> list[Month]:
        """The wanted months and whatever else came with them, in one request.

        Raises:
            ProviderError: none came.
        """
        ...


def intervals(wanted: Iterable[YearMonth]) -> list[tuple[date, date]]:
    """The spans of months with their pads, one for each run of consecutive months."""
    runs: list[list[YearMonth]] = []
    for year, month in sorted(set(wanted)):
        last = runs[-1][-1] if runs else None
        if last and year * 12 + month == last[0] * 12 + last[1] + 1:
            runs[-1].append((year, month))
        else:
            runs.append([(year, month)])
    return [(month_span(*run[0])[0], month_span(*run[-1])[1]) for run in runs]


def settled(kept: Month, now: datetime) -> bool:
    """Whether the archive had the month whole when it was fetched, or was asked within a day."""
    last = month_span(kept.year, kept.month)[1]
    final = (kept.fetched_at.date() - last).days > 6 and not kept.is_empty
    return final or now - kept.fetched_at < timedelta(days=1)
