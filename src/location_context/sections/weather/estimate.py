"""The estimate of each day: a forecast as issued, weighed against the climatology that is held.

Highs and lows become the best estimate at their lead with its range, the chance of rain fades to
the share of wet days (`calibration.py`). The climatology is brought to the height of the forecast's
grid before the two are weighed; whoever corrects the result for the point corrects both alike.
What goes along: the mean keeps its place between low and high, apparent temperatures their
difference from the high and the low. Rain amounts, wind and sky stay as issued.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from location_context.point import Point
from location_context.sections.weather.calibration import Z90, Calibration, Estimate, Variable
from location_context.sections.weather.records import Columns, Floats, Grid, WeatherSeries
from location_context.sections.weather.response import Spread, SpreadClimatology, YearBody
from location_context.stay import Stay

VARIABLES: tuple[Variable, Variable] = ("temperature_max", "temperature_min")
Bias = tuple[Floats, Floats]  # mean errors of highs and lows in K, by lead in days from 0 on

# What is usual where only a monthly mean is held: K at the equator, more at 60° and beyond, and
# more or less of that in winter and summer. Fitted on 20 cities (`benchmarks/usual_spread.py`).
USUAL_SD = {"temperature_max": (1.2, 3.0, 0.6), "temperature_min": (0.8, 2.8, 1.1)}
MONTHLY_MEAN_ERROR = 1.5  # K by which such a grid's mean is off: its height, coasts, other years
MIN_YEARS = 5  # that say how much the mean of a stay varies
COLDEST_DAY, YEAR_DAYS = 15, 365.25  # mid-January in the north
RAIN_OF_A_WET_DAY = 5.0  # mm; 1 − e^(−mean/5) is the share of wet days there, within 0.11


@dataclass(frozen=True, kw_only=True)
class Normals:
    """What is typical of each date, at the height of the forecast's grid; °C, percent, mm."""

    climatology: SpreadClimatology
    mean: tuple[Floats, Floats]  # of highs and of lows
    sd: tuple[Floats, Floats]
    wet_share: Floats
    wet_mean: Floats | None  # of a wet day

    @classmethod
    def of_archive(cls, typical: WeatherSeries, kelvin: float) -> "Normals":
        """Ten years of the same dates; `kelvin` brings them to the forecast's height."""
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
            wet_share=wet_share,
            wet_mean=np.where(np.isfinite(wet_mean), wet_mean, 0.0),
        )

    @classmethod
    def of_grid(
        cls, monthly: WeatherSeries, issued: Columns, point: Point, stay: Stay
    ) -> "Normals":
        """Monthly means, with the usual spread of the place; the day's range is the forecast's."""
        mean = monthly.columns["temperature_mean"]
        high, low = (issued[name] for name in VARIABLES)
        half_range = _mean((high - low) / 2)
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
    """The usual standard deviation of highs or lows around a monthly mean on each date, in K."""
    least, northward, winter = USUAL_SD[variable]
    poleward = min(abs(lat), 60.0) / 60.0
    days = np.array([day.timetuple().tm_yday for day in stay.dates()])
    season = math.copysign(1.0, lat) * np.cos(2 * np.pi * (days - COLDEST_DAY) / YEAR_DAYS)
    sd: Floats = np.hypot(least + poleward * (northward + winter * season), MONTHLY_MEAN_ERROR)
    return sd


