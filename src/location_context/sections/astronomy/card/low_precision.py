"""Pure functions for whoever draws the sky: the Sun's path, and how the Moon's lit side leans.

No ephemeris: the low-precision formulae of the Astronomical Almanac (section C and D), good for
0.02° in the Sun and 0.5° in the Moon from 1950 to 2050, far under a pixel. Altitudes are true,
without refraction and parallax. What is answered as data comes from the ephemeris instead.
"""

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

_J2000 = datetime(2000, 1, 1, 12, tzinfo=UTC)
Place = tuple[float, float]  # right ascension and declination in radians


def sun_path(
    lat: float, lng: float, start: datetime, end: datetime, steps: int = 96
) -> Iterator[tuple[datetime, float]]:
    """Moments from `start` to `end`, both included, each with the Sun's altitude in degrees."""
    for step in range(steps + 1):
        moment = start + (end - start) * (step / steps)
        yield moment, sun_altitude(lat, lng, moment)


def sun_altitude(lat: float, lng: float, moment: datetime) -> float:
    """True altitude of the Sun's centre in degrees."""
    return _altitude(lat, lng, moment, _sun(moment))


def moon_altitude(lat: float, lng: float, moment: datetime) -> float:
    """True altitude of the Moon's centre in degrees, seen from the centre of the Earth."""
    return _altitude(lat, lng, moment, _moon(moment))


def _altitude(lat: float, lng: float, moment: datetime, place: Place) -> float:
    phi, (alpha, delta) = math.radians(lat), place
    turn = _sidereal(moment) + math.radians(lng) - alpha
    sine = math.sin(phi) * math.sin(delta) + math.cos(phi) * math.cos(delta) * math.cos(turn)
    return math.degrees(math.asin(max(-1.0, min(1.0, sine))))


def moon_tilt(lat: float, lng: float, moment: datetime) -> float:
    """Where the middle of the Moon's bright limb lies, in degrees clockwise from the top.

    90 is to the right (a waxing half Moon in the north), 270 to the left, 180 below. It is the
    position angle of the bright limb less the parallactic angle (Meeus, chapters 14 and 48).
    """
    phi, (sun, sun_delta), (moon, delta) = math.radians(lat), _sun(moment), _moon(moment)
    limb = math.atan2(
        math.cos(sun_delta) * math.sin(sun - moon),
        math.sin(sun_delta) * math.cos(delta)
        - math.cos(sun_delta) * math.sin(delta) * math.cos(sun - moon),
    )
    turn = _sidereal(moment) + math.radians(lng) - moon
    parallactic = math.atan2(
        math.cos(phi) * math.sin(turn),
        math.sin(phi) * math.cos(delta) - math.cos(phi) * math.sin(delta) * math.cos(turn),
    )
    return math.degrees(parallactic - limb) % 360


def _days(moment: datetime) -> float:
    return (moment - _J2000) / timedelta(days=1)


def _sidereal(moment: datetime) -> float:
    return math.radians((280.46061837 + 360.98564736629 * _days(moment)) % 360)


def _sun(moment: datetime) -> Place:
    days = _days(moment)
    anomaly = math.radians(357.528 + 0.9856003 * days)
    longitude = 280.460 + 0.9856474 * days
    longitude += 1.915 * math.sin(anomaly) + 0.020 * math.sin(2 * anomaly)
    return _equatorial(longitude, 0.0, days)


_MOON_LONGITUDE = (
    (6.29, 135.0, 477198.87),
    (-1.27, 259.3, -413335.36),
    (0.66, 235.7, 890534.22),
    (0.21, 269.9, 954397.74),
    (-0.19, 357.5, 35999.05),
    (-0.11, 186.5, 966404.03),
)
_MOON_LATITUDE = (
    (5.13, 93.3, 483202.02),
    (0.28, 228.2, 960400.89),
    (-0.28, 318.3, 6003.15),
    (-0.17, 217.6, -407332.21),
)


def _moon(moment: datetime) -> Place:
    days = _days(moment)
    longitude, latitude = (
        sum(size * math.sin(math.radians(at + rate * days / 36525)) for size, at, rate in terms)
        for terms in (_MOON_LONGITUDE, _MOON_LATITUDE)
    )
    return _equatorial(218.32 + 481267.881 * days / 36525 + longitude, latitude, days)


def _equatorial(longitude: float, latitude: float, days: float) -> Place:
    lam, beta, tilt = math.radians(longitude), math.radians(latitude), _obliquity(days)
    x = math.cos(beta) * math.cos(lam)
    y = math.cos(tilt) * math.cos(beta) * math.sin(lam) - math.sin(tilt) * math.sin(beta)
    z = math.sin(tilt) * math.cos(beta) * math.sin(lam) + math.cos(tilt) * math.sin(beta)
    return math.atan2(y, x), math.asin(max(-1.0, min(1.0, z)))


def _obliquity(days: float) -> float:
    return math.radians(23.439 - 0.0000004 * days)
