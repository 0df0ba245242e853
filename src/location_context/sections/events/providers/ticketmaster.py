"""Ticketmaster Discovery v2: events with a venue; 5 calls a second and 5,000 a day are free.

Ticketmaster returns at most 1,000 events of a query. If a week has more, as in a large city, it is
fetched day by day. If a day has more too, the most relevant 1,000 events are used.

In the answers, coordinates are texts. If an event has no time zone, its venue's is used. If its
time is not announced yet, only the date is used. Tests, cancelled events and add-ons (parking,
vouchers, upgrades) are left out.
"""

import asyncio
import math
import re
from collections import deque
from collections.abc import AsyncIterator, Callable
from datetime import UTC, date, datetime
from datetime import time as clock_time
from typing import Any, NamedTuple, TypedDict
from zoneinfo import ZoneInfo

import msgspec

from location_context.sections.contract import Attribution, Query
from location_context.sections.events import fields
from location_context.sections.events.providers import base
from location_context.sections.events.records import Place, ProviderEvent, When
from location_context.sections.events.response import Category, EventStatus, Price
from location_context.sections.section import SectionContext
from location_context.stay import Stay

PAGE_SIZE, MAX_PAGES = 200, 5  # size × page must stay below 1,000
MAX_PAGED_EVENTS = PAGE_SIZE * MAX_PAGES
ROWS_AT_ONCE = 60  # rows parsed in 1 ms, after which other requests may run
LOGO_WARNING = (
    "Ticketmaster: its branding guide requires its logo on every page that shows its events; the "
    "widget shows its name with a link, so place the logo on the page around it"
)
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
_GENRE_PARTS = ("type", "subType", "genre", "subGenre")
_PARTS = ("segment", *_GENRE_PARTS)
# types of add-ons to an event, also by id, since their names are in the event's language
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
_GEOHASH_DIGITS = "0123456789bcdefghjkmnpqrstuvwxyz"


class _Call(NamedTuple):
    """A call to make: it fetches page number `page` of the events on `days`."""

    days: Stay
    page: int


# JSON values other than objects, so that one odd row does not make the whole body invalid
_Other = list[Any] | str | int | float | bool | None


class _RowEmbedded(TypedDict, total=False):
    venues: Any


class _Row(TypedDict, total=False):
    """An event in an answer, with the fields that are read; each accepts any JSON value."""

    id: Any
    name: Any
    test: Any
    url: Any
    dates: Any
    classifications: Any
    images: Any
    priceRanges: Any
    _embedded: _RowEmbedded | _Other


class _Embedded(msgspec.Struct):
    events: list[_Row | _Other] = []


class Body(msgspec.Struct):
    """One page of Ticketmaster's answer; `_embedded` is missing if the page has no events."""

    page: dict[str, Any]
    embedded: _Embedded = msgspec.field(name="_embedded", default_factory=_Embedded)

    @property
    def total(self) -> int:
        """The number of events on all pages; 0 if the answer does not state it."""
        return int(fields.optional_number(self.page.get("totalElements")) or 0)


class Ticketmaster(base.HttpEventProvider):
    """The provider of events from Ticketmaster.

    Ticketmaster's branding guide requires its logo, which a text notice cannot show. The notice
    has the logo's words and link; a warning asks the operator to place the logo on the page.
    """

    name = "ticketmaster"
    order = 400
    attribution = Attribution(
        name="Ticketmaster",
        url="https://www.ticketmaster.com/",
        license=None,
        text="Powered by Ticketmaster",
    )

    def __init__(self, context: SectionContext) -> None:
        super().__init__(context)
        self._key = context.settings.ticketmaster_api_key

    def configured_url(self, context: SectionContext) -> str:
        settings = context.settings
        return settings.ticketmaster_url if settings.ticketmaster_api_key else ""

    def warnings(self) -> list[str]:
        return [LOGO_WARNING] if self.client.configured else []

    async def fetch_pages(self, query: Query) -> AsyncIterator[base.Page]:
        """Yield the pages of a week, or of each day if the week has more than 1,000 events."""
        calls, crowded = deque([_Call(query.dates, 0)]), False
        while calls:
            days, page = calls.popleft()
            params = self._call_params(query, days, page)
            # of a row only a tenth is read: decoding all of it would take four times as long
            body = await self.client.get(
                params, lambda response: response.json(Body), public=query.public
            )
            rows = body.embedded.events
            for start in range(0, max(1, len(rows)), ROWS_AT_ONCE):
                await asyncio.sleep(0)  # lets other requests run
                yield base.Page(self.parse_events(rows[start : start + ROWS_AT_ONCE], query))
            if page == 0 and body.total > MAX_PAGED_EVENTS and days.days > 1:
                calls += [_Call(Stay(day, day), 0) for day in days.dates()]
            elif page == 0:
                pages = min(math.ceil(body.total / PAGE_SIZE), MAX_PAGES)
                calls += [_Call(days, further) for further in range(1, pages)]
                crowded |= body.total > MAX_PAGED_EVENTS
        if crowded:
            yield base.Page(truncated=True)

    def parse_event(self, row: Any, query: Query) -> ProviderEvent | None:
        return parse_event(row, query.point.zone)

    def _call_params(self, query: Query, days: Stay, page: int) -> dict[str, str]:
        return {
            "apikey": self._key.reveal(),
            "geoPoint": geohash(*base.rounded_point(query)),
            "radius": str(self.radius),
            "unit": "km",
            "localStartEndDateTime": f"{days.start}T00:00:00,{days.end}T23:59:59",
            "locale": "*",  # otherwise only events sold in English
            "includeTBA": "yes",
            "includeTBD": "no",
            "includeTest": "no",
            "sort": "relevance,desc",
            "size": str(PAGE_SIZE),
            "page": str(page),
        }


