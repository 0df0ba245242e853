"""Calibrated forecasts: each combined with the climatology of its date, by its lead (days ahead).

best = mean + w·(forecast − mean), and 80 days in 100 lie within best ± 1.28·s:

    raw      w = g / (1 + κ/2)²         s² = σ²·(1 − g² / (1 + κ/2)²)
    damped   w = g^γ / (1 + (φ²·κ)²)    s² = σ²·(1 − g² / (1 + ν²·κ/2)²)

mean and σ are those of the climatology on the date. g(lead) falls from 1 on day 0 to 0 at the
horizon; it is the correlation of the large-scale anomaly with the outcome. κ = (noise/σ)² is the
local variance that a forecast lacks. Where the climate hardly varies, as in the tropics, κ is most
of the variance. Its square in w weighs more than noise alone would, because forecasts are biased. A
raw model's anomaly is as large as the climate's at any lead. A damped product (an ensemble's mean,
model output statistics) already regresses towards climatology and is fitted to its place. s never
exceeds σ nor falls with the lead.
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
    """The best estimates and the band from p10 to p90, which holds 80 days in 100; by day."""

    best: Floats
    p10: Floats
    p90: Floats


class Curve(msgspec.Struct, frozen=True):
    """A share that falls with the lead: a logistic curve from 1 on day 0 to 0 at the horizon.

    Attributes:
        midpoint: the lead in days at which about half remains.
        scale: the days over which the share falls; a larger scale is a gentler fall.
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
        reliable_days: the lead up to which a chance is used as issued.
        amount: the share of the issued amount that remains at a lead.
        amount_share: the ratio of a wet day's mean amount to the issued amount.
        shape: the shape of the Weibull distribution of a wet day's amount in the climatology.
        certain_shape: the shape of that distribution on day 0.
        general_wet_mean: a wet day's mean amount in mm where no climatology is stored.
    """

    reliable_days: float
    amount: Curve
    amount_share: float
    shape: float
    certain_shape: float
    general_wet_mean: float


class Calibration(msgspec.Struct, frozen=True):
    """The shipped coefficients, and the methods that apply them; °C, mm, percent, leads in days.

    Lead 0 is the local day of issue. A negative lead is past: the forecast stays as it is, without
    a band. NaN remains NaN. From the horizon (day 16) on the estimate is the climatology itself.
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
        """Return best estimate and band, from the mean and σ (`sd`) of the date's climatology.

        Pass σ as (p90 − p10) / (2 · `Z90`) of the climatology, so that the band has the same width
        at day 16. `error` is the standard error of the mean for the place; it widens the band by
        the weight of the mean.
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
        """Return the chance of rain in percent: first as issued, then moving to the wet share.

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
