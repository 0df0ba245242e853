"""The climate source `power`: NASA POWER's daily archive for the whole Earth, read without a key.

The archive is in the format Zarr. Its days are local solar days of the model MERRA-2. Variables
have the same names as in NASA's API, wind is in m/s, and -999 is missing. A chunk of a variable has
16 years of 15 x 15 cells. Our tiles have the same cells, so each chunk is read for one tile only.
"""

from collections.abc import Sequence
from datetime import date
from typing import Any, Self

import numpy as np

from location_context.errors import OperatorError
from location_context.sections.contract import Attribution
from location_context.sections.weather import records
from location_context.sections.weather.climate.layout import Grid, Tile
from location_context.sections.weather.climate.sources import ClimateSource, open_zarr
from location_context.sections.weather.providers import base
from location_context.sections.weather.providers.nasa_power import (
    FOR_CODES,
    MISSING_BELOW,
    TABLE,
    NasaPower,
    code_without,
    nasa_power,
)
from location_context.sections.weather.records import ROW, Floats

LOCATION = "s3://nasa-power/merra2/temporal/power_merra2_daily_temporal_lst.zarr"
REQUIRED = ("temperature_max", "temperature_min", "precipitation_sum")


class Power(ClimateSource):
    """The climate source `power`: NASA POWER's daily archive."""

    name = "power"
    title = NasaPower.title
    model = NasaPower.model
    representativeness = NasaPower.representativeness

    def __init__(self, location: str, dataset: Any) -> None:
        """Create the source from an xarray dataset; `location` is named in error messages.

        Raises:
            OperatorError: the dataset lacks highs, lows or rain, or is not a daily grid.
        """
        self._dataset = dataset
        self._found = {name: native for name, native in TABLE.items() if native.path in dataset}
        self.lacking = tuple(one.path for name, one in TABLE.items() if name not in self._found)
        if missing := [TABLE[name].path for name in REQUIRED if name not in self._found]:
            held = ", ".join(sorted(map(str, dataset.data_vars))) or "nothing"
            raise OperatorError(f"{location} lacks {', '.join(missing)}; it has: {held}"[:400])
        self.fields = tuple(self._found)
        if {"cloud_cover_mean", "temperature_mean"} <= self._found.keys():
            self.fields += ("weather_code",)  # without cloud, only wet days would have a code
        self.grid = grid_of(dataset["lat"].values, dataset["lon"].values, location)
        days = dataset["time"].values.astype("datetime64[D]")
        if len(days) < 2 or (np.diff(days) != np.timedelta64(1, "D")).any():
            raise OperatorError(
                f"{location} must have consecutive days on its axis `time`; they are not"
            )
        self.first, self.last = days[0].item(), days[-1].item()

    @classmethod
    def open(cls, location: str | None) -> Self:
        location = location or LOCATION
        return cls(location, open_zarr(location))

    def attribution(self, today: date) -> Sequence[Attribution]:
        return (nasa_power(today),)

    def read(self, tile: Tile, first: date, last: date) -> Floats:
        days = (last - first).days + 1
        values = np.full((tile.rows * tile.columns, len(records.ARCHIVE_FIELDS), days), np.nan)
        begin, end = max(first, self.first), min(last, self.last)
        window = {
            "time": slice((begin - self.first).days, (end - self.first).days + 1),
            "lat": slice(tile.row, tile.row + tile.rows),
            "lon": slice(tile.column, tile.column + tile.columns),
        }
        known = slice((begin - first).days, (end - first).days + 1)
        for name, native in self._found.items():
            factor, offset = base.UNITS[native.unit]
            read = self._dataset[native.path].isel(window).transpose("lat", "lon", "time").values
            column = read.reshape(len(values), -1).astype(float)
            column[~(column > MISSING_BELOW)] = np.nan
            values[:, ROW[name], known] = records.plausible((name,), column * factor + offset)
        if "weather_code" in self.fields:
            columns = {name: values[:, ROW[name]] for name in FOR_CODES}
            values[:, ROW["weather_code"]] = code_without(columns)
        return values


def grid_of(lats: Floats, lngs: Floats, location: str) -> Grid:
    """Return the regular grid with these latitudes and longitudes; `location` is for messages.

    Raises:
        OperatorError: the coordinates are not regular, or do not ascend.
    """
    steps: list[float] = []
    for values, name in ((lats, "latitude"), (lngs, "longitude")):
        step = np.diff(values)
        if not len(step) or not (step > 0).all() or np.ptp(step) > 1e-3 * step[0]:
            raise OperatorError(f"{location} has no regular, ascending axis of {name}")
        steps.append(float(np.round((values[-1] - values[0]) / len(step), 6)))
    south, west = (float(np.round(values[0], 6)) for values in (lats, lngs))
    return Grid(south, west, steps[0], steps[1], len(lats), len(lngs))