def leads(stay: Stay, issued: date, today: date) -> Floats:
    """Days from the local date of issue to each date of the stay; negative for those before today.

    A forecast that is a day old knows less of tomorrow than a new one: its lead is counted on.
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
    bias: Bias | None = None,
) -> WeatherSeries:
    """The forecast with best estimates, their range and chances in its columns.

    Args:
        forecast: as issued; metric.
        normals: what is held of the dates; None: the spread is the usual one at its lead.
        lead: of each date in days, as `leads` gives it.
        calibration: the coefficients.
        bias: what the provider's recent forecasts of the cell missed by, which is taken off first.
    """
    issued = forecast.columns
    high, low = (_estimate(place, forecast, normals, lead, calibration, bias) for place in range(2))
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


def _estimate(  # noqa: PLR0913, PLR0917  as `calibrated`
    place: int,
    forecast: WeatherSeries,
    normals: Normals | None,
    lead: Floats,
    calibration: Calibration,
    bias: Bias | None,
) -> Estimate:
    """Of highs (place 0) or lows (1)."""
    name, product = VARIABLES[place], forecast.product
    value = forecast.columns[name]
    if bias is not None:
        known = np.clip(lead.astype(int), 0, len(bias[place]) - 1)
        value = np.where(lead < 0, value, value - bias[place][known])
    if normals is None:
        return calibration.temperature_alone(name, value, lead, product)
    mean, sd = normals.mean[place], normals.sd[place]
    found = calibration.temperature(name, value, mean, sd, lead, product)
    if np.isfinite(mean + sd).all():
        return found
    alone = calibration.temperature_alone(name, value, lead, product)
    return Estimate(*(_known(one, other) for one, other in zip(found, alone, strict=True)))


def _in_order(high: Estimate, low: Estimate) -> tuple[Estimate, Estimate]:
    """Highs are shrunk by other weights than lows: where they cross, both are what lies between."""
    over = low.best - high.best
    if not (over > 0).any():
        return high, low
    shift = np.where(over > 0, over / 2, 0.0)
    return Estimate(*(one + shift for one in high)), Estimate(*(one - shift for one in low))


def _along(issued: Columns, high: Floats, low: Floats) -> Columns:
    """The temperatures that go along with the estimate of high and low."""
    old_high, old_low = (issued[name] for name in VARIABLES)
    with np.errstate(invalid="ignore", divide="ignore"):
        place = np.clip((issued["temperature_mean"] - old_low) / (old_high - old_low), 0, 1)
    place = np.where(old_high > old_low, place, 0.5 + 0 * issued["temperature_mean"])
    return {
        "temperature_mean": low + place * (high - low),
        "apparent_temperature_max": issued["apparent_temperature_max"] + high - old_high,
        "apparent_temperature_min": issued["apparent_temperature_min"] + low - old_low,
    }


def departure(highs: Floats, typical: WeatherSeries, kelvin: float) -> float | None:
    """By how many K a stay is warmer than usual; None where that is within what is usual.

    Usual is what the mean of the stay's highs is in eight years of ten: means over several days
    vary less than days do, by as much as the held years say of the same dates.

    Args:
        highs: the best estimates of the stay's highs at the point, °C.
        typical: the climatology of the same dates, from its own height.
        kelvin: brings it to the point.
    """
    if not np.isfinite(highs).all():
        return None
    usual = float(typical.columns["temperature_max"].mean()) + kelvin
    return unusual(float(highs.mean()), usual, typical.history)


def unusual(mean: float, usual: float, history: Iterable[YearBody]) -> float | None:
    """By how much a stay's mean high is off the usual one; None where such means vary as much.

    In the unit of all three; `history` says how they vary.
    """
    means = [year.temperature_max_mean for year in history if year.temperature_max_mean is not None]
    count = len(means)
    if count < MIN_YEARS:
        return None
    middle = sum(means) / count
    sd = math.sqrt(sum((one - middle) ** 2 for one in means) / (count - 1))
    # Student's 0.9 quantile of so few years (Cornish and Fisher's first term), of one year more
    quantile = Z90 * (1 + (Z90**2 + 1) / (4 * (count - 1))) * math.sqrt(1 + 1 / count)
    return mean - usual if abs(mean - usual) > quantile * sd else None


def height_between(forecast: Grid | None, typical: Grid | None, elevation: float | None) -> float:
    """Kelvin that bring the climatology to the height that the forecast's temperatures are for.

    A forecast whose grid names no height is taken to be the point's own, at `elevation` in m.
    """
    ground = elevation if forecast is None or forecast.elevation is None else forecast.elevation
    return (typical.correction(ground) if typical else None) or 0.0


def _known(values: Floats, otherwise: Floats) -> Floats:
    return np.where(np.isfinite(values), values, otherwise)


def _mean(values: Sequence[float] | Floats) -> float:
    """The mean of what is known; NaN where nothing is."""
    known = np.asarray(values)[np.isfinite(values)]
    return float(known.mean()) if known.size else math.nan
