"""PredictHQ: ranked events within a radius that are active during the stay, the highest rank first.

Locations come as [lng, lat], times in UTC with the zone beside them; an event without a zone is on
the clock of wherever it is. Cancelled and deleted ones are left out, and so are kinds that are no
reason to go anywhere (disasters, delays). Events not announced yet (`predicted`) are asked for as
long as the plan gives them. Why times are read as they are: `docs/decisions/events.md`.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from location_context.errors import ProviderBackoff, ProviderStatusError
from location_context.sections.events.fields import (
    optional_number,
    optional_text,
    optional_zone,
    parse_place,
    parse_rows,
    required_text,
)
from location_context.sections.events.providers.base import EventSource, ProviderResult, Truncated
from location_context.sections.events.records import ProviderEvent, When
from location_context.sections.providers import provider_state
from location_context.upstream.client import ProviderClient
from location_context.upstream.host import DAY, MINUTE, Budget, Host

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from typing import Self
    from zoneinfo import ZoneInfo

    import httpx2

    from location_context.sections.contract import ProviderState, Query
    from location_context.sections.events.providers.base import Centre, Page
    from location_context.sections.events.records import Place
    from location_context.sections.events.response import Category, EventStatus, Scope
    from location_context.settings import Secret, Settings
    from location_context.stay import Clock, Stay
    from location_context.upstream.deadline import Deadline

PAGE_SIZE, MAX_PAGES = 200, 3  # further pages change little, since the highest ranks come first
_SORT = "rank"  # highest first; "-rank" is lowest first
_REFUSED_STATE = frozenset({400, 403})  # a parameter it does not take, or may not be asked
PLAN_TTL = timedelta(days=1)  # for which what a plan refuses is remembered
FRESH_TTL, STALE_TTL = timedelta(hours=3), timedelta(days=2)
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


class _Answer(msgspec.Struct):
    """One page; `overflow`: the plan shows no more of the `count` events that there are."""

    results: list[Any]
    count: Any = None
    next: Any = None
    overflow: Any = None

    def leaves_out(self, read: int) -> bool:
        """Whether there are more than the `read` events."""
        return bool(self.next or self.overflow) or (optional_number(self.count) or 0) > read


class PredictHQ:
    """The provider. Public and school holidays are not asked for: others know them better."""

    name: ClassVar[str] = "predicthq"

    def __init__(self, source: EventSource, token: Secret, radius: float, clock: Clock) -> None:
        self._source = source
        self._token = token
        self._radius = radius
        self._clock = clock
        self._announced_only: datetime | None = None  # until then

    @classmethod
    def build(cls, settings: Settings, clock: Clock, client: httpx2.AsyncClient) -> Self:
        url = settings.predicthq_url if settings.predicthq_api_key else ""
        budget = Budget({MINUTE: 48, DAY: 800}, share=settings.budget_share)
        upstream = ProviderClient(cls.name, url, client, clock, host=Host(budget))
        source = EventSource(upstream, clock, fresh=FRESH_TTL, stale=STALE_TTL)
        return cls(source, settings.predicthq_api_key, settings.events_radius, clock)

    def state(self) -> ProviderState:
        return provider_state(self._source.client)

    async def close(self) -> None:
        await self._source.close()

    async def fetch_events(self, query: Query, deadline: Deadline) -> ProviderResult:
        return await self._source.fetch_nearby(self._fetch, query, deadline)

    async def _fetch(self, centre: Centre, stay: Stay, query: Query) -> AsyncIterator[Page]:
        """Page after page as long as there is budget; the first holds the highest ranks."""
        asked = self._params(centre, stay, query.point.timezone)
        answer = await self._first(asked, public=query.public)
        yield list(parse_events(answer.results, query.point.zone))
        had, pages = len(answer.results), 1
        while answer.results and answer.next and pages < MAX_PAGES:
            try:
                answer = await self._page(asked, had, public=query.public)
            except ProviderBackoff:
                break
            yield list(parse_events(answer.results, query.point.zone))
            had, pages = had + len(answer.results), pages + 1
        if answer.leaves_out(had):
            yield Truncated()

    async def _first(self, asked: dict[str, str], *, public: bool) -> _Answer:
        """The first page, with events not announced yet where the plan gives them."""
        if self._announced_only is not None and self._clock() < self._announced_only:
            asked["state"] = "active"
        try:
            return await self._page(asked, 0, public=public)
        except ProviderStatusError as error:
            if error.status not in _REFUSED_STATE or asked["state"] == "active":
                raise
        asked["state"] = "active"
        answer = await self._page(asked, 0, public=public)
        self._announced_only = self._clock() + PLAN_TTL
        return answer

    async def _page(self, asked: dict[str, str], offset: int, *, public: bool) -> _Answer:
        return await self._source.client.get_json(
            {**asked, "offset": str(offset)},
            lambda body: msgspec.convert(body, _Answer),
            headers={"Authorization": f"Bearer {self._token.reveal()}"},
            public=public,
        )

    def _params(self, centre: Centre, stay: Stay, zone: str) -> dict[str, str]:
        asked = [name for name in _CATEGORIES if not name.endswith("-holidays")]
        return {
            "within": f"{round(self._radius) + 1}km@{centre[0]},{centre[1]}",
            "active.gte": f"{stay.start}T00:00:00",
            "active.lte": f"{stay.end}T23:59:59",
            "active.tz": zone,
            "category": ",".join(asked),
            "state": "active,predicted",
            "brand_unsafe.exclude": "true",  # the page belongs to a place to stay
            "sort": _SORT,
            "limit": str(PAGE_SIZE),
        }


def parse_events(rows: Iterable[Any], local_zone: ZoneInfo) -> Iterator[ProviderEvent]:
    """The events of one answer; `local_zone` is the point's."""
    return parse_rows(rows, lambda row: _event(row, local_zone))


