"""Moments of the sky that are the same everywhere: phases, equinoxes, solstices, shower peaks.

Each is where the sine or cosine of an apparent ecliptic longitude of date crosses zero: the Moon's
less the Sun's for the phases, the Sun's for the seasons. A shower's peak is given by the Sun's
longitude in the equinox of J2000, from which general precession leads to the date.
Accuracy: the almanacs' phases and seasons to within half a minute, 1900 to 2050.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from location_context.sections.astronomy.response import HighlightType
from location_context.sections.astronomy.sky.crossings import crossings
from location_context.sections.astronomy.sky.local_days import J2000, JULIAN_YEAR


@dataclass(frozen=True, slots=True)
class Shower:
    """One shower: degrees, meteors an hour, and the first and last active (month, day)."""

    name: str
    solar_longitude: float
    right_ascension: float
    declination: float
    rate: int
    active: tuple[tuple[int, int], tuple[int, int]]


SHOWERS = (
    Shower("quadrantids", 283.15, 230.0, 49.0, 80, ((12, 28), (1, 12))),
    Shower("lyrids", 32.32, 271.0, 34.0, 18, ((4, 14), (4, 30))),
    Shower("eta_aquariids", 45.5, 338.0, -1.0, 50, ((4, 19), (5, 28))),
    Shower("southern_delta_aquariids", 128.0, 340.0, -16.0, 25, ((7, 12), (8, 23))),
    Shower("alpha_capricornids", 128.0, 307.0, -10.0, 5, ((7, 3), (8, 15))),
    Shower("perseids", 140.0, 48.0, 58.0, 100, ((7, 17), (8, 24))),
    Shower("draconids", 195.4, 262.0, 54.0, 5, ((10, 6), (10, 10))),
    Shower("orionids", 208.0, 95.0, 16.0, 20, ((10, 2), (11, 7))),
    Shower("southern_taurids", 223.0, 52.0, 15.0, 7, ((9, 20), (11, 20))),
    Shower("northern_taurids", 230.0, 58.0, 22.0, 5, ((10, 20), (12, 10))),
    Shower("leonids", 235.27, 152.0, 22.0, 10, ((11, 6), (11, 30))),
    Shower("geminids", 262.2, 112.0, 33.0, 150, ((12, 4), (12, 20))),
    Shower("ursids", 270.7, 217.0, 76.0, 10, ((12, 17), (12, 26))),
)


Floats = NDArray[np.float64]

_TURNS: tuple[tuple[HighlightType, HighlightType], ...] = (  # when a row climbs, when it sinks
    ("new_moon", "full_moon"),
    ("last_quarter", "first_quarter"),
    ("march_equinox", "september_equinox"),
    ("december_solstice", "june_solstice"),
)
_PRECESSION = np.radians(50.29 / 3600) / JULIAN_YEAR  # radians a second, in longitude


class SkyEvent(NamedTuple):
    """An instant (unix seconds) and what happens; `shower` is an index into `SHOWERS`."""

    at: float
    type: HighlightType
    shower: int = -1


def longitudes(positions: Floats, obliquity: Floats) -> Floats:
    """Ecliptic longitudes of date in radians: (bodies, 3, n) to (bodies, n)."""
    x, y, z = positions[:, 0], positions[:, 1], positions[:, 2]
    result: Floats = np.arctan2(np.cos(obliquity) * y + np.sin(obliquity) * z, x)
    return result


def illumination(places: Floats) -> Floats:
    """Sunlit share of the Moon's disc from positions of Sun and Moon, (2, 3, n) to (n)."""
    sun, moon = places
    to_sun = sun - moon
    along = -(moon * to_sun).sum(axis=0)
    size = np.sqrt((moon * moon).sum(axis=0) * (to_sun * to_sun).sum(axis=0))
    result: Floats = (1 + along / size) / 2
    return result


def find_sky_events(sun: Floats, moon: Floats, start: float, step: float) -> list[SkyEvent]:
    """All moments among longitudes that begin at `start` and follow every `step` seconds."""
    ahead = moon - sun
    times = start + step * np.arange(sun.size)
    fixed = sun - _PRECESSION * (times - J2000)
    peaks = np.radians([shower.solar_longitude for shower in SHOWERS])[:, None]
    rows = [np.sin(ahead), np.cos(ahead), np.sin(sun), np.cos(sun), *np.sin(fixed - peaks)]
    found = crossings(np.array(rows))
    at = start + step * found.position
    named = _named(found.row.tolist(), at.tolist(), found.up.tolist())
    return sorted(named, key=lambda moment: moment.at)


def _named(rows: list[int], times: list[float], ups: list[bool]) -> Iterator[SkyEvent]:
    for row, at, up in zip(rows, times, ups, strict=True):
        if row < len(_TURNS):
            yield SkyEvent(at, _TURNS[row][0 if up else 1])
        elif up:
            yield SkyEvent(at, "meteor_shower", row - len(_TURNS))
