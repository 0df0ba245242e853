"""The rises, sets, twilights and transits of all bodies at one point, computed at once.

Method: positions seen from the Earth's centre are turned by sidereal time and converted to those
seen by an observer on the WGS84 ellipsoid at sea level (topocentric). Each row of an array is the
sine of a body's altitude minus the sine of a threshold; `crossings` finds the zeros of all rows
together. A body rises or sets when its upper limb is on the horizon, with 34' of refraction. The
Sun's radius is 16', as in almanacs; the Moon's depends on its distance; planets are points.
Accuracy: times are within 0.2 s of those computed by skyfield; the tests also compare with
almanacs. Refraction varies with the weather, which shifts a real sunrise by far more.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Self

import numpy as np

from location_context.sections.astronomy.sky.crossings import (
    Floats,
    Track,
    between,
    crossings,
    interpolate,
)
from location_context.sections.astronomy.sky.ephemeris import AU_KM, MOON, STEP, SUN, Sky
from location_context.sections.astronomy.sky.local_days import LocalDay

EQUATOR_AU = 6378.137 / AU_KM
FLATTENING = 1 / 298.257223563
MOON_RADIUS_AU = 1737.4 / AU_KM
REFRACTION = np.radians(34 / 60)
SUN_RADIUS = np.radians(16 / 60)


class AltitudeThreshold(IntEnum):
    """An altitude (or the meridian) that a body crosses.

    The value is an index of `_rows`: of a row, or of the first of five rows, one for each planet.
    """

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
SUN_LINE = float(_SUN_ALTITUDES[0])  # sine of the Sun's altitude at sunrise and sunset


@dataclass(frozen=True, slots=True)
class Directions:
    """Vectors from an observer to each body: arrays (bodies, steps) in astronomical units.

    A vector has three components. `meridian` and `east` lie in the plane of the equator: away from
    the Earth's axis on the observer's side, and eastwards. `axis` points north along that axis.
    `distance` is the vector's length. `phi` is the observer's latitude in radians.
    """

    phi: float
    meridian: Floats
    east: Floats
    axis: Floats
    distance: Floats

    @property
    def up(self) -> Floats:
        """The sine of each body's altitude at each step: an array (bodies, steps)."""
        along = np.cos(self.phi) * self.meridian + np.sin(self.phi) * self.axis
        sines: Floats = along / self.distance
        return sines

    def towards(self, body: int) -> Floats:
        """Return unit vectors to a body: an array (3, steps) of components up, east, north."""
        sin, cos = np.sin(self.phi), np.cos(self.phi)
        meridian, east, axis = self.meridian[body], self.east[body], self.axis[body]
        up, north = cos * meridian + sin * axis, cos * axis - sin * meridian
        vectors: Floats = np.array([up, east, north]) / self.distance[body]
        return vectors


def directions(sky: Sky, lat: float, lng: float) -> Directions:
    """Return the vectors from an observer at sea level to each body, at each step of `sky`."""
    angle = sky.sidereal + np.radians(lng)
    sin, cos, x, y = np.sin(angle), np.cos(angle), sky.positions[:, 0], sky.positions[:, 1]
    outward, northward = observer(lat)
    meridian = cos * x + sin * y - outward
    east = cos * y - sin * x
    axis = sky.positions[:, 2] - northward
    distance = np.sqrt(meridian * meridian + east * east + axis * axis)
    return Directions(float(np.radians(lat)), meridian, east, axis, distance)


def observer(lat: float) -> tuple[float, float]:
    """Return an observer's distances from the Earth's axis and from the equator's plane, in AU."""
    sin, cos = float(np.sin(np.radians(lat))), float(np.cos(np.radians(lat)))
    squeeze = (1 - FLATTENING) ** 2
    c = 1 / float(np.sqrt(cos * cos + squeeze * sin * sin))
    return EQUATOR_AU * c * cos, EQUATOR_AU * c * squeeze * sin


def moon_line(distance: Floats) -> Floats:
    """Return the sine of the altitude of the Moon's centre at moonrise or moonset.

    `distance` is how far the Moon is, in AU. A nearer Moon looks larger, so its centre is lower.
    """
    line: Floats = -np.sin(REFRACTION + np.arcsin(MOON_RADIUS_AU / distance))
    return line


@dataclass(frozen=True, slots=True)
class Horizon:
    """All times in a period at which the Sun, the Moon and planets cross an `AltitudeThreshold`.

    Each of `tracks` has one body's crossings of one threshold; they are in the order of `_rows`.
    """

    sky: Sky
    tracks: list[Track]
    golden: Track  # up while the Sun is between -4° and +6°
    blue: Track  # up while the Sun is between -6° and -4°
    sun_azimuths: dict[int, float]  # degrees, at each sunrise and sunset
    noon_altitudes: dict[int, float]  # degrees, at each transit of the Sun

    @classmethod
    def of(cls, sky: Sky, lat: float, lng: float) -> Self:
        seen = directions(sky, lat, lng)
        rows = _rows(seen)
        found = crossings(rows, grazing=True)
        seconds = np.rint(sky.start + STEP * found.position).astype(np.int64)
        times, ups, begins = seconds.tolist(), found.up.tolist(), (rows[:, 2] > 0).tolist()
        parts = found.by_row(len(rows))
        at_sun, at_noon = parts[AltitudeThreshold.SUN], parts[AltitudeThreshold.MERIDIAN]
        positions = np.concatenate([found.position[at_sun], found.position[at_noon]])
        azimuths, altitudes = _sun_angles(seen, positions)
        rises = at_sun.stop - at_sun.start
        tracks = [Track(times[p], ups[p], up) for p, up in zip(parts, begins, strict=True)]
        return cls(
            sky,
            tracks,
            between(tracks[AltitudeThreshold.SUN_MINUS_4], tracks[AltitudeThreshold.SUN_PLUS_6]),
            between(tracks[AltitudeThreshold.SUN_MINUS_6], tracks[AltitudeThreshold.SUN_MINUS_4]),
            dict(zip(times[at_sun], azimuths[:rises], strict=True)),
            dict(zip(times[at_noon], altitudes[rises:], strict=True)),
        )

    def first(self, line: int, up: bool, day: LocalDay) -> int | None:
        """Return the time of a day's first crossing, upwards if `up`, else downwards; or None.

        `line` is an `AltitudeThreshold`; for a planet, the sum of a threshold and its index.
        """
        return self.tracks[line].first(up, day.start, day.end)


def _rows(seen: Directions) -> Floats:
    up = seen.up
    return np.vstack(
        [
            up[SUN] - _SUN_ALTITUDES[:, None],
            seen.east[SUN],
            up[MOON] - moon_line(seen.distance[MOON]),
            up[2:] + np.sin(REFRACTION),
            up[2:] - np.sin(np.radians(5)),
        ]
    )


def _sun_angles(seen: Directions, position: Floats) -> tuple[list[float], list[float]]:
    """Return the Sun's azimuths and altitudes in degrees at times, counted in steps of `seen`."""
    up, east, north = interpolate(seen.towards(SUN), position)
    azimuths: list[float] = (np.degrees(np.arctan2(east, north)) % 360).tolist()
    altitudes: list[float] = np.degrees(np.arcsin(up)).tolist()
    return azimuths, altitudes
