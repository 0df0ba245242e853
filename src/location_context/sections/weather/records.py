"""Data types of the weather section, in metric units: fields, grid cells, months and series.

A provider's daily values are arrays by field name (`FORECAST_FIELDS`), with NaN where a value is
unknown. Archive data are stored by grid cell and month, since all points in a cell share the
provider's data. A stored month also has the 15 days before and after it: the climatology of a date
uses these days too.
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from location_context.point import Point
from location_context.sections.contract import Attribution, DegradedReason
from location_context.sections.weather.response import Condition, Kind, Spread, YearBody
from location_context.upstream.shared_cache import inflate

Product = Literal["raw", "damped"]  # the kind of a forecast; see `ForecastProvider.product`
PAD_DAYS = 15  # the climatology of a date uses a window of this many days on either side
SETTLED_DAYS = 6  # after this many days an archive's values of a day are final
LAPSE_K_PER_M = 0.0065  # ICAO standard atmosphere


class Field(NamedTuple):
    """The limits and the unit of one kind of daily value, such as the high.

    Attributes:
        lowest, highest: the limits; values outside are implausible, and treated as unknown.
        measure: the method of `Measure` that converts a value from our metric unit.
        archived: True if archives have the value too; False if only forecasts have it.
    """

    lowest: float
    highest: float
    measure: str
    archived: bool = True


# The highest values ever measured lie inside the limits, but for rain, where 1,000 mm leaves out
# only a handful of days on Réunion.
FIELDS: Mapping[str, Field] = {
    "weather_code": Field(0, 99, "count"),
    "temperature_max": Field(-95, 65, "temperature"),
    "temperature_min": Field(-95, 65, "temperature"),
    "temperature_mean": Field(-95, 65, "temperature"),
    "apparent_temperature_max": Field(-140, 95, "temperature"),
    "apparent_temperature_min": Field(-140, 95, "temperature"),
    "precipitation_sum": Field(0, 1000, "precipitation"),
    "precipitation_hours": Field(0, 24, "hours"),
    "snowfall_sum": Field(0, 500, "snowfall"),
    "wind_speed_max": Field(0, 500, "wind_speed"),
    "wind_gusts_max": Field(0, 600, "wind_speed"),
    "wind_direction_dominant": Field(0, 360, "bearing"),
    "sunshine_hours": Field(0, 24, "hours"),
    "cloud_cover_mean": Field(0, 100, "percent"),
    "humidity_mean": Field(0, 100, "percent"),
    "precipitation_probability": Field(0, 100, "percent", archived=False),
    "uv_index_max": Field(0, 50, "count", archived=False),
}
FORECAST_FIELDS = tuple(FIELDS)
ARCHIVE_FIELDS = tuple(name for name, field in FIELDS.items() if field.archived)
TEMPERATURES = tuple(name for name, field in FIELDS.items() if field.measure == "temperature")
ROW = {name: row for row, name in enumerate(FORECAST_FIELDS)}

# Weather codes: WMO 4677 as Open-Meteo uses it.
CONDITION_CODES: Mapping[Condition, tuple[int, ...]] = {
    "clear": (0, 1),
    "partly_cloudy": (2,),
    "cloudy": (3,),
    "fog": (45, 48),
    "drizzle": (51, 52, 53, 54, 55),
    "rain": (61, 63, 80, 81),
    "heavy_rain": (65, 82),
    "sleet": (56, 57, 66, 67),
    "snow": (71, 73, 77, 85),
    "heavy_snow": (75, 86),
    "thunderstorm": (95, 96, 97, 98, 99),
}
_CONDITION_OF = {code: name for name, codes in CONDITION_CODES.items() for code in codes}

_PACKED = b"\x01"  # first byte of packed data
_UNITS = np.array([1, 1, 10, 100, 3600])  # factors that make a field whole; index 0: none does
_MAX_COUNT, _UNKNOWN = 2**30, -(2**31)

Floats = NDArray[np.float64]
Columns = dict[str, Floats]
YearMonth = tuple[int, int]
ArchiveCell = tuple[str, str]  # source, and the key of a cell of its grid
Spot = tuple[float, float]  # latitude and longitude of a point


@dataclass(frozen=True, slots=True)
class Cell:
    """The cell for which data are requested and stored: its centre and its days' time zone."""

    lat: float
    lng: float
    timezone: str

    @classmethod
    def of(cls, point: Point, degrees: float, timezone: str | None = None) -> Self:
        """Return the cell that contains the point, in a grid with cells of `degrees`.

        Each pole is a single cell, and the longitudes ±180° are the same cell. `timezone` replaces
        the time zone of the point.
        """
        lat = round(round(point.lat / degrees) * degrees, 4) + 0.0
        lng = round(round(point.lng / degrees) * degrees, 4) + 0.0
        if abs(lat) == 90:
            lng = 0.0
        return cls(lat, 180.0 if lng == -180 else lng, timezone or point.timezone)

    @property
    def key(self) -> str:
        return f"{self.lat:.4f},{self.lng:.4f},{self.timezone}"


