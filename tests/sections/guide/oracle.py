"""The guide's answer written anew, from the contract alone: slow, with the haversine formula."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from location_context.sections.guide.records import Restaurant
from location_context.sections.guide.restaurant_index import TierFound

RANKS = ["three_star", "two_star", "one_star", "good_value", "selected"]


@dataclass(frozen=True)
class Expected:
    """Per tier: its count, the ids inside in order, and the nearest beyond when there is none."""

    counts: list[int]
    ids: list[str]
    beyond: list[str | None]


class BruteForce:
    """All restaurants, each looked at for every question."""

    def __init__(self, restaurants: Sequence[Restaurant]) -> None:
        self._of = [[one for one in restaurants if one.tier == tier] for tier in RANKS]
        self._at = [np.radians([(one.lat, one.lng) for one in of] or [(0, 0)]) for of in self._of]

    def expected(self, lat: float, lng: float, radii: Sequence[float]) -> Expected:
        counts: list[int] = []
        ids: list[str] = []
        beyond: list[str | None] = []
        for of, at, radius in zip(self._of, self._at, radii, strict=True):
            far = zip(np.round(distances(lat, lng, at), 6).tolist(), of, strict=False)
            ranked = sorted((km, one.id) for km, one in far)
            inside = [place for place in ranked if place[0] <= radius]
            counts.append(len(inside))
            ids += [place[1] for place in inside]
            beyond.append(ranked[0][1] if ranked and not inside else None)
        return Expected(counts, ids[:50], beyond)


def distances(lat: float, lng: float, to: np.ndarray) -> np.ndarray:
    """Kilometres by the haversine formula."""
    phi, theta = np.radians(lat), np.radians(lng)
    square = np.sin((to[:, 0] - phi) / 2) ** 2
    square += np.cos(phi) * np.cos(to[:, 0]) * np.sin((to[:, 1] - theta) / 2) ** 2
    return 2 * 6371.0088 * np.arcsin(np.sqrt(np.minimum(square, 1.0)))


def as_expected(answer: Sequence[TierFound]) -> Expected:
    """What the index answered, in the same form."""
    return Expected(
        [tier.inside_radius for tier in answer],
        [one.id for tier in answer for _, one in tier.inside],
        [tier.nearest_beyond and tier.nearest_beyond[1].id for tier in answer],
    )
