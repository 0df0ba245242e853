"""Fields: values as providers, pages and calendars write them, brought to what an event holds.

A field that is not what it should be is unknown (None). A row that lacks what an event needs raises
ValueError, and `parse_rows` passes over it, so that it does not take the others with it.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from zoneinfo import ZoneInfo

from location_context.sections.events.records import Place, ProviderEvent
from location_context.sections.events.response import Category

MAX_TITLE_LENGTH, MAX_TEXT_LENGTH, MAX_URL_LENGTH = 300, 500, 2000
_MIN_YEAR, _MAX_YEAR = 1900, 2100
_BAD_ROW = (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,500}>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")

_CATEGORY_WORDS: dict[str, Category] = {
    "concert": "concert", "music": "concert", "gig": "concert", "musik": "concert",
    "festival": "festival", "fest": "festival", "market": "community", "fair": "festival",
    "sport": "sport", "sports": "sport", "match": "sport", "football": "sport", "race": "sport",
    "theatre": "performing_arts", "theater": "performing_arts", "dance": "performing_arts",
    "opera": "performing_arts", "comedy": "performing_arts", "performing": "performing_arts",
    "exhibition": "exhibition", "expo": "exhibition", "museum": "exhibition", "art": "exhibition",
    "conference": "conference", "congress": "conference", "seminar": "conference",
    "talk": "conference", "lecture": "conference", "workshop": "conference",
    "community": "community", "social": "community", "meetup": "community",
    "holiday": "public_holiday", "holidays": "public_holiday", "observance": "observance",
}  # fmt: skip


def parse_rows(
    rows: Iterable[Any], parse: Callable[[Any], ProviderEvent | None]
) -> Iterator[ProviderEvent]:
    """What `parse` makes of each row; rows that make no sense, or give None, are left out."""
    for row in rows:
        try:
            event = parse(row)
        except _BAD_ROW:
            continue
        if event is not None and _has_plausible_years(event):
            yield event


def _has_plausible_years(event: ProviderEvent) -> bool:
    """Not the year 1 or 9999 of a field left open, which no zone can be applied to."""
    last = event.end or event.start
    return event.start.day.year >= _MIN_YEAR and last.day.year <= _MAX_YEAR


def single_line(text: object, limit: int = MAX_TEXT_LENGTH) -> str | None:
    """Text on one line of at most `limit` characters; None when it is empty."""
    head = str(text or "")[: 4 * limit]
    line = " ".join("".join(c if c.isprintable() else " " for c in head).split())
    return line[:limit] or None


def strip_markup(text: object, limit: int = MAX_TEXT_LENGTH) -> str | None:
    """Likewise, without the tags and entities that many pages leave in text that people read."""
    head = _TAG.sub(" ", str(text or "")[: 8 * limit])
    return single_line(_ENTITY.sub(lambda entity: html.unescape(entity[0]), head), limit)


def required_text(value: object) -> str:
    """A title or an id.

    Raises:
        ValueError: it is missing.
    """
    text = single_line(value, MAX_TITLE_LENGTH) if isinstance(value, str | int) else None
    if text is None:
        raise ValueError("a required text is missing")
    return text


def optional_text(value: object, limit: int = MAX_TEXT_LENGTH) -> str | None:
    """A string on one line, or None."""
    return single_line(value, limit) if isinstance(value, str) else None


def optional_url(value: object) -> str | None:
    """A URL as it came, which the response checks; None if too long, as a cut one leads nowhere."""
    return value if isinstance(value, str) and len(value) <= MAX_URL_LENGTH else None


def optional_number(value: object) -> float | None:
    """A finite number as JSON writes one, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer of hundreds of digits
        return None


def optional_zone(name: object) -> ZoneInfo | None:
    """The time zone of that name, or None where there is none."""
    try:
        return ZoneInfo(name) if isinstance(name, str) and name else None
    except (KeyError, ValueError, OSError):
        return None


def parse_coordinates(lat: object, lng: object) -> tuple[float, float] | None:
    """Coordinates, if both are numbers within bounds and not the 0, 0 of a form left empty."""
    try:
        pair = float(str(lat)), float(str(lng))
    except ValueError:
        return None
    if not (-90 <= pair[0] <= 90 and -180 <= pair[1] <= 180) or pair == (0, 0):
        return None
    return pair


def parse_place(name: object, address: object, lat: object, lng: object) -> Place:
    """A venue; coordinates may be numbers or strings, and count only where both make sense."""
    pair = parse_coordinates(lat, lng)
    return Place(
        name=optional_text(name),
        address=optional_text(address),
        lat=pair[0] if pair else None,
        lng=pair[1] if pair else None,
    )


def category_of(words: str) -> Category | None:
    """The category that a source's own words name, if they name one."""
    lowered = words[:MAX_TEXT_LENGTH].casefold().replace("_", " ").replace("-", " ")
    whole = lowered.replace(" ", "_")
    if whole in Category.__args__:  # type: ignore[attr-defined]  # the words of the Literal
        return whole  # type: ignore[return-value]  # it is one of them
    found = (_CATEGORY_WORDS.get(word) for word in lowered.replace(",", " ").split())
    return next((category for category in found if category), None)
