"""The body of the weather section's answer.

Forecast and climatology have the same fields; `mode` says which of them the answer is.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from location_context.sections.contract import (
    Bearing,
    DatedApplicable,
    Moment,
    Quantity,
    Text,
    meanings,
)

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
SpreadClimatology = Literal["archive", "monthly_mean"]
SPREAD_CLIMATOLOGY: Mapping[SpreadClimatology, str] = {
    "archive": "Ten years of the same dates, with their own standard deviation.",
    "monthly_mean": "The fallback grid's monthly mean, with the standard deviation that is usual "
    "at its latitude and season.",
}

Temperature = Annotated[float | None, Meta(description="In units.temperature.")]
TenthLow = Annotated[
    float | None,
    Meta(description="One day in ten is lower, in units.temperature; null if unknown."),
]
TenthHigh = Annotated[
    float | None,
    Meta(description="One day in ten is higher, in units.temperature; null if unknown."),
]
Percent = Annotated[float, Meta(ge=0, le=100)]
Precipitation = Annotated[Quantity | None, Meta(description="In units.precipitation.")]
Wind = Annotated[Quantity | None, Meta(description="At 10 m, in units.wind_speed.")]
Hours = Annotated[Quantity | None, Meta(description="Hours.")]


class Issued(msgspec.Struct, frozen=True, kw_only=True):
    """The provider's own forecast for a date, before it is combined with the climatology."""

    temperature_max: Temperature
    temperature_min: Temperature
    precipitation_probability: Annotated[
        Percent | None,
        Meta(
            description=(
                "Percent, by the provider's own threshold (Open-Meteo: over 0.1 mm in the hour "
                "with the highest chance)."
            )
        ),
    ]


class Typical(msgspec.Struct, frozen=True, kw_only=True):
    """Typical values for a date of a forecast, from ten years: means, range, share of wet days."""

    temperature_max: Temperature
    temperature_max_p10: TenthLow
    temperature_max_p90: TenthHigh
    temperature_min: Temperature
    precipitation_probability: Annotated[
        Percent | None, Meta(description="The share of days with at least 1 mm, in percent.")
    ]
    years: Annotated[list[int], Meta(max_length=10, description="Calendar years, oldest first.")]


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """The weather on one local date of the stay; unknown values are null.

    In climatology, numbers are means. In a forecast, highs, lows and the chance of rain are the
    best estimate from the provider's forecast and the climatology of the date.
    """

    date: Annotated[dt.date, Meta(description="Local to the point.")]
    condition: Annotated[
        Condition | None,
        Meta(description="The weather of the day; in climatology the most frequent one."),
    ]
    weather_code: Annotated[
        Annotated[int, Meta(ge=0, le=99)] | None,
        Meta(description="Code of WMO 4677 as Open-Meteo uses it."),
    ]
    summary: Annotated[Text | None, Meta(description="The condition in words, localised.")]
    temperature_max: Temperature
    temperature_min: Temperature
    temperature_mean: Temperature
    temperature_max_p10: TenthLow
    temperature_max_p90: TenthHigh
    temperature_min_p10: TenthLow
    temperature_min_p90: TenthHigh
    apparent_temperature_max: Temperature
    apparent_temperature_min: Temperature
    precipitation_sum: Precipitation
    precipitation_sum_p90: Annotated[
        Quantity | None,
        Meta(
            description=(
                "One day in ten has more, in units.precipitation; null if unknown. In a forecast "
                "it depends on the lead time. For late days it may be below precipitation_sum, "
                "which is not calibrated."
            )
        ),
    ]
    precipitation_probability: Annotated[
        Percent | None,
        Meta(
            description=(
                "Percent. In climatology: the share of days with at least 1 mm. In a forecast: by "
                "the provider's own threshold, which is lower (Open-Meteo: over 0.1 mm in the hour "
                "with the highest chance); from day 8 to day 16 it moves to the climatology's."
            )
        ),
    ]
    precipitation_hours: Hours
    snowfall_sum: Annotated[Quantity | None, Meta(description="In units.snowfall.")]
    wind_speed_max: Wind
    wind_gusts_max: Wind
    wind_direction_dominant: Annotated[
        Bearing | None,
        Meta(description="Direction from which the wind blows, degrees clockwise from north."),
    ]
    sunshine_hours: Hours
    cloud_cover_mean: Annotated[Percent | None, Meta(description="Percent of the sky.")]
    humidity_mean: Annotated[Percent | None, Meta(description="Relative, in percent.")]
    uv_index_max: Annotated[Quantity | None, Meta(description="UV index, 0 and up.")]
    issued: Annotated[
        Issued | None,
        Meta(description="The provider's own forecast, before calibration; null in climatology."),
    ]
    typical: Annotated[
        Typical | None,
        Meta(
            description=(
                "Typical values of the date, if its climatology is stored; null in climatology, "
                "where the day itself is typical."
            )
        ),
    ]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary of the stay: a sentence and a few numbers."""

    text: Annotated[
        Text,
        Meta(
            description=(
                "The stay in one sentence, localised, as in the widget. A second sentence follows "
                "if the stay is unusually warm or cool, or if fewer than ten years of data exist."
            )
        ),
    ]
    temperature_max_mean: Temperature
    temperature_min_mean: Temperature
    precipitation_total: Precipitation
    expected_wet_days: Annotated[
        Quantity | None,
        Meta(
            description=(
                "Sum of the days' chances of rain, each by its own threshold. A forecast day "
                "without a chance counts as wet from 1 mm."
            )
        ),
    ]
    sunshine_hours_total: Hours
    warmest_date: Annotated[dt.date | None, Meta(description="With the highest maximum.")]
    wettest_date: Annotated[
        dt.date | None, Meta(description="With the most precipitation; null when dry.")
    ]


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """How a forecast's best estimates and ranges (p10 to p90) were made."""

    method: Annotated[Text, Meta(description="How the forecast was calibrated.")]
    climatology: Annotated[
        SpreadClimatology | None,
        Meta(
            description=(
                "The climatology that the forecast was combined with. If null, none was stored, "
                "and the spread is the usual one for this lead time. "
            )
            + meanings(SPREAD_CLIMATOLOGY)
        ),
    ]
    judged_on: Annotated[
        Text,
        Meta(description="The forecasts that the coefficients were fitted to."),
    ]


