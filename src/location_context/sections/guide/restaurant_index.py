"""The index in memory: the restaurants of each tier, sorted by latitude, as unit vectors.

A restaurant within a radius has a latitude near that of the point. So two bisections find the rows
to search. Each of these is inside the radius if the straight line (chord) between its unit vector
and that of the point is short enough. Unit vectors need no special cases at the antimeridian and
the poles, and give distances exact to a millimetre. If there are many rows, numpy narrows them
first; for few rows that would cost more than it saves. Restaurants at the same distance, to the
millimetre, are ordered by id. docs/decisions/places.md has the measurements.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from math import asin, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from location_context.point import EARTH_RADIUS_KM
from location_context.sections.guide.records import TIERS, Restaurant, Tier

_TOLERANCE = 2e-10  # 1.3 mm, since distances are rounded to 1 mm; rows that pass are then measured
_MAX_SCANNED = 80  # rows up to which a loop in Python beats numpy
_MILLIMETRES = 2e6 * EARTH_RADIUS_KM  # the Earth's diameter

Vectors = NDArray[np.float64]

# Distance in km (to the millimetre), position by id, restaurant; sorting gives the answer's order.
# A bare tuple, since a query makes hundreds of them in microseconds.
Found = tuple[float, int, Restaurant]
# A row of a band: its unit vector (x, y, z), its position by id, the restaurant.
_Place = tuple[float, float, float, int, Restaurant]


class TierFound(NamedTuple):
    """The result for a tier: the restaurants inside its radius, or else the nearest beyond it.

    `inside_radius` counts all restaurants inside; `inside` is cut to the limit of the answer.
    """

    tier: Tier
    inside_radius: int
    inside: list[Found]
    nearest_beyond: Found | None


class _Origin(NamedTuple):
    """The query's point: latitude in radians, and unit vector both as numbers and as an array."""

    phi: float
    x: float
    y: float
    z: float
    vector: Vectors


class RestaurantIndex:
    """An index to find the restaurants of one version of a guide by distance."""

    def __init__(self, restaurants: Sequence[Restaurant]) -> None:
        self.size = len(restaurants)
        by_tier: dict[Tier, list[Restaurant]] = {tier: [] for tier in TIERS}
        for restaurant in sorted(restaurants, key=lambda r: r.id):
            by_tier[restaurant.tier].append(restaurant)
        self._bands = [_Band(tier, rows) for tier, rows in by_tier.items()]

    def query(
        self, lat: float, lng: float, radii: Sequence[float], limit: int = 50
    ) -> list[TierFound]:
        """Return the result of every tier, highest tier first.

        `radii` are in km, one for each tier; a restaurant at exactly the radius is inside. At most
        `limit` restaurants are returned in all tiers together.
        """
        phi, theta = math.radians(lat), math.radians(lng)
        level = math.cos(phi)
        x, y, z = level * math.cos(theta), level * math.sin(theta), math.sin(phi)
        origin = _Origin(phi, x, y, z, np.array((x, y, z)))
        answer = []
        for band, radius in zip(self._bands, radii, strict=True):
            found = band.query(origin, radius, limit)
            limit -= len(found.inside)
            answer.append(found)
        return answer


class _Band:
    """The index of one tier, with its rows sorted by latitude."""

    def __init__(self, tier: Tier, restaurants: Sequence[Restaurant]) -> None:
        phi = np.radians(np.array([r.lat for r in restaurants], dtype=np.float64))
        theta = np.radians(np.array([r.lng for r in restaurants], dtype=np.float64))
        order = np.argsort(phi, kind="stable")
        vectors = np.stack((np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)))
        self.tier = tier
        self._latitudes: list[float] = phi[order].tolist()
        self._vectors: Vectors = np.ascontiguousarray(vectors[:, order])
        in_order = [restaurants[row] for row in order]
        self._places = list(zip(*self._vectors.tolist(), order.tolist(), in_order, strict=True))

    def query(self, origin: _Origin, radius: float, limit: int) -> TierFound:
        if inside := self._within(origin, radius):
            return TierFound(self.tier, len(inside), inside[:limit], None)
        return TierFound(self.tier, 0, inside, self._nearest(origin))

    def _within(self, origin: _Origin, radius: float) -> list[Found]:
        """Return the restaurants within `radius` km, nearest first."""
        angle = min(radius / EARTH_RADIUS_KM, math.pi)
        first = bisect_left(self._latitudes, origin.phi - angle - _TOLERANCE)
        last = bisect_right(self._latitudes, origin.phi + angle + _TOLERANCE)
        places = self._places[first:last]
        if len(places) > _MAX_SCANNED:
            cosines = origin.vector @ self._vectors[:, first:last]
            (near,) = (cosines >= math.cos(angle) - _TOLERANCE).nonzero()
            places = [places[row] for row in near.tolist()]
        return _scan(origin, radius, 2 * math.sin(angle / 2) + _TOLERANCE, places)

    def _nearest(self, origin: _Origin) -> Found | None:
        """Return the nearest restaurant; of equally near ones, the first by id."""
        if not self._places:
            return None
        cosines = origin.vector @ self._vectors
        (nearest,) = (cosines >= cosines[cosines.argmax()] - _TOLERANCE).nonzero()
        return _scan(origin, math.inf, 2.0, [self._places[row] for row in nearest.tolist()])[0]


def _scan(origin: _Origin, radius: float, chord: float, places: Sequence[_Place]) -> list[Found]:
    _, x, y, z, _ = origin
    found = []
    for px, py, pz, order, restaurant in places:
        if -chord <= (dx := px - x) <= chord and -chord <= (dy := py - y) <= chord:
            dz = pz - z
            half = sqrt(dx * dx + dy * dy + dz * dz) / 2
            km = int(_MILLIMETRES * asin(half if half < 1.0 else 1.0) + 0.5) / 1e6  # noqa: FURB136  min() costs more
            if km <= radius:
                found.append((km, order, restaurant))
    found.sort()
    return found