@dataclass(frozen=True, slots=True)
class Grid:
    """The grid cell from which data come: its centre, and its elevation in m, None if unknown."""

    lat: float
    lng: float
    elevation: float | None

    def correction(self, elevation: float | None) -> float | None:
        """Return the kelvin to add to this cell's temperatures for a point at another elevation.

        `elevation` is that of the point, in m. Return None if either elevation is unknown.
        """
        if self.elevation is None or elevation is None:
            return None
        return (self.elevation - elevation) * LAPSE_K_PER_M


def plausible(names: tuple[str, ...], values: Floats) -> Floats:
    """Return `values` with NaN in place of implausible values.

    A value is implausible if it is outside the limits of its field. `values` has a row for each
    field in `names`.
    """
    low, high = _limits(names)
    with np.errstate(invalid="ignore"):
        return np.where((values >= low) & (values <= high), values, np.nan)


@lru_cache(maxsize=64)
def _limits(names: tuple[str, ...]) -> Floats:
    return np.array([FIELDS[name][:2] for name in names]).T[..., None]


def condition_of(code: float) -> Condition | None:
    """Return the weather condition, such as "rain", of a weather code.

    Return None for NaN and for unknown codes.
    """
    return _CONDITION_OF.get(int(code)) if np.isfinite(code) else None


def copy_days(
    source: NDArray[Any], source_first: date, target: NDArray[Any], target_first: date
) -> None:
    """Copy daily values from `source` to `target`, for the days that both arrays cover.

    The last axis of each array has consecutive days, from `source_first` and from `target_first`
    on.
    """
    shift = (source_first - target_first).days
    begin, end = max(0, shift), min(target.shape[-1], shift + source.shape[-1])
    if begin < end:
        target[..., begin:end] = source[..., begin - shift : end - shift]


@dataclass(frozen=True, slots=True)
class Month:
    """The daily values of one month, and of 15 days before and after it, from an archive."""

    year: int
    month: int
    grid: Grid
    fetched_at: datetime
    values: NDArray[np.float32]  # ARCHIVE_FIELDS x days

    @property
    def first(self) -> date:
        return month_span(self.year, self.month)[0]

    def is_settled(self, now: datetime) -> bool:
        """Return True if the month need not be fetched again.

        The result is always True in the first 24 hours after the month's fetch. Later it is True if
        at least one high is known, and all days were at least a week past when they were fetched.
        """
        last = month_span(self.year, self.month)[1]
        if now - self.fetched_at < timedelta(days=1):
            return True
        known = np.isfinite(self.values[ROW["temperature_max"]]).any()
        return bool(known) and (self.fetched_at.date() - last).days > SETTLED_DAYS


class MonthRow(msgspec.Struct, frozen=True):
    """A `Month` as it is stored in the database, with the archive's `source` and the cell's key."""

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
    def pack(cls, source: str, cell: str, month: Month) -> Self:
        data, grid = _pack(month.values), month.grid
        return cls(
            source, cell, month.year, month.month, grid.lat, grid.lng, grid.elevation,
            month.fetched_at, data,
        )  # fmt: skip

    def unpack(self) -> Month | None:
        """Return the stored month; None if the data are damaged or of another shape."""
        try:
            first, last = month_span(self.year, self.month)
            values = _unpack(self.data, (len(ARCHIVE_FIELDS), (last - first).days + 1))
        except (zlib.error, ValueError, OverflowError, IndexError):
            return None
        grid = Grid(self.lat, self.lng, self.elevation)
        return Month(self.year, self.month, grid, self.fetched_at, values)


def _pack(values: NDArray[np.float32]) -> bytes:
    """Compress values (fields x days) without loss.

    A month takes 1.1 kB; compressed as plain floats it would take 1.8 kB. Providers round their
    values. So most fields become small whole numbers when multiplied by a factor in `_UNITS`, and
    change little from day to day. The changes from day to day are split into bytes, and the bytes
    of equal significance are compressed together. The result is the marker `_PACKED`, the index of
    each field's factor, and the compressed bytes. If no factor fits a field, the bits of its floats
    are compressed.
    """
    known = np.where(np.isnan(values), 0, values.astype(float)) + 0.0  # no -0, whose bits differ
    units = np.zeros(len(values), np.uint8)
    whole = np.ascontiguousarray(known, "<f4").view("<i4").copy()
    for place in range(len(_UNITS) - 1, 0, -1):  # the coarsest that fits comes last and stays
        counted = np.rint(known * _UNITS[place])
        fits = (counted / _UNITS[place]).astype("f4") == known.astype("f4")
        rows = (fits & (abs(counted) < _MAX_COUNT)).all(axis=1)
        units[rows], whole[rows] = place, counted[rows]
    whole[np.isnan(values)] = _UNKNOWN
    steps = np.diff(whole, axis=1, prepend=np.int32(0))
    folded = (steps << 1) ^ (steps >> 31)  # small numbers of either sign have high bytes of 0
    by_weight = np.ascontiguousarray(folded).view(np.uint8).reshape(-1, 4).T
    return _PACKED + units.tobytes() + zlib.compress(by_weight.tobytes(), 1)