class Representativeness(msgspec.Struct, frozen=True, kw_only=True):
    """Standard errors: how far a place's highs and lows may differ from its grid cell's."""

    temperature_max: Annotated[Quantity, Meta(description="In units.temperature.")]
    temperature_min: Annotated[Quantity, Meta(description="In units.temperature.")]


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """The source of the answer's weather: provider, model, years, grid cell and corrections."""

    kind: Annotated[Kind, Meta(description="The kind of data.")]
    provider: Annotated[Text, Meta(description="Name of the data's provider.")]
    model: Annotated[str | None, Meta(description="The model's name, as the provider states it.")]
    issued_at: Annotated[Moment | None, Meta(description="When the forecast was issued, UTC.")]
    years: Annotated[
        list[int],
        Meta(max_length=10, description="Calendar years, oldest first; empty in a forecast."),
    ]
    samples_per_day: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Number of past days used for each date."),
    ]
    grid_distance: Annotated[
        Quantity | None, Meta(description="From the point to the cell's centre, in units.distance.")
    ]
    grid_elevation: Annotated[float | None, Meta(description="In units.elevation.")]
    point_elevation: Annotated[float | None, Meta(description="In units.elevation.")]
    temperature_correction: Annotated[
        float | None,
        Meta(
            description=(
                "Added for the difference in elevation, in units.temperature; null if not needed."
            )
        ),
    ]
    representativeness: Annotated[
        Representativeness | None,
        Meta(
            description=(
                "The expected difference between the archive's cell and the place; p10 and p90 "
                "include it. Null if no archive years are stored."
            )
        ),
    ]
    spread: Annotated[
        Spread | None,
        Meta(
            description=(
                "How a calibrated forecast was made. Null in climatology, and if the operator "
                "turned calibration off."
            )
        ),
    ]


class YearBody(msgspec.Struct, frozen=True, kw_only=True):
    """The weather on the stay's dates in one of the ten years.

    A stay over New Year belongs to the year in which it starts.
    """

    year: Annotated[int, Meta(ge=1900, le=2100, description="Year in which the stay would begin.")]
    temperature_max_mean: Temperature
    temperature_min_mean: Temperature
    precipitation_total: Precipitation
    wet_days: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(
            description=(
                "Days with at least 1 mm. A forecast's chance of rain may use a lower threshold."
            )
        ),
    ]


class WeatherBody(DatedApplicable, frozen=True, kw_only=True, tag="weather"):
    """The weather of a stay: a forecast for all its dates, or typical weather for all of them."""

    mode: Annotated[Mode, Meta(description="A forecast, or ten years of the same dates.")]
    forecast_until: Annotated[dt.date, Meta(description="The last date a forecast can cover.")]
    days: Annotated[
        list[Day],
        Meta(min_length=1, max_length=92, description="Every date of the stay, in order."),
    ]
    summary: Annotated[Summary, Meta(description="The whole stay in a sentence and numbers.")]
    basis: Annotated[Basis, Meta(description="The data behind the answer.")]
    history: Annotated[
        list[YearBody],
        Meta(
            max_length=10,
            description=(
                "The same dates in each of ten years; in a forecast only if they are stored."
            ),
        ),
    ]
