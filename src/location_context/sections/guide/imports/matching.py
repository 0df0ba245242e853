"""Matching: finds rows of the same restaurant, and keeps restaurants' ids in new versions.

Rows are duplicates if they have the same `url` (the restaurant's page in the data's source). They
are also duplicates if they have nearly the same name, and either the same street address or a
distance of at most 80 m. The same address alone is not enough: many houses have several
restaurants. Names are nearly the same if they differ only in case, accents, punctuation, a leading
or trailing "Restaurant", or (from eight letters on) in one typo, but never in a digit. Only the
first 100 rows at a street address, or in a grid cell of 80 m, are compared with later rows: a file
with all rows at one point would otherwise have too many pairs.

A restaurant's id is a hash of data that seldom change: the dataset's own id, else the `url`, else
name and city. If such data changed, the restaurant gets the id of a restaurant in the former
version that has nearly the same name and is within 80 m.
"""

import base64
import hashlib
import itertools
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

import msgspec

from location_context.point import EARTH_RADIUS_KM
from location_context.sections.guide.records import TIERS, Restaurant
from location_context.sections.guide.restaurant_index import Vector, unit_vector

_SAME_PLACE = 2 * math.sin(0.08 / 2 / EARTH_RADIUS_KM)  # 80 m between two unit vectors
MAX_AT_ONE_PLACE = 100  # rows compared with each later row; a shopping centre has fewer
_MIN_LETTERS_FOR_A_TYPO = 8
_GENERIC_WORDS = {"restaurant", "ristorante", "restaurante", "restoran", "the"}
_NEIGHBOURS = tuple(itertools.product((-1, 0, 1), repeat=3))


class SpatialGrid:
    """A store of numbered points, to find those within 80 m of a position.

    Space is divided into cubes with sides of 80 m, so that only a point's cube and its 26
    neighbours are searched. (Cells of latitude and longitude would narrow towards the poles.) A
    cube stores only its first `MAX_AT_ONE_PLACE` points.
    """

    def __init__(self) -> None:
        self._cubes: defaultdict[tuple[int, ...], list[tuple[int, Vector]]] = defaultdict(list)

    def add(self, lat: float, lng: float, number: int) -> list[int]:
        """Add a point under `number`; return the numbers of earlier points within 80 m."""
        found = self.near(lat, lng)
        vector = unit_vector(lat, lng)
        cube = self._cubes[_cube(vector)]
        if len(cube) < MAX_AT_ONE_PLACE:
            cube.append((number, vector))
        return found

    def near(self, lat: float, lng: float) -> list[int]:
        """Return the numbers of the stored points within 80 m of a position."""
        vector = unit_vector(lat, lng)
        x, y, z = _cube(vector)
        return [
            number
            for dx, dy, dz in _NEIGHBOURS
            for number, other in self._cubes.get((x + dx, y + dy, z + dz), ())
            if math.dist(vector, other) <= _SAME_PLACE
        ]


def _cube(vector: Vector) -> tuple[int, ...]:
    return tuple(math.floor(part / _SAME_PLACE) for part in vector)


def page_key(restaurant: Restaurant) -> str | None:
    """Return a key for the restaurant's page in the data's source; None without such a page.

    The key is the page's URL without scheme, `www.`, query and final slash. A URL without a path
    leads to a whole site, not to a restaurant's page.
    """
    if not restaurant.url:
        return None
    parts = urlsplit(restaurant.url)
    host = (parts.hostname or "").removeprefix("www.")
    path = parts.path.rstrip("/")
    return f"{host}{path}".casefold() if path else None


def fold(text: str) -> str:
    """Return a name's letters and digits only, in lower case and without accents.

    Generic words such as "Restaurant" at the beginning or end are removed.
    """
    decomposed = unicodedata.normalize("NFKD", text.replace("&", " and ")).casefold()
    letters = "".join(c for c in decomposed if not unicodedata.combining(c))
    words = re.findall(r"[^\W_]+", letters)
    while len(words) > 1 and words[0] in _GENERIC_WORDS:
        words = words[1:]
    while len(words) > 1 and words[-1] in _GENERIC_WORDS:
        words = words[:-1]
    return "".join(words) or text.strip().casefold()


