"""Zones: the time zone of any point on Earth, and the country of a zone.

The boundaries of zones are OpenStreetMap's, as the package tzfpy has them. At sea the zone depends
only on the longitude (such as `Etc/GMT-2`). tzdata's table `zone.tab` names one country for each
zone. In parts of some zones this country is wrong, and a rule corrects it: northern Vietnam (in
Bangkok's zone), Kosovo (in Belgrade's), Jan Mayen (in Oslo's), the base at Guantánamo (in New
York's), and the waters of Lake Malawi at Tanzania's shore (in Malawi's). Some rules also correct
the zone. Land south of 60°S belongs to Antarctica (AQ), whatever the zone.

The outline of Kosovo is accurate to about 3 km at the border with Serbia. Elsewhere it may extend
beyond the border, since it is used only within Belgrade's zone, and Kosovo's other neighbours have
other zones. The uninhabited Bouvet, Heard and McDonald islands have no zone and are recognised by
bounding boxes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

from location_context.point import canonical

FILE = Path(__file__).with_name("zones.npy")  # ./scripts/generate zones writes it
Outline = tuple[tuple[float, float], ...]  # (lng, lat) corners, the last joined to the first

KOSOVO: Outline = (
    (20.80, 41.70), (20.40, 41.80), (20.40, 42.20), (20.00, 42.50), (20.0707, 42.5886),
    (20.2576, 42.8128), (20.4968, 42.8847), (20.6351, 43.2167), (20.8145, 43.2721),
    (20.9565, 43.1309), (21.1434, 43.0687), (21.2742, 42.9096), (21.4387, 42.8626),
    (21.6330, 42.6772), (21.7751, 42.6827), (21.6629, 42.4392), (21.5433, 42.3203),
    (21.5766, 42.2452), (21.50, 42.10), (21.20, 41.95),
)  # fmt: skip
_ANTARCTIC = -60.0
_ISLANDS = ((-54.48, -54.37, 3.26, 3.46, "BV"), (-53.22, -52.92, 73.2, 73.9, "HM"))
_LAKE_MALAWI = (-11.57, 34.45)  # north of Mozambique, and east of the middle of the lake
_NORTHERN_VIETNAM = ((18.6, 101.6), (16.5, 105.0))  # corners; points north-east of one are Vietnam


def zone_countries() -> Mapping[str, str]:
    """Return the country code (ISO 3166-1 alpha-2) of each IANA time zone, read from tzdata."""
    text = (resources.files("tzdata.zoneinfo") / "zone.tab").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return {row[2].strip(): row[0] for row in rows if len(row) >= 3}


def main_zone(country: str) -> str | None:
    """Return a country's first (usually most populous) zone in `zone.tab`; None if it has none."""
    return next((zone for zone, code in zone_countries().items() if code == country), None)


def correct(lat: float, lng: float, zone: str, country: str | None) -> tuple[str, str | None]:
    """Return the corrected time zone and country of a point.

    `zone` and `country` are the uncorrected values. They are wrong in parts of some zones that
    extend into another country: Bangkok's zone on the map also covers northern Vietnam.
    """
    if lat < _ANTARCTIC and not is_nautical(zone):
        return zone, "AQ"
    if (rule := _RULES.get(zone)) is not None and rule[0](lat, lng):
        return rule[1], rule[2]
    if is_nautical(zone):
        return zone, next((c for s, n, w, e, c in _ISLANDS if s < lat < n and w < lng < e), None)
    return zone, country


_RULES: Mapping[str, tuple[Callable[[float, float], bool], str, str]] = {
    "Africa/Blantyre": (
        lambda lat, lng: lat > _LAKE_MALAWI[0] and lng > _LAKE_MALAWI[1],
        "Africa/Dar_es_Salaam",
        "TZ",
    ),
    "America/New_York": (lambda lat, _: lat < 21, "America/New_York", "CU"),
    "Asia/Bangkok": (
        lambda lat, lng: any(lat > north and lng > east for north, east in _NORTHERN_VIETNAM),
        "Asia/Ho_Chi_Minh",
        "VN",
    ),
    "Europe/Belgrade": (lambda lat, lng: inside(KOSOVO, lat, lng), "Europe/Belgrade", "XK"),
    "Europe/Oslo": (lambda _, lng: lng < 0, "Europe/Oslo", "SJ"),
}


