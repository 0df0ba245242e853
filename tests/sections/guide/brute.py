"""The guide's answer written anew, from the contract alone: slow, with the haversine formula."""

from __future__ import annotations

from dataclasses import dataclass
from math import asin, cos, radians, sin, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.sections.guide.catalogue import TierFound
    from location_context.sections.guide.records import Restaurant

RANKS = ["three_star", "two_star", "one_star", "good_value", "selected"]


@dataclass(frozen=True)
class Expected:
    """Per tier: its count, the ids inside in order, and the nearest beyond when there is none."""

    counts: list[int]
    ids: list[str]
    beyond: list[str | None]


def distance(lat: float, lng: float, to: Restaurant) -> float:
    north, east = radians(to.lat - lat) / 2, radians(to.lng - lng) / 2
    square = sin(north) ** 2 + cos(radians(lat)) * cos(radians(to.lat)) * sin(east) ** 2
    return 2 * 6371.0088 * asin(min(1.0, sqrt(square)))


def expected(
    restaurants: Sequence[Restaurant], lat: float, lng: float, radii: Sequence[float]
) -> Expected:
    counts: list[int] = []
    ids: list[str] = []
    beyond: list[str | None] = []
    for tier, radius in zip(RANKS, radii, strict=True):
        ranked = sorted(
            (round(distance(lat, lng, r), 6), r.id) for r in restaurants if r.tier == tier
        )
        inside = [place for place in ranked if place[0] <= radius]
        counts.append(len(inside))
        ids += [place[1] for place in inside]
        beyond.append(ranked[0][1] if ranked and not inside else None)
    return Expected(counts, ids[:50], beyond)


def told(answer: Sequence[TierFound]) -> Expected:
    """What the catalogue answered, in the same form."""
    return Expected(
        [tier.inside_radius for tier in answer],
        [one.id for tier in answer for _, _, one in tier.inside],
        [tier.nearest_beyond and tier.nearest_beyond[2].id for tier in answer],
    )
