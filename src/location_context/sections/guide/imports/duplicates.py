"""Duplicates: rows that are one restaurant become one.

They are when they have the same page at the provider, or nearly the same name either at the same
street address or within 80 m. A street address alone never says so: many houses hold several
restaurants. Names are nearly the same when they differ in case, accents, signs, a leading or
trailing "Restaurant", or one letter among at least eight, but never in a digit.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from location_context.sections.guide.imports.nearby import Nearby
from location_context.sections.guide.records import TIERS, Restaurant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SAME_PLACE_KM = 0.08
_LETTERS_FOR_A_SLIP = 8
_GENERIC = {"restaurant", "ristorante", "restaurante", "restoran", "the"}


def page(restaurant: Restaurant) -> str | None:
    """The page at the provider in one form: no scheme, `www.`, query or trailing slash."""
    if not restaurant.url:
        return None
    parts = urlsplit(restaurant.url)
    host = (parts.hostname or "").removeprefix("www.")
    path = parts.path.rstrip("/")
    return f"{host}{path}".casefold() if path else None


def folded(text: str) -> str:
    """Letters and digits alone, without accents and case, generic words and spaces."""
    plain = unicodedata.normalize("NFKD", text.replace("&", " and ")).casefold()
    words = re.findall(r"[^\W_]+", "".join(c for c in plain if not unicodedata.combining(c)))
    own = list(words)
    while len(own) > 1 and own[0] in _GENERIC:
        own = own[1:]
    while len(own) > 1 and own[-1] in _GENERIC:
        own = own[:-1]
    return "".join(own) or text.strip().casefold()


def nearly_same(one: str, other: str) -> bool:
    """Whether two folded names are the same but for one slip in a long one."""
    if one == other:
        return True
    if min(len(one), len(other)) < _LETTERS_FOR_A_SLIP or abs(len(one) - len(other)) > 1:
        return False
    if re.findall(r"\d", one) != re.findall(r"\d", other):
        return False
    return _one_slip(one, other)


def _one_slip(one: str, other: str) -> bool:
    """One letter changed, added, left out, or two neighbours changed about."""
    start = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if start is None:
        return True  # one has a letter more at its end
    a, b = one[start:], other[start:]
    changed = a[1:] == b[1:] or a[1:] == b or a == b[1:]
    return changed or (a[:2] == b[1::-1] and a[2:] == b[2:])


def groups(restaurants: Sequence[Restaurant]) -> list[list[int]]:
    """The rows that are one restaurant, by index, in the order of their first rows."""
    parent = list(range(len(restaurants)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for a, b in _pairs(restaurants):
        first, second = sorted((root(a), root(b)))
        parent[second] = first
    together: defaultdict[int, list[int]] = defaultdict(list)
    for index in range(len(restaurants)):
        together[root(index)].append(index)
    return list(together.values())


def _pairs(restaurants: Sequence[Restaurant]) -> Iterator[tuple[int, int]]:
    pages: dict[str, int] = {}
    addresses: defaultdict[str, list[int]] = defaultdict(list)
    nearby = Nearby(SAME_PLACE_KM)
    names = [folded(restaurant.name) for restaurant in restaurants]
    for index, restaurant in enumerate(restaurants):
        if key := page(restaurant):
            yield pages.setdefault(key, index), index
        close = nearby.add(restaurant.lat, restaurant.lng, index)
        if restaurant.address:
            there = addresses[folded(restaurant.address)]
            close = [*close, *there]
            there.append(index)
        yield from ((other, index) for other in close if nearly_same(names[other], names[index]))


def merged(group: Sequence[Restaurant]) -> Restaurant:
    """One record of several: of the newest award, then the highest tier; gaps filled in."""
    best, *others = sorted(group, key=lambda r: (-(r.award_year or 0), TIERS.index(r.tier)))
    gaps = {
        field: value
        for other in reversed(others)
        for field, value in msgspec.structs.asdict(other).items()
        if value and not getattr(best, field)
    }
    return msgspec.structs.replace(best, **gaps)
