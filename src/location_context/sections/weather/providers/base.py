"""The base classes of weather providers: of forecasts, and of archives of past years.

A provider class defines the provider's address, limits, parameters and licence, and a table of the
provider's fields with their units. `read_columns` converts a provider's values to our fields and
units.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, Self, TypeGuard

import msgspec
import numpy as np

from location_context.point import Point
from location_context.sections.contract import Attribution
from location_context.sections.section import SectionContext
from location_context.sections.weather import records
from location_context.stay import Stay
from location_context.upstream.client import ProviderClient

ARCHIVE_DEGREES = 0.25  # ERA5's grid
FORECAST_DEGREES = 0.1  # the grid of the finer models that a forecast combines
MAX_DAYS = 6000  # in one response: ten years with their pads are 3,700
MAX_NUMBER = 1e9  # a JSON integer may have 400 digits
LOWEST, HIGHEST = -430, 9000  # m: the shore of the Dead Sea, and above Mount Everest
_NUMBERS = list[float | None]  # types that become an array without conversion

# Factor and offset that convert a provider's value into our unit.
UNITS: Mapping[str, tuple[float, float]] = {
    "": (1.0, 0.0),  # °C, mm, cm of snow, km/h, %, hours, degrees, codes: as they are
    "K": (1.0, -273.15),
    "°F": (5 / 9, -160 / 9),
    "m/s": (3.6, 0.0),
    "knots": (1.852, 0.0),
    "mph": (1.609344, 0.0),
    "inch": (25.4, 0.0),  # of rain, to mm
    "s": (1 / 3600, 0.0),
    "min": (1 / 60, 0.0),
    "share": (100.0, 0.0),
}


class Native(NamedTuple):
    """A provider's name for one of our fields, and the provider's unit, a key of `UNITS`."""

    path: str
    unit: str = ""


def is_number(value: Any) -> TypeGuard[float]:
    """Return True if a decoded JSON value is an int or float (no bool) between ±`MAX_NUMBER`."""
    return type(value) in (int, float) and abs(value) < MAX_NUMBER


def read_elevation(value: Any) -> float | None:
    """Return the value as an elevation in m (0.0 at sea); None if it cannot be an elevation."""
    return float(value) if is_number(value) and LOWEST <= value <= HIGHEST else None


def read_grid(cell: records.Cell, lat: Any, lng: Any, elevation: Any) -> records.Grid:
    """Return the grid cell that a provider's answer names by latitude, longitude and elevation.

    If the answer's coordinates are not valid, those of the requested `cell` are used.
    """
    if not (is_number(lat) and is_number(lng) and abs(lat) <= 90 and abs(lng) <= 180):
        lat, lng = cell.lat, cell.lng
    return records.Grid(float(lat), float(lng), read_elevation(elevation))


def read_columns(
    native: Mapping[str, Any],
    dates: Sequence[date],
    table: Mapping[str, Native],
    fields: Sequence[str] = records.FORECAST_FIELDS,
) -> tuple[date, records.Columns]:
    """Convert a provider's daily values; return the first date and an array for each of `fields`.

    Each array has one value for each day from the first date on. Values that are missing,
    implausible or not numbers are NaN. The array of a missing column is all NaN.

    Args:
        native: the provider's values by its own names, each as long as `dates`.
        dates: the dates of the values, in any order and without duplicates.
        table: the provider's name and unit for each of our fields.
        fields: the fields to return.

    Raises:
        ValueError: dates are missing or lie too far apart, or a column is of another length.

    Example:
        >>> table = {"temperature_max": Native("tmax", "K"), "wind_speed_max": Native("wind")}
        >>> native = {"tmax": [283.15, None]}
        >>> dates = [date(2027, 2, 3), date(2027, 2, 4)]
        >>> first, columns = read_columns(native, dates, table)
        >>> columns["temperature_max"].tolist(), columns["wind_speed_max"].tolist()
        ([10.0, nan], [nan, nan])
    """
    ordinals = [day.toordinal() for day in dates]
    if not ordinals or len(set(ordinals)) != len(ordinals):
        raise ValueError("the answer has no dates, or a date twice")
    first = min(ordinals)
    length = max(ordinals) - first + 1
    if length > MAX_DAYS:
        raise ValueError(
            f"the first and last date of the answer are more than {MAX_DAYS:,} days apart"
        )
    position = {name: row for row, name in enumerate(fields)}
    given = {
        name: values
        for name, (path, _) in table.items()
        if name in position and (values := native.get(path)) is not None
    }
    if not all(isinstance(one, list) and len(one) == len(dates) for one in given.values()):
        raise ValueError("a column has another number of values than of dates")
    columns = np.full((len(fields), length), np.nan)
    if given:
        factors, offsets = _scales(tuple(table[name].unit for name in given))
        numbers = read_numbers(list(chain.from_iterable(given.values())))
        values = numbers.reshape(len(given), len(dates)) * factors + offsets
        rows, days = [position[name] for name in given], [day - first for day in ordinals]
        columns[np.ix_(rows, days)] = records.plausible(tuple(given), values)
    return date.fromordinal(first), dict(zip(fields, columns, strict=True))


@lru_cache(maxsize=64)
def _scales(units: tuple[str, ...]) -> records.Floats:
    """Return arrays of the factors and the offsets that convert these units to our units."""
    return np.array([UNITS[unit] for unit in units]).T[..., None]


def read_numbers(values: Sequence[Any]) -> records.Floats:
    """Return an array of the values; those that are not numbers (`is_number`) are NaN."""
    try:
        plain = msgspec.convert(values, _NUMBERS)
    except msgspec.ValidationError:
        plain = [value if is_number(value) else None for value in values]
    numbers = np.fromiter(plain, float, len(plain))  # None is NaN
    numbers[~(np.abs(numbers) < MAX_NUMBER)] = math.nan
    return numbers


@dataclass(frozen=True)
class Forecast:
    """A provider's forecast: daily values from the date `first` on.

    Attributes:
        columns: arrays by the names in `FORECAST_FIELDS`. Highs and lows are required; other
            missing values are null in the answer.
        grid: the grid cell; the temperatures are those at its elevation.
        fresh_until: the time from which a new forecast is fetched.
        issued_at: the time at which the provider published the forecast; None if unknown.
    """

    first: date
    columns: records.Columns
    grid: records.Grid
    fetched_at: datetime
    fresh_until: datetime
    issued_at: datetime | None = None

    def on_stay(self, stay: Stay) -> records.Columns:
        """Return every column for the dates of the stay; dates without a forecast are NaN."""
        columns = {name: np.full(stay.days, np.nan) for name in records.FORECAST_FIELDS}
        for name, values in self.columns.items():
            records.copy_days(values, self.first, columns[name], stay.start)
        return columns

    @property
    def last_known(self) -> date:
        """The last date with a known high and low; the day before `first` if no date has both."""
        known = np.isfinite(self.columns["temperature_max"] + self.columns["temperature_min"])
        days = np.flatnonzero(known)
        return self.first + timedelta(int(days[-1]) if days.size else -1)

    def pack(self) -> bytes:
        """Return the forecast as bytes, to share it with other processes."""
        return msgspec.msgpack.encode(self, enc_hook=lambda values: values.astype("<f4").tobytes())

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Return the forecast that `pack` packed."""

        def read_column(_: Any, raw: bytes) -> records.Floats:
            return np.frombuffer(raw, "<f4").astype(np.float64)

        return msgspec.msgpack.decode(data, type=cls, dec_hook=read_column)


