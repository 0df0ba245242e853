"""The estimate of each day: a provider's forecast combined with the stored climatology.

Climatology is the typical weather of past years. Highs and lows become best estimates with a range.
The chance of rain moves towards the usual share of wet days. Both depend on how many days ahead the
date is (`calibration.py`). First the climatology is corrected to the elevation of the forecast's
grid cell, so that the later correction to the point applies to both.

The mean temperature keeps its relative position between low and high. Apparent temperatures keep
their differences from high and low. Rain amounts, wind and sky stay as issued.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from location_context.point import Point
from location_context.sections.contract import Query
from location_context.sections.weather.calibration import Z90, Calibration, Estimate, Variable
from location_context.sections.weather.fallback_grid import FallbackGrid
from location_context.sections.weather.records import Columns, Floats, Grid, WeatherSeries
from location_context.sections.weather.response import Spread, SpreadClimatology, YearBody
from location_context.stay import Clock, Stay

VARIABLES: tuple[Variable, Variable] = ("temperature_max", "temperature_min")

# The usual standard deviation where only a monthly mean is stored, in K: at the equator, the rise
# up to 60°, and how much that rise is larger in winter and smaller in summer. Fitted on 20 cities
# (`research.usual_spread`).
USUAL_SD = {"temperature_max": (1.2, 3.0, 0.6), "temperature_min": (0.8, 2.8, 1.1)}
MONTHLY_MEAN_ERROR = 1.5  # K, error of the grid's monthly mean: its height, coasts, other years
MIN_YEARS = 5  # fewer years do not show how much the mean of a stay varies
COLDEST_DAY, YEAR_DAYS = 15, 365.25  # mid-January in the north
RAIN_OF_A_WET_DAY = 5.0  # mm; the grid's share of wet days is 1 − e^(−mean/5), within 0.11


class Estimator:
    """Combines forecasts with the typical weather of their dates in past years (the climatology).

    Args:
        calibration: the coefficients; None leaves forecasts as issued.
        fallback: the grid of monthly means, which is used where no archive is stored.
        clock: returns the current time in UTC.
    """

    def __init__(
        self, calibration: Calibration | None, fallback: FallbackGrid, clock: Clock
    ) -> None:
        self._calibration = calibration
        self._fallback = fallback
        self._clock = clock

    def estimate(
        self, query: Query, series: WeatherSeries, elevation: float | None
    ) -> WeatherSeries:
        """Return a forecast combined with the typical weather of its dates (the climatology).

        A series that is not a forecast is returned unchanged. `elevation` is the elevation of the
        point in m; None if unknown.
        """
        if self._calibration is None or series.kind != "forecast":
            return series
        assert series.as_of is not None
        point, stay = query.point, query.dates
        lead = leads(stay, series.as_of.astimezone(point.zone).date(), point.today(self._clock()))
        normals = None
        if series.typical is not None:
            kelvin = height_between(series.grid, series.typical.grid, elevation)
            normals = Normals.of_archive(series.typical, kelvin)
        elif (monthly := self._fallback.series(point, stay)) is not None:
            normals = Normals.of_grid(monthly, series.columns, point, stay)
            series = series.crediting(monthly.attribution)
        return calibrated(series, normals, lead, self._calibration)


@dataclass(frozen=True, kw_only=True)
class Normals:
    """The typical weather of each date, corrected to the elevation of the forecast's grid cell.

    Values are in °C, percent and mm. `mean`, `sd` and `error` are pairs: for highs and for lows.
    `error` says how far a place's mean may be from its grid cell's: a standard error in K.
    """

    climatology: SpreadClimatology
    mean: tuple[Floats, Floats]  # of highs and of lows
    sd: tuple[Floats, Floats]
    error: tuple[float, float] = (0.0, 0.0)  # K, standard errors of the means at the place
    wet_share: Floats
    wet_mean: Floats | None  # of a wet day

    @classmethod
    def of_archive(cls, typical: WeatherSeries, kelvin: float) -> "Normals":
        """Create the normals of a stay's dates from their typical weather in ten past years.

        `kelvin` is added to correct temperatures to the elevation of the forecast's grid cell.
        """
        columns = typical.columns
        wet_share = columns["precipitation_probability"]
        with np.errstate(invalid="ignore", divide="ignore"):
            wet_mean = 100 * columns["precipitation_sum"] / wet_share
        high, low = (columns[name] + kelvin for name in VARIABLES)
        high_sd, low_sd = (
            (columns[f"{name}_p90"] - columns[f"{name}_p10"]) / (2 * Z90) for name in VARIABLES
        )
        return cls(
            climatology="archive",
            mean=(high, low),
            sd=(high_sd, low_sd),
            error=typical.representativeness or (0.0, 0.0),
            wet_share=wet_share,
            wet_mean=np.where(np.isfinite(wet_mean), wet_mean, 0.0),
        )

    @classmethod
    def of_grid(
        cls, monthly: WeatherSeries, issued: Columns, point: Point, stay: Stay
    ) -> "Normals":
        """Create the normals from monthly means of the temperature and the rain.

        The means have no separate high and low, so the difference between high and low is taken
        from the forecast (`issued`). The standard deviation is `usual_sd` at `point` on the dates.
        """
        mean = monthly.columns["temperature_mean"]
        high, low = (issued[name] for name in VARIABLES)
        half_range = (high - low) / 2
        rain = monthly.columns["precipitation_sum"]
        high_sd, low_sd = (usual_sd(name, point.lat, stay) for name in VARIABLES)
        return cls(
            climatology="monthly_mean",
            mean=(mean + half_range, mean - half_range),
            sd=(high_sd, low_sd),
            wet_share=100 * (1 - np.exp(-np.maximum(rain, 0) / RAIN_OF_A_WET_DAY)),
            wet_mean=None,
        )


def usual_sd(variable: Variable, lat: float, stay: Stay) -> Floats:
    """Return how much highs or lows usually vary around a monthly mean, for each date.

    The result is a standard deviation in K. It depends on latitude and season.
    """
    least, northward, winter = USUAL_SD[variable]
    poleward = min(abs(lat), 60.0) / 60.0
    days = np.array([day.timetuple().tm_yday for day in stay.dates()])
    season = math.copysign(1.0, lat) * np.cos(2 * np.pi * (days - COLDEST_DAY) / YEAR_DAYS)
    sd: Floats = np.hypot(least + poleward * (northward + winter * season), MONTHLY_MEAN_ERROR)
    return sd


def leads(stay: Stay, issued: date, today: date) -> Floats:
    """Return for each date of the stay its lead: the number of days since the forecast was issued.

    `issued` is the local date of issue. Dates before today have a lead of -1. The lead is
    counted from the issue, not from today, since an older forecast is less certain.
    """
    first = (stay.start - issued).days
    lead = np.arange(first, first + stay.days, dtype=float)
    lead[: max(0, (today - stay.start).days)] = -1.0
    return lead


def calibrated(
    forecast: WeatherSeries,
    normals: Normals | None,
    lead: Floats,
    calibration: Calibration,
) -> WeatherSeries:
    """Return the forecast with best estimates, ranges and calibrated chances of rain.

    Args:
        forecast: the forecast as issued, metric.
        normals: the climatology of the dates. If None, the width of a range depends only on its
            lead and the coefficients.
        lead: the number of days since the date of issue for each date, as `leads` returns it.
        calibration: the coefficients.
    """
    issued = forecast.columns
    high, low = (_estimate(which, forecast, normals, lead, calibration) for which in range(2))
    if normals is not None and normals.climatology == "monthly_mean":
        high, low = _together(high, low, issued)
    high, low = _in_order(high, low)
    chance, rain = issued["precipitation_probability"], issued["precipitation_sum"]
    if normals is not None:
        chance = _known(calibration.chance_of_rain(chance, normals.wet_share, lead), chance)
    wet_mean = normals.wet_mean if normals is not None else None
    columns = {
        **issued,
        **_along(issued, high.best, low.best),
        "precipitation_probability": chance,
        "precipitation_sum_p90": calibration.precipitation_p90(rain, chance, lead, wet_mean),
    }
    for name, estimate in zip(VARIABLES, (high, low), strict=True):
        columns[name] = estimate.best
        columns[f"{name}_p10"], columns[f"{name}_p90"] = estimate.p10, estimate.p90
    spread = Spread(
        method=calibration.method,
        climatology=normals.climatology if normals else None,
        judged_on=calibration.judged_on,
    )
    return replace(forecast, columns=columns, issued=issued, spread=spread)


def _estimate(
    which: int,
    forecast: WeatherSeries,
    normals: Normals | None,
    lead: Floats,
    calibration: Calibration,
) -> Estimate:
    """Return the best estimates and ranges of the highs (if `which` is 0) or of the lows (1)."""
    name, product = VARIABLES[which], forecast.product
    value = forecast.columns[name]
    if normals is None:
        return calibration.temperature_alone(name, value, lead, product)
    mean, sd, error = normals.mean[which], normals.sd[which], normals.error[which]
    found = calibration.temperature(name, value, mean, sd, lead, product, error)
    if np.isfinite(mean + sd).all():
        return found
    alone = calibration.temperature_alone(name, value, lead, product)
    return Estimate(*(_known(one, other) for one, other in zip(found, alone, strict=True)))


def _together(high: Estimate, low: Estimate, issued: Columns) -> tuple[Estimate, Estimate]:
    """Shift the estimates so that high and low differ from the issued forecast by the same amount.

    This is used for monthly means, which have no separate high and low. Without the shift, high and
    low would move by different amounts, since their weights differ, and could come too close.
    """
    moved = [day.best - issued[name] for day, name in zip((high, low), VARIABLES, strict=True)]
    apart = _known((moved[1] - moved[0]) / 2, np.zeros_like(moved[0]))
    return Estimate(*(one + apart for one in high)), Estimate(*(one - apart for one in low))


def _in_order(high: Estimate, low: Estimate) -> tuple[Estimate, Estimate]:
    """Return the estimates of highs and lows, with no low above its high.

    Where a low is above its high, both become their mean.
    """
    over = low.best - high.best
    if not (over > 0).any():
        return high, low
    shift = np.where(over > 0, over / 2, 0.0)
    return Estimate(*(one + shift for one in high)), Estimate(*(one - shift for one in low))


def _along(issued: Columns, high: Floats, low: Floats) -> Columns:
    """Return mean and apparent temperatures, adjusted to the estimated highs and lows.

    `issued` are the columns of the forecast before calibration.
    """
    old_high, old_low = (issued[name] for name in VARIABLES)
    with np.errstate(invalid="ignore", divide="ignore"):
        place = np.clip((issued["temperature_mean"] - old_low) / (old_high - old_low), 0, 1)
    place = np.where(old_high > old_low, place, 0.5 + 0 * issued["temperature_mean"])
    return {
        "temperature_mean": low + place * (high - low),
        "apparent_temperature_max": issued["apparent_temperature_max"] + high - old_high,
        "apparent_temperature_min": issued["apparent_temperature_min"] + low - old_low,
    }


def at_place(typical: WeatherSeries) -> Columns:
    """Return the columns of a climatology with the ranges of highs and lows widened for one place.

    The values are means of a grid cell, and places in the cell differ from them. The standard
    deviation σ becomes √(σ² + τ²), where τ is the series' `representativeness`.
    """
    columns = dict(typical.columns)
    if typical.representativeness is not None:
        for name, error in zip(VARIABLES, typical.representativeness, strict=True):
            low, high = columns[f"{name}_p10"], columns[f"{name}_p90"]
            sd = (high - low) / (2 * Z90)
            wider = Z90 * (np.hypot(sd, error) - sd)
            columns[f"{name}_p10"], columns[f"{name}_p90"] = low - wider, high + wider
    return columns


def unusual(mean: float, usual: float, history: Iterable[YearBody], error: float) -> float | None:
    """Return a stay's mean high minus the usual one; None if the stay is in the usual range.

    The usual range contains the mean high of the same dates in eight years of ten. It is computed
    from `history`, since a mean over several days varies less than single days.

    Args:
        mean: the forecast stay's mean high.
        usual: the typical mean high of the same dates.
        history: the same dates in past years.
        error: how far `usual`, of a grid cell, may be from the place's own value: a standard error.
            It widens the usual range.
    """
    means = [year.temperature_max_mean for year in history if year.temperature_max_mean is not None]
    count = len(means)
    if count < MIN_YEARS:
        return None
    middle = sum(means) / count
    sd = math.sqrt(sum((one - middle) ** 2 for one in means) / (count - 1))
    # Student's 0.9 quantile for few years (Cornish and Fisher's first term), for one more year
    quantile = Z90 * (1 + (Z90**2 + 1) / (4 * (count - 1))) * math.sqrt(1 + 1 / count)
    return mean - usual if abs(mean - usual) > quantile * math.hypot(sd, error) else None


def height_between(forecast: Grid | None, typical: Grid | None, elevation: float | None) -> float:
    """Return the kelvin to add to the typical weather to correct it to the forecast's elevation.

    `forecast` and `typical` are the grid cells of the forecast and of the typical weather. A
    forecast without an elevation is assumed to be for the point itself, at `elevation` in m.
    """
    ground = elevation if forecast is None or forecast.elevation is None else forecast.elevation
    return (typical.correction(ground) if typical else None) or 0.0


def _known(values: Floats, otherwise: Floats) -> Floats:
    return np.where(np.isfinite(values), values, otherwise)
