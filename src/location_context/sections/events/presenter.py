"""Presenter: an event as the response shows it, in relation to the query."""

from __future__ import annotations

from location_context.sections.addresses import web_address
from location_context.sections.contract import Query
from location_context.sections.events.fields import MAX_TITLE_LENGTH, single_line
from location_context.sections.events.records import Place
from location_context.sections.events.relevance import LocalEvent, overlaps
from location_context.sections.events.response import Event, Venue
from location_context.sections.units import Measure
from location_context.stay import Stay


def to_response(event: LocalEvent, query: Query, stay: Stay, measure: Measure) -> Event:
    """The event with local times, texts of bounded length, and distances in the query's units."""
    details, zone = event.details, query.point.zone
    return Event(
        id=f"{details.source}:{details.id}",
        title=single_line(details.title, MAX_TITLE_LENGTH) or "-",
        category=details.category,
        start=details.start.local(zone).isoformat(),
        end=details.end.local(zone).isoformat() if details.end else None,
        all_day=details.all_day,
        overlaps=overlaps(event.first, event.last, stay),
        status=details.status,
        venue=_venue(details.place, measure.distance(event.distance)) if details.place else None,
        scope=details.scope,
        regions=list(details.regions),
        rank=details.rank,
        url=web_address(details.url),
        image=web_address(details.image),
        price=details.price,
        sources=list(event.sources),
    )


def _venue(place: Place, distance: float | None) -> Venue:
    return Venue(
        name=single_line(place.name),
        address=single_line(place.address),
        lat=place.lat,
        lng=place.lng,
        distance=distance,
    )