def geohash(lat: float, lng: float, length: int = 9) -> str:
    """Return the geohash of a point, a text of `length` characters; nine are exact to 5 m."""
    bounds = [[-180.0, 180.0], [-90.0, 90.0]]
    text, number = "", 0
    for bit in range(length * 5):
        low, high = bounds[bit % 2]
        middle = (low + high) / 2
        above = (lng, lat)[bit % 2] >= middle
        bounds[bit % 2][0 if above else 1] = middle
        number = number * 2 + above
        if bit % 5 == 4:
            text, number = text + _GEOHASH_DIGITS[number], 0
    return text


def parse_event(row: Any, default_zone: ZoneInfo) -> ProviderEvent | None:
    """Return the event in a row of the answer; None if it is to be left out.

    `default_zone` is for rows in which neither event nor venue has a time zone.

    Raises:
        ValueError, KeyError, TypeError: the row lacks a required field.
    """
    dates = row["dates"]
    classifications = row.get("classifications") or []
    kind: dict[str, Any] = min(classifications, key=lambda one: not one.get("primary"), default={})
    status = (fields.optional_text(fields.value_at(dates, "status.code")) or "").lower()
    if row.get("test") or status in {"cancelled", "canceled"} or dates["start"].get("dateTBD"):
        return None
    title, names = fields.required_text(row["name"]), _names(kind)
    if _is_add_on(title, kind, names):
        return None
    venues = fields.value_at(row, "_embedded.venues")
    venue = venues[0] or {} if venues and isinstance(venues, list) else {}
    zones = map(fields.optional_zone, (dates.get("timezone"), venue.get("timezone")))
    zone = next(filter(None, zones), default_zone)
    certain: EventStatus = "estimated" if dates["start"].get("dateTBA") else "confirmed"
    start = _when(dates["start"], zone)
    end = _when(dates["end"], zone) if fields.value_at(dates, "end.localDate") else None
    return ProviderEvent(
        id=fields.required_text(row.get("id")),
        source="ticketmaster",
        title=title,
        category=_category(names),
        start=start,
        end=end if end and fields.is_after(end, start) else None,
        status="postponed" if status == "postponed" else certain,
        place=_place(venue) if venue else None,
        url=fields.optional_url(row.get("url")),
        image=_image(row.get("images") or []),
        price=_price(row.get("priceRanges") or []),
    )


def _when(start: dict[str, Any], zone: ZoneInfo) -> When:
    """Return the local date in `start`, with the time if it is known."""
    day = date.fromisoformat(start["localDate"])
    given: Callable[[str], Any] = start.get
    clock, moment = given("localTime"), given("dateTime")
    if given("dateTBA") or given("timeTBA") or given("noSpecificTime") or not (clock or moment):
        return When(day)
    if moment:
        known = datetime.fromisoformat(moment)
        return When.of((known if known.tzinfo else known.replace(tzinfo=UTC)).astimezone(zone))
    return When.of(datetime.combine(day, clock_time.fromisoformat(clock), tzinfo=zone))


def _names(kind: dict[str, Any]) -> dict[str, str]:
    """Return the names in a classification (segment, genre, type), in lower case.

    A missing name is "".
    """
    names = dict.fromkeys(_PARTS, "")
    for part in names.keys() & kind.keys():
        name = fields.value_at(kind[part], "name")
        names[part] = name.strip().lower() if isinstance(name, str) else ""
    return names


def _category(names: dict[str, str]) -> Category:
    """Return the category for Ticketmaster's genre, else for its segment (music, sports, arts)."""
    for part in _GENRE_PARTS:
        if names[part] in _GENRES:
            return _GENRES[names[part]]
    return _SEGMENTS.get(names["segment"], "other")


def _is_add_on(title: str, kind: dict[str, Any], names: dict[str, str]) -> bool:
    """Return True if a row's type or title shows that it sells only an add-on, such as parking."""
    if {names["type"], (kind.get("type") or {}).get("id")} & _ADD_ON_TYPES:
        return True
    if _SURE_ADD_ON.search(title):
        return True
    unclassified = names["segment"] in {"", "undefined", "miscellaneous"}
    return unclassified and bool(_LIKELY_ADD_ON.search(title))


def _place(venue: dict[str, Any]) -> Place:
    parts = (fields.value_at(venue, path) for path in ("address.line1", "postalCode", "city.name"))
    address = ", ".join(part for part in map(fields.optional_text, parts) if part)
    lat, lng = (fields.value_at(venue, f"location.{name}") for name in ("latitude", "longitude"))
    return fields.parse_place(venue.get("name"), address, lat, lng)


def _image(images: list[dict[str, Any]]) -> str | None:
    """Return the URL of the image that best fits a card: 16:9, and about 640 pixels wide."""
    wide = [image for image in images if image.get("ratio") == "16_9"] or images
    best = min(wide, key=lambda image: abs((image.get("width") or 0) - 640), default={})
    return fields.optional_url(best.get("url"))


def _price(ranges: list[dict[str, Any]]) -> Price | None:
    """Return the first price range that has an amount, or None."""
    found = (
        fields.parse_price(one.get("min"), one.get("max"), one.get("currency")) for one in ranges
    )
    return next(filter(None, found), None)
