"""Calibrated forecasts: forecasts combined with the climatology (the weather of past years).

The best estimate is mean + w·(forecast − mean), and 80 days in 100 lie within best ± 1.28·s:

    raw      w = g / (1 + κ/2)²         s² = σ²·(1 − g² / (1 + κ/2)²)
    damped   w = g^γ / (1 + (φ²·κ)²)    s² = σ²·(1 − g² / (1 + ν²·κ/2)²)

mean and σ are the climatology's mean and standard deviation on the date. An anomaly is a departure
from the mean. g is the correlation between the forecast's large-scale anomaly and the observed
anomaly. It depends on the lead (days ahead) and falls from 1 on day 0 to 0 at the horizon. κ =
(noise/σ)² is the variance of local weather that a forecast cannot resolve, relative to σ². It is
large where the climate hardly varies, as in the tropics. For a raw forecast, noise alone would
require the denominator 1 + κ/2. We divide by its square, because forecasts are also biased. γ, φ
and ν are fitted constants (see `Damped`).

A raw forecast is the output of a model: its anomalies are as large as those of real weather at any
lead. A damped forecast is an ensemble's mean or the output of statistics: its anomalies already
shrink as the lead grows, and its provider has fitted it to local weather. s never exceeds σ, and
never falls as the lead grows. The coefficients are in `calibration.json`, fitted by
`research.fit_forecast_calibration`.
"""

import math
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from location_context.sections.weather.records import Floats, Product

Variable = Literal["temperature_max", "temperature_min", "temperature_mean"]
MOST_NOISE = 1e9  # largest κ, for a climate that does not vary at all: an anomaly has no weight
Z90 = 1.2815515655446004  # the standard normal's 0.9 quantile


class Estimate(NamedTuple):
    """The best estimate for each day, with a range from `p10` to `p90`.

    On 80 days in 100 the true value lies in the range.
    """

    best: Floats
    p10: Floats
    p90: Floats


class Curve(msgspec.Struct, frozen=True):
    """A logistic curve that falls from 1 on day 0 to 0 at the forecast horizon: a weight, say.

    Attributes:
        midpoint: the number of days ahead at which the value is about a half.
        scale: the number of days over which the value falls; a larger scale is a gentler fall.
    """

    midpoint: float
    scale: float

    def at(self, lead: Floats, horizon: float) -> Floats:
        """Return the curve's value, from 1 to 0, at each `lead`, the number of days ahead.

        `horizon` is the number of days ahead at which the value is 0.
        """
        ends = np.array([0.0, horizon])
        first, last = 1 / (1 + np.exp((ends - self.midpoint) / self.scale))
        raised = 1 / (1 + np.exp((np.clip(lead, 0, horizon) - self.midpoint) / self.scale))
        share: Floats = np.clip((raised - last) / (first - last), 0, 1)
        return share


class Skill(Curve, frozen=True):
    """The accuracy of forecasts of one variable, such as the high.

    Its `at`, inherited from `Curve`, returns the correlation of forecast and observed anomalies.

    Attributes:
        noise: standard deviation in °C of the local weather that a raw model does not resolve.
        general_sd: the σ in °C that is assumed where no climatology is stored.
    """

    noise: float
    general_sd: float


class Damped(msgspec.Struct, frozen=True):
    """Parameters for damped forecasts: ensemble means or statistics, not the output of one model.

    The module's docstring has the formulas and explains the symbols.

    Attributes:
        exponent: γ, the power to which the weight w raises the correlation g. At 0, w does not fall
            with the lead; at 1, it falls as for a raw forecast.
        weight_noise: φ, the share of the noise (local weather that no forecast resolves) that
            reduces the weight w.
        spread_noise: ν, the share of this noise that widens the range.
    """

    exponent: float
    weight_noise: float
    spread_noise: float


class Rain(msgspec.Struct, frozen=True):
    """Parameters for the forecast chance and amount of rain.

    Attributes:
        reliable_days: the number of days ahead up to which a chance is used as issued.
        amount: the weight of the issued amount against the climatology's mean, by days ahead.
        amount_share: the mean amount that falls on a wet day, divided by the issued amount.
        shape: the shape of the Weibull distribution of a wet day's amount in the climatology.
        certain_shape: the Weibull shape for day 0; with more days ahead, it changes to `shape`.
        general_wet_mean: a wet day's mean amount in mm where no climatology is stored.
    """

    reliable_days: float
    amount: Curve
    amount_share: float
    shape: float
    certain_shape: float
    general_wet_mean: float


