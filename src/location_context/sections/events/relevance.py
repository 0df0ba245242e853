"""Which events concern a query: near enough, during the stay, observed where the point lies."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from location_context.point import Point, distance_km
from location_context.sections.events.providers.subdivisions import is_observed_at
from location_context.sections.events.records import ProviderEvent
from location_context.sections.events.response import Overlap
from location_context.stay import Stay

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class LocalEvent:
    """An event in relation to a point.

    Attributes:
        details: the event itself.
        sources: names of the providers that know it.
        first, last: the dates it touches at the point.
        distance: in km; None where its place is not known.
        uncertain: some regions or provinces observe it, and which one the point lies in is unknown.
        merged_from: the events of single providers that it was merged from.
    """

    details: ProviderEvent
    sources: tuple[str, ...]
    first: date
    last: date
    distance: float | None
    uncertain: bool
    merged_from: "tuple[LocalEvent, ...]" = ()

    def first_in(self, stay: Stay) -> date:
        """The day it counts toward: its first inside the stay."""
        return max(self.first, stay.start)


def relevant_events(
    events: Iterable[ProviderEvent], point: Point, stay: Stay, radius: float
) -> list[LocalEvent]:
    """The events that a guest at the point would meet during the stay; `radius` in km."""
    localised = (localise(event, point) for event in events)
    return [
        event
        for event in localised
        if event is not None
        and event.first <= stay.end
        and event.last >= stay.start
        and (event.distance is None or event.distance <= radius or event.details.is_wide)
    ]


def localise(event: ProviderEvent, point: Point) -> LocalEvent | None:
    """The event in relation to the point; None where it is not observed."""
    elsewhere = event.country and point.country and event.country != point.country
    if event.is_wide and elsewhere:
        return None
    observed = is_observed_at(event.regions, point)
    if observed is False:
        return None
    distance = None
    if (place := event.place) and place.lat is not None and place.lng is not None:
        distance = distance_km(point.lat, point.lng, place.lat, place.lng)
    first, last = event.span(point.zone)
    return LocalEvent(event, (event.source,), first, last, distance, uncertain=observed is None)


def overlaps(first: date, last: date, stay: Stay) -> list[Overlap]:
    """Which parts of the stay the dates touch; both ends together are the stay too."""
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
