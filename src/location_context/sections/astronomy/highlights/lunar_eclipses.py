"""Lunar eclipses: the Moon in the Earth's shadow, and what of it is above a point's horizon.

The shadow's radii are enlarged by 1/50 for the air (Chauvenet's rule, as in NASA's catalogue of
2001 to 2100 and the Explanatory Supplement). An eclipse lasts from its first touch of the penumbra
to the last; magnitude is the share of the Moon's diameter in the umbra, or in the penumbra while
the umbra is not touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from location_context.sections.astronomy.highlights.eclipse_geometry import (
    MOON_AU,
    SUN_AU,
    Minutes,
    SeenEclipse,
    length,
    nearest,
    sky_around,
)
from location_context.sections.astronomy.sky.crossings import both, lowest
from location_context.sections.astronomy.sky.ephemeris import MOON, SUN, Ephemeris, Sky
from location_context.sections.astronomy.sky.horizon import EQUATOR_AU, directions, moon_line

Floats = NDArray[np.float64]

_AIR = 1.02
_MEAN_EARTH = 0.998340  # the Earth's radius at 45°, in equatorial radii

LunarKind = Literal["penumbral", "partial", "total"]


@dataclass(frozen=True, slots=True)
class LunarEclipse:
    """An eclipse as the Earth's centre sees it, with both magnitudes at each minute."""

    kind: LunarKind
    greatest: float
    umbral: Floats
    penumbral: Floats
    minutes: Minutes
    sky: Sky


def lunar_eclipse(ephemeris: Ephemeris, full_moon: float) -> LunarEclipse | None:
    """The eclipse at a full moon, if there is one."""
    sky, minutes = sky_around(ephemeris, full_moon), Minutes.around(full_moon)
    places = minutes.of(sky, sky.positions[[SUN, MOON]].reshape(6, -1)).reshape(2, 3, -1)
    away, umbral, penumbral = _shadow(places[0], places[1])
    greatest = minutes.moment(lowest(away * away))
    if minutes.value(penumbral, greatest) <= 0:
        return None
    kind = _kind(minutes.value(umbral, greatest))
    return LunarEclipse(kind, greatest, umbral, penumbral, minutes, sky)


def _shadow(sun: Floats, moon: Floats) -> tuple[Floats, Floats, Floats]:
    """The Moon's distance from the shadow's axis (radians), and both magnitudes."""
    to_sun, to_moon = length(sun), length(moon)
    away = 2 * np.arcsin(length(sun / to_sun + moon / to_moon) / 2)
    parallax = _MEAN_EARTH * np.arcsin(EQUATOR_AU / to_moon) + np.arcsin(EQUATOR_AU / to_sun)
    sun_radius, moon_radius = np.arcsin(SUN_AU / to_sun), np.arcsin(MOON_AU / to_moon)
    umbral = (_AIR * (parallax - sun_radius) + moon_radius - away) / (2 * moon_radius)
    penumbral = (_AIR * (parallax + sun_radius) + moon_radius - away) / (2 * moon_radius)
    return away, umbral, penumbral


def _kind(umbral: float) -> LunarKind:
    if umbral >= 1:
        return "total"
    return "partial" if umbral > 0 else "penumbral"


def seen_from(eclipse: LunarEclipse, lat: float, lng: float) -> SeenEclipse | None:
    """The part of an eclipse with the Moon above the horizon."""
    minutes, seen = eclipse.minutes, directions(eclipse.sky, lat, lng)
    height = minutes.of(eclipse.sky, seen.towards(MOON)[0] - moon_line(seen.distance[MOON]))
    touched, up = minutes.track(eclipse.penumbral), minutes.track(height)
    visible = nearest(both(touched.spans(*minutes.span), up.spans(*minutes.span)), eclipse.greatest)
    if visible is None:
        return None
    start, end, maximum = visible
    umbral = minutes.value(eclipse.umbral, maximum)
    magnitude = umbral if umbral > 0 else minutes.value(eclipse.penumbral, maximum)
    return SeenEclipse(_kind(umbral), start, maximum, end, magnitude)
