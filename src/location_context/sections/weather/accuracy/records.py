"""What the score keeps: forecasts as they were given, and the days that the archive then knew.

A forecast is one row for a provider, a cell and a day of issue: 13 columns for 16 leads in int16.
The days that an archive knows are one row for each of its cells. °C, mm and percent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Protocol, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from location_context.sections.weather.records import Columns, Floats, WeatherSeries
from location_context.stay import Stay

LEADS = 16  # 0 is the local day of issue
FORECAST_COLUMNS = (
    "issued_max", "issued_min", "issued_chance",
    "max", "max_p10", "max_p90", "min", "min_p10", "min_p90", "chance",
    "typical_max", "typical_min", "typical_chance",
)  # fmt: skip
CHANCE = "precipitation_probability"
OBSERVED_COLUMNS = ("max", "min", "rain")
# In hundredths -327 to 327 °C fit; rain up to the plausible 1,000 mm takes twentieths.
_FORECAST_SCALE = np.full((len(FORECAST_COLUMNS), 1), 100.0)
_OBSERVED_SCALE = np.array([[100.0], [100.0], [20.0]])
_UNKNOWN = -32768


class ForecastRow(msgspec.Struct, frozen=True):
    """The first forecast of a day for a cell: `data` are `FORECAST_COLUMNS` by lead, packed.

    Attributes:
        provider: its title.
        cell: the key of the forecast's cell.
        issued_on: the local date it was fetched on.
        elevation: the height in m that its temperatures are for, where it is known.
    """

    provider: str
    cell: str
    issued_on: date
    elevation: float | None
    data: bytes

    @classmethod
    def pack(
        cls, provider: str, cell: str, issued_on: date, elevation: float | None, columns: Columns
    ) -> Self:
        """From columns of 16 leads at most; what is missing is unknown."""
        values = np.full((len(FORECAST_COLUMNS), LEADS), np.nan)
        for place, name in enumerate(FORECAST_COLUMNS):
            if name in columns:
                values[place, : len(columns[name])] = columns[name]
        return cls(provider, cell, issued_on, elevation, _pack(values, _FORECAST_SCALE))


class ObservedRow(msgspec.Struct, frozen=True):
    """What an archive knows of a cell from `first` on: `data` are `OBSERVED_COLUMNS` by day.

    Attributes:
        source: of the archive.
        cell: the key of the archive's cell.
        asked_at: when it was last asked for; until some days later nobody asks again.
        elevation: the height in m that its temperatures are for, where it is known.
    """

    source: str
    cell: str
    asked_at: datetime
    first: date
    elevation: float | None
    data: bytes

    @classmethod
    def pack(cls, source: str, cell: str, asked_at: datetime, days: "ObservedDays") -> Self:
        data = _pack(days.values, _OBSERVED_SCALE)
        return cls(source, cell, asked_at, days.first, days.elevation, data)

    def unpack(self) -> "ObservedDays":
        """The days; none where the data are damaged."""
        whole = self.data if len(self.data) % (2 * len(OBSERVED_COLUMNS)) == 0 else b""
        packed = np.frombuffer(whole, "<i2").reshape(len(OBSERVED_COLUMNS), -1)
        return ObservedDays(self.first, self.elevation, _known(packed, _OBSERVED_SCALE))


@dataclass(frozen=True, slots=True)
class ObservedDays:
    """Highs, lows (°C) and rain (mm) from `first` on, 3 x days, NaN where unknown."""

    first: date
    elevation: float | None
    values: Floats

    def on(self, first: date, days: int) -> Floats:
        """3 x `days` from another first date on, NaN where nothing is known."""
        found = np.full((len(OBSERVED_COLUMNS), days), np.nan)
        shift = (self.first - first).days
        begin, end = max(0, shift), min(days, shift + self.values.shape[1])
        if begin < end:
            found[:, begin:end] = self.values[:, begin - shift : end - shift]
        return found

    def known_on(self, first: date, days: int) -> NDArray[np.bool_]:
        """Whether high and low of each of these days are known."""
        high, low = np.isfinite(self.on(first, days)[:2])
        known: NDArray[np.bool_] = high & low
        return known


def given_columns(series: WeatherSeries, kelvin: float) -> Columns:
    """`FORECAST_COLUMNS` on the dates of a series.

    Args:
        series: a forecast, calibrated or not.
        kelvin: what brings its `typical` to the height of the forecast.
    """
    given, issued = series.columns, series.issued or series.columns
    typical = series.typical.columns if series.typical is not None else {}
    columns = {"issued_chance": issued.get(CHANCE), "chance": given.get(CHANCE)}
    columns["typical_chance"] = typical.get(CHANCE)
    for short in ("max", "min"):
        name = f"temperature_{short}"
        columns[short], columns[f"issued_{short}"] = given.get(name), issued.get(name)
        for end in ("p10", "p90"):
            columns[f"{short}_{end}"] = given.get(f"{name}_{end}")
        if name in typical:
            columns[f"typical_{short}"] = typical[name] + kelvin
    unknown = np.full(len(given["temperature_max"]), np.nan)
    return {
        name: unknown if (values := columns.get(name)) is None else values
        for name in FORECAST_COLUMNS
    }


def by_month(stay: Stay) -> Iterator[Stay]:
    """The parts of a stay within each calendar month."""
    first = stay.start
    while first <= stay.end:
        after = date(first.year + first.month // 12, first.month % 12 + 1, 1)
        yield Stay(first, min(stay.end, after - timedelta(1)))
        first = after


def unpack_forecasts(rows: Sequence[ForecastRow]) -> Mapping[str, Floats]:
    """Each of `FORECAST_COLUMNS` as rows x leads; a damaged row is unknown as a whole."""
    count = len(FORECAST_COLUMNS) * LEADS
    blank = np.full(count, _UNKNOWN, "<i2").tobytes()
    blob = b"".join(row.data if len(row.data) == 2 * count else blank for row in rows)
    packed = np.frombuffer(blob, "<i2").reshape(len(rows), len(FORECAST_COLUMNS), LEADS)
    values = _known(packed, _FORECAST_SCALE)
    return {name: values[:, place] for place, name in enumerate(FORECAST_COLUMNS)}


def _pack(values: Floats, scale: Floats) -> bytes:
    scaled = np.round(values * scale)
    known = np.isfinite(scaled) & (np.abs(scaled) < -_UNKNOWN)
    return np.where(known, scaled, _UNKNOWN).astype("<i2").tobytes()


def _known(packed: NDArray[np.int16], scale: Floats) -> Floats:
    values: Floats = np.where(packed == _UNKNOWN, np.nan, packed / scale)
    return values


@dataclass(frozen=True, slots=True)
class CellExtent:
    """The first and last day of issue stored for a cell, and how many rows there are."""

    first: date
    last: date
    rows: int


class AccuracyStore(Protocol):
    """Stores forecasts as given and observed days; whatever it raises is a `StorageError`."""

    async def save_forecasts(self, rows: Sequence[ForecastRow]) -> None:
        """Store rows; one that is stored already for its provider, cell and day stays."""
        ...

    async def load_forecasts(self, since: date) -> list[ForecastRow]:
        """Those issued from a date on, in order of provider, cell and date."""
        ...

    async def cells(self) -> dict[str, CellExtent]:
        """What is stored of each forecast cell, by its key."""
        ...

    async def load_observed(self, source: str) -> list[ObservedRow]:
        """Return what an archive knows, a row for each of its cells."""
        ...

    async def claim(self, source: str, cell: str, now: datetime, before: datetime) -> bool:
        """Note that the archive is asked for a cell now, unless it was after `before`.

        Of several processes one is told True.
        """
        ...

    async def save_observed(self, row: ObservedRow) -> None:
        """Store a row in place of the one before."""
        ...

    async def prune(self, oldest: date, dropped: Sequence[str], unasked_since: datetime) -> None:
        """Delete what is no longer wanted.

        Forecasts issued before `oldest`, those of the `dropped` cells, and what archives know of
        cells that were not asked for since `unasked_since`.
        """
        ...
