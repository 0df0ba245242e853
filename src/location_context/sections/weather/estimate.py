"""The estimate of each day: the provider's forecast combined with the stored climatology.

Highs and lows become best estimates for their lead, with a range; the chance of rain moves to the
climatology's share of wet days (`calibration.py`). First the climatology is corrected to the height
of the forecast's grid, so that the later correction to the point applies to both alike. The mean
keeps its relative position between low and high; apparent temperatures keep their differences from
high and low. Rain amounts, wind and sky stay as issued.
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
MIN_YEARS = 5  # fewer do not show how much the mean of a stay varies
COLDEST_DAY, YEAR_DAYS = 15, 365.25  # mid-January in the north
RAIN_OF_A_WET_DAY = 5.0  # mm; the grid's share of wet days is 1 − e^(−mean/5), within 0.11


class Estimator:
    """An estimator that combines forecasts with the stored climatology of their dates.

    Args:
        calibration: the coefficients; None leaves forecasts as issued.
        fallback: the grid of monthly means, which is used where no archive is stored.
        clock: the time, UTC.
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
        """Return a forecast combined with its climatology; return other series unchanged.

        `elevation` is the point's in m; None if unknown.
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
    """The typical values of each date, at the height of the forecast's grid; °C, percent, mm."""

    climatology: SpreadClimatology
    mean: tuple[Floats, Floats]  # of highs and of lows
    sd: tuple[Floats, Floats]
    error: tuple[float, float] = (0.0, 0.0)  # K, standard errors of the means for the place
    wet_share: Floats
    wet_mean: Floats | None  # of a wet day

    @classmethod
    def of_archive(cls, typical: WeatherSeries, kelvin: float) -> "Normals":
        """Build from ten years of the same dates; `kelvin` corrects to the forecast's height."""
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
        """Build from monthly means; the spread is usual, high minus low is that of the forecast."""
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
    """Return the usual standard deviation of highs or lows around a monthly mean, by date, in K."""
    least, northward, winter = USUAL_SD[variable]
    poleward = min(abs(lat), 60.0) / 60.0
    days = np.array([day.timetuple().tm_yday for day in stay.dates()])
    season = math.copysign(1.0, lat) * np.cos(2 * np.pi * (days - COLDEST_DAY) / YEAR_DAYS)
    sd: Floats = np.hypot(least + poleward * (northward + winter * season), MONTHLY_MEAN_ERROR)
    return sd


def leads(stay: Stay, issued: date, today: date) -> Floats:
    """Return the days from the local date of issue to each date of the stay; -1 before today.

    The lead counts from the issue, not from today: an older forecast is less certain.
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
    """Return the forecast with best estimates, their range and chances in its columns.

    Args:
        forecast: the forecast as issued, metric.
        normals: the climatology of the dates; None to use the usual spread at each lead.
        lead: the lead of each date in days, as `leads` returns it.
        calibration: the coefficients.
    """
    issued = forecast.columns
    high, low = (_estimate(place, forecast, normals, lead, calibration) for place in range(2))
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
    place: int,
    forecast: WeatherSeries,
    normals: Normals | None,
    lead: Floats,
    calibration: Calibration,
) -> Estimate:
    """Return the estimate of highs (place 0) or lows (1)."""
    name, product = VARIABLES[place], forecast.product
    value = forecast.columns[name]
    if normals is None:
        return calibration.temperature_alone(name, value, lead, product)
    mean, sd, error = normals.mean[place], normals.sd[place], normals.error[place]
    found = calibration.temperature(name, value, mean, sd, lead, product, error)
    if np.isfinite(mean + sd).all():
        return found
    alone = calibration.temperature_alone(name, value, lead, product)
    return Estimate(*(_known(one, other) for one, other in zip(found, alone, strict=True)))


def _together(high: Estimate, low: Estimate, issued: Columns) -> tuple[Estimate, Estimate]:
    """Move high and low of a day by the same amount, as a monthly mean has no daily range.

    Highs and lows have different weights. With these they would move towards each other where the
    month is far colder or warmer than the forecast.
    """
    moved = [day.best - issued[name] for day, name in zip((high, low), VARIABLES, strict=True)]
    apart = _known((moved[1] - moved[0]) / 2, np.zeros_like(moved[0]))
    return Estimate(*(one + apart for one in high)), Estimate(*(one - apart for one in low))


def _in_order(high: Estimate, low: Estimate) -> tuple[Estimate, Estimate]:
    """Order highs and lows: where a low is above its high, both become the value halfway."""
    over = low.best - high.best
    if not (over > 0).any():
        return high, low
    shift = np.where(over > 0, over / 2, 0.0)
    return Estimate(*(one + shift for one in high)), Estimate(*(one - shift for one in low))


def _along(issued: Columns, high: Floats, low: Floats) -> Columns:
    """Return the mean and apparent temperatures, moved along with the estimated high and low."""
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
    """Return the columns with p10 and p90 widened for a place in the cell.

    σ becomes √(σ² + τ²); τ is the series' `representativeness`.
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
    """Return a stay's mean high minus the usual one; None if that is within the usual range.

    The usual range holds the mean high of the same dates in eight years of ten. It comes from
    `history`, since a mean over several days varies less than single days. `error` is the standard
    error of `usual` for the place. All values are in one unit.
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
    """Return the kelvin that correct the climatology to the height of the forecast.

    A forecast without a height is assumed to hold for the point itself, at `elevation` in m.
    """
    ground = elevation if forecast is None or forecast.elevation is None else forecast.elevation
    return (typical.correction(ground) if typical else None) or 0.0


def _known(values: Floats, otherwise: Floats) -> Floats:
    return np.where(np.isfinite(values), values, otherwise)
