"""The forecasts that are stored to be scored, as guests received them.

A row is the forecast of one provider for one cell, issued on one day: 13 columns of 16 leads (days
ahead) as int16, in °C and percent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol, Self

import msgspec
import numpy as np

from location_context.sections.weather.records import Columns, Floats, WeatherSeries

LEADS = 16  # 0 is the local day of issue
RETENTION_DAYS = 120
FORECAST_COLUMNS = (
    "issued_max", "issued_min", "issued_chance",
    "max", "max_p10", "max_p90", "min", "min_p10", "min_p90", "chance",
    "typical_max", "typical_min", "typical_chance",
)  # fmt: skip
CHANCE = "precipitation_probability"
_SCALE, _UNKNOWN = 100.0, -32768  # in hundredths -327 to 327 °C fit


class ForecastRow(msgspec.Struct, frozen=True):
    """The first forecast of a day for a cell: `data` are `FORECAST_COLUMNS` by lead, packed.

    Attributes:
        provider: the provider's title.
        cell: the key of the forecast's cell.
        issued_on: the local date of issue, which is lead 0.
        elevation: the height in m for which the temperatures hold; None if unknown.
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
        """Build a row from columns of at most 16 leads; missing columns and leads are unknown."""
        values = np.full((len(FORECAST_COLUMNS), LEADS), np.nan)
        for place, name in enumerate(FORECAST_COLUMNS):
            if name in columns:
                values[place, : len(columns[name])] = columns[name]
        scaled = np.round(values * _SCALE)
        known = np.isfinite(scaled) & (np.abs(scaled) < -_UNKNOWN)
        data = np.where(known, scaled, _UNKNOWN).astype("<i2").tobytes()
        return cls(provider, cell, issued_on, elevation, data)


def given_columns(series: WeatherSeries, kelvin: float) -> Columns:
    """Return `FORECAST_COLUMNS` on the dates of a series.

    Args:
        series: a forecast, calibrated or not.
        kelvin: what to add to `series.typical` for the height of the forecast.
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


def unpack_forecasts(rows: Sequence[ForecastRow]) -> Mapping[str, Floats]:
    """Return each of `FORECAST_COLUMNS` as rows x leads; a damaged row is unknown."""
    count = len(FORECAST_COLUMNS) * LEADS
    blank = np.full(count, _UNKNOWN, "<i2").tobytes()
    blob = b"".join(row.data if len(row.data) == 2 * count else blank for row in rows)
    packed = np.frombuffer(blob, "<i2").reshape(len(rows), len(FORECAST_COLUMNS), LEADS)
    values = np.where(packed == _UNKNOWN, np.nan, packed / _SCALE)
    return {name: values[:, place] for place, name in enumerate(FORECAST_COLUMNS)}


@dataclass(frozen=True, slots=True)
class CellExtent:
    """The first and last day of issue stored for a cell, and how many rows there are."""

    first: date
    last: date
    rows: int


class AccuracyStore(Protocol):
    """A store of forecasts as guests received them; all its errors are `StorageError`s."""

    async def save_forecasts(self, rows: Sequence[ForecastRow]) -> None:
        """Store rows, except where the provider, cell and day have a row already."""
        ...

    async def load_forecasts(self, since: date) -> list[ForecastRow]:
        """Return the rows issued from a date on, in order of provider, cell and date."""
        ...

    async def cells(self) -> dict[str, CellExtent]:
        """Return the days and the number of rows stored for each cell, by the cell's key."""
        ...

    async def prune(self, oldest: date, dropped: Sequence[str]) -> None:
        """Delete forecasts issued before `oldest`, and those of the `dropped` cells."""
        ...
