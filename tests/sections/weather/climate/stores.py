"""Climate stores for tests, written from daily series of single cells."""

import csv
import gzip
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import msgspec
import numpy as np

from location_context.sections.contract import Attribution
from location_context.sections.weather import records
from location_context.sections.weather.climate import layout
from location_context.sections.weather.climate.build import sum_of
from location_context.sections.weather.climate.layout import Grid, Manifest, Tile, TileState
from location_context.sections.weather.climate.tile import HISTORY_SCALES, build_tile
from location_context.sections.weather.records import ROW

POWER_GRID = Grid(south=-90, west=-180, lat_step=0.5, lng_step=0.625, rows=361, columns=576)
CITY_NAMES = {
    "T2M_MAX": "temperature_max",
    "T2M_MIN": "temperature_min",
    "PRECTOTCORR": "precipitation_sum",
    "RH2M": "humidity_mean",
}
NATIVE_NAMES = CITY_NAMES | {"T2M": "temperature_mean", "CLOUD_AMT": "cloud_cover_mean"}
CITY_FIELDS = (*NATIVE_NAMES.values(), "weather_code")
NOTICE = Attribution(name="NASA POWER", url="https://power.larc.nasa.gov/", license=None, text="x")


def read_city(path: Path) -> tuple[tuple[float, float], date, np.ndarray]:
    """Return where a city of the shared data lies, its first day, and its values.

    What the data lack for weather codes is made of the rest: means and clouds.
    """
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    values = np.full((len(records.ARCHIVE_FIELDS), len(rows)), np.nan)
    for native, name in CITY_NAMES.items():
        column = np.array([float(row[native]) for row in rows])
        values[ROW[name]] = np.where(column > -900, column, np.nan)
    values = records.plausible(records.ARCHIVE_FIELDS, values)
    high, low = (values[ROW[name]] for name in ("temperature_max", "temperature_min"))
    values[ROW["temperature_mean"]] = np.round((high + low) / 2, 2)
    values[ROW["cloud_cover_mean"]] = values[ROW["humidity_mean"]]
    return (float(rows[0]["LAT"]), float(rows[0]["LON"])), date(int(rows[0]["YEAR"]), 1, 1), values


def seasons(first: date, days: int, mean: float = 15.0) -> np.ndarray:
    """Return made-up weather of every field that POWER has, from a fixed seed."""
    random = np.random.default_rng(7)
    season = 8 * np.sin(2 * np.pi * (np.arange(days) + first.timetuple().tm_yday - 110) / 365.25)
    values = np.full((len(records.ARCHIVE_FIELDS), days), np.nan)
    values[ROW["temperature_mean"]] = mean + season + random.normal(0, 3, days)
    values[ROW["temperature_max"]] = values[ROW["temperature_mean"]] + random.uniform(2, 7, days)
    values[ROW["temperature_min"]] = values[ROW["temperature_mean"]] - random.uniform(2, 7, days)
    values[ROW["precipitation_sum"]] = np.maximum(0, random.gamma(0.4, 8, days) - 1)
    values[ROW["weather_code"]] = random.choice([0, 2, 3, 61, 80], days)
    return values


def write_store(
    data_dir: Path,
    cells: Mapping[tuple[float, float], np.ndarray],
    first: date = date(2015, 12, 1),
    *,
    years: Sequence[int] = range(2016, 2026),
    fields: Sequence[str] = CITY_FIELDS,
    grid: Grid = POWER_GRID,
    described: Sequence[int] = (layout.UNKNOWN, layout.UNKNOWN, layout.UNKNOWN),
    region: str = "test",
    built_at: datetime = datetime(2026, 11, 1, tzinfo=UTC),
) -> Path:
    """Write a store that has these points' cells, and return its folder."""
    index = np.full((grid.rows, grid.columns), -1, np.int32)
    for slot, (lat, lng) in enumerate(cells):
        row, column = round((lat - grid.south) / grid.lat_step), (lng - grid.west) / grid.lng_step
        index[row, round(column) % grid.columns] = slot
    manifest = Manifest(
        source="power", title="NASA POWER", model="MERRA-2", years=(years[0], years[-1]),
        grid=grid, fields=layout.scales_of(fields), history=HISTORY_SCALES,
        representativeness=(1.7, 1.7), attribution=(NOTICE,), region=region, slots=len(cells),
        built_at=built_at,
    )  # fmt: skip
    part = data_dir / layout.FOLDER / f"{manifest.name}{layout.PART}"
    rows = np.tile(np.array(described, np.int16), (len(cells), 1))
    arrays = layout.create(part, manifest, index, rows)
    for slot, values in enumerate(cells.values()):
        stats, history = build_tile(values[None], first, years, fields)
        arrays.stats[slot], arrays.history[slot] = stats[0], history[0]
    state = TileState(Tile(0, 0, 15, 15), 0, len(cells), sum_of(arrays.stats, arrays.history))
    return layout.publish(part, msgspec.structs.replace(manifest, tiles=(state,)))
