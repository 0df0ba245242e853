"""Ticketmaster's rows as events.

Coordinates come as strings, zones are often missing (the venue has one), a time to be announced is
no midnight; tests, cancelled events and what is sold with an event (parking, vouchers, upgrades)
are left out.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from location_context.sections.events.fields import (
    event_from_row,
    optional_number,
    optional_text,
    optional_url,
    optional_zone,
    parse_place,
    required_text,
    value_at,
)
from location_context.sections.events.records import Place, ProviderEvent, When
from location_context.sections.events.response import Category, EventStatus, Price

FIELDS = {"id": "id", "title": "name", "url": "url"}
_SEGMENTS: dict[str, Category] = {
    "music": "concert",
    "sports": "sport",
    "arts & theatre": "performing_arts",
}
_GENRES: dict[str, Category] = {
    "festival": "festival",
    "fairs & festivals": "festival",
    "fine art": "exhibition",
    "museum": "exhibition",
    "hobby/special interest expos": "exhibition",
    "lecture/seminar": "conference",
    "community/civic": "community",
    "community/cultural": "community",
}
# types of what is sold beside an event, by id too, since names come in the event's language
_ADD_ON_TYPES = frozenset(
    {"upsell", "parking", "nonticket", "merchandise", "donation", "transportation",
     "KZAyXgnZfZ7v7nJ", "KZAyXgnZfZ7v7lk", "KZAyXgnZfZ7v7nn"}
)  # fmt: skip
_SURE_ADD_ON = re.compile(
    r"parking (pass|permit|ticket|voucher|only)|not (a|an) (concert|event|show) ticket",
    re.IGNORECASE,
)
_LIKELY_ADD_ON = re.compile(
    r"^parking\b|\bparking$|\bvouchers?\b|\bshuttle (bus|pass)", re.IGNORECASE
)


def parse_event(row: Any, default_zone: ZoneInfo) -> ProviderEvent | None:
    """The event of a row; `default_zone` where neither event nor venue names a zone.

    Raises:
        ValueError, KeyError, TypeError: it lacks what an event needs.
    """
    dates, classifications = row["dates"], row.get("classifications") or []
    status = (optional_text(value_at(dates, "status.code")) or "").lower()
    if row.get("test") or status in {"cancelled", "canceled"} or dates["start"].get("dateTBD"):
        return None
    if is_add_on(required_text(row["name"]), classifications):
        return None
    venue = value_at(row, "_embedded.venues.0") or {}
    zone = optional_zone(dates.get("timezone")) or optional_zone(venue.get("timezone"))
    zone = zone or default_zone
    return event_from_row(
        row,
        FIELDS,
        zone,
        source="ticketmaster",
        category=_category(classifications),
        start=_when(dates["start"], zone),
        end=_when(dates["end"], zone) if value_at(dates, "end.localDate") else None,
        status=_status(status, dates["start"]),
        place=_place(venue) if venue else None,
        image=_image(row.get("images") or []),
        price=_price(row.get("priceRanges") or []),
    )


def _status(code: str, start: dict[str, Any]) -> EventStatus:
    if code == "postponed":
        return "postponed"
    return "estimated" if start.get("dateTBA") else "confirmed"


def _when(start: dict[str, Any], zone: ZoneInfo) -> When:
    """The local date, with its moment where the time is known."""
    day = date.fromisoformat(start["localDate"])
    unknown = any(start.get(name) for name in ("dateTBA", "timeTBA", "noSpecificTime"))
    if unknown or not (start.get("localTime") or start.get("dateTime")):
        return When(day)
    if start.get("dateTime"):
        moment = datetime.fromisoformat(start["dateTime"])
        return When.of((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(zone))
    return When.of(datetime.combine(day, time.fromisoformat(start["localTime"]), tzinfo=zone))


def _category(classifications: Sequence[dict[str, Any]]) -> Category:
    """The primary classification: a genre that says more, else its segment."""
    kind = _primary(classifications)
    names = [_name_of(kind, part) for part in ("type", "subType", "genre", "subGenre")]
    found = next((_GENRES[name] for name in names if name in _GENRES), None)
    return found or _SEGMENTS.get(_name_of(kind, "segment"), "other")


def is_add_on(title: str, classifications: Sequence[dict[str, Any]]) -> bool:
    """Whether it is sold with an event: by its type, or by its name if it is unclassified."""
    kind = _primary(classifications)
    if {_name_of(kind, "type"), (kind.get("type") or {}).get("id")} & _ADD_ON_TYPES:
        return True
    if _SURE_ADD_ON.search(title):
        return True
    unclassified = _name_of(kind, "segment") in {"", "undefined", "miscellaneous"}
    return unclassified and bool(_LIKELY_ADD_ON.search(title))


def _primary(classifications: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return min(classifications, key=lambda one: not one.get("primary"), default={})


def _name_of(kind: dict[str, Any], part: str) -> str:
    return (optional_text(value_at(kind, f"{part}.name")) or "").lower()


def _place(venue: dict[str, Any]) -> Place:
    parts = (value_at(venue, path) for path in ("address.line1", "postalCode", "city.name"))
    address = ", ".join(part for part in map(optional_text, parts) if part)
    lat, lng = value_at(venue, "location.latitude"), value_at(venue, "location.longitude")
    return parse_place(venue.get("name"), address, lat, lng)


def _image(images: list[dict[str, Any]]) -> str | None:
    """The one wide enough for a card: 16:9 and nearest to 640 pixels."""
    wide = [image for image in images if image.get("ratio") == "16_9"] or images
    best = min(wide, key=lambda image: abs((image.get("width") or 0) - 640), default={})
    return optional_url(best.get("url"))


def _price(ranges: list[dict[str, Any]]) -> Price | None:
    """The first range that names an amount."""
    for price_range in ranges:
        low, high = optional_number(price_range.get("min")), optional_number(price_range.get("max"))
        if low is not None or high is not None:
            return Price(min=low, max=high, currency=optional_text(price_range.get("currency"), 3))
    return None