def _event(row: dict[str, Any], local_zone: ZoneInfo) -> ProviderEvent | None:
    gone = row.get("deleted_reason") or row.get("cancelled")
    if gone or row.get("state", "active") not in {"active", "predicted"}:
        return None
    if (category := _CATEGORIES.get(row["category"])) is None:
        return None
    start, end, all_day = _times(row, local_zone)
    rank = optional_number(row.get("rank"))
    status: EventStatus = "postponed" if row.get("postponed") else "confirmed"
    if row.get("state") == "predicted":
        status = "estimated"
    return ProviderEvent(
        id=required_text(row["id"]),
        source=PredictHQ.name,
        title=required_text(row["title"]),
        category=category,
        start=start,
        end=end,
        all_day=all_day,
        status=status,
        place=_place(row),
        scope=_SCOPES.get(optional_text(row.get("scope")) or "", "point"),
        country=optional_text(row.get("country"), 2),
        rank=rank if rank is not None and 0 <= rank <= 100 else None,
    )


def _times(row: dict[str, Any], local_zone: ZoneInfo) -> tuple[When, When | None, bool]:
    """Start, end, and whether it fills whole days.

    From local midnight to the last second of a day, also of a later one: with a zone its dates are
    fixed and its times not known; without one ("floating") it is kept all day, wherever it is.
    """
    named = row.get("timezone")
    if (local := optional_zone(named)) is None and named:
        raise ValueError("its zone is none")
    start = _moment(row["start"], local, local_zone)
    end = _moment(row["end"], local, local_zone) if row.get("end") else None
    if end is not None and end <= start:
        end = None
    if start.time() != time.min or (end is not None and not _is_midnight(end)):
        return When.of(start), When.of(end) if end else None, False
    first = start.date()
    last = (end - timedelta(minutes=1)).date() if end else first
    floating = local is None and end is not None
    return When(first), When(last) if floating or last > first else None, floating


def _moment(given: str, local: ZoneInfo | None, local_zone: ZoneInfo) -> datetime:
    """With a zone, UTC brought to it; without, the clock of the place itself."""
    moment = datetime.fromisoformat(given)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(local) if local else moment.replace(tzinfo=local_zone)


def _is_midnight(end: datetime) -> bool:
    return end.time() >= time(23, 59) or end.time() == time.min


def _place(row: dict[str, Any]) -> Place:
    """Where it is: it must be known, since only the radius asked for brought it here."""
    geo = row.get("geo") or {}
    pair = row.get("location") or _point(geo.get("geometry") or {})
    entities: list[dict[str, Any]] = row.get("entities") or []
    venue = next((one for one in entities if one.get("type") == "venue"), {})
    address = venue.get("formatted_address") or (geo.get("address") or {}).get("formatted_address")
    found = parse_place(venue.get("name"), _one_line(address), pair[1], pair[0])
    if found.lat is None:
        raise ValueError("no coordinates")
    return found


def _point(geometry: dict[str, Any]) -> Any:
    return geometry["coordinates"] if geometry.get("type") == "Point" else None


def _one_line(address: object) -> str | None:
    lines = str(address or "").splitlines()
    return ", ".join(line.strip() for line in lines if line.strip()) or None