class Calibration(msgspec.Struct, frozen=True):
    """The calibration's coefficients, and methods that apply them to forecasts.

    Values are in °C, mm and percent. A lead is the number of days from the local day on which the
    forecast was issued. A negative lead stands for a past day: its forecast is not changed and has
    no range. NaN remains NaN. From the horizon (day 16) on, the estimate is the climatology itself.
    """

    method: str
    judged_on: str
    horizon: float
    temperature_max: Skill
    temperature_min: Skill
    temperature_mean: Skill
    damped: Damped
    rain: Rain

    @staticmethod
    @cache
    def load() -> "Calibration":
        """Return the coefficients that come with the package; the file is read only once."""
        data = files(__package__).joinpath("calibration.json").read_bytes()
        return msgspec.json.decode(data, type=Calibration)

    def temperature(  # noqa: PLR0913, PLR0917  the quantities of one formula
        self,
        variable: Variable,
        forecast: Floats,
        mean: Floats,
        sd: Floats,
        lead: Floats,
        product: Product,
        error: float = 0.0,
    ) -> Estimate:
        """Return best estimates and ranges from a forecast and the climatology of its dates.

        The climatology is the typical weather of past years.

        Args:
            variable: the variable, such as `temperature_max`.
            forecast: the forecast as issued.
            mean: the mean of the climatology on each date.
            sd: the standard deviation of the climatology. Pass (p90 − p10) / (2 · `Z90`), so that
                the range at the horizon (day 16) is as wide as the climatology's.
            lead: days ahead.
            product: the kind of forecast, `raw` or `damped`.
            error: how far `mean`, of a grid cell, may be from the place's own mean: a standard
                error in K. It widens the range in proportion to the weight of `mean`.
        """
        weight, spread = self._weight_and_spread(variable, sd, lead, product)
        spread = np.hypot(spread, (1 - weight) * error)
        return _estimate(forecast, mean + weight * (forecast - mean), spread, lead)

    def temperature_alone(
        self, variable: Variable, forecast: Floats, lead: Floats, product: Product
    ) -> Estimate:
        """Return the forecast itself as best estimate, with a general range for each `lead`.

        This is used if no typical weather of past years is stored. A lead is the number of days
        ahead.
        """
        skill: Skill = getattr(self, variable)
        sd = np.full_like(forecast, skill.general_sd)
        weight, spread = self._weight_and_spread(variable, sd, lead, product)
        if (
            product == "raw"
        ):  # a damped anomaly is already shrunk to what will last; a raw one is not
            anomaly = sd + skill.noise**2 / sd / 2
            spread = np.hypot(spread, (1 - weight) * anomaly)
        return _estimate(forecast, forecast, spread, lead)

    def chance_of_rain(self, chance: Floats, wet_share: Floats, lead: Floats) -> Floats:
        """Return the chance of rain in percent: the further ahead, the closer to `wet_share`.

        Args:
            chance: the chance as issued, 0 to 100.
            wet_share: the percentage of days with at least 1 mm in the climatology. Providers
                may issue `chance` for a smaller amount.
            lead: days ahead.
        """
        fading = self.horizon - self.rain.reliable_days
        share = np.clip((self.horizon - lead) / fading, 0, 1)
        faded: Floats = np.where(lead < 0, chance, wet_share + share * (chance - wet_share))
        return faded

    def precipitation_p90(
        self, forecast: Floats, chance: Floats, lead: Floats, wet_mean: Floats | None = None
    ) -> Floats:
        """Return the 90th percentile of a day's rain in mm: nine days in ten have at most this.

        Args:
            forecast: the amount as issued.
            chance: the chance of rain in percent, from `chance_of_rain`.
            lead: days ahead.
            wet_mean: the mean amount in mm on a wet day in the climatology. If None, a general
                value is used.
        """
        rain = self.rain
        usual = np.full_like(forecast, rain.general_wet_mean) if wet_mean is None else wet_mean
        share = rain.amount.at(lead, self.horizon)
        mean = usual + share * (rain.amount_share * np.maximum(forecast, 0) - usual)
        shape = rain.shape + share * (rain.certain_shape - rain.shape)
        with np.errstate(divide="ignore"):
            # S(x) = e^−(x/scale)^shape = 10 % / chance
            exceeded = np.maximum(np.log(chance / 10), 0)
        p90: Floats = np.where(
            lead < 0, np.nan, mean * exceeded ** (1 / shape) / _factorial(1 / shape)
        )
        return p90

    def _weight_and_spread(
        self, variable: Variable, sd: Floats, lead: Floats, product: Product
    ) -> tuple[Floats, Floats]:
        skill: Skill = getattr(self, variable)
        share = skill.at(lead, self.horizon)
        with np.errstate(divide="ignore", over="ignore"):  # a σ of 0 keeps to the climatology
            noise = np.minimum((skill.noise / sd) ** 2, MOST_NOISE)
        if product == "raw":
            weight = share / (1 + noise / 2) ** 2
            return weight, sd * np.sqrt(1 - share * weight)
        damped = self.damped
        weight = share**damped.exponent / (1 + (damped.weight_noise**2 * noise) ** 2)
        explained = share**2 / (1 + damped.spread_noise**2 * noise / 2) ** 2
        return weight, sd * np.sqrt(1 - explained)


def _factorial(values: Floats) -> Floats:
    """Return Γ(1 + x) for each value x.

    For x = 1 / shape, this is the mean of a Weibull distribution with scale 1.
    """
    flat = [math.gamma(1 + value) for value in np.ravel(values).tolist()]
    return np.reshape(np.array(flat), np.shape(values))


def _estimate(forecast: Floats, best: Floats, spread: Floats, lead: Floats) -> Estimate:
    past = lead < 0
    half = np.where(past, np.nan, Z90 * spread)
    best = np.where(past, forecast, best)
    return Estimate(best, best - half, best + half)
