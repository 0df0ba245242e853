"""Made-up weather: a small climate, warm near the equator and in summer."""

import math
from collections.abc import Sequence
from datetime import date, datetime, timedelta

import numpy as np

from location_context.sections.contract import Query, StayBody, point_notices
from location_context.sections.units import Measure
from location_context.sections.weather.calibration import Z90, Calibration
from location_context.sections.weather.providers.open_meteo import OPEN_METEO, copernicus
from location_context.sections.weather.response import (
    Basis,
    Condition,
    Day,
    Mode,
    Summary,
    WeatherBody,
    YearBody,
)
from location_context.sections.weather.retrieval.elevations import DEM
from location_context.sections.weather.summary_text import condition_text
from location_context.stay import horizon
from tests.widget.samples.place import point_of

CODES: dict[Condition, int] = {
    "clear": 0, "partly_cloudy": 2, "cloudy": 3, "fog": 45, "drizzle": 53, "rain": 61, "sleet": 66,
    "heavy_rain": 65, "snow": 73, "heavy_snow": 75, "thunderstorm": 95,
}  # fmt: skip
FORECAST_SKIES: Sequence[Condition] = (
    "clear", "clear", "partly_cloudy", "thunderstorm", "partly_cloudy", "heavy_rain", "drizzle",
    "cloudy", "rain", "fog", "partly_cloudy",
)  # fmt: skip
SNOWY: dict[Condition, Condition] = {
    "rain": "snow", "drizzle": "snow", "heavy_rain": "heavy_snow", "thunderstorm": "sleet",
}  # fmt: skip
CHANCES: dict[Condition, int] = {
    "partly_cloudy": 15, "cloudy": 30, "drizzle": 55, "rain": 70, "heavy_rain": 85, "snow": 70,
    "thunderstorm": 65, "sleet": 60, "heavy_snow": 85,
}  # fmt: skip
TYPICAL_SKIES: Sequence[Condition] = (
    "partly_cloudy", "partly_cloudy", "cloudy", "drizzle", "partly_cloudy", "partly_cloudy",
    "partly_cloudy", "rain",
)  # fmt: skip
SD = 3.5  # of the highs of a date, in °C


def weather(query: Query, now: datetime) -> WeatherBody:
    stay = query.stay
    assert stay is not None
    today = query.point.today(now)
    mode: Mode = "forecast" if stay.end <= horizon(today) else "climatology"
    days = [_day(query, day, today, mode) for day in stay.dates()]
    highs = [day.temperature_max or 0.0 for day in days]
    lows = [day.temperature_min or 0.0 for day in days]
    years = list(range(2016, 2026))
    measure = Measure(query.units)
    return WeatherBody(
        point=point_of(query),
        units=measure.body,
        as_of=now - timedelta(hours=2),
        stale=False,
        attribution=[
            OPEN_METEO,
            *([] if mode == "forecast" else [copernicus(today.year)]),
            DEM,
            *point_notices(query.point),
        ],
        stay=StayBody(start=stay.start, end=stay.end),
        mode=mode,
        forecast_until=horizon(today),
        days=days,
        summary=Summary(
            text="",
            temperature_max_mean=sum(highs) / len(highs),
            temperature_min_mean=sum(lows) / len(lows),
            precipitation_total=sum(day.precipitation_sum or 0 for day in days),
            expected_wet_days=sum(day.precipitation_probability or 0 for day in days) / 100,
            sunshine_hours_total=sum(day.sunshine_hours or 0 for day in days),
            warmest_date=days[highs.index(max(highs))].date,
            wettest_date=days[-1].date,
        ),
        basis=Basis(
            kind="forecast" if mode == "forecast" else "reanalysis",
            provider="Open-Meteo",
            model=None,
            issued_at=now - timedelta(hours=2) if mode == "forecast" else None,
            years=[] if mode == "forecast" else years,
            samples_per_day=None if mode == "forecast" else 290,
            grid_distance=3.0,
            grid_elevation=10.0,
            point_elevation=8.0,
            temperature_correction=None,
            representativeness=None,
            spread=None,
        ),
        history=[] if mode == "forecast" else [_year(year, highs, lows, measure) for year in years],
    )


