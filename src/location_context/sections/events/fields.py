"""Fields: functions that convert values from providers, pages and calendars to event fields.

A row is the source's data of one event. An optional field that cannot be read is None. If a row
lacks a required field, the function raises ValueError. `parse_rows` skips this row and reads the
others.
"""

import html
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from location_context.sections.events.records import Place, ProviderEvent, When
from location_context.sections.events.response import Category, Price

MAX_TITLE_LENGTH, MAX_TEXT_LENGTH, MAX_URL_LENGTH = 300, 500, 2000
_MIN_YEAR, _MAX_YEAR = 1900, 2100
MAX_RANK = 100
_PLACE_FIELDS = ("venue", "address", "lat", "lng")  # in the order of `parse_place`
_BAD_ROW = (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError)
_WORD = re.compile(r"\w+")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,500}>")
_WKT_POINT = re.compile(
    r"\s*(?:SRID=4326;)?\s*POINT\s*\(\s*(\S+)\s+([^\s)]+)(?:\s+[^\s)]+)?\s*\)\s*", re.IGNORECASE
)
_PAIR = re.compile(r"\s*([^\s,;{}]+)\s*[,;]\s*([^\s,;{}]+)\s*")
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
    "concierto": "concert", "música": "concert", "musica": "concert", "musique": "concert",
    "teatro": "performing_arts", "théâtre": "performing_arts", "danza": "performing_arts",
    "danse": "performing_arts", "exposición": "exhibition", "exposiciones": "exhibition",
    "exposition": "exhibition", "conferencia": "conference", "conférence": "conference",
    "marché": "community", "feria": "festival", "fiestas": "festival", "concerts": "concert",
}  # fmt: skip


def parse_rows(
    rows: Iterable[Any], parse: Callable[[Any], ProviderEvent | None]
) -> Iterator[ProviderEvent]:
    """Yield the event of each row; skip a row if `parse` raises an error or returns None.

    Rows with implausible years, which sources use for "unknown", are skipped too.
    """
    for row in rows:
        try:
            event = parse(row)
        except _BAD_ROW:
            continue
        if event is not None and _has_plausible_years(event):
            yield event


def event_from_row(
    row: Any, fields: Mapping[str, str], zone: ZoneInfo, **known: Any
) -> ProviderEvent:
    """Return the event in a provider's row, with each field read from its path in `fields`.

    Args:
        row: a JSON object.
        fields: the path of each field in `row`, such as `{"title": "name", "lat": "venue.at.0"}`.
            `id`, `title` and `start` are required. Optional are `category`, `end`, `all_day`,
            `country`, `rank`, `url`, `image`, and for the place `venue` (its name), `address`,
            `lat` and `lng`.
        zone: the time zone of times without an offset.
        known: values of other fields of `ProviderEvent`, by name; `source` is required.

    Raises:
        ValueError: the row lacks a required field.

    Example:
        >>> fields = {"id": "uid", "title": "name.en", "start": "on"}
        >>> row = {"uid": 3, "name": {"en": "Fair"}, "on": "2026-12-05"}
        >>> event_from_row(row, fields, ZoneInfo("Europe/Paris"), source="town").start.day
        datetime.date(2026, 12, 5)
    """
    parsers: dict[str, Callable[[Any], Any]] = {
        "id": required_text,
        "title": required_text,
        "category": lambda words: category_of(str(words or "")) or "other",
        "start": lambda text: parse_when(text, zone),
        "end": lambda text: parse_when(text, zone) if text else None,
        "all_day": optional_flag,
        "country": lambda code: optional_text(code, 2),
        "rank": optional_rank,
        "url": optional_url,
        "image": optional_url,
    }
    values = {
        name: parse(value_at(row, fields[name]))
        for name, parse in parsers.items()
        if name in fields and name not in known
    }
    if "place" not in known and not fields.keys().isdisjoint(_PLACE_FIELDS):
        found = (value_at(row, fields[name]) if name in fields else None for name in _PLACE_FIELDS)
        values["place"] = parse_place(*found)
    values = {"category": "other", **values, **known}
    if (end := values.get("end")) and not is_after(end, values["start"]):
        values["end"] = None
    return ProviderEvent(**values)


def value_at(row: Any, path: str) -> Any:
    """Return the value in nested JSON at a path such as `venues.0.name`; None if it is missing.

    A path has keys and list indexes, joined by dots. If a key follows a list, it is looked up in
    the list's first value.
    """
    for step in path.split("."):
        if isinstance(row, list) and step.isdecimal():
            row = row[int(step)] if int(step) < len(row) else None
            continue
        if isinstance(row, list):
            row = row[0] if row else None
        row = row.get(step) if isinstance(row, dict) else None
    return row


def parse_when(text: object, zone: ZoneInfo) -> When:
    """Return the date, and the time if it has one, of an ISO 8601 text.

    A time without an offset is in `zone`.

    Raises:
        ValueError: the text is neither a date nor a date with a time.
    """
    if not isinstance(text, str):
        raise ValueError("the start is missing or not a text")  # noqa: TRY004  a bad row is a ValueError
    text = text.strip()
    if len(text) <= len("2026-12-05"):
        return When(date.fromisoformat(text))
    moment = datetime.fromisoformat(text)
    return When.of(moment if moment.tzinfo else moment.replace(tzinfo=zone))


def is_after(end: When, start: When) -> bool:
    """Return True if `end` is later than `start`.

    If either has no time, only the dates are compared, and equal dates count as later too.
    """
    return end.at > start.at if end.at and start.at else end.day >= start.day


def optional_rank(value: object) -> float | None:
    rank = optional_number(value)
    return rank if rank is not None and 0 <= rank <= MAX_RANK else None


