"""Eclipses at new and full moons, and the part of each that is visible from a point.

Solar: an eclipse occurs if the Moon's shadow meets the Earth. This is computed from the shadow's
axis and penumbra (Besselian geometry, for the flattened Earth). What an observer sees follows from
the distance between the discs of Sun and Moon, while the Sun is up. Magnitude is the covered share
of the Sun's diameter, obscuration the covered share of its area.
Lunar: the radii of the Earth's shadow are enlarged by 1/50 for the air (Chauvenet's rule, as in
NASA's catalogue of 2001 to 2100 and the Explanatory Supplement). An eclipse lasts from the first
contact with the penumbra to the last. Magnitude is the share of the Moon's diameter in the umbra,
or in the penumbra if the Moon does not touch the umbra.
Radii are in astronomical units. The Moon's radius is k Earth radii. k is 0.2725076 (IAU) for the
penumbra and the whole disc; it is 0.272281 for total and annular eclipses, where the last sunlight
through valleys of the Moon's rim counts (NASA's catalogues).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Self, TypeAlias

import numpy as np

from location_context.sections.astronomy.response import EclipseKind
from location_context.sections.astronomy.sky import horizon
from location_context.sections.astronomy.sky.crossings import (
    Floats,
    Track,
    both,
    crossings,
    interpolate,
    lowest,
)
from location_context.sections.astronomy.sky.ephemeris import (
    AU_KM,
    MOON,
    STEP,
    SUN,
    Ephemeris,
    Sky,
    SkyEvent,
)

SUN_AU = 696000.0 / AU_KM
MOON_AU = 0.2725076 * horizon.EQUATOR_AU
MOON_INNER_AU = 0.272281 * horizon.EQUATOR_AU
AROUND = 21600.0  # an eclipse is over within six hours of its syzygy
_MINUTE = 60.0
_MINUTES = int(2 * AROUND / _MINUTE) + 1
_REACH = 4 * STEP
_AIR = 1.02
# new and full moons; one in five has an eclipse, which keeps its month of 0.5 MB in memory
_CACHED = 60
_MEAN_EARTH = 0.998340  # the Earth's radius at 45°, in equatorial radii


@dataclass(frozen=True, slots=True)
class SeenEclipse:
    """The part of an eclipse that can be seen from a point; moments are Unix seconds.

    `kind`, `magnitude` and `obscuration` are those at `maximum`, the best moment to see it.
    """

    kind: EclipseKind
    start: float
    maximum: float
    end: float
    magnitude: float
    obscuration: float | None = None


@dataclass(frozen=True, slots=True)
class Minutes:
    """The sky at each minute of the twelve hours around a syzygy (a new or full Moon)."""

    start: float
    sky: Sky

    @classmethod
    def around(cls, ephemeris: Ephemeris, syzygy: float) -> Self:
        """Load the positions around a new or full Moon (`syzygy`, in Unix seconds)."""
        sky = ephemeris.sky(syzygy - AROUND - _REACH, syzygy + AROUND + _REACH)
        return cls(syzygy - AROUND, sky)

    @property
    def sun_and_moon(self) -> Floats:
        """The positions of Sun and Moon in AU: an array (2 bodies, 3 axes, minutes)."""
        return self.of(self.sky.positions[[SUN, MOON]].reshape(6, -1)).reshape(2, 3, -1)

    def of(self, rows: Floats) -> Floats:
        """Interpolate rows from one value per step of the sky (20 minutes) to one per minute."""
        times = self.start + _MINUTE * np.arange(_MINUTES, dtype=np.float64)
        return interpolate(rows, self.sky.position_of(times))

    def moment(self, position: float) -> float:
        return self.start + _MINUTE * position

    def value(self, row: Floats, moment: float) -> float:
        """Return a row's value at a moment (Unix seconds); the row has a value for each minute."""
        position = np.array([(moment - self.start) / _MINUTE])
        return float(interpolate(row, position)[0])

    def track(self, row: Floats) -> Track:
        """Return when a row with one value per minute crosses zero, to the nearest second."""
        found = crossings(row[None])
        times = np.rint(self.start + _MINUTE * found.position).astype(np.int64)
        return Track(times.tolist(), found.up.tolist(), bool(row[2] > 0))

    @property
    def span(self) -> tuple[int, int]:
        return round(self.start), round(self.start + 2 * AROUND)