def is_nautical(zone: str) -> bool:
    """Return True if a time zone is one used at sea, such as `Etc/GMT` or `Etc/GMT-2`."""
    return zone.startswith("Etc/GMT")


def inside(outline: Sequence[tuple[float, float]], lat: float, lng: float) -> bool:
    """Return True if a point is inside `outline`, a polygon of (lng, lat) corners."""
    crossings = 0
    for (x, y), (next_x, next_y) in zip(outline, (*outline[1:], outline[0]), strict=True):
        if (y > lat) != (next_y > lat):
            crossings += lng < x + (next_x - x) * (lat - y) / (next_y - y)
    return crossings % 2 == 1


class Boundaries:
    """The boundaries of time zones, in a memory-mapped file, so that processes share its memory.

    The columns `lng` and `lat` contain the corners of all outlines, one after another; outline n
    ends at `ends[n]`. Each outline also has its zone and its bounding box.
    """

    def __init__(self) -> None:
        """Map `FILE` into memory; a field of its only record is a whole column of the table."""
        table = np.load(FILE, mmap_mode="r")
        column = {name: np.asarray(table[name][0]) for name in table.dtype.names or ()}
        self._lng, self._lat, self._ends = column["lng"], column["lat"], column["ends"]
        self._west, self._east = column["west"], column["east"]
        self._south, self._north = column["south"], column["north"]
        self._zones_of = column["zone"]
        self._zones: list[str] = [name.decode() for name in column["zones"]]

    def zone(self, lat: float, lng: float) -> str:
        """Return the time zone whose boundary contains a point, or at sea the nautical zone.

        Known errors of the boundaries, such as northern Vietnam, are left to `correct`. Round `lat`
        and `lng` with `canonical` first.
        """
        zones = [self._zones[self._zones_of[number]] for number in self._around(lat, lng)]
        # the boundaries of two zones cover Xinjiang; tzdata and GeoNames use Urumqi's
        if "Asia/Urumqi" in zones:
            return "Asia/Urumqi"
        return zones[0] if zones else nautical(lng)

    def _around(self, lat: float, lng: float) -> Iterator[int]:
        """Yield the indexes of the outlines that contain a point."""
        boxes = (self._south <= lat) & (self._north >= lat) & (self._west <= lng)
        for number in np.flatnonzero(boxes & (self._east >= lng)).tolist():
            corners = slice(self._ends[number - 1] if number else 0, self._ends[number])
            lats = self._lat[corners]
            north = lats > lat
            crossing = np.flatnonzero(north[1:] != north[:-1])
            lats, lngs = (
                column[[crossing, crossing + 1]].astype(float)
                for column in (lats, self._lng[corners])
            )
            where = lngs[0] + (lngs[1] - lngs[0]) * (lat - lats[0]) / (lats[1] - lats[0])
            if np.count_nonzero(where >= lng) % 2:
                yield number


_boundaries = cache(Boundaries)


def zone_at(lat: float, lng: float) -> str:
    """Return the time zone at a point; unlike `Gazetteer`, this loads no table of cities."""
    lat, lng = canonical(lat, lng)
    return correct(lat, lng, boundary_zone(lat, lng), None)[0]


def boundary_zone(lat: float, lng: float) -> str:
    """Return the time zone whose boundary contains a point; `correct` mends known errors."""
    return _boundaries().zone(lat, lng)


def nautical(lng: float) -> str:
    """Return the time zone at sea for a longitude; such zones are 15 degrees wide.

    The sign in the name is reversed, as in POSIX: `Etc/GMT-2` is two hours ahead of UTC.
    """
    hours = round(lng / 15)
    return f"Etc/GMT{-hours:+d}" if hours else "Etc/GMT"