def _warmth(lat: float, day: date) -> float:
    """A made-up mean high in °C."""
    season = math.cos(2 * math.pi * (day.timetuple().tm_yday - 205) / 365.24)
    side = 1 if lat >= 0 else -1
    return 31 - 0.0052 * lat * lat + side * season * min(13.0, abs(lat) / 5)


def calibrated(mean: float, anomaly: float, lead: int) -> tuple[float, float, float]:
    """What the service makes of a forecast in °C: best, p10 and p90."""
    issued, usual, sd, days = (np.array([float(x)]) for x in (mean + anomaly, mean, SD, lead))
    found = Calibration.load().temperature("temperature_max", issued, usual, sd, days, "raw")
    best, p10, p90 = (float(values[0]) for values in found)
    return best, p10, p90


def _day(query: Query, day: date, today: date, mode: Mode) -> Day:
    measure, warm = Measure(query.units), _warmth(query.point.lat, day)
    number = day.toordinal()
    skies = FORECAST_SKIES if mode == "forecast" else TYPICAL_SKIES
    condition = skies[number % len(skies)]
    if warm < 1:
        condition = SNOWY.get(condition, condition)
    mean = warm + ((number * 7) % 5 - 2) * 0.3
    high, p10, p90 = mean, mean - Z90 * SD, mean + Z90 * SD
    if mode == "forecast":
        high, p10, p90 = calibrated(mean, (number * 7) % 5 * 2.0 - 4.0, (day - today).days)
    chance = CHANCES.get(condition, 10) + (number * 3) % 10
    if mode == "climatology":
        chance = 25 + (number * 13) % 35
    typical = mode == "climatology"
    return Day(
        date=day,
        condition=condition,
        weather_code=CODES[condition],
        summary=condition_text(condition, query.language),
        temperature_max=measure.temperature(high),
        temperature_min=measure.temperature(high - 7.5),
        temperature_mean=measure.temperature(high - 3.5),
        temperature_max_p10=measure.temperature(p10),
        temperature_max_p90=measure.temperature(p90),
        temperature_min_p10=measure.temperature(p10 - 7.5),
        temperature_min_p90=measure.temperature(p90 - 7.5),
        apparent_temperature_max=measure.temperature(high + 1),
        apparent_temperature_min=measure.temperature(high - 8),
        precipitation_sum=measure.precipitation(chance / 14),
        precipitation_sum_p90=None,
        precipitation_probability=float(chance),
        precipitation_hours=1.5,
        snowfall_sum=measure.snowfall(2.0 if condition == "snow" else 0.0),
        wind_speed_max=measure.wind_speed(24.0),
        wind_gusts_max=measure.wind_speed(38.0 + (number * 5) % 24),
        wind_direction_dominant=270.0,
        sunshine_hours=6.5 + number % 3 if abs(query.point.lat) < 60 else 0.4,
        cloud_cover_mean=45.0,
        humidity_mean=70.0,
        uv_index_max=None if typical else 6.0,
        issued=None,
        typical=None,
    )


def _year(year: int, highs: Sequence[float], lows: Sequence[float], measure: Measure) -> YearBody:
    shift = (measure.temperature_difference(((year * 7) % 9 - 4) * 0.6)) or 0.0
    return YearBody(
        year=year,
        temperature_max_mean=round(sum(highs) / len(highs) + shift, 1),
        temperature_min_mean=round(sum(lows) / len(lows) + shift, 1),
        precipitation_total=measure.precipitation(12.0),
        wet_days=(year * 5) % 6 if len(highs) > 5 else 1,
    )
