"""The events as `location-context read` prints them."""

from __future__ import annotations

from collections.abc import Iterator

from location_context.sections.events.response import EventsBody
from location_context.sections.section import TextTable

_COLUMNS = ("start", "event", "category", "venue", "away", "source")


def text(body: EventsBody) -> Iterator[str | TextTable]:
    """A line for each event, how many did not fit, and how each provider answered."""
    rows = []
    for event in body.events:
        venue = event.venue
        away = f"{venue.distance:g} {body.units.distance}" if venue and venue.distance else ""
        rows.append([
            event.start[:16].replace("T", " "), event.title, event.category,
            (venue.name or "") if venue else "", away, ", ".join(event.sources),
        ])  # fmt: skip
    yield TextTable(columns=_COLUMNS, rows=rows)
    if body.omitted:
        yield f"{sum(body.omitted.values())} more did not fit"
    coverage = (f"{one.provider}: {one.status.replace('_', ' ')}" for one in body.coverage)
    yield f"Asked: {', '.join(coverage)}"
