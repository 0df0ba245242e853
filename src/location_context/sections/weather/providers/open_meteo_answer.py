"""Reading Open-Meteo's answers: names, dates and values checked before anything leans on them."""

from __future__ import annotations

import math
from datetime import date
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from location_context.sections.weather.records import Columns, Grid, plausible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from location_context.errors import ProviderAnswerInvalid
    from location_context.sections.weather.cells import Cell

    Refuse = Callable[[str], ProviderAnswerInvalid]

LONGEST_DAYS = 6000
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


def daily(body: Any, fields: Sequence[str], refuse: Refuse) -> tuple[date, Columns]:
    """The first date and the columns of an answer, a value for each date that follows.

    Raises:
        ProviderAnswerInvalid: dates or columns are not what they should be.
    """
    block = body.get("daily") if isinstance(body, dict) else None
    times = block.get("time") if isinstance(block, dict) else None
    if not isinstance(block, dict) or not isinstance(times, list) or not times:
        raise refuse("the answer holds no days")
    places = _places(times, refuse)
    first, length = min(places), (max(places) - min(places)).days + 1
    if length > LONGEST_DAYS:
        raise refuse("the dates lie too far apart")
    order = [(day - first).days for day in places]
    columns = {}
    for name in fields:
        there, factor = NAMES[name]
        raw = block.get(there)
        if raw is not None and (not isinstance(raw, list) or len(raw) != len(times)):
            raise refuse("a column is not as long as its dates")
        column = np.full(length, np.nan)
        if raw is not None:
            column[order] = _numbers(raw) * factor
        columns[name] = plausible(name, column)
    return first, columns


def _places(times: list[Any], refuse: Refuse) -> list[date]:
    try:
        days = [date.fromisoformat(time) for time in times]
    except (TypeError, ValueError):
        raise refuse("a date is not one") from None
    if len(set(days)) != len(days):
        raise refuse("a date comes twice")
    return days


def _numbers(raw: list[Any]) -> NDArray[np.float64]:
    """Floats, NaN for null and for what is no number."""
    return np.array([value if _is_number(value) else math.nan for value in raw], float)


def _is_number(value: Any) -> TypeGuard[float]:
    return type(value) in (int, float) and abs(value) < 1e9  # a JSON integer may have 400 digits


def elevation_of(body: Any) -> float | None:
    """The height an answer tells; None where it tells none (the sea is NaN or -999 there)."""
    value = body.get("elevation") if isinstance(body, dict) else None
    if not _is_number(value) or not -450 <= value <= 9000:
        return None
    return float(value)


def grid_of(body: Any, cell: Cell) -> Grid:
    """The cell the answer says it is for; the asked one when it does not say."""
    block = body if isinstance(body, dict) else {}
    lat, lng = block.get("latitude"), block.get("longitude")
    if not (_is_number(lat) and _is_number(lng) and abs(lat) <= 90 and abs(lng) <= 180):
        lat, lng = cell.lat, cell.lng
    return Grid(float(lat), float(lng), elevation_of(body))
