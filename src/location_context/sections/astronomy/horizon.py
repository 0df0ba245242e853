"""The horizon of one point: every rise, set, twilight and transit in a stretch of sky, at once.

Method: the positions of the month are turned by sidereal time and moved to the observer on the
WGS84 ellipsoid at sea level (topocentric); the sine of each altitude less that of each threshold
is one row of an array, and `roots` finds the zeros of all rows together. A rise or set is that of
the upper limb with 34' of refraction: the Sun's radius is the almanac's 16', the Moon's its true
one, planets are points.
Accuracy reached: within 0.2 s of skyfield's own topocentric altitudes; see the tests for the
almanacs. Refraction of real air moves a real sunrise by far more.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Self

import numpy as np

from location_context.sections.astronomy.ephemeris import AU_KM, MOON, STEP, SUN
from location_context.sections.astronomy.roots import crossings, interpolate
from location_context.sections.astronomy.tracks import Track

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from location_context.sections.astronomy.ephemeris import Sky

    Floats = NDArray[np.float64]

EQUATOR_AU = 6378.137 / AU_KM
FLATTENING = 1 / 298.257223563
MOON_RADIUS_AU = 1737.4 / AU_KM
REFRACTION = np.radians(34 / 60)
SUN_RADIUS = np.radians(16 / 60)


class Line(IntEnum):
    """What is crossed; each is a row of the array."""

    SUN = 0
    SUN_PLUS_6 = 1
    SUN_MINUS_4 = 2
    SUN_MINUS_6 = 3
    SUN_MINUS_12 = 4
    SUN_MINUS_18 = 5
    MERIDIAN = 6
    MOON = 7
    PLANET = 8  # five rows: rise and set
    PLANET_5 = 13  # five rows: 5° high


_SUN_ALTITUDES = np.sin(np.append(-REFRACTION - SUN_RADIUS, np.radians([6, -4, -6, -12, -18])))


@dataclass(frozen=True, slots=True)
class Directions:
    """Topocentric directions: sines of altitude (bodies, steps), and parts to east and north."""

    up: Floats
    east: Floats
    north: Floats
    distance: Floats


def directions(sky: Sky, lat: float, lng: float) -> Directions:
    """Where each body stands for an observer at sea level, at each step."""
    phi, angle = np.radians(lat), sky.sidereal + np.radians(lng)
    sin, cos, x, y = np.sin(angle), np.cos(angle), sky.positions[:, 0], sky.positions[:, 1]
    outward, northward = observer(lat)
    meridian = cos * x + sin * y - outward
    east = cos * y - sin * x
    axis = sky.positions[:, 2] - northward
    distance = np.sqrt(meridian * meridian + east * east + axis * axis)
    up = (np.cos(phi) * meridian + np.sin(phi) * axis) / distance
    north = (np.cos(phi) * axis - np.sin(phi) * meridian) / distance
    return Directions(up, east / distance, north, distance)


def observer(lat: float) -> tuple[float, float]:
    """Distance from the Earth's axis and height over the equator's plane, in AU (WGS84)."""
    sin, cos = float(np.sin(np.radians(lat))), float(np.cos(np.radians(lat)))
    squeeze = (1 - FLATTENING) ** 2
    c = 1 / float(np.sqrt(cos * cos + squeeze * sin * sin))
    return EQUATOR_AU * c * cos, EQUATOR_AU * c * squeeze * sin


def sun_line() -> float:
    """Sine of the altitude of the Sun's centre when its upper limb touches the horizon."""
    return float(_SUN_ALTITUDES[Line.SUN])


def moon_line(distance: Floats) -> Floats:
    """Sine of the altitude of the Moon's centre when its upper limb touches the horizon."""
    line: Floats = -np.sin(REFRACTION + np.arcsin(MOON_RADIUS_AU / distance))
    return line


@dataclass(frozen=True, slots=True)
class Horizon:
    """Every crossing over one stretch of sky, as a `Track` per line."""

    sky: Sky
    tracks: list[Track]
    sun_azimuths: dict[int, float]  # degrees, at each sunrise and sunset
    noon_altitudes: dict[int, float]  # degrees, at each upper transit of the Sun

    @classmethod
    def of(cls, sky: Sky, lat: float, lng: float) -> Self:
        seen = directions(sky, lat, lng)
        rows = _rows(seen)
        found = crossings(rows, grazing=True)
        times = np.rint(sky.start + STEP * found.position).astype(np.int64).tolist()
        ups, begins = found.up.tolist(), (rows[:, 2] > 0).tolist()
        parts = found.by_row(len(rows))
        tracks = [Track(times[p], ups[p], up) for p, up in zip(parts, begins, strict=True)]
        at_sun, at_noon = parts[Line.SUN], parts[Line.MERIDIAN]
        azimuths = _azimuths(seen, found.position[at_sun])
        altitudes = _altitudes(seen, found.position[at_noon])
        return cls(
            sky,
            tracks,
            dict(zip(times[at_sun], azimuths, strict=True)),
            dict(zip(times[at_noon], altitudes, strict=True)),
        )


def _rows(seen: Directions) -> Floats:
    planets = seen.up[2:]
    return np.vstack(
        [
            seen.up[SUN] - _SUN_ALTITUDES[:, None],
            seen.east[SUN],
            seen.up[MOON] - moon_line(seen.distance[MOON]),
            planets + np.sin(REFRACTION),
            planets - np.sin(np.radians(5)),
        ]
    )


def _azimuths(seen: Directions, position: Floats) -> list[float]:
    east, north = interpolate(np.array([seen.east[SUN], seen.north[SUN]]), position)
    azimuths: list[float] = (np.degrees(np.arctan2(east, north)) % 360).tolist()
    return azimuths


def _altitudes(seen: Directions, position: Floats) -> list[float]:
    altitudes: list[float] = np.degrees(np.arcsin(interpolate(seen.up[SUN], position))).tolist()
    return altitudes