def nearly_same(one: str, other: str) -> bool:
    """Return True if two names, prepared by `fold`, are equal or differ only by one typo.

    Names shorter than eight letters must be equal. Digits must always be equal.
    """
    if one == other:
        return True
    shorter, difference = min(len(one), len(other)), abs(len(one) - len(other))
    if shorter < _MIN_LETTERS_FOR_A_TYPO or difference > 1:
        return False
    return re.findall(r"\d", one) == re.findall(r"\d", other) and _is_typo(one, other)


def _is_typo(one: str, other: str) -> bool:
    """Return True if names differ by one changed, added or missing letter, or two swapped ones."""
    start = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if start is None:
        return True  # one name has one more letter at its end
    a, b = one[start:], other[start:]
    changed = a[1:] == b[1:] or a[1:] == b or a == b[1:]
    return changed or (a[:2] == b[1::-1] and a[2:] == b[2:])


def group_duplicates(restaurants: Sequence[Restaurant]) -> list[list[int]]:
    """Return a list of row indexes for each restaurant; the lists are in order of first index."""
    parent = list(range(len(restaurants)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for a, b in _duplicate_pairs(restaurants):
        first, second = sorted((root(a), root(b)))
        parent[second] = first
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for index in range(len(restaurants)):
        groups[root(index)].append(index)
    return list(groups.values())


def _duplicate_pairs(restaurants: Sequence[Restaurant]) -> Iterator[tuple[int, int]]:
    pages: dict[str, int] = {}
    addresses: defaultdict[str, list[int]] = defaultdict(list)
    grid = SpatialGrid()
    names = [fold(restaurant.name) for restaurant in restaurants]
    for index, restaurant in enumerate(restaurants):
        if key := page_key(restaurant):
            yield pages.setdefault(key, index), index
        candidates = grid.add(restaurant.lat, restaurant.lng, index)
        if restaurant.address:
            same_address = addresses[fold(restaurant.address)]
            candidates = [*candidates, *same_address]
            if len(same_address) < MAX_AT_ONE_PLACE:
                same_address.append(index)
        for other in candidates:
            if nearly_same(names[other], names[index]):
                yield other, index


def merge(group: Sequence[Restaurant]) -> Restaurant:
    """Merge duplicate rows of a restaurant into one record.

    The row with the newest award is used; if several are equally new, the one with the highest
    tier. The other rows fill its missing values. The record's id is the first that a row states.
    """
    best, *others = sorted(group, key=lambda r: (-(r.award_year or 0), TIERS.index(r.tier)))
    gaps = {
        field: value
        for other in reversed(others)
        for field, value in msgspec.structs.asdict(other).items()
        if value and not getattr(best, field)
    }
    own_id = next((one.id for one in group if one.id), "")
    return msgspec.structs.replace(best, **gaps | {"id": own_id})


def assign_ids(restaurants: Sequence[Restaurant], former: Sequence[Restaurant]) -> list[Restaurant]:
    """Return the restaurants with their final ids.

    A restaurant that was in the former version of the guide keeps its id.
    """
    ids = [_hash(key) for key in _identity_keys(restaurants)]
    known, used, grid = {r.id for r in former}, set(ids), SpatialGrid()
    free = {number: r for number, r in enumerate(former) if r.id not in used}
    names = {number: fold(r.name) for number, r in free.items()}
    for number, restaurant in free.items():
        grid.add(restaurant.lat, restaurant.lng, number)

    def inherited(restaurant: Restaurant) -> str | None:
        name = fold(restaurant.name)
        for number in grid.near(restaurant.lat, restaurant.lng):
            if number in free and nearly_same(names[number], name):
                return free.pop(number).id
        return None

    return [
        msgspec.structs.replace(r, id=(None if i in known else inherited(r)) or i)
        for r, i in zip(restaurants, ids, strict=True)
    ]


def _identity_keys(restaurants: Sequence[Restaurant]) -> list[str]:
    keys = []
    for restaurant in restaurants:
        page = page_key(restaurant)
        place = fold(restaurant.city or restaurant.country or "")
        by_name = f"at:{fold(restaurant.name)}|{place}"
        keys.append(
            (restaurant.id and f"id:{restaurant.id}") or (page and f"page:{page}") or by_name
        )
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


def _hash(key: str) -> str:
    digest = hashlib.blake2b(key.encode(), digest_size=10).digest()
    return base64.b32encode(digest).decode().lower()
