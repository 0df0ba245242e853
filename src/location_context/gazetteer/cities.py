"""Cities: a table of GeoNames' places of over 1,000 people, searched by distance and by name.

Distances are those of straight lines through the Earth (chords): faster to compute than distances
along the surface, and in the same order. A search text matches names that begin with it; accents
and case are ignored. Cities of over 50,000 people are also found by alternate names, such as those
in other languages.
"""

import math
import unicodedata
from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from location_context.point import EARTH_RADIUS_KM

FILE = Path(__file__).with_name("cities.npy")  # ./scripts/generate cities writes it
PEOPLE_PER_KM2 = 3_000
_TRANSLITERATION = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"} | dict.fromkeys("-'’", " ")
)
_UNIT = 1e-5  # degrees; GeoNames' coordinates have five decimals
_NEAREST_KM = (20.0, 200.0, 800.0, 3_000.0, 21_000.0)  # radii searched in turn, up to all of Earth
_REGION_KM = 100.0  # radius searched first; the whole country only if needed
Rows = NDArray[np.int32]


class City(msgspec.Struct, frozen=True, kw_only=True):
    """A city; `country` is an ISO 3166-1 alpha-2 code, `region` an ISO 3166-2 code if known."""

    name: str
    country: str
    region: str | None
    lat: float
    lng: float
    population: int
    timezone: str


