"""Units: conversion and rounding, the last step before an answer.

Everything inside the service is metric. `Measure` takes metric numbers (or None) and returns them
in the requested system, rounded as the API promises. None and non-finite numbers become None.
"""

import math
from dataclasses import dataclass

from location_context.sections.contract import UnitsBody, UnitSystem

_METRIC = UnitsBody(
    temperature="°C",
    precipitation="mm",
    snowfall="cm",
    wind_speed="km/h",
    distance="km",
    elevation="m",
)
_IMPERIAL = UnitsBody(
    temperature="°F",
    precipitation="inch",
    snowfall="inch",
    wind_speed="mph",
    distance="mi",
    elevation="ft",
)
KM_PER_MILE = 1.609344


def celsius(temperature: float, units: UnitsBody) -> float:
    """Convert a temperature from an answer's `units` to °C."""
    return (temperature - 32) / 1.8 if units.temperature == "°F" else temperature


def _rounded(value: float | None, factor: float, offset: float, digits: int) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return round(value * factor + offset, digits) + 0.0


@dataclass(frozen=True, slots=True)
class Measure:
    """A converter from metric numbers to the requested system of units."""

    system: UnitSystem

    @property
    def body(self) -> UnitsBody:
        return _METRIC if self.system == "metric" else _IMPERIAL

    def _pick(
        self, value: float | None, factor: float, offset: float, digits: tuple[int, int]
    ) -> float | None:
        if self.system == "metric":
            return _rounded(value, 1.0, 0.0, digits[0])
        return _rounded(value, factor, offset, digits[1])

    def temperature(self, celsius: float | None) -> float | None:
        return self._pick(celsius, 1.8, 32.0, (1, 1))

    def temperature_difference(self, kelvin: float | None) -> float | None:
        return self._pick(kelvin, 1.8, 0.0, (1, 1))

    def precipitation(self, mm: float | None) -> float | None:
        return self._pick(mm, 1 / 25.4, 0.0, (1, 2))

    def snowfall(self, cm: float | None) -> float | None:
        return self._pick(cm, 1 / 2.54, 0.0, (1, 2))

    def wind_speed(self, kmh: float | None) -> float | None:
        return self._pick(kmh, 1 / KM_PER_MILE, 0.0, (1, 1))

    def distance(self, km: float | None) -> float | None:
        return self._pick(km, 1 / KM_PER_MILE, 0.0, (2, 2))

    def elevation(self, m: float | None) -> float | None:
        return self._pick(m, 1 / 0.3048, 0.0, (0, 0))

    def angle(self, degrees: float | None) -> float | None:
        return _rounded(degrees, 1.0, 0.0, 1)

    def bearing(self, degrees: float | None) -> float | None:
        """Return a bearing from 0 to 359.9; a value that rounds to 360 becomes 0 (north)."""
        rounded = self.angle(degrees)
        return rounded if rounded is None else rounded % 360

    def percent(self, value: float | None) -> float | None:
        return _rounded(value, 1.0, 0.0, 0)

    def hours(self, value: float | None) -> float | None:
        return _rounded(value, 1.0, 0.0, 1)

    def count(self, value: float | None) -> float | None:
        """Return a number of days, rounded to 0.1; it may be a mean over several years."""
        return _rounded(value, 1.0, 0.0, 1)
