"""Ticketmaster's rows as events.

Coordinates come as strings, zones are often missing (the venue has one), a time to be announced is
no midnight; tests, cancelled events and what is sold beside an event (parking, vouchers, upgrades)
are left out.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any

from location_context.sections.events.fields import (
    optional_number,
    optional_text,
    optional_url,
    optional_zone,
    parse_place,
    parse_rows,
    required_text,
)
from location_context.sections.events.records import ProviderEvent, When
from location_context.sections.events.response import Category, EventStatus, Price

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from zoneinfo import ZoneInfo

    from location_context.sections.events.records import Place

NAME = "ticketmaster"
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


def parse_events(rows: Iterable[Any], default_zone: ZoneInfo) -> Iterator[ProviderEvent]:
    """The events of one page; `default_zone` where neither event nor venue names a zone."""
    return parse_rows(rows, lambda row: _event(row, default_zone))


def _event(row: dict[str, Any], default_zone: ZoneInfo) -> ProviderEvent | None:
    dates, kinds = row["dates"], row.get("classifications") or []
    status = (optional_text((dates.get("status") or {}).get("code")) or "").lower()
    if row.get("test") or status in {"cancelled", "canceled"} or dates["start"].get("dateTBD"):
        return None
    title = required_text(row["name"])
    if is_add_on(title, kinds):
        return None
    venue = ((row.get("_embedded") or {}).get("venues") or [{}])[0]
    local = (
        optional_zone(dates.get("timezone")) or optional_zone(venue.get("timezone")) or default_zone
    )
    start = _when(dates["start"], local)
    end = _when(dates["end"], local) if (dates.get("end") or {}).get("localDate") else None
    return ProviderEvent(
        id=required_text(row["id"]),
        source=NAME,
        title=title,
        category=_category(kinds),
        start=start,
        end=end if end and not _before(end, start) else None,
        status=_status(status, dates["start"]),
        place=_place(venue) if venue else None,
        url=optional_url(row.get("url")),
        image=_image(row.get("images") or []),
        price=_price(row.get("priceRanges") or []),
    )


def _status(code: str, start: dict[str, Any]) -> EventStatus:
    if code == "postponed":
        return "postponed"
    return "estimated" if start.get("dateTBA") else "confirmed"


def _when(given: dict[str, Any], local: ZoneInfo) -> When:
    """The local date, with its moment where the time is known."""
    day = date.fromisoformat(given["localDate"])
    unknown = any(given.get(name) for name in ("dateTBA", "timeTBA", "noSpecificTime"))
    if unknown or not (given.get("localTime") or given.get("dateTime")):
        return When(day)
    if given.get("dateTime"):
        moment = datetime.fromisoformat(given["dateTime"])
        return When.of((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(local))
    return When.of(datetime.combine(day, time.fromisoformat(given["localTime"]), tzinfo=local))


def _before(end: When, start: When) -> bool:
    if end.at and start.at:
        return end.at <= start.at
    return end.day < start.day


def _category(kinds: Sequence[dict[str, Any]]) -> Category:
    """The primary classification: a genre that says more, else its segment."""
    kind = _primary(kinds)
    names = [_part(kind, part) for part in ("type", "subType", "genre", "subGenre")]
    found = next((_GENRES[name] for name in names if name in _GENRES), None)
    return found or _SEGMENTS.get(_part(kind, "segment"), "other")


def is_add_on(title: str, kinds: Sequence[dict[str, Any]]) -> bool:
    """Whether it is sold with an event: by its type, or by its name if it is unclassified."""
    kind = _primary(kinds)
    if {_part(kind, "type"), (kind.get("type") or {}).get("id")} & _ADD_ON_TYPES:
        return True
    if _SURE_ADD_ON.search(title):
        return True
    unclassified = _part(kind, "segment") in {"", "undefined", "miscellaneous"}
    return unclassified and bool(_LIKELY_ADD_ON.search(title))


def _primary(kinds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return min(kinds, key=lambda kind: not kind.get("primary"), default={})


def _part(kind: dict[str, Any], part: str) -> str:
    return (optional_text((kind.get(part) or {}).get("name")) or "").lower()


def _place(venue: dict[str, Any]) -> Place:
    location = venue.get("location") or {}
    parts = [
        (venue.get("address") or {}).get("line1"),
        venue.get("postalCode"),
        (venue.get("city") or {}).get("name"),
    ]
    address = ", ".join(part for part in map(optional_text, parts) if part)
    return parse_place(
        venue.get("name"), address, location.get("latitude"), location.get("longitude")
    )


def _image(images: list[dict[str, Any]]) -> str | None:
    """The one wide enough for a card: 16:9 and nearest to 640 pixels."""
    wide = [image for image in images if image.get("ratio") == "16_9"] or images
    best = min(wide, key=lambda image: abs((image.get("width") or 0) - 640), default={})
    return optional_url(best.get("url"))


def _price(ranges: list[dict[str, Any]]) -> Price | None:
    """The first range that names an amount."""
    for given in ranges:
        low, high = optional_number(given.get("min")), optional_number(given.get("max"))
        if low is not None or high is not None:
            return Price(min=low, max=high, currency=optional_text(given.get("currency"), 3))
    return None
