"""An index in memory: the restaurants of each tier as unit vectors, sorted by id.

A query first computes the cosine of the angle between its point and every restaurant. For large
cosines (near restaurants) it then computes the distance, from the length of the straight line
(chord) between the two unit vectors; this is exact to a millimetre. Unit vectors need no special
cases at the antimeridian and the poles. Restaurants at the same distance, to the millimetre, are
ordered by id. docs/decisions/places.md has the measurements.
"""

import math
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from location_context.point import EARTH_RADIUS_KM
from location_context.sections.guide.records import TIERS, Restaurant, Tier

_TOLERANCE = 2e-10  # of cosines, which are inexact; restaurants that pass are then measured
_MILLIMETRES = 2e6 * EARTH_RADIUS_KM  # the Earth's diameter

Cosines = NDArray[np.float64]
Vector = tuple[float, float, float]
Found = tuple[float, Restaurant]  # distance in km, to the millimetre


class TierFound(NamedTuple):
    """The result for a tier: the restaurants inside its radius, or else the nearest beyond it.

    `inside_radius` is the number of all restaurants inside the radius. `inside` has only the
    nearest of them, up to the limit of the query.
    """

    tier: Tier
    inside_radius: int
    inside: list[Found]
    nearest_beyond: Found | None


class RestaurantIndex:
    """An index to find the restaurants of one version of a guide by distance."""

    def __init__(self, restaurants: Sequence[Restaurant]) -> None:
        self.size = len(restaurants)
        self._restaurants = sorted(restaurants, key=lambda one: (TIERS.index(one.tier), one.id))
        self._vectors = [unit_vector(one.lat, one.lng) for one in self._restaurants]
        self._array = np.array(self._vectors, np.float64).reshape(-1, 3)
        counts = Counter(one.tier for one in restaurants)
        self._counts = [counts[tier] for tier in TIERS]

    def query(
        self, lat: float, lng: float, radii: Sequence[float], limit: int = 50
    ) -> list[TierFound]:
        """Return the result of every tier, highest tier first.

        `radii` are in km, one for each tier; a restaurant at exactly the radius is inside. At most
        `limit` restaurants are returned in all tiers together.
        """
        origin, first, answer = unit_vector(lat, lng), 0, []
        cosines = self._array @ np.array(origin)
        for tier, count, radius in zip(TIERS, self._counts, radii, strict=True):
            of_tier = cosines[first : first + count]
            least = math.cos(min(radius / EARTH_RADIUS_KM, math.pi))
            near = self._measured(first, of_tier, least, origin)
            inside, beyond = [one for one in near if one[0] <= radius], None
            if count and not inside:
                beyond = self._measured(first, of_tier, of_tier[of_tier.argmax()], origin)[0]
            answer.append(TierFound(tier, len(inside), inside[:limit], beyond))
            limit -= len(answer[-1].inside)
            first += count
        return answer

    def _measured(self, first: int, cosines: Cosines, least: float, origin: Vector) -> list[Found]:
        """Return the restaurants whose cosine is at least `least`, nearest first.

        `cosines` has the cosine of the angle between `origin` and each restaurant of one tier.
        `first` is the index of the tier's first restaurant in the whole index.
        """
        found = []
        for row in (cosines >= least - _TOLERANCE).nonzero()[0].tolist():
            half = min(math.dist(self._vectors[first + row], origin) / 2, 1.0)
            km = int(_MILLIMETRES * math.asin(half) + 0.5) / 1e6
            found.append((km, self._restaurants[first + row]))
        return sorted(found, key=itemgetter(0))


def unit_vector(lat: float, lng: float) -> Vector:
    """Return the direction from the Earth's centre to a point, as a vector of length 1."""
    phi, theta = math.radians(lat), math.radians(lng)
    level = math.cos(phi)
    return level * math.cos(theta), level * math.sin(theta), math.sin(phi)
