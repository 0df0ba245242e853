"""Forecasts as guests received them, stored to compare them with the observed weather later.

A row is one provider's forecast for one grid cell, issued on one day. Each of its 13 columns
(`FORECAST_COLUMNS`) has 16 values: for the day of issue and the 15 days after. Values are in °C and
percent, stored as int16 in hundredths.
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
    """A stored forecast: the first fetched for a provider, a grid cell and a day of issue.

    Attributes:
        provider: the provider's title.
        cell: the key of the forecast's grid cell.
        issued_on: the local date of issue, which is the first of the 16 days.
        elevation: the elevation in m to which the temperatures apply; None if unknown.
        data: the values of all `FORECAST_COLUMNS` for 16 days, as bytes.
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
        """Build a row from `columns`, which have a value for each of at most 16 days.

        The first day is `issued_on`. Missing columns and days are stored as unknown.
        """
        values = np.full((len(FORECAST_COLUMNS), LEADS), np.nan)
        for place, name in enumerate(FORECAST_COLUMNS):
            if name in columns:
                values[place, : len(columns[name])] = columns[name]
        scaled = np.round(values * _SCALE)
        known = np.isfinite(scaled) & (np.abs(scaled) < -_UNKNOWN)
        data = np.where(known, scaled, _UNKNOWN).astype("<i2").tobytes()
        return cls(provider, cell, issued_on, elevation, data)


def given_columns(series: WeatherSeries, kelvin: float) -> Columns:
    """Return the values to store for a forecast, by the names in `FORECAST_COLUMNS`.

    They are the values that guests receive, those that the provider issued, and typical values of
    past years. Missing values are NaN.

    Args:
        series: a forecast, calibrated or not.
        kelvin: added to the typical temperatures, to correct them to the forecast's elevation.
    """
    given, issued = series.columns, series.issued or series.columns
    unknown = np.full(len(given[CHANCE]), np.nan)
    columns = dict.fromkeys(FORECAST_COLUMNS, unknown)
    columns |= {"issued_chance": issued[CHANCE], "chance": given[CHANCE]}
    for short in ("max", "min"):
        name = f"temperature_{short}"
        columns |= {f"issued_{short}": issued[name], short: given[name]}
        for end in ("p10", "p90"):
            columns[f"{short}_{end}"] = given.get(f"{name}_{end}", unknown)
        if series.typical is not None:
            columns[f"typical_{short}"] = series.typical.columns[name] + kelvin
    if series.typical is not None:
        columns["typical_chance"] = series.typical.columns[CHANCE]
    return columns


def unpack_forecasts(rows: Sequence[ForecastRow]) -> Mapping[str, Floats]:
    """Unpack stored forecasts: return an array of rows x 16 days for each of `FORECAST_COLUMNS`.

    A damaged row is all NaN.
    """
    count = len(FORECAST_COLUMNS) * LEADS
    blank = np.full(count, _UNKNOWN, "<i2").tobytes()
    blob = b"".join(row.data if len(row.data) == 2 * count else blank for row in rows)
    packed = np.frombuffer(blob, "<i2").reshape(len(rows), len(FORECAST_COLUMNS), LEADS)
    values = np.where(packed == _UNKNOWN, np.nan, packed / _SCALE)
    return {name: values[:, place] for place, name in enumerate(FORECAST_COLUMNS)}


@dataclass(frozen=True, slots=True)
class CellExtent:
    """The stored forecasts of a grid cell: their first and last day of issue, and their number."""

    first: date
    last: date
    rows: int


class AccuracyStore(Protocol):
    """A store of the forecasts that guests received. Every method may raise a `StorageError`."""

    async def save_forecasts(self, rows: Sequence[ForecastRow]) -> None:
        """Store rows; skip a row whose provider, cell and day of issue are already stored."""
        ...

    async def load_forecasts(self, since: date) -> list[ForecastRow]:
        """Return the forecasts issued on or after `since`, sorted by provider, cell and date."""
        ...

    async def cells(self) -> dict[str, CellExtent]:
        """Return which forecasts are stored for each cell, by the cell's key.

        A `CellExtent` has their number, and their first and last day of issue.
        """
        ...

    async def prune(self, oldest: date, dropped: Sequence[str]) -> None:
        """Delete all forecasts issued before `oldest`, and all forecasts for `dropped` cells."""
        ...
