"""Point: rounded coordinates with their time zone, country and region; distance and bearing.

Only `canonical` rounds coordinates; all sections use its result. Distances are great-circle
distances on a sphere with the Earth's mean radius (IUGG, 6371.0088 km).
"""

import math
from datetime import date, datetime, time, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo

import msgspec

EARTH_RADIUS_KM = 6371.0088


class Point(msgspec.Struct, frozen=True, dict=True):
    """A place on Earth; `lat` and `lng` are decimal degrees with four decimals (WGS84).

    `country` and `region` are ISO 3166 codes. `possible_regions` are the regions that may contain
    the point; it is empty if `region` is known. `place` is the name of the city that contains the
    point, else of the nearest city within 25 km.
    """

    lat: float
    lng: float
    timezone: str
    country: str | None = None
    region: str | None = None
    possible_regions: tuple[str, ...] = ()
    place: str | None = None

    @cached_property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    def local(self, moment: datetime) -> datetime:
        """Return the same moment in the local time of the point."""
        return moment.astimezone(self.zone)

    def today(self, now: datetime) -> date:
        """Return the calendar date at the point at the moment `now`."""
        return self.local(now).date()

    def next_midnight(self, now: datetime) -> datetime:
        """Return the first local midnight at the point after the moment `now`."""
        return datetime.combine(self.today(now) + timedelta(days=1), time(), self.zone)


def canonical(lat: float, lng: float) -> tuple[float, float]:
    """Return coordinates in canonical form.

    This form has four decimals; lng -180 becomes 180, -0 becomes 0, and lng is 0 at the poles.
    """
    lat, lng = round(lat, 4) + 0.0, round(lng, 4) + 0.0
    if abs(lat) == 90:
        lng = 0.0
    return lat, 180.0 if lng == -180 else lng


def distance_km(lat: float, lng: float, to_lat: float, to_lng: float) -> float:
    """Return the great-circle distance in km (haversine, which is precise at small distances)."""
    phi, to_phi = math.radians(lat), math.radians(to_lat)
    half = math.sin((to_phi - phi) / 2) ** 2
    half += math.cos(phi) * math.cos(to_phi) * math.sin(math.radians(to_lng - lng) / 2) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(min(1.0, math.sqrt(half)))


def bearing(lat: float, lng: float, to_lat: float, to_lng: float) -> float:
    """Return the initial great-circle bearing: degrees from 0 to 360, clockwise from north."""
    phi, to_phi, turn = math.radians(lat), math.radians(to_lat), math.radians(to_lng - lng)
    east = math.sin(turn) * math.cos(to_phi)
    north = math.cos(phi) * math.sin(to_phi) - math.sin(phi) * math.cos(to_phi) * math.cos(turn)
    return math.degrees(math.atan2(east, north)) % 360
