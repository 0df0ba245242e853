"""The Moon of one local date: rise, set, and its phase at the midnight that ends the date."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, cast

import numpy as np
from numpy.typing import NDArray

from location_context.sections.astronomy.response import Moon, Phase
from location_context.sections.astronomy.sky.crossings import interpolate
from location_context.sections.astronomy.sky.ephemeris import MOON, SUN, Sky
from location_context.sections.astronomy.sky.horizon import AltitudeThreshold, Horizon
from location_context.sections.astronomy.sky.local_days import DAY, LocalDay
from location_context.sections.astronomy.sky.sky_events import SkyEvent, longitudes

Floats = NDArray[np.float64]

PRINCIPAL = ("new_moon", "first_quarter", "full_moon", "last_quarter")
_BETWEEN: tuple[Phase, ...] = (
    "waxing_crescent",
    "waxing_gibbous",
    "waning_gibbous",
    "waning_crescent",
)
LUNATION_DAYS = 31  # no new moon is further back


@dataclass(frozen=True, slots=True)
class Phases:
    """Phase angle (degrees) and sunlit share at the end of each date; principal phases around."""

    angles: list[float]
    illuminations: list[float]
    principal: list[SkyEvent]

    @classmethod
    def of(cls, days: Sequence[LocalDay], sky: Sky, moments: Sequence[SkyEvent]) -> Self:
        """`moments` must reach back a lunation before the first midnight."""
        position = sky.position_of(np.array([day.end for day in days], float))
        sun, moon = SUN, MOON
        places = interpolate(sky.positions[[sun, moon]], position)
        obliquity = interpolate(sky.obliquity, position)
        ecliptic = longitudes(places, obliquity)
        angles = np.degrees(ecliptic[1] - ecliptic[0]) % 360
        principal = [moment for moment in moments if moment.type in PRINCIPAL]
        return cls(angles.tolist(), illumination(places).tolist(), principal)

    def moon_of(self, day: LocalDay, horizon: Horizon) -> Moon:
        """The record of the Moon."""
        angle = self.angles[day.index]
        return Moon(
            moonrise=day.local(horizon.first(AltitudeThreshold.MOON, True, day)),
            moonset=day.local(horizon.first(AltitudeThreshold.MOON, False, day)),
            phase=self._name(day, angle),
            phase_angle=round(angle, 1) % 360,
            illumination=round(self.illuminations[day.index], 3),
            waxing=angle < 180,
            age_days=round((day.end - self._new_moon_before(day.end)) / DAY, 2),
        )

    def _name(self, day: LocalDay, angle: float) -> Phase:
        held = [m.type for m in self.principal if day.start <= m.at < day.end]
        return cast("Phase", held[0]) if held else _BETWEEN[int(angle // 90) % 4]

    def _new_moon_before(self, moment: float) -> float:
        times = [m.at for m in self.principal if m.type == "new_moon"]
        return times[bisect_right(times, moment) - 1]


def illumination(places: Floats) -> Floats:
    """Sunlit share of the Moon's disc from positions of Sun and Moon, (2, 3, n) to (n)."""
    sun, moon = places
    to_sun = sun - moon
    along = -(moon * to_sun).sum(axis=0)
    size = np.sqrt((moon * moon).sum(axis=0) * (to_sun * to_sun).sum(axis=0))
    result: Floats = (1 + along / size) / 2
    return result
