"""What the weather section keeps and hands on, in metric units: fields, grids, months, outlooks.

A provider's days are columns in the order of `FIELDS`, NaN where a value is unknown. The archive is
kept month by month, each with the fortnight before and after that a stay's window may reach into.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Self

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from location_context.sections.contract import Attribution, DegradedReason
    from location_context.sections.weather.response import Kind, Mode

PAD_DAYS = 15  # a window reaches as far to either side of a date

# Plausible daily values: what lies outside is unknown. The highest ever measured lie inside,
# but for rain, where 1,000 mm leaves out only a handful of days on Réunion.
LIMITS: Mapping[str, tuple[float, float]] = {
    "weather_code": (0, 99),
    "temperature_max": (-95, 65),
    "temperature_min": (-95, 65),
    "temperature_mean": (-95, 65),
    "apparent_temperature_max": (-140, 95),
    "apparent_temperature_min": (-140, 95),
    "precipitation_sum": (0, 1000),
    "precipitation_hours": (0, 24),
    "snowfall_sum": (0, 500),
    "wind_speed_max": (0, 500),
    "wind_gusts_max": (0, 600),
    "wind_direction_dominant": (0, 360),
    "sunshine_hours": (0, 24),
    "cloud_cover_mean": (0, 100),
    "humidity_mean": (0, 100),
    "precipitation_probability": (0, 100),
    "uv_index_max": (0, 50),
}
FIELDS = tuple(LIMITS)[:15]  # what the archive has
FORECAST_FIELDS = tuple(LIMITS)
TEMPERATURES = FIELDS[1:6]
ROW = {name: row for row, name in enumerate(FORECAST_FIELDS)}

Columns = dict[str, "NDArray[np.float64]"]


@dataclass(frozen=True, slots=True)
class Grid:
    """The centre of the provider's cell, and its height in m where the provider tells it."""

    lat: float
    lng: float
    elevation: float | None


def plausible(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values with NaN in place of those outside the field's limits."""
    low, high = LIMITS[name]
    with np.errstate(invalid="ignore"):
        return np.where((values >= low) & (values <= high), values, np.nan)


@dataclass(frozen=True, slots=True)
class Month:
    """One month of one year with 15 days to either side, as a provider's archive gave it.

    `is_empty` tells that not one high is known.
    """

    year: int
    month: int
    grid: Grid
    fetched_at: datetime
    values: NDArray[np.float32]  # FIELDS x days
    is_empty: bool = field(init=False)

    @property
    def first(self) -> date:
        return month_span(self.year, self.month)[0]

    def __post_init__(self) -> None:
        known = np.isfinite(self.values[ROW["temperature_max"]]).any()
        object.__setattr__(self, "is_empty", not known)


class MonthRow(msgspec.Struct, frozen=True):
    """A `Month` as storage keeps it. `source` and `cell` say whose it is."""

    source: str
    cell: str
    year: int
    month: int
    lat: float
    lng: float
    elevation: float | None
    fetched_at: datetime
    data: bytes

    @classmethod
    def pack(cls, source: str, cell: str, kept: Month) -> Self:
        data = zlib.compress(np.ascontiguousarray(kept.values, "<f4").tobytes(), 1)
        grid = kept.grid
        return cls(
            source, cell, kept.year, kept.month, grid.lat, grid.lng, grid.elevation,
            kept.fetched_at, data,
        )  # fmt: skip

    def unpack(self) -> Month | None:
        """The month; None when the data are damaged or of another shape."""
        first, last = month_span(self.year, self.month)
        shape = (len(FIELDS), (last - first).days + 1)
        try:
            raw = zlib.decompress(self.data)
            values = np.frombuffer(raw, "<f4").reshape(shape)
        except (zlib.error, ValueError):
            return None
        grid = Grid(self.lat, self.lng, self.elevation)
        return Month(self.year, self.month, grid, self.fetched_at, values)


def month_span(year: int, month: int) -> tuple[date, date]:
    """The first and last date kept with a month."""
    first = date(year, month, 1)
    after = date(year + month // 12, month % 12 + 1, 1)
    return first - timedelta(PAD_DAYS), after + timedelta(PAD_DAYS - 1)


@dataclass(frozen=True, slots=True)
class YearRecord:
    """The dates of the stay in one year of the archive."""

    year: int
    temperature_max_mean: float
    temperature_min_mean: float
    precipitation_total: float
    wet_days: int | None


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What one source says of a stay: a forecast, a climatology, or a monthly mean.

    `columns` hold a value for each date, NaN where unknown. `stale` and `lacking` are as in an
    answer; `lasts` is how long it stays true.
    """

    mode: Mode
    kind: Kind
    provider: str
    model: str | None
    columns: Columns
    attribution: Sequence[Attribution]
    lasts: timedelta
    as_of: datetime | None
    issued_at: datetime | None = None
    years: Sequence[int] = ()
    samples_per_day: int | None = None
    grid: Grid | None = None
    history: Sequence[YearRecord] = field(default=())
    history_grid: Grid | None = None  # when the history comes from another source
    stale: bool = False
    lacking: DegradedReason | None = None
