"""Moments of the sky that are the same everywhere: phases, equinoxes, solstices, shower peaks.

Each is where the sine or cosine of an apparent ecliptic longitude of date crosses zero: the Moon's
less the Sun's for the phases, the Sun's for the seasons. A shower's peak is given by the Sun's
longitude in the equinox of J2000, from which general precession leads to the date.
Accuracy: the almanacs' phases and seasons to within half a minute, 1900 to 2050.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from location_context.sections.astronomy.sky.civil_time import J2000, JULIAN_YEAR
from location_context.sections.astronomy.sky.roots import crossings
from location_context.sections.astronomy.sky.showers import SHOWERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from location_context.sections.astronomy.response import HighlightType

    Floats = NDArray[np.float64]

_TURNS: tuple[tuple[HighlightType, HighlightType], ...] = (  # when a row climbs, when it sinks
    ("new_moon", "full_moon"),
    ("last_quarter", "first_quarter"),
    ("march_equinox", "september_equinox"),
    ("december_solstice", "june_solstice"),
)
_PRECESSION = np.radians(50.29 / 3600) / JULIAN_YEAR  # radians a second, in longitude


class Moment(NamedTuple):
    """An instant (unix seconds) and what happens; `shower` is an index into `SHOWERS`."""

    at: float
    type: HighlightType
    shower: int = -1


def longitudes(positions: Floats, obliquity: Floats) -> Floats:
    """Ecliptic longitudes of date in radians: (bodies, 3, n) to (bodies, n)."""
    x, y, z = positions[:, 0], positions[:, 1], positions[:, 2]
    result: Floats = np.arctan2(np.cos(obliquity) * y + np.sin(obliquity) * z, x)
    return result


def moments(sun: Floats, moon: Floats, start: float, step: float) -> list[Moment]:
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


def _named(rows: list[int], times: list[float], ups: list[bool]) -> Iterator[Moment]:
    for row, at, up in zip(rows, times, ups, strict=True):
        if row < len(_TURNS):
            yield Moment(at, _TURNS[row][0 if up else 1])
        elif up:
            yield Moment(at, "meteor_shower", row - len(_TURNS))
