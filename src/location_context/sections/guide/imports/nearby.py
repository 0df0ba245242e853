"""Nearby: which of the points put in so far lie within a fixed distance; right everywhere.

Points are kept in cubes of space as wide as the distance, so that only the 27 cubes around a point
are looked at; on the sphere itself cells would narrow toward the poles.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

from location_context.point import EARTH_RADIUS_KM

_AROUND = tuple(itertools.product((-1, 0, 1), repeat=3))


class Nearby:
    """Points by number, added one at a time."""

    def __init__(self, km: float) -> None:
        self._chord = 2 * EARTH_RADIUS_KM * math.sin(km / 2 / EARTH_RADIUS_KM)
        self._cubes: defaultdict[tuple[int, int, int], list[tuple[int, float, float, float]]]
        self._cubes = defaultdict(list)

    def add(self, lat: float, lng: float, number: int) -> list[int]:
        """Put a point in; the numbers of those already there within the distance."""
        found = self.near(lat, lng)
        at = _place(lat, lng)
        self._cubes[self._cube(at)].append((number, *at))
        return found

    def near(self, lat: float, lng: float) -> list[int]:
        at = _place(lat, lng)
        x, y, z = self._cube(at)
        return [
            number
            for dx, dy, dz in _AROUND
            for number, *other in self._cubes.get((x + dx, y + dy, z + dz), ())
            if math.dist(at, other) <= self._chord
        ]

    def _cube(self, at: tuple[float, float, float]) -> tuple[int, int, int]:
        x, y, z = (math.floor(part / self._chord) for part in at)
        return x, y, z


def _place(lat: float, lng: float) -> tuple[float, float, float]:
    """Kilometres from the centre of the Earth along three axes."""
    phi, theta = math.radians(lat), math.radians(lng)
    level = EARTH_RADIUS_KM * math.cos(phi)
    return level * math.cos(theta), level * math.sin(theta), EARTH_RADIUS_KM * math.sin(phi)
