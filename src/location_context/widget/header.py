"""Header of the page: where, when, and in which zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta

from location_context.gazetteer.gazetteer import Gazetteer
from location_context.localisation.formats import Formats
from location_context.parameters import Parameters
from location_context.point import Point, distance_km
from location_context.stay import Stay

NEAR_KM = 25.0


@dataclass(frozen=True, kw_only=True)
class Header:
    """What stands above the cards."""

    place: str
    dates: str
    nights: str
    zone: str


def header(
    given: Parameters, stay: Stay, point: Point, gazetteer: Gazetteer, words: Formats
) -> Header:
    nights = stay.days - 1
    text = words.ngettext("{count} night", "{count} nights", nights)
    return Header(
        place=given.place or _place(point, gazetteer, words),
        dates=words.begun(words.dates(stay.start, stay.end)),
        nights=text.format(count=nights) if nights else "",
        zone=_zone(stay, point, words),
    )


def _place(point: Point, gazetteer: Gazetteer, words: Formats) -> str:
    """The city it lies in, else the nearest when it is near, else the coordinates."""
    if within := gazetteer.city_around(point.lat, point.lng):
        return within.name
    city = gazetteer.nearest_city(point.lat, point.lng)
    if city is not None and distance_km(point.lat, point.lng, city.lat, city.lng) <= NEAR_KM:
        return city.name
    lat, lng = words.number(abs(point.lat), 2), words.number(abs(point.lng), 2)
    north = words.gettext("{degrees}° N") if point.lat >= 0 else words.gettext("{degrees}° S")
    east = words.gettext("{degrees}° E") if point.lng >= 0 else words.gettext("{degrees}° W")
    return f"{north.format(degrees=lat)}, {east.format(degrees=lng)}"


def _zone(stay: Stay, point: Point, words: Formats) -> str:
    first = datetime.combine(stay.start, time(12), point.zone)
    said = words.gettext("Times are local, {zone}").format(zone=words.zone(first))
    for day in stay.dates():
        noon = datetime.combine(day, time(12), point.zone)
        before = datetime.combine(day - timedelta(days=1), time(12), point.zone)
        change = (noon.utcoffset() or timedelta()) - (before.utcoffset() or timedelta())
        if change and day != stay.start:
            if change < timedelta():
                text = words.gettext("clocks go back on {date}")
            else:
                text = words.gettext("clocks go forward on {date}")
            said += "; " + text.format(date=words.date_short(day))
    return said