class Provider(ABC):
    """The common base class of forecast and archive providers.

    Attributes:
        name: the name of the provider's entry point.
        title: the owner of the data, as `basis.provider` in the answer shows it.
        model: the model's name, as the provider states it.
        order: the provider's rank among all providers; the lowest is tried first.
        client: the HTTP client; a provider whose client has no URL is never called.
    """

    name: str
    title: str
    model: str | None = None
    order: int = 1000
    client: ProviderClient

    def __init__(self, context: SectionContext) -> None:
        """Store the clock; a subclass must also set `client`."""
        self._clock = context.clock

    @classmethod
    def build(cls, context: SectionContext) -> Self:
        """Create the provider from the context; a subclass may override this."""
        return cls(context)


class ForecastProvider(Provider):
    """A source of daily forecasts, registered in `location_context.forecast_providers`.

    Attributes:
        attribution: the notices that the provider's licence requires.
        product: the kind of its highs and lows. `raw` is the unchanged output of one model, which
            the provider may have chosen from several. Its departures from the climatology are as
            large as those of real weather, however many days ahead, so calibration reduces them.
            `damped` is the mean of an ensemble, or the output of statistics. Its departures already
            shrink with the days ahead, so calibration reduces them less. In doubt choose `raw`: a
            wrong `damped` makes the range too narrow.
        cell_degrees: the size of a cell in degrees; all points in a cell share a forecast.
        at_point: True if a cell's forecast is fetched for the first point requested in the cell.
            `Forecast.grid` then has the elevation at that point. False if it is fetched for the
            centre.

    Example:
        >>> from location_context.sections.contract import Attribution
        >>> from location_context.sections.weather.records import Cell, Grid
        >>> class Skyline(ForecastProvider):
        ...     name, title = "skyline", "Skyline"
        ...     attribution = ()  # the notices that its licence requires
        ...     product = "damped"  # its numbers are an ensemble's mean
        ...     TABLE = {
        ...         "temperature_max": Native("tmax", "K"),
        ...         "temperature_min": Native("tmin", "K"),
        ...         "precipitation_sum": Native("rain"),
        ...     }
        ...
        ...     def __init__(self, context):
        ...         super().__init__(context)
        ...         url = "https://api.skyline.example/daily"
        ...         self.client = ProviderClient(self.name, url, context.client, context.clock)
        ...
        ...     async def fetch_forecast(self, cell, today, past_days, *, public):
        ...         params = {"lat": f"{cell.lat:.2f}", "lon": f"{cell.lng:.2f}"}
        ...         return await self.client.get_json(
        ...             params, lambda body: self.parse(body, cell), public=public
        ...         )
        ...
        ...     def parse(self, body, cell):
        ...         dates = [date.fromisoformat(day) for day in body["days"]]
        ...         first, columns = read_columns(body, dates, self.TABLE)
        ...         now, grid = self._clock(), Grid(cell.lat, cell.lng, None)
        ...         return Forecast(first, columns, grid, now, now + timedelta(hours=1))
        >>> from datetime import UTC, timedelta
        >>> from types import SimpleNamespace
        >>> now = datetime(2027, 2, 3, 12, tzinfo=UTC)
        >>> client = SimpleNamespace(calls={})
        >>> skyline = Skyline.build(SimpleNamespace(client=client, clock=lambda: now))
        >>> body = {"days": ["2027-02-03"], "tmax": [283.15], "tmin": [278.15], "rain": [1.2]}
        >>> forecast = skyline.parse(body, Cell(48.9, 2.4, "Europe/Paris"))
        >>> forecast.columns["temperature_max"].tolist()
        [10.0]
    """

    attribution: Sequence[Attribution]
    product: records.Product = "raw"
    cell_degrees: float = FORECAST_DEGREES
    at_point: bool = False

    @abstractmethod
    async def fetch_forecast(
        self, cell: records.Cell, today: date, past_days: int, *, public: bool
    ) -> Forecast:
        """Fetch a fresh forecast of 16 days, or of as many as the provider has.

        All temperatures must be those at the elevation in the forecast's `grid`.

        Args:
            cell: the place, and the time zone of the days.
            today: the local date at the place.
            past_days: how many days before today to include, 0 to 92, if the provider can.
            public: True for widget traffic; pass this on to the client.

        Raises:
            ProviderError: the forecast could not be fetched.
        """


