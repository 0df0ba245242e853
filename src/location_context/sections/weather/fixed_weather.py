"""Made-up weather for test keys, which always receive made-up answers.

The values depend only on latitude and date.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

import numpy as np
from numpy.typing import NDArray

from location_context.sections.contract import Query
from location_context.sections.weather import climatology
from location_context.sections.weather.records import (
    ARCHIVE_FIELDS,
    FORECAST_FIELDS,
    PAD_DAYS,
    Floats,
    WeatherSeries,
)

NAME, _TTL = "Test data", timedelta(hours=1)
_JANUARY_15 = 735_978  # the ordinal of that date in one year


def fixed_series(query: Query, now: datetime, *, failing: bool) -> WeatherSeries:
    """Return a made-up forecast if the stay is within the forecast horizon, else a climatology.

    If `failing`, the forecast counts as unavailable, and the result is always a climatology.
    """
    today, stay = query.point.today(now), query.dates
    typical = _climatology(query, climatology.latest(climatology.last_year(today)))
    if failing or not stay.within_horizon(today):
        return typical
    days = np.arange(stay.days) + stay.start.toordinal()
    issued_at = datetime.combine(now.astimezone(UTC), time(), UTC)
    return WeatherSeries(
        kind="forecast",
        provider=NAME,
        model=None,
        columns=dict(zip(FORECAST_FIELDS, _weather(query.point.lat, days), strict=True)),
        attribution=(),
        ttl=_TTL,
        as_of=issued_at,
        issued_at=issued_at,
        typical=typical,
    )


def _climatology(query: Query, years: Sequence[int]) -> WeatherSeries:
    """Return a climatology of made-up weather in these years, computed as for an archive."""
    stay = query.dates
    own = climatology.places(stay)
    first, width = int(own[0]) - PAD_DAYS, int(own[-1] - own[0]) + 1 + 2 * PAD_DAYS
    values = fixed_years(query.point.lat, years, first, width)
    return WeatherSeries(
        kind="reanalysis",
        provider=NAME,
        model=None,
        columns=climatology.on_dates(stay, climatology.summarise(values)),
        attribution=(),
        ttl=_TTL,
        as_of=datetime(years[-1], 12, 31, 23, 59, 59, tzinfo=UTC),
        years=years,
        samples_per_day=climatology.samples(values),
        history=climatology.history(stay, years, values),
    )


def fixed_years(lat: float, years: Sequence[int], first: int, width: int) -> Floats:
    """Return made-up daily values for `width` days of each year: ARCHIVE_FIELDS x years x days.

    `first` is the first day's number in a year of 366 days, from 0 for 1 January. In years without
    29 February, the values of that day are NaN.
    """
    days = np.stack([climatology.ordinals(year, first, width) for year in years])
    return np.where(days > 0, _weather(lat, days)[: len(ARCHIVE_FIELDS)], np.nan)


def _weather(lat: float, days: NDArray[np.int_]) -> Floats:
    """Return a made-up value of each of FORECAST_FIELDS for these days, which are date ordinals.

    Every fourth day is wet. Temperatures follow a yearly cosine, reversed south of the equator.
    """
    wet = days % 4 == 0
    season = lat * np.cos((days - _JANUARY_15) * (2 * np.pi / 365.25))
    mean = 27 - 0.3 * abs(lat) - 0.2 * season + 0.8 * (days * 7 % 11 - 5)
    snow = wet & (mean < 0)
    by_name = {
        "weather_code": np.where(snow, 73, np.where(wet, 61, days % 3)),
        "temperature_max": mean + 4,
        "temperature_min": mean - 4,
        "temperature_mean": mean,
        "apparent_temperature_max": mean + 3,
        "apparent_temperature_min": mean - 6,
        "precipitation_sum": wet * 4.0,
        "precipitation_hours": wet * 3.0,
        "snowfall_sum": snow * 2.8,
        "wind_speed_max": 15.0 + days % 7,
        "wind_gusts_max": 30.0 + days % 7,
        "wind_direction_dominant": 200.0 + days % 90,
        "sunshine_hours": np.where(wet, 2.0, 7.0),
        "cloud_cover_mean": np.where(wet, 85.0, 35.0),
        "humidity_mean": np.where(wet, 85.0, 60.0),
        "precipitation_probability": np.where(wet, 80.0, 10.0),
        "uv_index_max": np.where(wet, 2.0, 4.0),
    }
    return np.stack([by_name[name].astype(float) for name in FORECAST_FIELDS])
