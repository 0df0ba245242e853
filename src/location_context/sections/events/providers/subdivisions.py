"""Subdivisions of countries: their ISO 3166-2 codes, places and holidays.

The library `holidays` names most subdivisions by the suffix of their ISO code. A city with holidays
of its own is described by a circle. Left out are subdivisions with neither code nor circle (the
west of New South Wales), and those that have a country code of their own (Puerto Rico).
Where school holidays differ by province, a map has the province of each point. The tables are in
`subdivisions.toml`.
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from location_context.point import Point, distance_km

_CELL_HEIGHT, _CELL_WIDTH = 0.05, 0.075  # degrees


class City(msgspec.Struct, frozen=True):
    """A city as a circle: centre, radius in km, and the key of the subdivision around it."""

    lat: float
    lng: float
    radius: float
    surroundings: str

    def contains(self, point: Point) -> bool:
        return distance_km(point.lat, point.lng, self.lat, self.lng) <= self.radius


class _Area(msgspec.Struct, frozen=True):
    south: float
    north: float
    west: float
    east: float

    def contains(self, point: Point) -> bool:
        return self.south < point.lat < self.north and self.west < point.lng < self.east


class ProvinceMap(msgspec.Struct, frozen=True):
    """A map of provinces, as a grid of cells of 0.05° latitude and 0.075° longitude.

    `cells` has a line of text for each row of cells, from latitude `north` southwards, and in it a
    character for each cell, from longitude `west` eastwards. `codes` has the ISO 3166-2 code for
    each character but `.` (no province). `region` is the code of the region of all provinces; it is
    empty if they belong to several regions: a province's code then begins with its region's code.
    """

    north: float
    west: float
    region: str
    cells: str
    codes: dict[str, str]

    def province_at(self, point: Point) -> str | None:
        """Return the ISO 3166-2 code of the province at the point; None if outside the map."""
        rows = self.cells.splitlines()
        row = math.floor((self.north - point.lat) / _CELL_HEIGHT)
        column = math.floor((point.lng - self.west) / _CELL_WIDTH)
        cells = rows[row] if 0 <= row < len(rows) else ""
        return self.codes.get(cells[column]) if 0 <= column < len(cells) else None

    def region_of(self, province: str) -> str:
        return self.region or province[: len("CZ-20")]


class _Tables(msgspec.Struct, frozen=True):
    """The tables in `subdivisions.toml`, which describes each in a comment."""

    separate_countries: dict[str, list[str]]
    iso_codes: dict[str, str]
    parents: dict[str, str]
    cities: dict[str, dict[str, City]]
    catholic_areas: dict[str, list[_Area]]
    protestant_areas: list[_Area]
    unmapped_provinces: dict[str, list[str]]
    province_maps: dict[str, ProvinceMap]

    def provinces_by_region(self) -> dict[str, frozenset[str]]:
        found = {region: set(codes) for region, codes in self.unmapped_provinces.items()}
        for province_map in self.province_maps.values():
            for code in province_map.codes.values():
                found.setdefault(province_map.region_of(code), set()).add(code)
        return {region: frozenset(codes) for region, codes in found.items()}


_TABLES = msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=_Tables)
PROVINCE_MAPS = _TABLES.province_maps
PROVINCES_BY_REGION = _TABLES.provinces_by_region()


def iso_3166_2(country: str, key: str) -> str | None:
    """Return the ISO 3166-2 code of a subdivision, by its key in the library `holidays`.

    Return None for cities, countries and areas without a code.
    """
    if key in cities_of(country) or key in _TABLES.separate_countries.get(country, ()):
        return None
    return _TABLES.iso_codes.get(f"{country} {key}", f"{country}-{key}") or None


def cities_of(country: str) -> Mapping[str, City]:
    """Return the cities that have holidays of their own, by key in the library `holidays`."""
    return _TABLES.cities.get(country, {})


def observes_catholic_holidays(point: Point, regions: Iterable[str]) -> bool:
    """Return True if the point observes a holiday that only Catholic municipalities have.

    `regions` are the German states in which these municipalities are. In Saxony and Thuringia, only
    the `catholic_areas` have the holiday (Corpus Christi). In Bavaria, all but the
    `protestant_areas` (parts of Franconia) have it (Assumption Day).
    """
    catholic = [area for one in regions for area in _TABLES.catholic_areas.get(one, ())]
    if catholic:
        return any(area.contains(point) for area in catholic)
    return not any(area.contains(point) for area in _TABLES.protestant_areas)


def collapse_provinces(codes: Iterable[str]) -> tuple[str, ...]:
    """Return the codes, sorted; a region's code replaces its provinces if all of them are there."""
    found = set(codes)
    for region, provinces in PROVINCES_BY_REGION.items():
        if provinces <= found:
            found = (found - provinces) | {region}
    return tuple(sorted(found))


def province_of(point: Point) -> str | None:
    """Return the ISO 3166-2 code of the province at the point.

    Return None if the point is on no map. Also return None if the province on the map is not in the
    point's region (from the gazetteer): a map is coarse near borders.
    """
    province_map = PROVINCE_MAPS.get(point.country or "")
    province = province_map.province_at(point) if province_map else None
    if province_map is None or province is None:
        return None
    regions = _regions_of(point)
    return province if not regions or province_map.region_of(province) in regions else None


def is_observed_at(regions: tuple[str, ...], point: Point) -> bool | None:
    """Return True if an event that only these regions observe is observed at the point.

    If `regions` is empty, it is observed everywhere. Return None if the answer depends on the
    point's region or province and this is uncertain.
    """
    if not regions:
        return True
    province = province_of(point)
    if province in regions:
        return True
    possible = _regions_of(point)
    if province is not None:
        possible = (PROVINCE_MAPS[province[:2]].region_of(province),)
    found = {_is_observed_in(region, province, regions) for region in possible}
    return found.pop() if len(found) == 1 else None


def _regions_of(point: Point) -> tuple[str, ...]:
    return (point.region,) if point.region else point.possible_regions


def _is_observed_in(region: str, province: str | None, regions: tuple[str, ...]) -> bool | None:
    if region in regions or _TABLES.parents.get(region) in regions:
        return True
    by_province = not PROVINCES_BY_REGION.get(region, frozenset()).isdisjoint(regions)
    return None if by_province and province is None else False