class ArchiveProvider(Provider):
    """A source of daily values of past years, registered in `location_context.archive_providers`.

    Attributes:
        source: the key of the provider's months in the store. Never change it, or all months stored
            under the old key are lost.
        representativeness: the standard errors of highs and of lows, in K. They say how far a
            cell's values, corrected for elevation, are from those of a place in the cell (coasts,
            cities, valleys). They widen the range of the climatology. In doubt state larger errors.

    Example:
        >>> from location_context.sections.contract import Attribution
        >>> from location_context.sections.weather.records import Cell, Grid, Month, month_span
        >>> class Almanac(ArchiveProvider):
        ...     name, title, source = "almanac", "Almanac", "almanac_v1"
        ...     representativeness = (1.2, 1.2)  # of its cells against stations
        ...
        ...     def cell(self, point):
        ...         return Cell.of(point, 0.5)
        ...
        ...     def attribution(self, today):
        ...         return ()
        ...
        ...     async def fetch_months(self, cell, wanted, today, *, public):
        ...         first = month_span(*wanted[0])[0]  # a real provider calls its client
        ...         days = sum((end - start).days + 1 for start, end in intervals(wanted))
        ...         values = np.full((15, days), 8.0)  # ARCHIVE_FIELDS x days
        ...         grid = Grid(50, 2, None)
        ...         return months_from(wanted, [(first, values)], grid, self._clock())
        >>> import asyncio
        >>> from datetime import UTC
        >>> from types import SimpleNamespace
        >>> now = datetime(2027, 2, 3, tzinfo=UTC)
        >>> almanac = Almanac.build(SimpleNamespace(clock=lambda: now))
        >>> cell = Cell(50.0, 2.0, "Europe/Paris")
        >>> fetch = almanac.fetch_months(cell, [(2026, 1)], now.date(), public=False)
        >>> months = asyncio.run(fetch)
        >>> months[0].first, months[0].values.shape  # January with 15 days to either side
        (datetime.date(2025, 12, 17), (15, 61))
    """

    source: str
    representativeness: tuple[float, float]

    @abstractmethod
    def cell(self, point: Point) -> records.Cell:
        """Return the cell of the provider's grid that contains the point."""

    @abstractmethod
    def attribution(self, today: date) -> Sequence[Attribution]:
        """Return the notices that the provider's licence requires for use on this date."""

    @abstractmethod
    async def fetch_months(
        self, cell: records.Cell, wanted: Sequence[records.YearMonth], today: date, *, public: bool
    ) -> list[records.Month]:
        """Fetch the wanted months in one request; the result may contain more months.

        Args:
            cell: a result of the method `cell`.
            wanted: pairs (year, month); each month needs 15 days before and after it, too.
            today: the local date in the cell.
            public: True for widget traffic; pass this on to the client.

        Raises:
            ProviderError: the months could not be fetched.
        """