def _has_plausible_years(event: ProviderEvent) -> bool:
    """Return True if the event begins in 1900 or later, and ends in 2100 or earlier.

    Sources use years such as 1 or 9999 for "unknown"; converting their time zone would fail.
    """
    last = event.end or event.start
    return event.start.day.year >= _MIN_YEAR and last.day.year <= _MAX_YEAR


def single_line(text: object, limit: int = MAX_TEXT_LENGTH) -> str | None:
    """Return text on one line, cut to at most `limit` characters; None if it is empty."""
    head = str(text or "")[: 4 * limit]
    if not head.isprintable():
        head = "".join(c if c.isprintable() else " " for c in head)
    if "  " in head or head[:1] == " " or head[-1:] == " ":
        head = " ".join(head.split())
    return head[:limit] or None


def strip_markup(text: object, limit: int = MAX_TEXT_LENGTH) -> str | None:
    """Return text on one line, with HTML tags removed and entities decoded; None if it is empty."""
    head = _TAG.sub(" ", str(text or "")[: 8 * limit])
    return single_line(_ENTITY.sub(lambda entity: html.unescape(entity[0]), head), limit)


def required_text(value: object) -> str:
    """Return a required text, such as a title or id, on one line; an integer becomes a text.

    Raises:
        ValueError: the value is missing, or neither a text nor an integer.
    """
    text = single_line(value, MAX_TITLE_LENGTH) if isinstance(value, str | int) else None
    if text is None:
        raise ValueError("the title or the id is missing")
    return text


def optional_text(value: object, limit: int = MAX_TEXT_LENGTH) -> str | None:
    """Return a string on one line; None if the value is not a string or is empty."""
    return single_line(value, limit) if isinstance(value, str) else None


def optional_url(value: object) -> str | None:
    """Return a URL without checking its form; None if it is too long or not a text."""
    return value if isinstance(value, str) and len(value) <= MAX_URL_LENGTH else None


def optional_number(value: object) -> float | None:
    """Return a JSON value as a float if it is a finite number, otherwise None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer of hundreds of digits
        return None


def optional_flag(value: object) -> bool:
    """Return True for true, a number except 0, and the texts "true", "yes" and "1"; else False."""
    if isinstance(value, str):
        return value.strip().lower() in {"true", "yes", "1"}
    return bool(value)


def optional_zone(name: object) -> ZoneInfo | None:
    """Return the time zone with this name; None if no time zone has it."""
    try:
        return ZoneInfo(name) if isinstance(name, str) and name else None
    except (KeyError, ValueError, OSError):
        return None


def parse_coordinates(lat: object, lng: object) -> tuple[float, float] | None:
    """Return (lat, lng) if both are valid numbers, or texts of such numbers, else None.

    The pair 0, 0 is not valid, since it usually comes from an empty form.
    """
    try:
        # many spreadsheets write a decimal comma
        pair = float(str(lat).replace(",", ".")), float(str(lng).replace(",", "."))
    except ValueError:
        return None
    if not (-90 <= pair[0] <= 90 and -180 <= pair[1] <= 180) or pair == (0, 0):
        return None
    return pair


def parse_point(value: object) -> tuple[float, float] | None:
    """Return the coordinates of a point in any of four notations; None if they are not valid.

    Example:
        >>> parse_point("48.85, 2.35"), parse_point("POINT (2.35 48.85)")
        ((48.85, 2.35), (48.85, 2.35))
        >>> parse_point({"type": "Point", "coordinates": [2.35, 48.85]})
        (48.85, 2.35)
        >>> parse_point('{"lon": 2.35, "lat": 48.85}')
        (48.85, 2.35)
    """
    if isinstance(value, str):
        text = value[:MAX_TEXT_LENGTH]
        if found := _WKT_POINT.fullmatch(text):
            return parse_coordinates(found[2], found[1])
        if found := _PAIR.fullmatch(text):
            return parse_coordinates(found[1], found[2])
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return None
    if not isinstance(value, dict):
        return None
    pair = value.get("coordinates")
    if isinstance(pair, list) and len(pair) > 1:
        return parse_coordinates(pair[1], pair[0])
    lat, lng = (
        next((value[name] for name in names if name in value), None)
        for names in (("lat", "latitude"), ("lng", "lon", "longitude"))
    )
    return parse_coordinates(lat, lng)


def parse_place(name: object, address: object, lat: object, lng: object) -> Place:
    """Return a venue; if one of the coordinates is missing or invalid, both are None."""
    at = parse_coordinates(lat, lng) or (None, None)
    return Place(name=optional_text(name), address=optional_text(address), lat=at[0], lng=at[1])


def parse_price(low: object, high: object, currency: object) -> Price | None:
    """Return a price range; None if neither `low` nor `high` is a plausible price."""
    bounds = _amount(low), _amount(high)
    if bounds == (None, None):
        return None
    return Price(min=bounds[0], max=bounds[1], currency=optional_text(currency, 3))


def _amount(value: object) -> float | None:
    try:
        number = float(str(value).replace(",", "."))
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None


def category_of(words: str) -> Category | None:
    """Return our category for a source's words: "concert" for "live music"; None if unknown."""
    lowered = words[:MAX_TEXT_LENGTH].casefold().replace("_", " ").replace("-", " ")
    whole = lowered.replace(" ", "_")
    if whole in Category.__args__:  # type: ignore[attr-defined]  # the words of the Literal
        return whole  # type: ignore[return-value]  # it is one of them
    found = (_CATEGORY_WORDS.get(word) for word in _WORD.findall(lowered))
    return next((category for category in found if category), None)
