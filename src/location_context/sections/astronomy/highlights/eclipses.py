"""Eclipses at new and full moons, and the part of each that is visible from a point.

Solar: whether an eclipse occurs on Earth follows from the axis and cones of the Moon's shadow, in
Earth radii (Besselian geometry, the flattened Earth). What a point sees follows from the distance
of both discs for that observer, while the Sun is up. Magnitude is the covered share of the Sun's
diameter, obscuration that of its area.
Lunar: the radii of the Earth's shadow are enlarged by 1/50 for the air (Chauvenet's rule, as in
NASA's catalogue of 2001 to 2100 and the Explanatory Supplement). An eclipse lasts from the first
contact with the penumbra to the last. Magnitude is the share of the Moon's diameter in the umbra,
or in the penumbra if the Moon does not touch the umbra.
Radii are in astronomical units. The Moon's radius is k Earth radii. k is 0.2725076 (IAU) for the
penumbra and the whole disc; it is 0.272281 for total and annular eclipses, where the last sunlight
through valleys of the Moon's rim counts (NASA's catalogues).
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from location_context.lru import LRUCache
from location_context.sections.astronomy.response import EclipseKind, HighlightType
from location_context.sections.astronomy.sky import horizon
from location_context.sections.astronomy.sky.crossings import (
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

Floats = NDArray[np.float64]

SUN_AU = 696000.0 / AU_KM
MOON_AU = 0.2725076 * horizon.EQUATOR_AU
MOON_INNER_AU = 0.272281 * horizon.EQUATOR_AU
AROUND = 21600.0  # an eclipse is over within six hours of its syzygy
_MINUTE = 60.0
_MINUTES = int(2 * AROUND / _MINUTE) + 1
_REACH = 4 * STEP
_AIR = 1.02
_CACHED = (
    60  # new and full moons; one in five has an eclipse, which holds on to its month of 0.5 MB
)
_MEAN_EARTH = 0.998340  # the Earth's radius at 45°, in equatorial radii


@dataclass(frozen=True, slots=True)
class SeenEclipse:
    """The part of an eclipse that can be seen from a point; moments are Unix seconds."""

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
        """Build the minutes around a syzygy (Unix seconds); `sky` has a margin to interpolate."""
        sky = ephemeris.sky(syzygy - AROUND - _REACH, syzygy + AROUND + _REACH)
        return cls(syzygy - AROUND, sky)

    @property
    def sun_and_moon(self) -> Floats:
        """The positions of Sun and Moon in AU, (2, 3, minutes)."""
        return self.of(self.sky.positions[[SUN, MOON]].reshape(6, -1)).reshape(2, 3, -1)

    def of(self, rows: Floats) -> Floats:
        """Interpolate rows with one value for each step of the sky to one for each minute."""
        times = self.start + _MINUTE * np.arange(_MINUTES, dtype=np.float64)
        return interpolate(rows, self.sky.position_of(times))

    def moment(self, position: float) -> float:
        return self.start + _MINUTE * position

    def value(self, row: Floats, moment: float) -> float:
        """Interpolate a row with a value for each minute at one moment (Unix seconds)."""
        position = np.array([(moment - self.start) / _MINUTE])
        return float(interpolate(row, position)[0])

    def track(self, row: Floats) -> Track:
        """Return when a row with a value for each minute crosses zero, to the second."""
        found = crossings(row[None])
        times = np.rint(self.start + _MINUTE * found.position).astype(np.int64)
        return Track(times.tolist(), found.up.tolist(), bool(row[2] > 0))

    @property
    def span(self) -> tuple[int, int]:
        return round(self.start), round(self.start + 2 * AROUND)


def length(vectors: Floats) -> Floats:
    """Return the lengths of vectors (3, n)."""
    result: Floats = np.sqrt((vectors * vectors).sum(axis=0))
    return result


def nearest(spans: list[tuple[int, int]], moment: float) -> tuple[int, int, float] | None:
    """Return begin and end of the span closest to a moment, and the closest moment in it."""
    if not spans:
        return None
    best = min(spans, key=lambda span: abs(_clamped(moment, span) - moment))
    return best[0], best[1], _clamped(moment, best)


def _clamped(moment: float, span: tuple[int, int]) -> float:
    return min(max(moment, span[0]), span[1])


@dataclass(frozen=True, slots=True)
class LunarEclipse:
    """A lunar eclipse for the Earth's centre, with umbral and penumbral magnitude by minute."""

    kind: EclipseKind
    greatest: float
    umbral: Floats
    penumbral: Floats
    minutes: Minutes

    def visible(self, lat: float, lng: float) -> SeenEclipse | None:
        """Return the part of the eclipse with the Moon up at a point; None if there is none."""
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
    """Return the eclipse at a full Moon (Unix seconds); None if there is none."""
    minutes = Minutes.around(ephemeris, full_moon)
    away, umbral, penumbral = _shadow(*minutes.sun_and_moon)
    greatest = minutes.moment(lowest(away * away))
    if minutes.value(penumbral, greatest) <= 0:
        return None
    kind = _lunar_kind(minutes.value(umbral, greatest))
    return LunarEclipse(kind, greatest, umbral, penumbral, minutes)


