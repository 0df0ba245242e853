"""The typical weather of the twelve months at a point, in metric units and without any fetch.

Three sources are tried in this order: a climate store, a provider's stored months, the fallback
grid. The first two have daily values of ten years; a month's statistics use only its own days. Of
the three, only a provider's stored months include sunshine.
"""

from calendar import monthrange
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

import numpy as np

from location_context.errors import ProviderError
from location_context.point import Point
from location_context.sections.contract import Attribution, Query
from location_context.sections.weather import climatology, fallback_grid, fixed_weather
from location_context.sections.weather.climate import layout
from location_context.sections.weather.climate.store import ClimateStore
from location_context.sections.weather.fallback_grid import MONTH_DAYS, FallbackGrid
from location_context.sections.weather.records import PAD_DAYS, ROW, Columns, Floats, Grid
from location_context.sections.weather.retrieval.archives import Archives
from location_context.sections.weather.year.response import Source
from location_context.stay import Stay

YEAR = Stay(date(2024, 1, 1), date(2024, 12, 31))  # with 29 February
_LENGTHS = np.array([monthrange(2024, month)[1] for month in range(1, 13)])[:, None]
_DAYS = np.arange(31)
# the places of each month's 31 days in a year of 366; place 366, past its end, for missing days
_PLACES = np.where(
    _DAYS < _LENGTHS, np.cumsum(_LENGTHS)[:, None] - _LENGTHS + _DAYS, climatology.YEAR_PLACES
)
_SUN = "sunshine_hours"
_ROWS = [*climatology.HISTORY_ROWS, ROW[_SUN]]
_SUNRISE = np.sin(np.radians(-0.833))  # the Sun's upper edge on the horizon, with refraction
_TILT = np.sin(np.radians(23.44))


@dataclass(frozen=True)
class Normals:
    """The typical weather of the twelve months from one source, for a grid cell.

    Each of `columns` has twelve values, from January on.
    """

    source: Source
    provider: str
    model: str | None
    years: Sequence[int]
    columns: Columns
    grid: Grid
    attribution: Sequence[Attribution]


def from_stores(stores: Iterable[ClimateStore], point: Point) -> Normals | None:
    """Return typical months from the first climate store with data for the point, else None."""
    for store in stores:
        if (found := store.find(point)) is None:
            continue
        slot, grid = found
        manifest, packed = store.manifest, store.history.read(slot, 0, climatology.YEAR_PLACES - 1)
        if packed is None or (packed == layout.UNKNOWN).all():
            continue
        days = layout.unpack(packed, manifest.history).transpose(2, 1, 0)
        return Normals(
            "climate_store", manifest.title, manifest.model, manifest.year_list, of_days(days),
            grid, manifest.attribution,
        )  # fmt: skip
    return None


async def from_archives(archives: Archives, query: Query) -> Normals | None:
    """Return typical months from the first archive that has all months of the year stored.

    Return None if no archive has all months.
    """
    for archive in archives.queries(replace(query, stay=YEAR)):
        try:
            found = await archive.years(None)
        except ProviderError:  # it has no data for this cell
            continue
        if found is not None:
            years, values = found
            days = values[_ROWS, :, PAD_DAYS:-PAD_DAYS]
            return Normals(
                "stored_months", archive.provider.title, archive.provider.model, years,
                of_days(days), archive.grid(years), archive.provider.attribution(archive.today),
            )  # fmt: skip
    return None


def from_grid(grid: FallbackGrid, point: Point) -> Normals | None:
    """Return typical months from the fallback grid's monthly means; None if there is no grid."""
    if (found := grid.months(point)) is None:
        return None
    (temperature, rain), cell = found
    columns = {"temperature_mean": temperature, "precipitation_total": rain}
    notices = (fallback_grid.ITU,)
    return Normals(
        "monthly_mean", fallback_grid.NAME, fallback_grid.MODEL, (), columns, cell, notices
    )


def fixed(point: Point, now: datetime) -> Normals:
    """Return typical months computed from made-up weather, for test API keys."""
    years = climatology.latest(climatology.last_year(point.today(now)))
    values = fixed_weather.fixed_years(point.lat, years, 0, climatology.YEAR_PLACES)
    columns, grid = of_days(values[_ROWS]), Grid(point.lat, point.lng, None)
    return Normals("stored_months", fixed_weather.NAME, None, years, columns, grid, ())


def of_days(days: Floats) -> Columns:
    """Return each month's statistics from daily values (fields x years x 366).

    The fields are highs, lows, rain and, if there are four, sunshine.
    """
    padded = np.pad(days, ((0, 0), (0, 0), (0, 1)), constant_values=np.nan)
    pooled = np.moveaxis(padded[:, :, _PLACES], 1, 2).reshape(len(days), 12, -1)
    known = np.isfinite(pooled).sum(axis=-1)
    with np.errstate(invalid="ignore"):
        high, low, rain, *sun = np.nansum(pooled, axis=-1) / known
        wet = (pooled[2] >= climatology.WET_MM).sum(axis=-1) / known[2]
    columns = {
        "temperature_max": high,
        "temperature_min": low,
        "temperature_mean": (high + low) / 2,
        "precipitation_total": rain * MONTH_DAYS,
        "wet_days": wet * MONTH_DAYS,
    }
    columns |= {_SUN: sun[0]} if sun else {}
    p10, p90 = climatology.quantiles(pooled[:2], 0.1, 0.9)
    for row, name in enumerate(climatology.HISTORY_FIELDS[:2]):
        columns[f"{name}_p10"], columns[f"{name}_p90"] = p10[row], p90[row]
    return columns


def daylight(lat: float) -> Floats:
    """Return the mean hours from sunrise to sunset in each month, at a latitude.

    The hours are for 2027; other years differ little. The Sun's longitude at noon UTC comes from
    the Astronomical Almanac's low-precision formula.
    """
    place = np.arange(climatology.YEAR_PLACES)
    day = place - (place > climatology.LEAP_PLACE) + (date(2027, 1, 1) - date(2000, 1, 1)).days
    anomaly = np.radians(357.528 + 0.9856003 * day)
    turn = 280.46 + 0.9856474 * day + 1.915 * np.sin(anomaly) + 0.02 * np.sin(2 * anomaly)
    sine, up = _TILT * np.sin(np.radians(turn)), np.radians(lat)
    turned = (_SUNRISE - np.sin(up) * sine) / (np.cos(up) * np.sqrt(1 - sine**2))
    hours = 24 / np.pi * np.arccos(np.clip(turned, -1, 1))
    return np.asarray(np.nanmean(np.append(hours, np.nan)[_PLACES], axis=1))