def intervals(wanted: Iterable[records.YearMonth]) -> list[tuple[date, date]]:
    """Return the days to fetch for the `wanted` months, as pairs (first date, last date).

    Each month needs 15 days before and after it, too. Consecutive months share one pair.
    """
    runs: list[list[records.YearMonth]] = []
    for year, month in sorted(set(wanted)):
        last = runs[-1][-1] if runs else None
        if last and year * 12 + month == last[0] * 12 + last[1] + 1:
            runs[-1].append((year, month))
        else:
            runs.append([(year, month)])
    return [(records.month_span(*run[0])[0], records.month_span(*run[-1])[1]) for run in runs]


def months_from(
    wanted: Iterable[records.YearMonth],
    blocks: Sequence[tuple[date, records.Floats]],
    grid: records.Grid,
    fetched_at: datetime,
) -> list[records.Month]:
    """Return the `wanted` months, cut out of longer blocks of daily values.

    Each month includes 15 days before and after it; days that no block has are NaN. A block is a
    pair: its first date, and its values (fields x days).
    """
    months = []
    for year, month in wanted:
        first, last = records.month_span(year, month)
        shape = (blocks[0][1].shape[0], (last - first).days + 1)
        values = np.full(shape, np.nan, np.float32)
        for start, block in blocks:
            records.copy_days(block, start, values, first)
        months.append(records.Month(year, month, grid, fetched_at, values))
    return months
