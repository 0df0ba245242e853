"""The answer: an event as it stands to the stay, in the units and the words of the response."""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.sections.addresses import web_address
from location_context.sections.events.response import Event, Venue
from location_context.sections.events.visible import Seen, overlaps
from location_context.sections.events.words import LONGEST_TITLE, clipped

if TYPE_CHECKING:
    from location_context.sections.contract import Query
    from location_context.sections.events.records import Place, When
    from location_context.sections.units import Measure
    from location_context.stay import Stay


def answered(seen: Seen, query: Query, stay: Stay, measure: Measure) -> Event:
    """The event as it is sent."""
    told = seen.told
    return Event(
        id=f"{told.source}:{told.id}",
        title=clipped(told.title, LONGEST_TITLE) or "-",
        category=told.category,
        start=_text(told.start, query),
        end=_text(told.end, query) if told.end else None,
        all_day=told.all_day,
        overlaps=overlaps(seen.first, seen.last, stay),
        status=told.status,
        venue=_venue(told.place, measure.distance(seen.distance)) if told.place else None,
        scope=told.scope,
        regions=list(told.regions),
        rank=told.rank,
        url=web_address(told.url),
        image=web_address(told.image),
        price=told.price,
        sources=list(seen.sources),
    )


def _text(when: When, query: Query) -> str:
    return when.local(query.point.zone).isoformat()


def _venue(place: Place, distance: float | None) -> Venue:
    return Venue(
        name=clipped(place.name),
        address=clipped(place.address),
        lat=place.lat,
        lng=place.lng,
        distance=distance,
    )
