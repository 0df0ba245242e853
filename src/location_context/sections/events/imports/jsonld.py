"""JSON-LD: schema.org events in a page or a file.

A page is read by lxml's HTML parser, which expands no entities of its own document's making; each
script is parsed alone. The graph is walked without recursion.
"""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import lxml.etree
import lxml.html
import msgspec

from location_context.sections.events.fields import (
    MAX_TITLE_LENGTH,
    parse_coordinates,
    single_line,
    strip_markup,
)
from location_context.sections.events.imports.encoding import utf8
from location_context.sections.events.imports.entries import (
    Entry,
    Refused,
    Window,
    amount,
    guarded,
    is_within,
    own_zone,
    when,
)
from location_context.sections.events.response import Category, EventStatus, Price

if TYPE_CHECKING:
    from collections.abc import Iterator

    from location_context.sections.events.records import When

_TYPES: dict[str, Category] = {
    "MusicEvent": "concert",
    "Festival": "festival",
    "SportsEvent": "sport",
    "TheaterEvent": "performing_arts",
    "DanceEvent": "performing_arts",
    "ComedyEvent": "performing_arts",
    "LiteraryEvent": "performing_arts",
    "ScreeningEvent": "performing_arts",
    "ExhibitionEvent": "exhibition",
    "VisualArtsEvent": "exhibition",
    "BusinessEvent": "conference",
    "EducationEvent": "conference",
    "ConferenceEvent": "conference",
    "Hackathon": "conference",
    "SocialEvent": "community",
    "FoodEvent": "community",
    "ChildrensEvent": "community",
    "SaleEvent": "other",
    "Event": "other",
}


def read_jsonld(data: bytes, window: Window) -> Iterator[Entry | Refused]:
    """The events of a page or a file."""
    zone = ZoneInfo(window.timezone)
    found = False
    for number, script in enumerate(_scripts(utf8(data)), start=1):
        try:
            graph = _decoded(script)
        except (ValueError, RecursionError) as error:
            yield Refused(f"script {number}", f"it is not JSON: {single_line(error, 120)}")
            continue
        for node in _events(graph):
            found = True
            yield from guarded(_entry(node, zone, window), f"an event of script {number}")
        found = found or _is_empty(graph)
    if not found:
        yield Refused("the page", "it holds no event of schema.org with a date")


def _scripts(data: bytes) -> Iterator[bytes]:
    if data.lstrip()[:1] in {b"{", b"["}:
        yield data
        return
    try:
        page = lxml.html.document_fromstring(data, parser=lxml.html.HTMLParser(encoding=_of(data)))
    except (lxml.etree.LxmlError, ValueError):
        return
    for script in page.iter("script"):
        kind = (script.get("type") or "").partition(";")[0].strip().lower()
        if kind == "application/ld+json":
            yield (script.text or "").strip().encode()


def _of(page: bytes) -> str | None:
    """UTF-8 where a page is that, which the parser would not ask; else what it says of itself."""
    try:
        page.decode()
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _decoded(script: bytes) -> Any:
    """The value of a script, also where a text in it holds a line break, as many pages have it."""
    try:
        return msgspec.json.decode(script)
    except msgspec.DecodeError:
        return json.loads(script, strict=False)


def _is_empty(graph: Any) -> bool:
    """Whether it is a list of events without any."""
    return (graph.get("@graph") if isinstance(graph, dict) else graph) == []


def _events(graph: Any) -> Iterator[dict[str, Any]]:
    """Every node that is an event, wherever it stands."""
    waiting = deque([graph])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, list):
            waiting.extend(one for one in node if isinstance(one, (list, dict)))
        elif isinstance(node, dict):
            if _types(node) & _TYPES.keys() and "startDate" in node:
                yield node
            waiting.extend(
                v for k, v in node.items() if k != "@context" and isinstance(v, (list, dict))
            )


def _types(node: dict[str, Any]) -> set[str]:
    given = node.get("@type")
    names = given if isinstance(given, list) else [given]
    return {name.rpartition("/")[2].rpartition(":")[2] for name in names if isinstance(name, str)}


