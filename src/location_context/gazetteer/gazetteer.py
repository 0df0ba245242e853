"""Gazetteer: time zone, country and region of any point on Earth, and cities by name, offline.

Boundaries of time zones are OpenStreetMap's, packaged by tzfpy. At sea the time zone depends only
on the longitude, and there is no country. Regions are GeoNames' first-level regions as ISO 3166-2
codes, in countries whose holidays differ by region; elsewhere the region is None. Alsace and
Moselle count as regions, since their holidays differ from those of the rest of Grand Est. The
outlines of these two are accurate to about 3 km.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Self

from location_context.gazetteer import zones
from location_context.gazetteer.cities import Cities, City
from location_context.point import Point, canonical, distance_km

__all__ = ["City", "Gazetteer"]

MAX_CACHED_POINTS = 16_384
MAX_CITY_DISTANCE = 25.0  # km; the name of a city farther away is not used for the point
_ALSACE: zones.Outline = (
    (7.64, 49.06), (7.55, 48.97), (7.36, 48.95), (7.24, 49.00), (7.00, 49.02), (6.95, 48.88),
    (7.08, 48.81), (7.29, 48.84), (7.29, 48.66), (7.13, 48.52), (7.08, 48.30), (7.05, 48.10),
    (6.92, 47.85), (7.02, 47.70),
    (7.13, 47.52), (7.14, 47.43), (7.30, 47.38), (7.70, 47.50), (7.70, 48.30), (8.35, 48.95),
    (8.00, 49.10),
)  # fmt: skip
_MOSELLE: zones.Outline = (
    (5.89, 49.51), (5.92, 49.28), (5.86, 49.15), (5.99, 48.97), (6.22, 48.93), (6.37, 48.76),
    (6.66, 48.72), (6.95, 48.55), (7.12, 48.53), (7.29, 48.66), (7.29, 48.84), (7.08, 48.81),
    (6.95, 48.88), (7.00, 49.02), (7.24, 49.00), (7.36, 48.95), (7.55, 48.97),
    (7.65, 49.06), (7.40, 49.22), (6.50, 49.60),
)  # fmt: skip


class Gazetteer:
    """Finds the time zone, country, region and city of a point; recent points are cached."""

    def __init__(self, countries: Mapping[str, str], cities: Cities) -> None:
        self._countries = countries
        self._cities = cities
        self._locate_cached = lru_cache(maxsize=MAX_CACHED_POINTS)(self._locate)

    @classmethod
    def load(cls) -> Self:
        """Return a gazetteer that uses this package's cities, and tzdata's table of countries."""
        return cls(zones.zone_countries(), Cities())

    def point(self, lat: float, lng: float) -> Point:
        """Return a `Point` with its time zone, country, region and city.

        The coordinates of the `Point` are rounded to four decimals.
        """
        return self._locate_cached(*canonical(lat, lng))

    def country(self, lat: float, lng: float) -> str | None:
        """Return the ISO 3166-1 alpha-2 code of the country at these coordinates; None at sea."""
        return self.point(lat, lng).country

    def search(self, text: str, limit: int = 8, *, whole: bool = False) -> list[City]:
        """Return cities whose name begins with `text` or, if `whole`, equals it.

        The most populous city comes first; accents and case are ignored.
        """
        return self._cities.search(text, limit, whole=whole)

    def _locate(self, lat: float, lng: float) -> Point:
        zone = zones.boundary_zone(lat, lng)
        zone, country = zones.correct(lat, lng, zone, self._countries.get(zone))
        near = self._cities.regions(lat, lng, country) if country else ()
        regions = tuple(subregion(region, lat, lng) for region in near)
        region, possible = (regions[0], ()) if len(regions) == 1 else (None, regions)
        return Point(lat, lng, zone, country, region, possible, self._place(lat, lng))

    def _place(self, lat: float, lng: float) -> str | None:
        """Return the name of the city at a point, or None.

        The city is the one whose built-up area contains the point, else the nearest within 25 km.
        """
        if city := self._cities.around(lat, lng):
            return city.name
        city = self._cities.nearest(lat, lng)
        if city and distance_km(lat, lng, city.lat, city.lng) <= MAX_CITY_DISTANCE:
            return city.name
        return None


def subregion(region: str, lat: float, lng: float) -> str:
    """Return the code of Alsace or Moselle if the point is there; otherwise return `region`.

    Alsace and Moselle, in the region Grand Est (`FR-GES`), have holidays of their own.
    """
    if region == "FR-GES" and zones.inside(_ALSACE, lat, lng):
        return "FR-6AE"
    if region == "FR-GES" and zones.inside(_MOSELLE, lat, lng):
        return "FR-57"
    return region
