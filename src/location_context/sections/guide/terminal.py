"""The restaurants as `location-context read` prints them."""

from __future__ import annotations

from collections.abc import Iterator

from location_context.sections.guide.response import GuideBody
from location_context.sections.section import TextTable

_COLUMNS = ("tier", "restaurant", "away", "way", "cuisine", "city")


def text(body: GuideBody) -> Iterator[str | TextTable]:
    """A line for each restaurant, and how many there are in all."""
    rows = []
    for one in body.restaurants:
        about = "about " if one.travel.estimated else ""
        rows.append([
            one.label, one.name, f"{one.distance:g} {body.units.distance}",
            f"{one.travel.kind}, {about}{one.travel.minutes} min", ", ".join(one.cuisine),
            one.city or "",
        ])  # fmt: skip
    yield TextTable(columns=_COLUMNS, rows=rows)
    yield f"{len(body.restaurants)} of {body.total} restaurants"
