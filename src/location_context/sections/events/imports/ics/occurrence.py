"""Occurrence: one date of an event as an entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from location_context.sections.events.fields import (
    MAX_TITLE_LENGTH,
    category_of,
    parse_coordinates,
    single_line,
    strip_markup,
)
from location_context.sections.events.imports.entries import (
    Entry,
    Refused,
    Window,
    is_within,
)
from location_context.sections.events.imports.ics.times import Component, read

if TYPE_CHECKING:
    from collections.abc import Iterator


def entry_of(event: Component, uid: str, where: str, window: Window) -> Iterator[Entry | Refused]:
    """The entry; nothing when it is cancelled or outside the window."""
    if str(event.get("STATUS") or "").strip().upper() == "CANCELLED":
        return
    start, end, all_day = read(event)
    if not is_within(start, end, window):
        return
    if (title := strip_markup(event.get("SUMMARY"), MAX_TITLE_LENGTH)) is None:
        yield Refused(where, "it has no title")
        return
    place = place_of(event)
    yield Entry(
        uid=uid,
        title=title,
        start=start,
        end=end,
        all_day=all_day,
        category=category_of(_categories(event)),
        venue=strip_markup(event.get("LOCATION")),
        lat=place[0] if place else None,
        lng=place[1] if place else None,
        url=single_line(event.get("URL"), 2000),
        image=single_line(event.get("IMAGE"), 2000),
    )


def place_of(event: Component) -> tuple[float, float] | None:
    """Its own coordinates, where it has any."""
    given: Any = event.get("GEO")
    return (
        parse_coordinates(given.latitude, given.longitude) if hasattr(given, "latitude") else None
    )


def _categories(event: Component) -> str:
    given = event.get("CATEGORIES")
    parts = given if isinstance(given, list) else [given] if given else []
    return " ".join(str(word) for part in parts for word in getattr(part, "cats", [part]))
