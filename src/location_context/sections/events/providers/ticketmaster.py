"""Ticketmaster Discovery v2: events with a venue, in pages, 5 calls a second and 5,000 a day.

Coordinates come as strings, zones are often missing (the venue has one), a time to be announced is
no midnight, and tests and cancelled events are left out.
"""

from __future__ import annotations

import asyncio
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, ClassVar
from zoneinfo import ZoneInfo

from location_context.errors import ProviderAnswerInvalid, ProviderError
from location_context.sections.events.answer import web_address
from location_context.sections.events.providers.geohash import geohash
from location_context.sections.events.providers.heard import Asked, Heard
from location_context.sections.events.records import Place, Told, When
from location_context.sections.events.response import Category, Price
from location_context.sections.providers import provider_state
from location_context.upstream.budget import DAY, Budget
from location_context.upstream.provider import Upstream

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

    import httpx2

    from location_context.sections.contract import ProviderState, Query
    from location_context.settings import Secret, Settings
    from location_context.stay import Clock, Stay
    from location_context.upstream.deadline import Deadline

_SIZE, _PAGES = 200, 5  # size × page stays below 1,000
_PACE = 0.26  # seconds between pages: four a second
_FRESH, _GOOD = timedelta(hours=3), timedelta(days=2)
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


class Ticketmaster:
    """The provider."""

    name: ClassVar[str] = "ticketmaster"

    def __init__(self, asked: Asked, key: Secret, radius: float) -> None:
        self._asked = asked
        self._key = key
        self._radius = radius

    @classmethod
    def build(cls, settings: Settings, clock: Clock, client: httpx2.AsyncClient) -> Self:
        url = settings.ticketmaster_url if settings.ticketmaster_api_key else ""
        budget = Budget({1.0: 4, DAY: 4000}, share=settings.budget_share)
        upstream = Upstream(cls.name, url, client, clock, budget=budget)
        asked = Asked(upstream, clock, fresh=_FRESH, good=_GOOD)
        return cls(asked, settings.ticketmaster_api_key, settings.events_radius)

    def state(self) -> ProviderState:
        return provider_state(self._asked.upstream)

    async def close(self) -> None:
        await self._asked.close()

    async def hear(self, query: Query, deadline: Deadline) -> Heard:
        """Events around the point, to a hundredth of a degree, during the stay."""
        assert query.stay is not None
        stay, place = query.stay, (round(query.point.lat, 2), round(query.point.lng, 2))
        return await self._asked.hear(
            (place, stay), lambda: self._fetch(place, stay, query), query, deadline
        )

    async def _fetch(self, place: tuple[float, float], stay: Stay, query: Query) -> list[Told]:
        told: dict[str, Told] = {}
        for page in range(_PAGES):
            try:
                body = await self._page(place, stay, page, public=query.public)
            except ProviderError:
                if not told:
                    raise
                break  # the pages that came are better than none
            told |= {event.id: event for event in read(body, query.point.zone)}
            if page + 1 >= _pages(body):
                break
            await asyncio.sleep(_PACE)
        return list(told.values())

    async def _page(
        self, place: tuple[float, float], stay: Stay, page: int, *, public: bool
    ) -> dict[str, Any]:
        answer = await self._asked.upstream.get(self._params(place, stay, page), public=public)
        body = answer.json()
        if not isinstance(body, dict):
            raise ProviderAnswerInvalid(self.name, "the answer is not an object")
        return body

    def _params(self, place: tuple[float, float], stay: Stay, page: int) -> dict[str, str]:
        return {
            "apikey": self._key.reveal(),
            "geoPoint": geohash(*place),
            "radius": str(round(self._radius) + 1),
            "unit": "km",
            "localStartEndDateTime": f"{stay.start}T00:00:00,{stay.end}T23:59:59",
            "locale": "*",  # else only what is on sale in English
            "includeTBA": "yes",
            "includeTBD": "no",
            "includeTest": "no",
            "sort": "date,asc",
            "size": str(_SIZE),
            "page": str(page),
        }


def _pages(body: dict[str, Any]) -> int:
    try:
        return int(body["page"]["totalPages"])
    except (KeyError, TypeError, ValueError):
        return 1


