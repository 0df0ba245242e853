"""Presenter: events as the response has them, and as the command line prints them."""

from collections.abc import Iterator

from location_context.sections.addresses import web_address
from location_context.sections.contract import Query
from location_context.sections.events.fields import MAX_TITLE_LENGTH, single_line
from location_context.sections.events.records import Place
from location_context.sections.events.relevance import LocalEvent, overlaps
from location_context.sections.events.response import Event, EventsBody, Venue
from location_context.sections.section import TextTable
from location_context.sections.units import Measure
from location_context.stay import Stay

_TEXT_COLUMNS = ("start", "event", "category", "venue", "away", "source")


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


def to_text(body: EventsBody) -> Iterator[str | TextTable]:
    """A line for each event, how many did not fit, and how each provider answered."""
    rows = []
    for event in body.events:
        venue = event.venue
        away = f"{venue.distance:g} {body.units.distance}" if venue and venue.distance else ""
        rows.append([
            event.start[:16].replace("T", " "), event.title, event.category,
            (venue.name or "") if venue else "", away, ", ".join(event.sources),
        ])  # fmt: skip
    yield TextTable(columns=_TEXT_COLUMNS, rows=rows)
    if body.omitted:
        yield f"{sum(body.omitted.values())} more did not fit"
    coverage = (f"{one.provider}: {one.status.replace('_', ' ')}" for one in body.coverage)
    yield f"Asked: {', '.join(coverage)}"
