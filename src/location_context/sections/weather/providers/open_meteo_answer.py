"""Reading Open-Meteo's answers: names, dates and values checked before anything leans on them."""

from __future__ import annotations

import math
from datetime import date
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from location_context.errors import ProviderResponseInvalid
from location_context.sections.open_meteo import NAME
from location_context.sections.weather.records import Columns, Grid, plausible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from location_context.sections.weather.cells import Cell

LONGEST_DAYS = 6000
_NORTHERNMOST = 89.9999
NAMES: Mapping[str, tuple[str, float]] = {  # our field: its name there, and what to multiply by
    "weather_code": ("weather_code", 1),
    "temperature_max": ("temperature_2m_max", 1),
    "temperature_min": ("temperature_2m_min", 1),
    "temperature_mean": ("temperature_2m_mean", 1),
    "apparent_temperature_max": ("apparent_temperature_max", 1),
    "apparent_temperature_min": ("apparent_temperature_min", 1),
    "precipitation_sum": ("precipitation_sum", 1),
    "precipitation_hours": ("precipitation_hours", 1),
    "snowfall_sum": ("snowfall_sum", 1),
    "wind_speed_max": ("wind_speed_10m_max", 1),
    "wind_gusts_max": ("wind_gusts_10m_max", 1),
    "wind_direction_dominant": ("wind_direction_10m_dominant", 1),
    "sunshine_hours": ("sunshine_duration", 1 / 3600),
    "cloud_cover_mean": ("cloud_cover_mean", 1),
    "humidity_mean": ("relative_humidity_2m_mean", 1),
    "precipitation_probability": ("precipitation_probability_max", 1),
    "uv_index_max": ("uv_index_max", 1),
}


def daily(body: Any, fields: Sequence[str]) -> tuple[date, Columns]:
    """The first date and the columns of an answer, a value for each date that follows.

    Raises:
        ProviderResponseInvalid: dates or columns are not what they should be.
    """
    block = body.get("daily") if isinstance(body, dict) else None
    times = block.get("time") if isinstance(block, dict) else None
    if not isinstance(block, dict) or not isinstance(times, list) or not times:
        raise ProviderResponseInvalid(NAME, "the answer holds no days")
    places = _places(times)
    first, length = min(places), (max(places) - min(places)).days + 1
    if length > LONGEST_DAYS:
        raise ProviderResponseInvalid(NAME, "the dates lie too far apart")
    order = [(day - first).days for day in places]
    columns = {}
    for name in fields:
        there, factor = NAMES[name]
        raw = block.get(there)
        if raw is not None and (not isinstance(raw, list) or len(raw) != len(times)):
            raise ProviderResponseInvalid(NAME, "a column is not as long as its dates")
        column = np.full(length, np.nan)
        if raw is not None:
            column[order] = _numbers(raw) * factor
        columns[name] = plausible(name, column)
    if "precipitation_hours" in columns:  # 0, not null, where there is no precipitation data
        unknown = np.isnan(columns["precipitation_sum"])
        columns["precipitation_hours"][unknown] = math.nan
    return first, columns


def _places(times: list[Any]) -> list[date]:
    try:
        days = [date.fromisoformat(time) for time in times]
    except (TypeError, ValueError):
        raise ProviderResponseInvalid(NAME, "a date is not one") from None
    if len(set(days)) != len(days):
        raise ProviderResponseInvalid(NAME, "a date comes twice")
    return days


def _numbers(raw: list[Any]) -> NDArray[np.float64]:
    """Floats, NaN for null and for what is no number."""
    return np.array([value if _is_number(value) else math.nan for value in raw], float)


def _is_number(value: Any) -> TypeGuard[float]:
    return type(value) in (int, float) and abs(value) < 1e9  # a JSON integer may have 400 digits


def elevation_of(body: Any) -> float | None:
    """The height in m an answer tells, 0.0 at sea; None where it tells none."""
    return metres(body.get("elevation") if isinstance(body, dict) else None)


def metres(value: Any) -> float | None:
    """A height on Earth; None where it is none (the terrain model has gaps at the poles)."""
    return float(value) if _is_number(value) and -450 <= value <= 9000 else None


def grid_of(body: Any, cell: Cell) -> Grid:
    """The cell the answer says it is for; the asked one when it does not say."""
    block = body if isinstance(body, dict) else {}
    lat, lng = block.get("latitude"), block.get("longitude")
    if not (_is_number(lat) and _is_number(lng) and abs(lat) <= 90 and abs(lng) <= 180):
        lat, lng = cell.lat, cell.lng
    return Grid(float(lat), float(lng), elevation_of(body))


def terrain_params(lat: float, lng: float) -> dict[str, str]:
    """The coordinates to ask for, moved off the edges that the terrain model leaves out.

    It knows no height at the north pole and on the meridian of +180 degrees.
    """
    return {
        "latitude": f"{min(lat, _NORTHERNMOST):.4f}",
        "longitude": f"{-180.0 if lng == 180 else lng:.4f}",
    }
