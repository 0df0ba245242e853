"""Identity: ids that survive a new import.

An id is a hash of what stays: the dataset's own id, else the page at the provider, else name and
city. Where those changed, a restaurant of the former version with nearly the same name within 80 m
hands its id on.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from location_context.sections.guide.imports.duplicates import (
    SAME_PLACE_KM,
    folded,
    nearly_same,
    page,
)
from location_context.sections.guide.imports.nearby import Nearby

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.sections.guide.records import Restaurant


def with_ids(
    restaurants: Sequence[Restaurant], own: Sequence[str], former: Sequence[Restaurant]
) -> list[Restaurant]:
    """The restaurants with their ids; `own` holds the dataset's own ids, "" where it has none."""
    ids = [_hashed(key) for key in _keys(restaurants, own)]
    known, used = {r.id for r in former}, set(ids)
    heirs = _Heirs([r for r in former if r.id not in used])  # an id in use is not handed on
    return [
        msgspec.structs.replace(r, id=(None if i in known else heirs.take(r)) or i)
        for r, i in zip(restaurants, ids, strict=True)
    ]


def _keys(restaurants: Sequence[Restaurant], own: Sequence[str]) -> list[str]:
    keys = []
    for restaurant, given in zip(restaurants, own, strict=True):
        address = page(restaurant)
        place = (
            f"at:{folded(restaurant.name)}|{folded(restaurant.city or restaurant.country or '')}"
        )
        keys.append((given and f"id:{given}") or (address and f"page:{address}") or place)
    counts = Counter(keys)
    exact = [
        key if counts[key] == 1 else f"{key}|{r.lat:.3f},{r.lng:.3f}"
        for key, r in zip(keys, restaurants, strict=True)
    ]
    seen: Counter[str] = Counter()
    for n, key in enumerate(exact):
        if seen[key]:
            exact[n] = f"{key}|{seen[key]}"
        seen[key] += 1
    return exact


def _hashed(key: str) -> str:
    digest = hashlib.blake2b(key.encode(), digest_size=10).digest()
    return base64.b32encode(digest).decode().lower()


class _Heirs:
    """Former restaurants whose ids may be handed on, each once."""

    def __init__(self, former: Sequence[Restaurant]) -> None:
        self._former = list(former)
        self._names = [folded(r.name) for r in former]
        self._nearby = Nearby(SAME_PLACE_KM)
        self._taken: set[int] = set()
        for index, restaurant in enumerate(former):
            self._nearby.add(restaurant.lat, restaurant.lng, index)

    def take(self, restaurant: Restaurant) -> str | None:
        name = folded(restaurant.name)
        for index in self._nearby.near(restaurant.lat, restaurant.lng):
            if index not in self._taken and nearly_same(self._names[index], name):
                self._taken.add(index)
                return self._former[index].id
        return None
