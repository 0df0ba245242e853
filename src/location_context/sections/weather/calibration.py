"""Calibrated forecasts: a forecast weighed at its lead against the climatology of its date.

best = mean + w·(forecast − mean), and 80 days in 100 lie within best ± 1.28·s of it:

    raw      w = g / (1 + κ/2)²         s² = σ²·(1 − g² / (1 + κ/2)²)
    damped   w = g^γ / (1 + (φ²·κ)²)    s² = σ²·(1 − g² / (1 + ν²·κ/2)²)

mean and σ are the climatology's of the date. g(lead), from 1 on day 0 to 0 at the horizon, is the
correlation of the large-scale anomaly with the outcome. κ = (noise/σ)² is the local variance that a
forecast lacks: where the climate hardly varies, as in the tropics, that is most of it, and
its square more than noise alone would be, for biases. A raw model's anomaly is as large as the
climate's whatever the lead; a damped product (an ensemble's mean, model output statistics) already
regresses towards climatology and is fitted to its place. s never exceeds σ nor falls with the lead.
The coefficients are in `calibration.json`, fitted by `research.fit_forecast_calibration`.
"""

import math
from functools import lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from location_context.sections.weather.records import Floats, Product

Variable = Literal["temperature_max", "temperature_min", "temperature_mean"]
MOST_NOISE = 1e9  # κ where the climate does not vary at all: nothing of an anomaly remains
Z90 = 1.2815515655446004  # the standard normal's 0.9 quantile


class Estimate(NamedTuple):
    """Best estimate and the band that holds 80 days in 100, in the shape of the forecast."""

    best: Floats
    p10: Floats
    p90: Floats


class Curve(msgspec.Struct, frozen=True):
    """The share that remains at a lead: a logistic curve from 1 on day 0 to 0 at the horizon.

    Attributes:
        midpoint: days at which about half remains.
        scale: days over which it falls; larger is gentler.
    """

    midpoint: float
    scale: float

    def at(self, lead: Floats, horizon: float) -> Floats:
        """Return the share that remains at each lead (days), from 1 to 0."""
        ends = np.array([0.0, horizon])
        first, last = 1 / (1 + np.exp((ends - self.midpoint) / self.scale))
        raised = 1 / (1 + np.exp((np.clip(lead, 0, horizon) - self.midpoint) / self.scale))
        share: Floats = np.clip((raised - last) / (first - last), 0, 1)
        return share


class Skill(Curve, frozen=True):
    """The skill of a forecast of one variable.

    Attributes:
        noise: standard deviation in °C of the local weather that a raw forecast lacks.
        general_sd: the climate's σ where no climatology is stored, in °C.
    """

    noise: float
    general_sd: float


class Damped(msgspec.Struct, frozen=True):
    """How the calibration of a damped product differs from that of a raw model.

    Attributes:
        exponent: γ, the power of g in the weight: 0 if the product already shrinks its anomalies, 1
            as for a raw model.
        weight_noise: φ, the share of the noise that reduces the weight.
        spread_noise: ν, the share of the noise that widens the band.
    """

    exponent: float
    weight_noise: float
    spread_noise: float


class Rain(msgspec.Struct, frozen=True):
    """The skill of the chance of rain and of the amount.

    Attributes:
        reliable_days: the lead to which a chance is taken as issued.
        amount: the share of the amount that remains at a lead.
        amount_share: the mean amount of a wet day over the amount as issued.
        shape: of the Weibull distribution of a wet day's amount, from the climatology alone.
        certain_shape: the same on day 0.
        general_wet_mean: mm of a wet day where no climatology is stored.
    """

    reliable_days: float
    amount: Curve
    amount_share: float
    shape: float
    certain_shape: float
    general_wet_mean: float


class Calibration(msgspec.Struct, frozen=True):
    """The shipped coefficients and what they make of forecasts; °C, mm, percent, leads in days.

    Lead 0 is the local day of issue. A negative lead is past: the forecast stays as it is, without
    a band. NaN in, NaN out. From the horizon (day 16) on it is the climatology itself.
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
    def load() -> "Calibration":
        """Return the coefficients in the data file, read once."""
        return _load()

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
        """Return best estimate and band from the climatology of the date: its mean and σ.

        Give σ as the climatology's p90 − p10 over 2 · `Z90`, so that the width meets it at day 16.
        `error` is the standard error of the mean as the place's: the estimate holds as much of it
        as of the mean.
        """
        weight, spread = self._weight_and_spread(variable, sd, lead, product)
        spread = np.hypot(spread, (1 - weight) * error)
        return _estimate(forecast, mean + weight * (forecast - mean), spread, lead)

    def temperature_alone(
        self, variable: Variable, forecast: Floats, lead: Floats, product: Product
    ) -> Estimate:
        """Return the forecast with the usual error at its lead, where no climatology is stored."""
        skill = self._skill(variable)
        sd = np.full_like(forecast, skill.general_sd)
        weight, spread = self._weight_and_spread(variable, sd, lead, product)
        if (
            product == "raw"
        ):  # a damped anomaly is already shrunk to what will last; a raw one is not
            anomaly = sd + skill.noise**2 / sd / 2
            spread = np.hypot(spread, (1 - weight) * anomaly)
        return _estimate(forecast, forecast, spread, lead)

    def chance_of_rain(self, chance: Floats, wet_share: Floats, lead: Floats) -> Floats:
        """Return the chance in percent: as issued while reliable, then toward the wet days' share.

        Args:
            chance: the chance as issued, 0 to 100.
            wet_share: the climatology's share of wet days, 0 to 100, by the same wet limit.
            lead: days ahead.
        """
        fading = self.horizon - self.rain.reliable_days
        share = np.clip((self.horizon - lead) / fading, 0, 1)
        faded: Floats = np.where(lead < 0, chance, wet_share + share * (chance - wet_share))
        return faded

    def precipitation_p90(
        self, forecast: Floats, chance: Floats, lead: Floats, wet_mean: Floats | None = None
    ) -> Floats:
        """Return the day's amount (mm) that nine days in ten stay below.

        Args:
            forecast: the amount as issued.
            chance: the chance of rain at this lead, from `chance_of_rain`.
            lead: days ahead.
            wet_mean: the climatology's mean amount of a wet day (its mean over its share).
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

    def _skill(self, variable: Variable) -> Skill:
        skill: Skill = getattr(self, variable)
        return skill

    def _weight_and_spread(
        self, variable: Variable, sd: Floats, lead: Floats, product: Product
    ) -> tuple[Floats, Floats]:
        skill = self._skill(variable)
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


@lru_cache(maxsize=1)
def _load() -> Calibration:
    data = files(__package__).joinpath("calibration.json").read_bytes()
    return msgspec.json.decode(data, type=Calibration)


def _factorial(values: Floats) -> Floats:
    """Return Γ(1 + x), the factor from the scale of a Weibull distribution to its mean."""
    flat = [math.gamma(1 + value) for value in np.ravel(values).tolist()]
    return np.reshape(np.array(flat), np.shape(values))


def _estimate(forecast: Floats, best: Floats, spread: Floats, lead: Floats) -> Estimate:
    past = lead < 0
    half = np.where(past, np.nan, Z90 * spread)
    best = np.where(past, forecast, best)
    return Estimate(best, best - half, best + half)