def _shadow(sun: Floats, moon: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the Moon's distance from the shadow's axis (radians), then the magnitudes.

    The first magnitude is in the umbra, the second in the penumbra.
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
    """A solar eclipse that is visible somewhere on Earth."""

    greatest: float
    minutes: Minutes

    def visible(self, lat: float, lng: float) -> SeenEclipse | None:
        """Return the part of the eclipse with the Sun up at a point; None if there is none."""
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
    """Return the eclipse at a new Moon (Unix seconds); None if the penumbra misses the Earth."""
    minutes = Minutes.around(ephemeris, new_moon)
    away, deep, penumbra = _shadow_of_moon(*(minutes.sun_and_moon / horizon.EQUATOR_AU))
    position = lowest(away**2)
    greatest = round(position)
    if away[greatest] * (1 - 1 / deep[greatest]) >= penumbra[greatest]:
        return None
    return SolarEclipse(minutes.moment(position), minutes)


def _shadow_of_moon(sun: Floats, moon: Floats) -> tuple[Floats, Floats, Floats]:
    """Return how the Moon's shadow passes the Earth: three values at each minute, in Earth radii.

    The values are the distance of the shadow's axis from the Earth's centre; that distance scaled
    for the flattened Earth, so that it is below 1 while the axis meets the Earth; and the radius
    of the penumbra there.
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


class Eclipses:
    """A thread-safe cache of the eclipses at new and full Moons, which do not depend on a place."""

    def __init__(self, ephemeris: Ephemeris) -> None:
        self._ephemeris = ephemeris
        self._found: LRUCache[SkyEvent, tuple[SolarEclipse | LunarEclipse | None]]
        self._found = LRUCache(_CACHED)
        self._lock = threading.Lock()

    def of(self, event: SkyEvent) -> SolarEclipse | LunarEclipse | None:
        """Return the eclipse at a new or full Moon; None if there is none, or for other events."""
        find = _FINDERS.get(event.type)
        if find is None:
            return None
        with self._lock:
            found = self._found.get(event)
        if found is None:
            found = (find(self._ephemeris, event.at),)
            with self._lock:
                self._found.put(event, found)
        return found[0]


_FINDERS: Mapping[HighlightType, Callable[[Ephemeris, float], SolarEclipse | LunarEclipse | None]]
_FINDERS = {"new_moon": solar_eclipse, "full_moon": lunar_eclipse}


def _discs(apart: float, sun: float, moon: float) -> tuple[EclipseKind, float, float]:
    """Return kind, magnitude and obscuration of a solar eclipse.

    `apart` is the distance between the two centres; `sun` and `moon` are the radii, in radians. The
    covered area of the Sun's disc is the sum of two circular segments.
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
