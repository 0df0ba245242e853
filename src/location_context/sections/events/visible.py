"""Which of the events told belong in an answer: near enough, during the stay, kept at the point."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from location_context.point import distance_km
from location_context.sections.events.providers.provinces import is_kept_at

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from location_context.point import Point
    from location_context.sections.events.records import Told
    from location_context.sections.events.response import Overlap
    from location_context.stay import Stay


_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Seen:
    """An event as it stands to a point and a stay; distance in km.

    `first` and `last` are the dates it touches at the point. `doubtful`: it is kept in some
    regions or provinces, and which one the point lies in is not known. `accounts`: those it was
    joined of.
    """

    told: Told
    sources: tuple[str, ...]
    first: date
    last: date
    distance: float | None
    doubtful: bool
    accounts: tuple[Seen, ...] = ()

    def first_in(self, stay: Stay) -> date:
        """The day it counts toward: its first inside the stay."""
        return max(self.first, stay.start)


def visible(told: Iterable[Told], point: Point, stay: Stay, radius: float) -> list[Seen]:
    """The events that a guest at the point would meet during the stay."""
    seen = (_see(event, point, stay, radius) for event in told)
    return [event for event in seen if event is not None]


def _see(told: Told, point: Point, stay: Stay, radius: float) -> Seen | None:
    first, last = told.span(point.zone)
    wide = told.scope in {"region", "country"}
    if first > stay.end or last < stay.start:
        return None
    distance = _distance(told, point)
    if distance is not None and distance > radius and not wide:
        return None
    if wide and told.country and point.country and told.country != point.country:
        return None
    if (kept := is_kept_at(told.regions, point)) is False:
        return None
    return Seen(told, (told.source,), first, last, distance, doubtful=kept is None)


def _distance(told: Told, point: Point) -> float | None:
    place = told.place
    if place is None or place.lat is None or place.lng is None:
        return None
    return distance_km(point.lat, point.lng, place.lat, place.lng)


def overlaps(first: date, last: date, stay: Stay) -> list[Overlap]:
    """Which parts of the stay the days touch; both ends together are the stay too."""
    arrival, departure = first <= stay.start <= last, first <= stay.end <= last
    between = max(first, stay.start + _DAY) <= min(last, stay.end - _DAY)
    found: list[Overlap] = []
    if arrival:
        found.append("arrival")
    if between or (arrival and departure):
        found.append("stay")
    if departure:
        found.append("departure")
    return found