def _unpack(data: bytes, shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return the values that `_pack` compressed.

    Raises:
        zlib.error, ValueError, IndexError: the data are damaged or of another shape.
    """
    units = np.frombuffer(data, np.uint8, shape[0], len(_PACKED))
    inflated = inflate(data[len(_PACKED) + shape[0] :], 4 * math.prod(shape))
    by_weight = np.frombuffer(inflated, np.uint8)
    folded = np.ascontiguousarray(by_weight.reshape(4, -1).T).view("<u4").reshape(shape)
    steps = (folded >> 1).view("<i4") ^ -(folded & 1).view("<i4")
    whole = np.cumsum(steps, axis=1, dtype="<i4")
    values: NDArray[np.float32] = (whole / _UNITS[units][:, None]).astype(np.float32)
    values[units == 0] = whole[units == 0].view("f4")
    values[whole == _UNKNOWN] = np.nan
    return values


def month_span(year: int, month: int) -> tuple[date, date]:
    """Return the first and last date stored for a month: 15 days before and after the month."""
    first = date(year, month, 1)
    after = date(year + month // 12, month % 12 + 1, 1)
    return first - timedelta(PAD_DAYS), after + timedelta(PAD_DAYS - 1)


def is_past(month: YearMonth, today: date) -> bool:
    """Return True if a month is so long ago that archives have its final values.

    The 15 days before and after the month must have final values too.
    """
    return (today - month_span(*month)[1]).days > SETTLED_DAYS


class ClimateStore(Protocol):
    """A store of past weather (by source, grid cell and month) and of elevations of points."""

    async def load(self, source: str, cell: str, months: Sequence[int]) -> list[MonthRow]:
        """Return a cell's stored months whose number (1 to 12) is in `months`, for all years."""
        ...

    async def save(self, rows: Sequence[MonthRow]) -> None:
        """Store all rows, or none on failure; replace rows of the same source, cell and month."""
        ...

    async def touch(self, cells: Mapping[ArchiveCell, date]) -> None:
        """Record on which day each cell was last used; cells unused for long are deleted later."""
        ...

    async def load_elevation(self, lat: float, lng: float) -> float | None:
        """Return the elevation of a point in m; None if it was never fetched."""
        ...

    async def save_elevations(self, elevations: Mapping[Spot, float]) -> None:
        """Store elevations of points in m; an elevation that is already stored is kept."""
        ...

    async def extent(self) -> tuple[int, datetime | None]:
        """Return the number of stored months, and the time when the newest was fetched."""
        ...


@dataclass(frozen=True, kw_only=True)
class WeatherSeries:
    """The weather from one source for each date of a stay.

    The weather is a forecast, a climatology (typical values of past years), or monthly means.

    Attributes:
        columns: arrays with a value for each date, NaN where unknown.
        ttl: how long the series is fresh.
        history: a summary of the stay's dates in each year of the archive, in metric units, NaN
            where unknown.
        product: the kind of a forecast; see `ForecastProvider.product`.
        issued: the columns of a calibrated forecast before calibration.
        typical: for a forecast, the climatology of the same dates.
        representativeness: how far the highs and lows of one place may be from its grid cell's:
            standard errors in K that the provider states. The ranges in `columns` exclude them.
        spread: the method that made the range of a calibrated forecast.
        stale, degraded_reason: the values of these two fields in the answer.
    """

    kind: Kind
    provider: str
    model: str | None
    columns: Columns
    attribution: Sequence[Attribution]
    ttl: timedelta
    as_of: datetime | None
    issued_at: datetime | None = None
    years: Sequence[int] = ()
    samples_per_day: int | None = None
    grid: Grid | None = None
    history: Sequence[YearBody] = field(default=())
    product: Product = "raw"
    issued: Columns | None = None
    typical: "WeatherSeries | None" = None
    representativeness: tuple[float, float] | None = None
    spread: Spread | None = None
    stale: bool = False
    degraded_reason: DegradedReason | None = None

    def crediting(self, notices: Sequence[Attribution]) -> "WeatherSeries":
        """Return the series with these licence notices added; a notice is never repeated."""
        new = [notice for notice in notices if notice not in self.attribution]
        return replace(self, attribution=[*self.attribution, *new])
