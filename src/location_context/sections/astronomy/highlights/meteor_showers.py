"""What a meteor shower's peak gives at a point.

The best moment is when the radiant stands highest with the Sun under -12°, within twelve hours of
the peak. A shower whose radiant stays under 10° then is not mentioned: too few of its meteors come.
"""

from dataclasses import dataclass

import numpy as np

from location_context.point import Point
from location_context.sections.astronomy.moon import illumination
from location_context.sections.astronomy.sky.ephemeris import MOON, SUN, Ephemeris
from location_context.sections.astronomy.sky.horizon import directions, moon_line
from location_context.sections.astronomy.sky.local_days import J2000, JULIAN_YEAR
from location_context.sections.astronomy.sky.sky_events import Shower

_HALF_DAY = 43200.0
_DARK = np.sin(np.radians(-12))
_LOWEST = 10.0


@dataclass(frozen=True, slots=True)
class BestMoment:
    """When to look (unix seconds), the radiant's altitude in degrees, and the Moon's light."""

    at: float
    height: float
    moonlight: float


def best_moment(
    shower: Shower, peak: float, point: Point, ephemeris: Ephemeris
) -> BestMoment | None:
    """The best moment for a peak; None where nothing is to be seen of it."""
    sky = ephemeris.sky(peak - _HALF_DAY, peak + _HALF_DAY)
    seen = directions(sky, point.lat, point.lng)
    alpha, delta = _of_date(shower, peak)
    hour_angle = sky.sidereal + np.radians(point.lng) - alpha
    phi = np.radians(point.lat)
    sine = np.sin(phi) * np.sin(delta) + np.cos(phi) * np.cos(delta) * np.cos(hour_angle)
    sun, moon = seen.up[[SUN, MOON]]
    best = int(np.where(sun < _DARK, sine, -2.0).argmax())
    height = float(np.degrees(np.arcsin(sine[best])))
    if sun[best] >= _DARK or height < _LOWEST:
        return None
    moon_up = moon[best] > moon_line(seen.distance[MOON, best])
    light = illumination(sky.positions[:2, :, best : best + 1])[0] if moon_up else 0.0
    return BestMoment(float(sky.times[best]), height, float(light))


def _of_date(shower: Shower, moment: float) -> tuple[float, float]:
    """The radiant in the equinox of date (yearly precession 46.12" + 20.04" sin a tan d)."""
    years = (moment - J2000) / JULIAN_YEAR
    alpha, delta = np.radians(shower.right_ascension), np.radians(shower.declination)
    east = 46.12 + 20.04 * np.sin(alpha) * np.tan(delta)
    north = 20.04 * np.cos(alpha)
    return float(alpha + np.radians(years * east / 3600)), float(
        delta + np.radians(years * north / 3600)
    )
