"""The catalogue in memory: restaurants of each tier by latitude, with unit vectors.

A radius bounds the difference of latitude, so that two bisections cut a tier to a band; the cosine
of the radius cuts the band to the hits. Unit vectors know no antimeridian and no pole, so nothing
is special there. Distances come from the chord, which is exact to a millimetre at any distance;
those equal to the millimetre are ordered by id.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from location_context.point import EARTH_RADIUS_KM
from location_context.sections.guide.records import TIERS, Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.sections.guide.records import Restaurant

_SLACK = 1e-12  # over the rounding of a cosine; what passes is measured exactly afterwards

Vectors = NDArray[np.float64]
Rows = NDArray[np.int64]


class Found(NamedTuple):
    """A restaurant and its distance in km."""

    restaurant: Restaurant
    distance: float


@dataclass(frozen=True, slots=True)
class TierFound:
    """One tier's answer: how many are inside, the first of them, else the nearest of all."""

    tier: Tier
    count: int
    inside: list[Found]
    nearest_beyond: Found | None


class Catalogue:
    """All restaurants of one version, ready to be asked."""

    def __init__(self, restaurants: Sequence[Restaurant]) -> None:
        self.size = len(restaurants)
        by_tier: dict[Tier, list[Restaurant]] = {tier: [] for tier in TIERS}
        for restaurant in sorted(restaurants, key=lambda r: r.id):
            by_tier[restaurant.tier].append(restaurant)
        self._bands = [_Band(tier, rows) for tier, rows in by_tier.items()]

    def query(
        self, lat: float, lng: float, radii: Sequence[float], limit: int = 50
    ) -> list[TierFound]:
        """Every tier in rank order; all of them together hold at most `limit` restaurants.

        `radii` are in km, one for each tier; a restaurant at exactly the radius is inside.
        """
        phi, theta = math.radians(lat), math.radians(lng)
        cos_phi = math.cos(phi)
        here = np.array(
            (cos_phi * math.cos(theta), cos_phi * math.sin(theta), math.sin(phi)), dtype=np.float64
        )
        answer = []
        for band, radius in zip(self._bands, radii, strict=True):
            found = band.query(phi, here, radius, limit)
            limit -= len(found.inside)
            answer.append(found)
        return answer


class _Band:
    """One tier, sorted by latitude. `_id_order` is the place of a row in the order of ids."""

    def __init__(self, tier: Tier, restaurants: Sequence[Restaurant]) -> None:
        phi = np.radians(np.array([r.lat for r in restaurants], dtype=np.float64))
        theta = np.radians(np.array([r.lng for r in restaurants], dtype=np.float64))
        order = np.argsort(phi, kind="stable")
        vectors = np.column_stack(
            (np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi))
        )
        self.tier = tier
        self._restaurants = [restaurants[row] for row in order]
        self._latitudes: list[float] = phi[order].tolist()
        self._vectors: Vectors = np.ascontiguousarray(vectors[order])
        self._id_order: Rows = order

    def query(self, phi: float, here: Vectors, radius: float, limit: int) -> TierFound:
        angle = radius / EARTH_RADIUS_KM
        first = bisect_left(self._latitudes, phi - angle - _SLACK)
        last = bisect_right(self._latitudes, phi + angle + _SLACK)
        if first < last:
            cosines = self._vectors[first:last] @ here
            rows = np.flatnonzero(cosines >= math.cos(min(angle, math.pi)) - _SLACK) + first
            if rows.size and (inside := self._measured(here, rows, radius)):
                found = [Found(self._restaurants[row], km) for km, _, row in inside[:limit]]
                return TierFound(self.tier, len(inside), found, None)
        return TierFound(self.tier, 0, [], self._nearest(here))

    def _nearest(self, here: Vectors) -> Found | None:
        if not self._restaurants:
            return None
        cosines = self._vectors @ here
        rows = np.flatnonzero(cosines >= cosines.max() - _SLACK)
        km, _, row = self._measured(here, rows, math.inf)[0]
        return Found(self._restaurants[row], km)

    def _measured(self, here: Vectors, rows: Rows, radius: float) -> list[tuple[float, int, int]]:
        """(distance to the millimetre, place in the order of ids, row), nearest first."""
        apart = self._vectors[rows] - here
        chords = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        distances = 2 * EARTH_RADIUS_KM * np.arcsin(np.minimum(chords / 2, 1.0))
        measured = zip(
            np.round(distances, 6).tolist(),
            self._id_order[rows].tolist(),
            rows.tolist(),
            strict=True,
        )
        return sorted(row for row in measured if row[0] <= radius)
