"""The index in memory: the restaurants of each tier, sorted by latitude, as unit vectors.

A radius limits the difference of latitude, so two bisections find the band of rows to search. In
it, a restaurant is inside if its chord to the point is short enough. Unit vectors need no special
cases at the antimeridian and the poles, and give distances exact to a millimetre. A short band is
scanned in Python, where numpy would cost more; a long band with numpy. Distances equal to the
millimetre are ordered by id. docs/decisions/places.md has the measurements.
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

_TOLERANCE = 1e-12  # above rounding errors of sine and cosine; rows that pass are then measured
_MAX_SCANNED = 80  # rows up to which a loop in Python beats numpy
_MILLIMETRES = 2e6 * EARTH_RADIUS_KM  # the Earth's diameter

Vectors = NDArray[np.float64]
Rows = NDArray[np.int64]

# Distance in km (to the millimetre), position by id, restaurant; sorting gives the answer's order.
# A bare tuple, since a query makes hundreds of them in microseconds.
Found = tuple[float, int, Restaurant]
# A row of a band: its unit vector (x, y, z), its position by id, the restaurant.
_Place = tuple[float, float, float, int, Restaurant]


class TierFound(NamedTuple):
    """The result for a tier: the restaurants inside its radius, else the nearest one."""

    tier: Tier
    inside_radius: int
    inside: list[Found]
    nearest_beyond: Found | None


class _Origin(NamedTuple):
    """The point: its latitude in radians and its unit vector, as numbers and as an array."""

    phi: float
    x: float
    y: float
    z: float
    vector: Vectors


class RestaurantIndex:
    """An index of all restaurants of one version of a guide."""

    def __init__(self, restaurants: Sequence[Restaurant]) -> None:
        self.size = len(restaurants)
        by_tier: dict[Tier, list[Restaurant]] = {tier: [] for tier in TIERS}
        for restaurant in sorted(restaurants, key=lambda r: r.id):
            by_tier[restaurant.tier].append(restaurant)
        self._bands = [_Band(tier, rows) for tier, rows in by_tier.items()]

    def query(
        self, lat: float, lng: float, radii: Sequence[float], limit: int = 50
    ) -> list[TierFound]:
        """Return every tier in rank order, with at most `limit` restaurants in all tiers together.

        `radii` are in km, one for each tier; a restaurant at exactly the radius is inside.
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
        if last - first <= _MAX_SCANNED:
            chord = 2 * math.sin(angle / 2) + _TOLERANCE
            return _scan(origin, radius, chord, self._places[first:last])
        cosines = origin.vector @ self._vectors[:, first:last]
        rows = np.flatnonzero(cosines >= math.cos(angle) - _TOLERANCE)
        return self._measured(origin, radius, rows + first)

    def _measured(self, origin: _Origin, radius: float, rows: Rows) -> list[Found]:
        if len(rows) <= _MAX_SCANNED:
            return _scan(origin, radius, 2.0, [self._places[row] for row in rows.tolist()])
        dx, dy, dz = self._vectors[:, rows] - origin.vector[:, None]
        halves = np.minimum(np.sqrt(dx * dx + dy * dy + dz * dz) / 2, 1.0)
        distances = np.floor(np.arcsin(halves) * _MILLIMETRES + 0.5) / 1e6
        places = (self._places[row][3:] for row in rows.tolist())
        return sorted(
            (km, order, restaurant)
            for km, (order, restaurant) in zip(distances.tolist(), places, strict=True)
            if km <= radius
        )

    def _nearest(self, origin: _Origin) -> Found | None:
        """Return the nearest restaurant; of equally near ones, the first by id."""
        if not self._places:
            return None
        cosines = origin.vector @ self._vectors
        row = int(cosines.argmax())
        among = cosines >= cosines[row] - _TOLERANCE
        if np.count_nonzero(among) == 1:
            return _scan(origin, math.inf, 2.0, self._places[row : row + 1])[0]
        return self._measured(origin, math.inf, np.flatnonzero(among))[0]


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