def read(body: dict[str, Any], zone: ZoneInfo) -> Iterator[Told]:
    """The events of one page; `zone` stands in where neither event nor venue names one."""
    rows = (body.get("_embedded") or {}).get("events") or []
    for row in rows:
        try:
            told = _event(row, zone)
        except (AttributeError, KeyError, TypeError, ValueError):
            continue  # one row that makes no sense does not take the others with it
        if told is not None:
            yield told


def _event(row: dict[str, Any], zone: ZoneInfo) -> Told | None:
    dates = row["dates"]
    status = ((dates.get("status") or {}).get("code") or "").lower()
    if row.get("test") or status in {"cancelled", "canceled"} or dates["start"].get("dateTBD"):
        return None
    venues = (row.get("_embedded") or {}).get("venues") or [{}]
    venue = venues[0]
    local = _zone(dates.get("timezone")) or _zone(venue.get("timezone")) or zone
    start = _when(dates["start"], local)
    end = _when(dates["end"], local) if (dates.get("end") or {}).get("localDate") else None
    return Told(
        id=str(row["id"]),
        source=Ticketmaster.name,
        title=str(row["name"])[:300],
        category=_category(row.get("classifications") or []),
        start=start,
        end=end if end and not _before(end, start) else None,
        status="postponed" if status == "postponed" else "confirmed",
        place=_place(venue) if venue else None,
        url=web_address(row.get("url")),
        image=_image(row.get("images") or []),
        price=_price(row.get("priceRanges") or []),
    )


def _when(given: dict[str, Any], zone: ZoneInfo) -> When:
    """The local date, with its moment where the time is known."""
    day = date.fromisoformat(given["localDate"])
    unknown = any(given.get(name) for name in ("dateTBA", "timeTBA", "noSpecificTime"))
    if unknown or not (given.get("localTime") or given.get("dateTime")):
        return When(day)
    if given.get("dateTime"):
        return When.of(datetime.fromisoformat(given["dateTime"]).astimezone(zone))
    return When.of(datetime.combine(day, time.fromisoformat(given["localTime"]), tzinfo=zone))


def _before(end: When, start: When) -> bool:
    if end.at and start.at:
        return end.at <= start.at
    return end.day < start.day


def _zone(name: Any) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (KeyError, ValueError, OSError, TypeError):
        return None


def _category(given: Iterable[dict[str, Any]]) -> Category:
    """The primary classification: a genre that says more, else its segment."""
    ranked = sorted(given, key=lambda one: not one.get("primary"))
    if not ranked:
        return "other"
    parts = ("type", "subType", "genre", "subGenre")
    names = [((ranked[0].get(part) or {}).get("name") or "").lower() for part in parts]
    found = next((_GENRES[name] for name in names if name in _GENRES), None)
    segment = ((ranked[0].get("segment") or {}).get("name") or "").lower()
    return found or _SEGMENTS.get(segment, "other")


def _place(venue: dict[str, Any]) -> Place:
    location = venue.get("location") or {}
    parts = [
        (venue.get("address") or {}).get("line1"),
        venue.get("postalCode"),
        (venue.get("city") or {}).get("name"),
    ]
    lat, lng = _degrees(location.get("latitude"), 90), _degrees(location.get("longitude"), 180)
    known = lat is not None and lng is not None and (lat, lng) != (0, 0)
    return Place(
        name=venue.get("name") or None,
        address=", ".join(part for part in parts if part) or None,
        lat=lat if known else None,
        lng=lng if known else None,
    )


def _degrees(given: Any, bound: float) -> float | None:
    try:
        value = float(given)
    except (TypeError, ValueError):
        return None
    return value if -bound <= value <= bound else None


def _image(images: list[dict[str, Any]]) -> str | None:
    """The one wide enough for a card: 16:9 and nearest to 640 pixels."""
    wide = [image for image in images if image.get("ratio") == "16_9"] or images
    best = min(wide, key=lambda image: abs((image.get("width") or 0) - 640), default={})
    return web_address(best.get("url"))


def _price(ranges: list[dict[str, Any]]) -> Price | None:
    for given in ranges:
        if isinstance(given.get("min"), int | float) or isinstance(given.get("max"), int | float):
            return Price(min=given.get("min"), max=given.get("max"), currency=given.get("currency"))
    return None
