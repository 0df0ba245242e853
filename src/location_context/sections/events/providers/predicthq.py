"""PredictHQ: events around a point during the stay, ranked by importance.

In PredictHQ's answers a location is [lng, lat]. Times are in UTC, and another field has the time
zone. If this field is empty, the times are local to the event. Cancelled and deleted events are
left out, as are events that nobody attends (disasters, delays). Events not announced yet
(`predicted`) are requested if the operator's plan includes them. `docs/decisions/events.md` has
more on times.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from location_context.errors import ProviderBackoff, ProviderStatusError
from location_context.sections.contract import Attribution, Query
from location_context.sections.events import fields
from location_context.sections.events.providers import base
from location_context.sections.events.records import Place, ProviderEvent, When
from location_context.sections.events.response import Category, EventStatus, Scope
from location_context.sections.section import SectionContext

PAGE_SIZE = 200
MAX_PAGES = 3  # of a week; more change little, since the highest ranks come first
_REFUSED_STATE = {400, 403}  # the parameter is unknown, or the plan does not include it
PLAN_TTL = timedelta(days=1)  # time for which a refusal by the plan is remembered
_CATEGORIES: dict[str, Category] = {
    "community": "community",
    "concerts": "concert",
    "conferences": "conference",
    "expos": "exhibition",
    "festivals": "festival",
    "observances": "observance",
    "performing-arts": "performing_arts",
    "politics": "other",
    "public-holidays": "public_holiday",
    "school-holidays": "school_holiday",
    "sports": "sport",
}
_SCOPES: dict[str, Scope] = {"country": "country", "region": "region", "county": "city"}


class Body(msgspec.Struct):
    """One page of an answer: `results` has its events, `count` the number on all pages.

    `overflow` is true if the operator's PredictHQ plan hides some of the events.
    """

    results: list[Any]
    count: Any = None
    next: Any = None
    overflow: Any = None

    def has_more_than(self, read: int) -> bool:
        """Return True if the query has more events than `read`, the number fetched so far."""
        return bool(self.next or self.overflow) or (fields.optional_number(self.count) or 0) > read


class PredictHQ(base.HttpEventProvider):
    """The provider of events from PredictHQ.

    It does not request public and school holidays, since other providers have better data.
    """

    name = "predicthq"
    order = 500
    attribution = Attribution(  # PredictHQ prescribes these words, for plans with attribution
        name="PredictHQ",
        url="https://www.predicthq.com/",
        license=None,
        text="Events by PredictHQ",
    )

    def __init__(self, context: SectionContext) -> None:
        super().__init__(context)
        self._token = context.settings.predicthq_api_key
        self._predicted_refused_until: datetime | None = None

    def configured_url(self, context: SectionContext) -> str:
        settings = context.settings
        return settings.predicthq_url if settings.predicthq_api_key else ""

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token.reveal()}"}

    async def fetch_pages(self, query: Query) -> AsyncIterator[base.Page]:
        """Yield pages, the most important events first, up to `MAX_PAGES` or the call budget."""
        params = self.params(query)
        body = await self._first_page(query, params)
        yield base.Page(self.parse_events(body.results, query))
        read, pages = len(body.results), 1
        while body.results and body.next and pages < MAX_PAGES:
            try:
                body = await self._page(query, params, read)
            except ProviderBackoff:
                break
            yield base.Page(self.parse_events(body.results, query))
            read, pages = read + len(body.results), pages + 1
        if body.has_more_than(read):
            yield base.Page(truncated=True)

    async def _first_page(self, query: Query, params: dict[str, str]) -> Body:
        """Return the first page, without `predicted` events if the operator's plan refuses them.

        If they are refused, they are removed from `params`. Queries of the next 24 hours do not ask
        for them.
        """
        refused_until = self._predicted_refused_until
        if refused_until is not None and self.clock() < refused_until:
            params["state"] = "active"
        try:
            return await self._page(query, params, 0)
        except ProviderStatusError as error:
            if error.status not in _REFUSED_STATE or params["state"] == "active":
                raise
        params["state"] = "active"
        body = await self._page(query, params, 0)
        self._predicted_refused_until = self.clock() + PLAN_TTL
        return body

    async def _page(self, query: Query, params: dict[str, str], offset: int) -> Body:
        return await self.get_json(
            query, {**params, "offset": str(offset)}, lambda body: msgspec.convert(body, Body)
        )

    def params(self, query: Query) -> dict[str, str]:
        categories = [name for name in _CATEGORIES if not name.endswith("-holidays")]
        lat, lng = base.rounded_point(query)
        return {
            "within": f"{self.radius}km@{lat},{lng}",
            "active.gte": f"{query.dates.start}T00:00:00",
            "active.lte": f"{query.dates.end}T23:59:59",
            "active.tz": query.point.timezone,
            "category": ",".join(categories),
            "state": "active,predicted",
            "brand_unsafe.exclude": "true",  # the widget is part of a hotel's page
            "sort": "rank",  # the highest first; "-rank" is the lowest first
            "limit": str(PAGE_SIZE),
        }

    def parse_event(self, row: Any, query: Query) -> ProviderEvent | None:
        return parse_event(row, query.point.zone)


def parse_event(row: Any, local_zone: ZoneInfo) -> ProviderEvent | None:
    """Return the event in a row of the answer; None if it is to be left out.

    `local_zone` is the time zone of the query's point, for events without a zone.

    Raises:
        ValueError, KeyError, TypeError: the row lacks a required field.
    """
    state = row.get("state", "active")
    if row.get("deleted_reason") or row.get("cancelled") or state not in {"active", "predicted"}:
        return None
    if (category := _CATEGORIES.get(row["category"])) is None:
        return None
    start, end, all_day = _times(row, local_zone)
    status: EventStatus = "postponed" if row.get("postponed") else "confirmed"
    return ProviderEvent(
        id=fields.required_text(row.get("id")),
        source=PredictHQ.name,
        title=fields.required_text(row.get("title")),
        category=category,
        start=start,
        end=end if end and fields.is_after(end, start) else None,
        all_day=all_day,
        status="estimated" if state == "predicted" else status,
        place=_place(row),
        country=fields.optional_text(row.get("country"), 2),
        rank=fields.optional_rank(row.get("rank")),
        scope=_SCOPES.get(fields.optional_text(row.get("scope")) or "", "point"),
    )


def _times(row: dict[str, Any], local_zone: ZoneInfo) -> tuple[When, When | None, bool]:
    """Return the start, the end, and whether the event lasts whole days.

    If the event starts at midnight (local time), and has no end or ends at midnight (or 23:59),
    return dates without times. Otherwise return times. An event without times lasts whole days if
    the row has an end but no time zone ("floating"); otherwise its hours are unknown.
    """
    named = row.get("timezone")
    if (local := fields.optional_zone(named)) is None and named:
        raise ValueError("no time zone has the name that the event gives")
    start = _parse_time(row["start"], local, local_zone)
    end = _parse_time(row["end"], local, local_zone) if row.get("end") else None
    if end is not None and end <= start:
        end = None
    ends_at_midnight = end is None or end.time() >= time(23, 59) or end.time() == time.min
    if start.time() != time.min or not ends_at_midnight:
        return When.of(start), When.of(end) if end else None, False
    first = start.date()
    last = (end - timedelta(minutes=1)).date() if end else first
    floating = local is None and end is not None
    return When(first), When(last) if floating or last > first else None, floating


def _parse_time(text: str, zone: ZoneInfo | None, local_zone: ZoneInfo) -> datetime:
    """Return the time of an ISO 8601 text, converted to the event's time zone `zone`.

    A text without an offset is in UTC. If `zone` is None, the text has the event's local time,
    whatever its offset. This time is then returned in `local_zone`, without conversion.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(zone) if zone else moment.replace(tzinfo=local_zone)


def _place(row: dict[str, Any]) -> Place:
    """Return the event's place; without coordinates, raise ValueError."""
    geometry: dict[str, Any] = fields.value_at(row, "geo.geometry") or {}
    is_point = geometry.get("type") == "Point"
    pair: list[Any] = row.get("location") or (geometry["coordinates"] if is_point else [])
    entities: list[dict[str, Any]] = row.get("entities") or []
    venue = next((one for one in entities if one.get("type") == "venue"), {})
    named = venue.get("formatted_address") or fields.value_at(row, "geo.address.formatted_address")
    address = ", ".join(line.strip() for line in str(named or "").splitlines() if line.strip())
    place = fields.parse_place(venue.get("name"), address, pair[1], pair[0])
    if place.lat is None:
        raise ValueError("the event has no coordinates")
    return place
