"""What both kinds of eclipse need: the hours around a syzygy minute by minute, and radii.

Radii in astronomical units. The Moon's is k Earth radii: 0.2725076 (IAU) for the penumbra and the
whole disc, 0.272281 where the last sunlight through its valleys counts (NASA's catalogues).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from location_context.sections.astronomy.response import EclipseKind
from location_context.sections.astronomy.sky.crossings import Track, crossings, interpolate
from location_context.sections.astronomy.sky.ephemeris import AU_KM, STEP, Ephemeris, Sky
from location_context.sections.astronomy.sky.horizon import EQUATOR_AU

Floats = NDArray[np.float64]

SUN_AU = 696000.0 / AU_KM
MOON_AU = 0.2725076 * EQUATOR_AU
MOON_INNER_AU = 0.272281 * EQUATOR_AU
AROUND = 21600.0  # an eclipse is over within six hours of its syzygy
_MINUTE = 60.0
_REACH = 4 * STEP


@dataclass(frozen=True, slots=True)
class SeenEclipse:
    """What of an eclipse can be seen from a point: moments in unix seconds."""

    kind: EclipseKind
    start: float
    maximum: float
    end: float
    magnitude: float
    obscuration: float | None = None


def sky_around(ephemeris: Ephemeris, syzygy: float) -> Sky:
    """The sky of the hours around a new or full moon, with a margin for interpolation."""
    return ephemeris.sky(syzygy - AROUND - _REACH, syzygy + AROUND + _REACH)


@dataclass(frozen=True, slots=True)
class Minutes:
    """Functions of the sky's grid brought to every minute around a syzygy."""

    start: float
    count: int

    @classmethod
    def around(cls, syzygy: float) -> "Minutes":
        return cls(syzygy - AROUND, int(2 * AROUND / _MINUTE) + 1)

    def of(self, sky: Sky, rows: Floats) -> Floats:
        """Rows on the sky's grid as rows on the minutes."""
        times = self.start + _MINUTE * np.arange(self.count, dtype=np.float64)
        return interpolate(rows, sky.position_of(times))

    def moment(self, position: float) -> float:
        return self.start + _MINUTE * position

    def value(self, row: Floats, moment: float) -> float:
        """A row of minutes at a moment between them."""
        position = np.array([(moment - self.start) / _MINUTE])
        return float(interpolate(row, position)[0])

    def track(self, row: Floats) -> Track:
        """When a row is above zero, to the second."""
        found = crossings(row[None])
        times = np.rint(self.start + _MINUTE * found.position).astype(np.int64)
        return Track(times.tolist(), found.up.tolist(), bool(row[2] > 0))

    @property
    def span(self) -> tuple[int, int]:
        return round(self.start), round(self.start + _MINUTE * (self.count - 1))


def length(vectors: Floats) -> Floats:
    """Of vectors (3, n)."""
    result: Floats = np.sqrt((vectors * vectors).sum(axis=0))
    return result


def nearest(spans: list[tuple[int, int]], moment: float) -> tuple[int, int, float] | None:
    """The span that comes closest to a moment, and its closest moment."""
    if not spans:
        return None
    best = min(spans, key=lambda span: abs(_clamped(moment, span) - moment))
    return best[0], best[1], _clamped(moment, best)


def _clamped(moment: float, span: tuple[int, int]) -> float:
    return min(max(moment, span[0]), span[1])
