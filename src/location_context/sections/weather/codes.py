"""Weather codes (WMO 4677 as Open-Meteo uses it): their conditions and words.

Where a provider has no code, `code_without` derives one from rain, cloud and temperature: at least
10 mm is heavy, 1 mm rain, 0.3 mm drizzle; frozen up to 0 °C in the mean and sleet up to 1.5 °C;
dry days by cloud: to 25 % clear, to 65 % partly cloudy, else cloudy.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from location_context.localisation.language import Language
from location_context.sections.weather.response import Condition

_CODES: Mapping[Condition, tuple[int, ...]] = {
    "clear": (0, 1),
    "partly_cloudy": (2,),
    "cloudy": (3,),
    "fog": (45, 48),
    "drizzle": (51, 52, 53, 54, 55),
    "rain": (61, 63, 80, 81),
    "heavy_rain": (65, 82),
    "sleet": (56, 57, 66, 67),
    "snow": (71, 73, 77, 85),
    "heavy_snow": (75, 86),
    "thunderstorm": (95, 96, 97, 98, 99),
}
CONDITIONS = tuple(_CODES)
_CONDITION_OF = {code: name for name, codes in _CODES.items() for code in codes}

# Row n has 1 at the condition that code n counts toward.
MEMBERSHIP = np.zeros((100, len(CONDITIONS)))
for _code, _name in _CONDITION_OF.items():
    MEMBERSHIP[_code, CONDITIONS.index(_name)] = 1.0


def condition_of(code: float) -> Condition | None:
    """The condition of a code; None for NaN and for codes that name none."""
    return _CONDITION_OF.get(int(code)) if np.isfinite(code) else None


def condition_text(condition: Condition, language: Language) -> str:
    """The condition in words."""
    gettext = language.gettext
    return {
        "clear": gettext("Clear"),
        "partly_cloudy": gettext("Partly cloudy"),
        "cloudy": gettext("Cloudy"),
        "fog": gettext("Fog"),
        "drizzle": gettext("Drizzle"),
        "rain": gettext("Rain"),
        "heavy_rain": gettext("Heavy rain"),
        "sleet": gettext("Sleet"),
        "snow": gettext("Snow"),
        "heavy_snow": gettext("Heavy snow"),
        "thunderstorm": gettext("Thunderstorm"),
    }[condition]


def code_without(
    rain: NDArray[np.float64], cloud: NDArray[np.float64], mean: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Codes from daily rain in mm, cloud in percent and mean temperature in °C."""
    with np.errstate(invalid="ignore"):
        dry = np.select([cloud <= 25, cloud <= 65, cloud <= 100], [0.0, 2.0, 3.0], np.nan)
        wet = np.select([rain >= 10, rain >= 1], [65.0, 61.0], 51.0)
        wet = np.where((mean <= 1.5) & (rain >= 1), 66.0, wet)
        wet = np.where(mean <= 0, np.where(rain >= 10, 75.0, 71.0), wet)
        codes: NDArray[np.float64] = np.where(rain >= 0.3, wet, dry)
    return np.where(np.isnan(rain), np.nan, codes)
