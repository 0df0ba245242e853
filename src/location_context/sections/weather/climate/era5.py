"""The climate source `era5`: hourly ERA5 data of Copernicus that the operator has obtained.

The data are a NetCDF file or a Zarr, for any region. Variables have ECMWF's short names and units.
Hours are in UTC. Daily values are for local days in the cell's own time zone; an hour belongs to
the day in which it begins. For a momentary value such as `t2m`, the time stamp is the beginning of
its hour; for a sum or a maximum such as `tp`, it is the end. A day with fewer than 20 known hours
is unknown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from location_context.errors import OperatorError
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.sections.contract import Attribution
from location_context.sections.weather import records
from location_context.sections.weather.climate.layout import Tile
from location_context.sections.weather.climate.power import grid_of
from location_context.sections.weather.climate.sources import ClimateSource, needed, open_zarr
from location_context.sections.weather.providers.nasa_power import FOR_CODES, code_without
from location_context.sections.weather.providers.open_meteo import copernicus
from location_context.sections.weather.records import ROW, Floats

REQUIRED = ("t2m", "tp")
AXES = {"time": ("time", "valid_time"), "lat": ("latitude", "lat"), "lng": ("longitude", "lon")}
MIN_HOURS = 72  # of a file
BLOCK_HOURS = 8760  # read at once
KNOWN_HOURS = 20  # of a day, which has 23 to 25
WET_HOUR_MM = 0.1
SNOW_CM_PER_MM = 0.7  # of water, as Open-Meteo converts it
FREEZING_K = 273.15
_MARGIN_HOURS = 15  # no zone is further from UTC
Columns = tuple[Floats, ...]  # daily, one for each field of a recipe
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class LocalDays:
    """The division of one cell's consecutive hours into local days.

    Its methods reduce hourly values to one value a day and ignore unknown hours. A day with fewer
    than 20 known hours is NaN.

    Attributes:
        ordinals: the dates as `date.toordinal()`.
        starts: the index of each date's first hour.
    """

    ordinals: NDArray[np.int64]
    starts: NDArray[np.int64]

    def total(self, hourly: Floats) -> Floats:
        known = self._known(hourly)
        total = np.add.reduceat(np.where(np.isnan(hourly), 0.0, hourly), self.starts)
        return np.where(known >= KNOWN_HOURS, total, np.nan)

    def mean(self, hourly: Floats) -> Floats:
        total: Floats = self.total(hourly) / np.maximum(self._known(hourly), 1)
        return total

    def highest(self, hourly: Floats) -> Floats:
        highest = np.fmax.reduceat(hourly, self.starts)
        return np.where(self._known(hourly) >= KNOWN_HOURS, highest, np.nan)

    def _known(self, hourly: Floats) -> NDArray[np.int64]:
        return np.add.reduceat(np.isfinite(hourly).astype(np.int64), self.starts)


@lru_cache(maxsize=1024)
def local_days(zone: str, first_hour: int, hours: int) -> LocalDays:
    """Return the division of `hours` consecutive hours into the local days of a time zone.

    `first_hour` is the first hour, counted from 1970-01-01 00:00 UTC.
    """
    tz = ZoneInfo(zone)
    begins = range(first_hour, first_hour + hours)
    ordinals = np.array([datetime.fromtimestamp(3600 * hour, tz).toordinal() for hour in begins])
    ordinals = np.maximum.accumulate(ordinals)  # a date came twice where the date line moved
    starts = np.flatnonzero(np.diff(ordinals, prepend=0))
    return LocalDays(ordinals[starts], starts)


@lru_cache(maxsize=1)
def _gazetteer() -> Gazetteer:
    return Gazetteer.load()


def _temperatures(days: LocalDays, kelvin: Floats) -> Columns:
    celsius = kelvin - FREEZING_K
    return days.highest(celsius), -days.highest(-celsius), days.mean(celsius)


def _rain(days: LocalDays, metres: Floats) -> Columns:
    mm = 1000 * np.maximum(metres, 0.0)  # packing leaves tiny negative sums
    wet = np.where(np.isnan(mm), np.nan, mm >= WET_HOUR_MM)
    return days.total(mm), np.minimum(days.total(wet), 24.0)  # the field's limit, of 25


def _snow(days: LocalDays, metres: Floats) -> Columns:
    return (days.total(1000 * SNOW_CM_PER_MM * np.maximum(metres, 0.0)),)


def _wind(days: LocalDays, east: Floats, north: Floats) -> Columns:
    """Return each day's highest wind speed in km/h, and the direction the mean wind comes from.

    `east` and `north` are the hourly components of the wind in m/s.
    """
    total_east, total_north = (days.total(part + 0 * (east + north)) for part in (east, north))
    comes_from = np.degrees(np.arctan2(-total_east, -total_north)) % 360
    return days.highest(3.6 * np.hypot(east, north)), comes_from


def _gusts(days: LocalDays, speed: Floats) -> Columns:
    return (days.highest(3.6 * speed),)


def _humidity(days: LocalDays, kelvin: Floats, dew_point: Floats) -> Columns:
    relative = 100 * _vapour(dew_point - FREEZING_K) / _vapour(kelvin - FREEZING_K)
    return (days.mean(np.minimum(relative, 100.0)),)


def _vapour(celsius: Floats) -> Floats:
    """Return the saturation pressure of water vapour in hPa.

    The formula is Magnus's, with the constants of Alduchov and Eskridge 1996.
    """
    pressure: Floats = 6.1094 * np.exp(17.625 * celsius / (243.04 + celsius))
    return pressure


def _cloud(days: LocalDays, share: Floats) -> Columns:
    return (100 * days.mean(np.clip(share, 0.0, 1.0)),)


class Recipe(NamedTuple):
    """A rule that computes daily fields from hourly variables.

    Attributes:
        natives: the names of the hourly variables.
        fields: the names of the daily fields, in the order in which `reduce` returns them.
        reduce: called with the `LocalDays` and the hourly values of each variable.
        ends: True if a time stamp of these variables is the end of its hour.
    """

    natives: tuple[str, ...]
    fields: tuple[str, ...]
    reduce: Callable[..., Columns]
    ends: bool = False


# Recipes with a variable in common are neighbours, so that it is read only once.
RECIPES = (
    Recipe(("t2m",), records.TEMPERATURES[:3], _temperatures),
    Recipe(("t2m", "d2m"), ("humidity_mean",), _humidity),
    Recipe(("tp",), ("precipitation_sum", "precipitation_hours"), _rain, ends=True),
    Recipe(("sf",), ("snowfall_sum",), _snow, ends=True),
    Recipe(("u10", "v10"), ("wind_speed_max", "wind_direction_dominant"), _wind),
    Recipe(("fg10",), ("wind_gusts_max",), _gusts, ends=True),
    Recipe(("i10fg",), ("wind_gusts_max",), _gusts),
    Recipe(("tcc",), ("cloud_cover_mean",), _cloud),
)


class Era5(ClimateSource):
    """The climate source `era5`: hourly ERA5 data that the operator has obtained."""

    name = "era5"
    title = "Copernicus ERA5"
    model = "ERA5"

    def __init__(self, location: str, dataset: Any) -> None:
        """Create the source from an xarray dataset; `location` is named in error messages.

        Raises:
            OperatorError: the dataset lacks temperature or rain, or is not an hourly grid.
        """
        self._dataset = dataset = _named(location, dataset)
        held = {str(name) for name, one in dataset.data_vars.items() if set(one.dims) == set(AXES)}
        if missing := [name for name in REQUIRED if name not in held]:
            has = ", ".join(sorted(held)) or "nothing by time, latitude and longitude"
            raise OperatorError(f"{location} lacks {', '.join(missing)}; it has {has}"[:400])
        self._first_hour = _first_hour(location, dataset["time"].values)
        self._hours = dataset.sizes["time"]
        lats, lngs = (np.round(dataset[axis].values.astype(float), 4) for axis in ("lat", "lng"))
        lngs = (lngs + 180) % 360 - 180
        self._rows, self._columns = np.argsort(lats), _eastward(lngs)
        self.grid = grid_of(lats[self._rows], np.unwrap(lngs[self._columns], period=360), location)
        self._recipes = self._choose(held)
        given = {name for recipe in self._recipes for name in recipe.fields}
        if "cloud_cover_mean" in given:  # without it, only wet days would have a code
            given.add("weather_code")
        self.fields = tuple(name for name in records.ARCHIVE_FIELDS if name in given)
        self.first, self.last = self._known_everywhere()

    def _choose(self, held: set[str]) -> tuple[Recipe, ...]:
        """Return the recipes (rules for daily fields) whose variables the dataset has.

        Set the attribute `lacking` to the variables that are missing for the other recipes.

        Args:
            held: the names of the dataset's variables.
        """
        chosen: dict[tuple[str, ...], Recipe] = {}
        for recipe in RECIPES:
            if held.issuperset(recipe.natives):
                chosen.setdefault(recipe.fields, recipe)
        lacking = dict.fromkeys(
            native
            for recipe in RECIPES
            if recipe.fields not in chosen
            for native in recipe.natives
            if native not in held and native != "i10fg"  # which stands in for fg10
        )
        self.lacking = tuple(lacking)
        return tuple(chosen.values())

    @classmethod
    def open(cls, location: str | None) -> Self:
        """Open ERA5 data: a NetCDF file, or a Zarr in a folder or at a URL.

        Raises:
            OperatorError: the source cannot be read, or lacks a field that every climatology needs.
        """
        if location is None:
            raise OperatorError(
                "Give ERA5's data with --source FILE: a NetCDF file or a Zarr store."
            )
        return cls(location, open_dataset(location))

    def attribution(self, today: date) -> Sequence[Attribution]:
        return (copernicus(today.year),)

    def read(self, tile: Tile, first: date, last: date) -> Floats:
        """Return the daily values from `first` to `last`: cells x `ARCHIVE_FIELDS` x days.

        The cells are those of the tile, row by row.
        """
        zones = [
            self._zone(row, column)
            for row in range(tile.row, tile.row + tile.rows)
            for column in range(tile.column, tile.column + tile.columns)
        ]
        days = (last - first).days + 1
        values = np.full((len(zones), len(records.ARCHIVE_FIELDS), days), np.nan)
        earliest = 24 * (first.toordinal() - _EPOCH) - _MARGIN_HOURS
        latest = 24 * (last.toordinal() + 1 - _EPOCH) + _MARGIN_HOURS
        begin = max(earliest - self._first_hour, 0)
        end = min(latest - self._first_hour, self._hours)
        if begin >= end:
            return values
        loaded: dict[str, NDArray[np.float32]] = {}
        for recipe in self._recipes:
            loaded = {name: one for name, one in loaded.items() if name in recipe.natives}
            for name in recipe.natives:
                if name not in loaded:
                    loaded[name] = self._load(name, tile, begin, end)
            first_hour = self._first_hour + begin - recipe.ends
            for cell, zone in enumerate(zones):
                local = local_days(zone, first_hour, end - begin)
                row, column = divmod(cell, tile.columns)
                hourly = [loaded[name][:, row, column].astype(float) for name in recipe.natives]
                place = local.ordinals - first.toordinal()
                inside = (place >= 0) & (place < days)
                for name, daily in zip(recipe.fields, recipe.reduce(local, *hourly), strict=True):
                    values[cell, ROW[name], place[inside]] = daily[inside]
        for name in self.fields:
            values[:, ROW[name]] = records.plausible((name,), values[:, ROW[name]])
        if "weather_code" in self.fields:
            columns = {name: values[:, ROW[name]] for name in FOR_CODES}
            values[:, ROW["weather_code"]] = code_without(columns)
        return values

    def _load(self, name: str, tile: Tile, begin: int, end: int) -> NDArray[np.float32]:
        """Return the hourly values of a variable in a tile: hours x rows x columns.

        `begin` and `end` are indices of hours. The file is read in blocks of about a year, aligned
        with its chunks.
        """
        window = {
            "lat": _sliced(self._rows[tile.row : tile.row + tile.rows]),
            "lng": _sliced(self._columns[tile.column : tile.column + tile.columns]),
        }
        array = self._dataset[name].isel(window).transpose(*AXES)
        chunks = self._dataset[name].encoding.get("preferred_chunks", {})
        chunk = next((chunks[name] for name in AXES["time"] if name in chunks), 1)
        block = chunk * max(1, BLOCK_HOURS // chunk)
        hourly = np.empty((end - begin, tile.rows, tile.columns), np.float32)
        for start in range(begin - begin % block, end, block):
            first, last = max(start, begin), min(start + block, end)
            hourly[first - begin : last - begin] = array.isel(time=slice(first, last)).values
        return hourly

    def _zone(self, row: int, column: int) -> str:
        return _gazetteer().point(self.grid.lat(row), self.grid.lng(column)).timezone

    def _known_everywhere(self) -> tuple[date, date]:
        """Return the first and the last date that have at least 20 hours of data in every tile.

        All cells of a tile are assumed to be in the time zone of the tile's centre.
        """
        zones = {
            self._zone(tile.row + tile.rows // 2, tile.column + tile.columns // 2)
            for tile in self.tiles()
        }
        last_hour = self._first_hour + self._hours - 1  # left out, as the last sum ends with it
        days = [
            [local.ordinals[np.isfinite(local.total(np.ones(MIN_HOURS)))] for local in ends]
            for zone in zones
            for ends in [
                [local_days(zone, hour, MIN_HOURS)
                 for hour in (self._first_hour, last_hour - MIN_HOURS)]
            ]
        ]  # fmt: skip
        first, last = max(head[0] for head, _ in days), min(tail[-1] for _, tail in days)
        return date.fromordinal(int(first)), date.fromordinal(int(last))


def open_dataset(location: str) -> Any:
    """Open a NetCDF file or a Zarr as an xarray dataset; values are read only when they are used.

    Raises:
        OperatorError: there are no data at the path or URL, or they cannot be read.
    """
    if "://" in location or Path(location).is_dir():
        return open_zarr(location)
    xarray = needed("xarray")
    try:
        return xarray.open_dataset(location, engine="netcdf4", decode_timedelta=False)
    except Exception as error:  # whatever a library or a codec raises
        why = f"{type(error).__name__}: {error}"
        raise OperatorError(f"{location} cannot be read as NetCDF: {why}"[:400]) from error


def _named(location: str, dataset: Any) -> Any:
    """Return the dataset with its axes renamed to `time`, `lat` and `lng`.

    Other axes of length 1 are dropped. `location` is named in error messages.

    Raises:
        OperatorError: one of the axes is missing.
    """
    found = {}
    for axis, names in AXES.items():
        name = next((name for name in names if name in dataset.dims), None)
        if name is None:
            raise OperatorError(f"{location} has no axis named {' or '.join(names)}")
        found[name] = axis
    single = {str(name): 0 for name, size in dataset.sizes.items() if size == 1}
    others = {name: 0 for name in single if name not in found}
    return dataset.isel(others, drop=True).rename(found)


def _first_hour(location: str, times: NDArray[Any]) -> int:
    """Return the first of the `times` as a number of hours since 1970.

    `location` is named in error messages.

    Raises:
        OperatorError: the times are not consecutive hours.
    """
    is_time = np.issubdtype(times.dtype, np.datetime64)
    hours = times.astype("datetime64[h]") if is_time else times
    if not is_time or (hours != times).any() or (np.diff(hours.astype(np.int64)) != 1).any():
        raise OperatorError(f"{location} has no hourly time axis; hourly data of ERA5 are needed")
    if len(hours) <= MIN_HOURS:
        raise OperatorError(
            f"{location} has only {len(hours)} hours in all; more than {MIN_HOURS} are needed"
        )
    return int(hours[0].astype(np.int64))


def _eastward(lngs: Floats) -> NDArray[np.int64]:
    """Return the indices that sort longitudes from west to east.

    For a region that crosses the date line, the first is the region's west end.
    """
    order = np.argsort(lngs)
    gaps = np.diff(lngs[order], append=lngs[order[0]] + 360)
    widest = int(np.argmax(gaps))
    is_region = gaps[widest] > 1.5 * gaps.min()
    return np.roll(order, -widest - 1) if is_region else order


def _sliced(indices: NDArray[np.int64]) -> slice | NDArray[np.int64]:
    """Return `indices` as a slice if they rise or fall in steps of one, else unchanged.

    With a slice, an array is read without a copy.
    """
    steps = set(np.diff(indices).tolist())
    first, last = int(indices[0]), int(indices[-1])
    if steps <= {1}:
        return slice(first, last + 1)
    if steps == {-1}:
        return slice(first, last - 1 if last else None, -1)
    return indices