class Cities:
    """The table of cities. Processes share one copy in memory, since its file is memory-mapped.

    Each row is a city. Rows are sorted by country; `by_lat` lists row numbers from south to north.
    All names are concatenated, and name n ends at `name_ends[n]`. A key is a name in the form that
    `search_key` returns; the sorted keys are concatenated too. `key_cities` has the row number of
    each key's city. If the key is an alternate name, the bits of this number are inverted (`~`).
    """

    def __init__(self) -> None:
        """Read the table from `FILE`: a single record, in which each field is a whole column."""
        table = np.load(FILE, mmap_mode="r")
        column = {name: np.asarray(table[name][0]) for name in table.dtype.names or ()}
        self._lat, self._lng, self._by_lat = column["lat"], column["lng"], column["by_lat"]
        self._populations, self._countries = column["population"], column["country"]
        self._regions_of, self._zones_of = column["region"], column["zone"]
        self._regions: list[str | None] = [name.decode() or None for name in column["regions"]]
        self._zones: list[str] = [name.decode() for name in column["zones"]]
        self._names, self._name_ends = column["names"], column["name_ends"]
        self._keys, self._key_ends = column["keys"], column["key_ends"]
        self._key_cities = column["key_cities"]
        self._widest = float(_radius(self._populations.max()))

    def nearest(self, lat: float, lng: float) -> City | None:
        """Return the city nearest to the point, in any country; None only if the table is empty."""
        for km in _NEAREST_KM:
            rows = self._box(lat, lng, km)
            distances = self._distances(rows, lat, lng)
            if rows.size and distances.min() < km:
                return self._city(int(rows[np.argmin(distances)]))
        return None

    def around(self, lat: float, lng: float) -> City | None:
        """Return the most populous city whose built-up area contains the point, or None.

        The built-up area is estimated as a disc: its area is the city's population divided by 3,000
        per km², and 1 km is added to the radius. So a point in a district of Paris returns Paris. A
        point in a village outside this disc returns the village, if it is in the table of cities.
        """
        rows = self._box(lat, lng, self._widest)
        populations = self._populations[rows]
        inside = self._distances(rows, lat, lng) < _radius(populations)
        if not inside.any():
            return None
        return self._city(int(rows[np.argmax(np.where(inside, populations, -1))]))

    def regions(self, lat: float, lng: float, country: str) -> tuple[str, ...]:
        """Return the regions (ISO 3166-2) that may contain the point, the nearest first.

        Outlines of regions are not stored, so the cities of `country` decide. If the nearest city
        is d km away, the result has the regions of all cities within 1.6 d + 1 km. The result is
        empty if the region of any of these cities is unknown.
        """
        first = bisect_left(self._countries, country.encode())
        last = bisect_right(self._countries, country.encode())
        if not self._regions_of[first:last].any():
            return ()
        rows = self._box(lat, lng, _REGION_KM)
        rows = rows[(rows >= first) & (rows < last)]
        distances = self._distances(rows, lat, lng)
        if not rows.size or distances.min() * 1.6 + 1 >= _REGION_KM:
            rows = np.arange(first, last, dtype=np.int32)
            distances = self._distances(rows, lat, lng)
        order = np.argsort(distances, kind="stable")
        near = order[distances[order] <= distances.min() * 1.6 + 1]
        names = dict.fromkeys(self._regions[region] for region in self._regions_of[rows[near]])
        return () if None in names else tuple(name for name in names if name)

    def _box(self, lat: float, lng: float, km: float) -> Rows:
        """Return the sorted row numbers of the cities in a box around the point.

        The box contains all cities within `km`, and in its corners some that are farther away.
        """
        reach = math.degrees(km / EARTH_RADIUS_KM) + 0.01  # a margin for rounding errors
        south, north = (
            bisect_left(self._by_lat, (lat + side * reach) / _UNIT, key=self._lat.__getitem__)
            for side in (-1, 1)
        )
        rows = self._by_lat[south:north]
        if abs(lat) + reach < 90:  # else the circle contains a pole and touches all meridians
            ratio = math.sin(math.radians(reach)) / math.cos(math.radians(lat))
            width = math.degrees(math.asin(ratio))
            east_of_edge = (self._lng[rows] - (lng - width) / _UNIT) % (360 / _UNIT)
            rows = rows[east_of_edge < 2 * width / _UNIT]
        return np.sort(rows)

    def _distances(self, rows: Rows, lat: float, lng: float) -> NDArray[np.float32]:
        """Return the straight-line distance in km from the point to the city in each row."""
        vectors = _vectors(self._lat[rows] / 1e5, self._lng[rows] / 1e5)
        difference = vectors - _vectors(np.array([lat]), np.array([lng]))
        chords: NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
        return chords * np.float32(EARTH_RADIUS_KM)

    def search(self, text: str, limit: int, *, whole: bool = False) -> list[City]:
        """Return cities with a name that begins with `text`, the most populous first.

        If `whole`, the name must equal `text`: "Como" does not match Comodoro Rivadavia. If
        `text` is only the beginning of an alternate name, the city is ranked as if it had a
        twentieth of its people. Without this rule, "new york" would return Jakarta ("New York van
        Java") before New York Mills.
        """
        prefix = search_key(text).encode()
        if not prefix:
            return []
        count = range(len(self._key_ends))
        first = bisect_left(count, prefix, key=self._key)
        # UTF-8 never contains the byte 0xff
        exact, last = (
            bisect_left(count, prefix + end, first, key=self._key) for end in (b"\0", b"\xff")
        )
        found = self._key_cities[first : exact if whole else last]
        full = found >= 0
        full[: exact - first] = True
        rows, firsts, inverse = np.unique(
            np.where(found < 0, ~found, found), return_index=True, return_inverse=True
        )
        shares = np.full(len(rows), 0.05)
        shares[inverse[full]] = 1.0
        ranked = np.lexsort((firsts, -self._populations[rows] * shares))
        return [self._city(int(rows[i])) for i in ranked[:limit]]

    def _key(self, number: int) -> bytes:
        return _piece(self._keys, self._key_ends, number)

    def _city(self, row: int) -> City:
        return City(
            name=_piece(self._names, self._name_ends, row).decode(),
            country=self._countries[row].decode(),
            region=self._regions[self._regions_of[row]],
            lat=float(self._lat[row] / 1e5),
            lng=float(self._lng[row] / 1e5),
            population=int(self._populations[row]),
            timezone=self._zones[self._zones_of[row]],
        )


def search_key(text: str) -> str:
    """Return a name in the form that searches compare.

    The form is lower case without accents, with spaces in place of hyphens and apostrophes.
    """
    plain = text.casefold().translate(_TRANSLITERATION)
    if not plain.isascii():
        decomposed = unicodedata.normalize("NFKD", plain)
        plain = "".join(c for c in decomposed if not unicodedata.combining(c))
    return " ".join(plain.split())


def _piece(text: NDArray[np.uint8], ends: NDArray[np.uint32], number: int) -> bytes:
    begin = ends[number - 1] if number else 0
    return text[begin : ends[number]].tobytes()


def _radius(population: Any) -> Any:
    """Return the estimated radius in km of a city's built-up area.

    `population` is a number, or an array of numbers for several cities.
    """
    return np.sqrt(population / (math.pi * PEOPLE_PER_KM2)) + 1.0


def _vectors(lats: NDArray[np.float64], lngs: NDArray[np.float64]) -> NDArray[np.float32]:
    phi, turn = np.radians(lats), np.radians(lngs)
    flat = np.cos(phi)
    parts = [flat * np.cos(turn), flat * np.sin(turn), np.sin(phi)]
    return np.column_stack(parts).astype(np.float32)
