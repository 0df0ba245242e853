"""What the weather section answers: one shape for forecast and climatology; `mode` tells which."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from location_context.sections.contract import DatedApplicable

Mode = Literal["forecast", "climatology"]
Condition = Literal[
    "clear",
    "partly_cloudy",
    "cloudy",
    "fog",
    "drizzle",
    "rain",
    "heavy_rain",
    "sleet",
    "snow",
    "heavy_snow",
    "thunderstorm",
]
Kind = Literal["forecast", "reanalysis", "monthly_mean"]

Temperature = Annotated[float | None, Meta(description="In units.temperature.")]
TenthLow = Annotated[
    float | None, Meta(description="One in ten is lower, in units.temperature; null in a forecast.")
]
TenthHigh = Annotated[
    float | None,
    Meta(description="One in ten is higher, in units.temperature; null in a forecast."),
]
Percent = Annotated[float, Meta(ge=0, le=100)]


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """One local date of the stay. In climatology numbers are means; what is not known is null."""

    date: date
    condition: Annotated[
        Condition | None, Meta(description="In climatology the most frequent one.")
    ]
    weather_code: Annotated[int | None, Meta(description="WMO 4677 as Open-Meteo uses it.")]
    summary: Annotated[str | None, Meta(description="The condition in words, localised.")]
    temperature_max: Temperature
    temperature_min: Temperature
    temperature_mean: Temperature
    temperature_max_p10: TenthLow
    temperature_max_p90: TenthHigh
    temperature_min_p10: TenthLow
    temperature_min_p90: TenthHigh
    apparent_temperature_max: Temperature
    apparent_temperature_min: Temperature
    precipitation_sum: Annotated[float | None, Meta(description="In units.precipitation.")]
    precipitation_probability: Annotated[
        Percent | None,
        Meta(description="Percent; in climatology the share of days with at least 1 mm."),
    ]
    precipitation_hours: Annotated[float | None, Meta(description="Hours.")]
    snowfall_sum: Annotated[float | None, Meta(description="In units.snowfall.")]
    wind_speed_max: Annotated[float | None, Meta(description="At 10 m, in units.wind_speed.")]
    wind_gusts_max: Annotated[float | None, Meta(description="At 10 m, in units.wind_speed.")]
    wind_direction_dominant: Annotated[
        float | None, Meta(description="Where it comes from, degrees clockwise from north.")
    ]
    sunshine_hours: Annotated[float | None, Meta(description="Hours.")]
    cloud_cover_mean: Percent | None
    humidity_mean: Percent | None
    uv_index_max: float | None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The whole stay in a sentence and a few numbers."""

    text: Annotated[str, Meta(description="One plain sentence, localised.")]
    temperature_max_mean: Temperature
    temperature_min_mean: Temperature
    precipitation_total: Annotated[float | None, Meta(description="In units.precipitation.")]
    expected_wet_days: Annotated[float | None, Meta(description="Sum of the days' chances.")]
    sunshine_hours_total: float | None
    warmest_date: date | None
    wettest_date: date | None


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """What the answer rests on."""

    kind: Kind
    provider: Annotated[str, Meta(description="Whose data it is.")]
    model: str | None
    issued_at: Annotated[datetime | None, Meta(description="UTC, of a forecast.")]
    years: Annotated[list[int], Meta(description="Oldest first; empty in a forecast.")]
    samples_per_day: Annotated[int | None, Meta(description="Days pooled behind each date.")]
    grid_distance: Annotated[
        float | None, Meta(description="From the point to the cell's centre, in units.distance.")
    ]
    grid_elevation: Annotated[float | None, Meta(description="In units.elevation.")]
    point_elevation: Annotated[float | None, Meta(description="In units.elevation.")]
    temperature_correction: Annotated[
        float | None,
        Meta(description="Added to temperatures for the height; null when none was made."),
    ]


class YearBody(msgspec.Struct, frozen=True, kw_only=True):
    """The same dates in one of the ten years; a stay over New Year belongs to its start."""

    year: int
    temperature_max_mean: Temperature
    temperature_min_mean: Temperature
    precipitation_total: Annotated[float | None, Meta(description="In units.precipitation.")]
    wet_days: Annotated[int | None, Meta(description="Days with at least 1 mm.")]


class WeatherBody(DatedApplicable, frozen=True, kw_only=True):
    """The weather of a stay: a forecast, or what is typical of its dates."""

    mode: Annotated[Mode, Meta(description="A forecast, or ten years of the same dates.")]
    forecast_until: Annotated[date, Meta(description="The last date a forecast can cover.")]
    days: list[Day]
    summary: Summary
    basis: Basis
    history: list[YearBody]