def length(vectors: Floats) -> Floats:
    """Return the lengths of n vectors, given as an array (3, n)."""
    result: Floats = np.sqrt((vectors * vectors).sum(axis=0))
    return result


def nearest(spans: list[tuple[int, int]], moment: float) -> tuple[int, int, float] | None:
    """Return begin and end of the span closest to a moment, and the closest moment in that span.

    Return None if there are no spans.
    """
    if not spans:
        return None
    best = min(spans, key=lambda span: abs(_clamped(moment, span) - moment))
    return best[0], best[1], _clamped(moment, best)


def _clamped(moment: float, span: tuple[int, int]) -> float:
    return min(max(moment, span[0]), span[1])


@dataclass(frozen=True, slots=True)
class LunarEclipse:
    """A lunar eclipse; it looks the same wherever the Moon is up.

    `greatest` is the moment (Unix seconds) at which the Moon is deepest in the Earth's shadow.
    `umbral` and `penumbral` are the shares of the Moon's diameter in umbra and penumbra, by minute.
    """

    greatest: float
    umbral: Floats
    penumbral: Floats
    minutes: Minutes

    def visible(self, lat: float, lng: float) -> SeenEclipse | None:
        """Return the part of the eclipse visible at a point, with the Moon up; None if none."""
        minutes, seen = self.minutes, horizon.directions(self.minutes.sky, lat, lng)
        height = minutes.of(seen.towards(MOON)[0] - horizon.moon_line(seen.distance[MOON]))
        touched, up = minutes.track(self.penumbral), minutes.track(height)
        visible = nearest(
            both(touched.spans(*minutes.span), up.spans(*minutes.span)), self.greatest
        )
        if visible is None:
            return None
        start, end, maximum = visible
        umbral = minutes.value(self.umbral, maximum)
        magnitude = umbral if umbral > 0 else minutes.value(self.penumbral, maximum)
        return SeenEclipse(_lunar_kind(umbral), start, maximum, end, magnitude)


def lunar_eclipse(ephemeris: Ephemeris, full_moon: float) -> LunarEclipse | None:
    """Return the lunar eclipse at a full Moon (Unix seconds).

    Return None if the Moon misses the Earth's shadow.
    """
    minutes = Minutes.around(ephemeris, full_moon)
    away, umbral, penumbral = _shadow(*minutes.sun_and_moon)
    greatest = minutes.moment(lowest(away * away))
    if minutes.value(penumbral, greatest) <= 0:
        return None
    return LunarEclipse(greatest, umbral, penumbral, minutes)


