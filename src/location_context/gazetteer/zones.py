"""The zone at any point of Earth, without the country and region it lies in.

Zones are OpenStreetMap's boundaries as tzfpy carries them; at sea the zone is the nautical one.
"""

from __future__ import annotations

import tzfpy

from location_context.gazetteer.countries import corrected
from location_context.point import canonical


def zone_at(lat: float, lng: float) -> str:
    """The zone that the gazetteer's point there has; costs no table of cities."""
    lat, lng = canonical(lat, lng)
    return corrected(lat, lng, boundary_zone(lat, lng), None)[0]


def boundary_zone(lat: float, lng: float) -> str:
    """The zone of the boundaries alone."""
    zone: str = tzfpy.get_tz(lng, lat) or nautical(lng)
    # two boundaries cover Xinjiang: tzdata and GeoNames give it the zone of its own
    if zone == "Asia/Shanghai" and "Asia/Urumqi" in tzfpy.get_tzs(lng, lat):
        return "Asia/Urumqi"
    return zone


def nautical(lng: float) -> str:
    """The zone at sea: 15 degrees wide; POSIX counts hours west, so the sign is turned."""
    hours = round(lng / 15)
    return f"Etc/GMT{-hours:+d}" if hours else "Etc/GMT"
