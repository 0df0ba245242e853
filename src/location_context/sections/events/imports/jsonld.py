"""JSON-LD: reads schema.org events from a web page or a JSON file.

A page is read by lxml's HTML parser, which does not expand entities that the page defines. Each
script of the page is parsed separately. The search for events uses no recursion, so deep nesting is
harmless.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

import lxml.etree
import lxml.html

from location_context.sections.events import fields
from location_context.sections.events.imports import reading
from location_context.sections.events.records import OWN_SOURCE, Place, ProviderEvent
from location_context.sections.events.response import Category, Price

_CATEGORIES: dict[str, Category] = {
    "MusicEvent": "concert", "Festival": "festival", "SportsEvent": "sport",
    "TheaterEvent": "performing_arts", "DanceEvent": "performing_arts",
    "ComedyEvent": "performing_arts", "LiteraryEvent": "performing_arts",
    "ScreeningEvent": "performing_arts", "ExhibitionEvent": "exhibition",
    "VisualArtsEvent": "exhibition", "BusinessEvent": "conference",
    "EducationEvent": "conference", "ConferenceEvent": "conference", "Hackathon": "conference",
    "SocialEvent": "community", "FoodEvent": "community", "ChildrensEvent": "community",
    "SaleEvent": "other", "Event": "other",
}  # fmt: skip


def read_jsonld(data: bytes, task: reading.Task) -> reading.Found:
    """Yield the events of a page or file, and a rejection for each unreadable entry."""
    found = False
    for number, script in enumerate(_scripts(reading.decode(data).encode()), start=1):
        try:
            graph = reading.decode_json(script)
        except reading.UnreadableEntry as error:
            yield reading.RejectedEntry(f"script {number}", str(error))
            continue
        for node in _events(graph):
            found = True
            title = fields.strip_markup(_text(node.get("name")), fields.MAX_TITLE_LENGTH)
            location = title[:60] if title else f"an event of script {number}"
            yield from reading.guard(_event(node, title, task), location)
        found = found or (graph.get("@graph") if isinstance(graph, dict) else graph) == []
    if not found:
        yield reading.RejectedEntry("the page", "the page has no schema.org event with a date")


def _scripts(data: bytes) -> Iterator[bytes]:
    if data.lstrip()[:1] in {b"{", b"["}:
        yield data
        return
    try:  # `data` is UTF-8, whatever encoding the page declares
        page = lxml.html.document_fromstring(data, parser=lxml.html.HTMLParser(encoding="utf-8"))
    except (lxml.etree.LxmlError, ValueError):
        return
    for script in page.iter("script"):
        kind = (script.get("type") or "").partition(";")[0].strip().lower()
        if kind == "application/ld+json":
            yield (script.text or "").strip().encode()


def _events(graph: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of the JSON, at any depth, that is an event with a start date."""
    queue = deque([graph])
    while queue:
        node = queue.popleft()
        if isinstance(node, list):
            queue.extend(one for one in node if isinstance(one, (list, dict)))
        elif isinstance(node, dict):
            if _types(node) & _CATEGORIES.keys() and "startDate" in node:
                yield node
            queue.extend(
                v for k, v in node.items() if k != "@context" and isinstance(v, (list, dict))
            )


def _types(node: dict[str, Any]) -> set[str]:
    given = node.get("@type")
    names = given if isinstance(given, list) else [given]
    return {_local_name(name) for name in names if isinstance(name, str)}


def _local_name(value: Any) -> str:
    """Return a schema.org name without its prefix.

    Example: "Event" for "https://schema.org/Event" or "schema:Event".
    """
    return str(value or "").rpartition("/")[2].rpartition(":")[2]


def _event(node: dict[str, Any], title: str | None, task: reading.Task) -> reading.Found:
    if title is None:
        raise reading.UnreadableEntry("the name is missing")
    status = _local_name(node.get("eventStatus"))
    if status == "EventCancelled":
        return
    if _local_name(node.get("eventAttendanceMode")) == "OnlineEventAttendanceMode":
        raise reading.UnreadableEntry("the event takes place online only")
    place = _first_object(node.get("location"))
    coordinates = _coordinates(place)
    lat, lng = coordinates or (None, None)
    zone = reading.local_zone(coordinates, task.zone)
    end_text = (_text(node["endDate"]) or "?") if node.get("endDate") else None
    start, end = reading.parse_times(_text(node["startDate"]) or "", end_text, zone)
    categories = sorted({_CATEGORIES[t] for t in _types(node) & _CATEGORIES.keys()} - {"other"})
    venue, address = fields.strip_markup(place.get("name")), _address(place.get("address"))
    yield from task.placed(
        ProviderEvent(
            id=_uid(node, title, place),
            source=OWN_SOURCE,
            title=title,
            category=task.category(categories[0] if categories else ""),
            start=start,
            end=end if end is not None and fields.is_after(end, start) else None,
            all_day=start.at is None and end is not None and end.at is None,
            status="postponed" if status == "EventPostponed" else "confirmed",
            place=Place(name=venue, address=address, lat=lat, lng=lng),
            url=_text(node.get("url")),
            image=_image(node.get("image")),
            price=_price(node.get("offers")),
        )
    )


def _uid(node: dict[str, Any], title: str, place: dict[str, Any]) -> str:
    """Return an id for an event, made of its `@id` or URL, its title and its place.

    The `@id` or URL alone is not enough, since many pages give all events the URL of the page.
    """
    named = _text(node.get("@id")) or _text(node.get("url"))
    at = _text(place.get("name")), _address(place.get("address")), str(_coordinates(place) or "")
    return " ".join(filter(None, (named, title, *at)))


def _first_object(value: Any) -> dict[str, Any]:
    """Return an object, or the first object of a list; {} if there is none.

    A text such as "Town hall" becomes the object {"name": "Town hall"}. Objects of the type
    `VirtualLocation` (online events) are skipped.
    """
    if isinstance(value, list):
        return next((one for one in map(_first_object, value) if one), {})
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, dict) and "VirtualLocation" not in _types(value):
        return value
    return {}


def _coordinates(place: dict[str, Any]) -> tuple[float, float] | None:
    geo = _first_object(place.get("geo")) or place
    return fields.parse_coordinates(geo.get("latitude"), geo.get("longitude"))


def _address(value: Any) -> str | None:
    if isinstance(value, str):
        return fields.strip_markup(value)
    given = _first_object(value)
    parts = [given.get(name) for name in ("streetAddress", "postalCode", "addressLocality")]
    return fields.strip_markup(", ".join(str(part) for part in parts if part))


def _image(value: Any) -> str | None:
    one = value[0] if isinstance(value, list) and value else value
    return _text(one.get("url") or one.get("contentUrl") if isinstance(one, dict) else one)


def _text(value: Any) -> str | None:
    """Return `value` if it is a text, else the text in its "@value" or first item, else None."""
    one = value[0] if isinstance(value, list) and value else value
    one = one.get("@value") if isinstance(one, dict) else one
    return fields.single_line(one, fields.MAX_URL_LENGTH) if isinstance(one, str) else None


def _price(value: Any) -> Price | None:
    offers = value if isinstance(value, list) else [value]
    for offer in (one for one in offers if isinstance(one, dict)):
        low, high = (offer.get(name, offer.get("price")) for name in ("lowPrice", "highPrice"))
        if price := fields.parse_price(low, high, offer.get("priceCurrency")):
            return price
    return None
