"""Gazetteer: zone, country and region of any point on Earth, and cities by name, all offline.

Zones are OpenStreetMap's boundaries, packaged by tzfpy; see also `zones` and `regions`. At sea the
zone is the nautical one and there is no country.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Self

from location_context.gazetteer.cities import Cities, City
from location_context.gazetteer.regions import iso_regions, subregion
from location_context.gazetteer.zones import boundary_zone, correct, zone_countries
from location_context.point import Point, canonical

__all__ = ["City", "Gazetteer"]

MAX_CACHED_POINTS = 16_384


class Gazetteer:
    """Loaded once; recent points are cached."""

    def __init__(self, countries: Mapping[str, str], cities: Cities) -> None:
        self._countries = countries
        self._cities = cities
        self._locate_cached = lru_cache(maxsize=MAX_CACHED_POINTS)(self._locate)
        self._around = lru_cache(maxsize=MAX_CACHED_POINTS)(cities.around)

    @classmethod
    def load(cls) -> Self:
        """From the tables of the installed packages."""
        return cls(zone_countries(), Cities.load(iso_regions()))

    def point(self, lat: float, lng: float) -> Point:
        """The point at these coordinates in canonical form."""
        return self._locate_cached(*canonical(lat, lng))

    def country(self, lat: float, lng: float) -> str | None:
        """The country at these coordinates, ISO 3166-1 alpha-2."""
        return self.point(lat, lng).country

    def search(self, text: str, limit: int = 8) -> list[City]:
        """Cities whose name begins with `text`, the most populous first."""
        return self._cities.search(text, limit)

    def nearest_city(self, lat: float, lng: float) -> City | None:
        """The nearest city of any country."""
        return self._cities.nearest(lat, lng)

    def city_around(self, lat: float, lng: float) -> City | None:
        """The city whose built-up area contains the point; None between cities."""
        return self._around(lat, lng)

    def _locate(self, lat: float, lng: float) -> Point:
        zone = boundary_zone(lat, lng)
        zone, country = correct(lat, lng, zone, self._countries.get(zone))
        region = self._cities.region(lat, lng, country) if country else None
        return Point(lat, lng, zone, country, subregion(region, lat, lng) if region else None)