def _entry(node: dict[str, Any], zone: ZoneInfo, window: Window) -> Iterator[Entry | Refused]:
    title = strip_markup(_text(node.get("name")), MAX_TITLE_LENGTH)
    if title is None:
        yield Refused("an event", "it has no name")
        return
    status = _last(node.get("eventStatus"))
    if status == "EventCancelled":
        return
    if _last(node.get("eventAttendanceMode")) == "OnlineEventAttendanceMode":
        yield Refused(title[:60], "it takes place online only")
        return
    if (point := _geo(_first(node.get("location")))) is not None:
        zone = own_zone(point)
    try:
        start = when(_text(node["startDate"]) or "", zone)
        end = when(_text(node["endDate"]) or "", zone) if node.get("endDate") else None
    except ValueError:
        yield Refused(
            title[:60], f"its dates cannot be read: {single_line(_text(node['startDate']), 40)}"
        )
        return
    if is_within(start, end, window):
        yield _read(node, title, start, end, status)


def _read(node: dict[str, Any], title: str, start: When, end: When | None, status: str) -> Entry:
    place = _first(node.get("location"))
    point = _geo(place)
    shown: EventStatus = "postponed" if status == "EventPostponed" else "confirmed"
    whole_days = start.at is None and end is not None and end.at is None
    return Entry(
        uid=_uid(node, title, place),
        title=title,
        start=start,
        end=_end(start, end),
        all_day=whole_days,
        status=shown,
        category=next(
            iter(sorted({_TYPES[t] for t in _types(node) & _TYPES.keys()} - {"other"})), None
        ),
        venue=strip_markup(place.get("name")),
        address=_address(place.get("address")),
        lat=point[0] if point else None,
        lng=point[1] if point else None,
        url=_text(node.get("url")),
        image=_image(node.get("image")),
        price=_price(node.get("offers")),
    )


def _uid(node: dict[str, Any], title: str, place: dict[str, Any]) -> str:
    """A name of its own; a page gives all its events its own address."""
    named = _text(node.get("@id")) or _text(node.get("url"))
    at = _text(place.get("name")), _address(place.get("address")), str(_geo(place) or "")
    return " ".join(filter(None, (named, title, *at)))


def _end(start: When, end: When | None) -> When | None:
    if end is None or end.day < start.day:
        return None
    if end.at and start.at and end.at <= start.at:
        return None
    return end


def _first(value: Any) -> dict[str, Any]:
    """The first object of a list, an object itself, or words as an object's name."""
    if isinstance(value, list):
        return next((one for one in map(_first, value) if one), {})
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, dict) and "VirtualLocation" not in _types(value):
        return value
    return {}


def _geo(place: dict[str, Any]) -> tuple[float, float] | None:
    geo = _first(place.get("geo")) or place
    return parse_coordinates(geo.get("latitude"), geo.get("longitude"))


def _address(value: Any) -> str | None:
    if isinstance(value, str):
        return strip_markup(value)
    given = _first(value)
    parts = [given.get(name) for name in ("streetAddress", "postalCode", "addressLocality")]
    return strip_markup(", ".join(str(part) for part in parts if part))


def _image(value: Any) -> str | None:
    one = value[0] if isinstance(value, list) and value else value
    return _text(one.get("url") or one.get("contentUrl") if isinstance(one, dict) else one)


def _text(value: Any) -> str | None:
    """Words: themselves, the first of a list, or the value of a value object."""
    one = value[0] if isinstance(value, list) and value else value
    one = one.get("@value") if isinstance(one, dict) else one
    return single_line(one, 2000) if isinstance(one, str) else None


def _price(value: Any) -> Price | None:
    offers = value if isinstance(value, list) else [value]
    for offer in (one for one in offers if isinstance(one, dict)):
        low = amount(offer.get("lowPrice", offer.get("price")))
        high = amount(offer.get("highPrice", offer.get("price")))
        if low is not None or high is not None:
            return Price(min=low, max=high, currency=single_line(offer.get("priceCurrency"), 3))
    return None


def _last(value: Any) -> str:
    return str(value or "").rpartition("/")[2].rpartition(":")[2]