def _shadow(sun: Floats, moon: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the Moon's distance from the axis of the Earth's shadow, and two magnitudes.

    Each is an array by minute: distance in radians, umbral magnitude, penumbral magnitude.
    """
    to_sun, to_moon = length(sun), length(moon)
    away = 2 * np.arcsin(length(sun / to_sun + moon / to_moon) / 2)
    parallax = _MEAN_EARTH * np.arcsin(horizon.EQUATOR_AU / to_moon) + np.arcsin(
        horizon.EQUATOR_AU / to_sun
    )
    sun_radius, moon_radius = np.arcsin(SUN_AU / to_sun), np.arcsin(MOON_AU / to_moon)
    umbral = (_AIR * (parallax - sun_radius) + moon_radius - away) / (2 * moon_radius)
    penumbral = (_AIR * (parallax + sun_radius) + moon_radius - away) / (2 * moon_radius)
    return away, umbral, penumbral


def _lunar_kind(umbral: float) -> EclipseKind:
    if umbral >= 1:
        return "total"
    return "partial" if umbral > 0 else "penumbral"


@dataclass(frozen=True, slots=True)
class SolarEclipse:
    """A solar eclipse visible somewhere on Earth; `greatest` is its maximum (Unix seconds)."""

    greatest: float
    minutes: Minutes

    def visible(self, lat: float, lng: float) -> SeenEclipse | None:
        """Return the part of the eclipse visible at a point, with the Sun up; None if none."""
        minutes, seen = self.minutes, horizon.directions(self.minutes.sky, lat, lng)
        to_sun, to_moon = seen.towards(SUN), seen.towards(MOON)
        apart = length(to_sun - to_moon)
        rows = np.array([apart**2, to_sun[0] - horizon.SUN_LINE, *seen.distance[:2]])
        apart2, height, sun, moon = minutes.of(rows)
        sun_radius, moon_radius = np.arcsin(SUN_AU / sun), np.arcsin(MOON_AU / moon)
        touched = minutes.track((sun_radius + moon_radius) ** 2 - apart2)
        up = minutes.track(height)
        spans = both(touched.spans(*minutes.span), up.spans(*minutes.span))
        visible = nearest(spans, minutes.moment(lowest(apart2)))
        if visible is None:
            return None
        start, end, maximum = visible
        kind, magnitude, obscuration = _discs(
            float(np.sqrt(max(0.0, minutes.value(apart2, maximum)))),
            minutes.value(sun_radius, maximum),
            minutes.value(moon_radius, maximum),
        )
        return SeenEclipse(kind, start, maximum, end, magnitude, obscuration)


def solar_eclipse(ephemeris: Ephemeris, new_moon: float) -> SolarEclipse | None:
    """Return the solar eclipse at a new Moon (Unix seconds).

    Return None if the Moon's shadow misses the Earth.
    """
    minutes = Minutes.around(ephemeris, new_moon)
    away, deep, penumbra = _shadow_of_moon(*(minutes.sun_and_moon / horizon.EQUATOR_AU))
    position = lowest(away**2)
    greatest = round(position)
    if away[greatest] * (1 - 1 / deep[greatest]) >= penumbra[greatest]:
        return None
    return SolarEclipse(minutes.moment(position), minutes)


def _shadow_of_moon(sun: Floats, moon: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the path of the Moon's shadow: three arrays in Earth radii, with a value a minute.

    The first is the distance of the shadow's axis from the Earth's centre. The second is the same
    after the flattened Earth is scaled to a sphere: below 1 while the axis meets the Earth. The
    third is the penumbra's radius where the axis is nearest to the Earth's centre.
    """
    between = sun - moon
    apart = length(between)
    axis = between / apart
    height = (moon * axis).sum(axis=0)
    foot = moon - height * axis
    moon_radius, sun_radius = (one / horizon.EQUATOR_AU for one in (MOON_AU, SUN_AU))
    wide = (sun_radius + moon_radius) / apart
    flattened = np.array([foot[0], foot[1], foot[2] / (1 - horizon.FLATTENING)])
    return length(foot), length(flattened), (height * wide + moon_radius) / np.sqrt(1 - wide**2)


EclipseAt: TypeAlias = Callable[[SkyEvent], SolarEclipse | LunarEclipse | None]


def cached_eclipses(ephemeris: Ephemeris) -> EclipseAt:
    """Return a function that maps a new or full Moon to its eclipse, or to None without one.

    The function caches its last results. One cache serves all places, since a result is valid for
    the whole Earth.
    """

    @lru_cache(maxsize=_CACHED)
    def find(event: SkyEvent) -> SolarEclipse | LunarEclipse | None:
        by_type = solar_eclipse if event.type == "new_moon" else lunar_eclipse
        return by_type(ephemeris, event.at)

    return find


def _discs(apart: float, sun: float, moon: float) -> tuple[EclipseKind, float, float]:
    """Return kind, magnitude and obscuration of a solar eclipse.

    `apart` is the angle between the centres of Sun and Moon; `sun` and `moon` are their radii; all
    in radians. The covered area of the Sun's disc is the sum of two circular segments.
    """
    inner = moon * MOON_INNER_AU / MOON_AU
    magnitude = (sun + moon - apart) / (2 * sun)
    kind: EclipseKind = "partial"
    if apart < abs(inner - sun):
        kind = "total" if inner > sun else "annular"
    if apart <= abs(sun - moon):
        return kind, magnitude, min(1.0, (moon / sun) ** 2)
    if apart >= sun + moon:
        return kind, magnitude, 0.0
    a = np.arccos((apart**2 + sun**2 - moon**2) / (2 * apart * sun))
    b = np.arccos((apart**2 + moon**2 - sun**2) / (2 * apart * moon))
    lens = sun**2 * (a - np.sin(2 * a) / 2) + moon**2 * (b - np.sin(2 * b) / 2)
    return kind, magnitude, float(lens / (np.pi * sun**2))
