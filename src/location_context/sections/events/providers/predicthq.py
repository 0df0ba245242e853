"""PredictHQ: ranked events within a radius that are active during the stay.

Locations come as [lng, lat], times in UTC with the zone beside them; an event without a zone is on
the clock of wherever it is. Cancelled and deleted ones are left out, and so are kinds that are no
reason to go anywhere (disasters, delays).
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, ClassVar
from zoneinfo import ZoneInfo

import msgspec

from location_context.sections.events.providers.heard import Asked, Heard
from location_context.sections.events.providers.reading import (
    each,
    needed,
    number,
    place,
    text,
)
from location_context.sections.events.records import Told, When
from location_context.sections.providers import provider_state
from location_context.upstream.budget import DAY, MINUTE, Budget
from location_context.upstream.provider import Upstream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from typing import Self

    import httpx2

    from location_context.sections.contract import ProviderState, Query
    from location_context.sections.events.providers.heard import Centre
    from location_context.sections.events.records import Place
    from location_context.sections.events.response import Category, EventStatus, Scope
    from location_context.settings import Secret, Settings
    from location_context.stay import Clock, Stay
    from location_context.upstream.deadline import Deadline

_LIMIT = 200
_FRESH, _GOOD = timedelta(hours=3), timedelta(days=2)
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
    results: list[Any]


class PredictHQ:
    """The provider. Public and school holidays are not asked for: others know them better."""

    name: ClassVar[str] = "predicthq"

    def __init__(self, asked: Asked, token: Secret, radius: float) -> None:
        self._asked = asked
        self._token = token
        self._radius = radius

    @classmethod
    def build(cls, settings: Settings, clock: Clock, client: httpx2.AsyncClient) -> Self:
        url = settings.predicthq_url if settings.predicthq_api_key else ""
        budget = Budget({MINUTE: 48, DAY: 800}, share=settings.budget_share)
        upstream = Upstream(cls.name, url, client, clock, budget=budget)
        asked = Asked(upstream, clock, fresh=_FRESH, good=_GOOD)
        return cls(asked, settings.predicthq_api_key, settings.events_radius)

    def state(self) -> ProviderState:
        return provider_state(self._asked.upstream)

    async def close(self) -> None:
        await self._asked.close()

    async def hear(self, query: Query, deadline: Deadline) -> Heard:
        return await self._asked.around(self._fetch, query, deadline)

    async def _fetch(self, centre: Centre, stay: Stay, query: Query) -> AsyncIterator[list[Told]]:
        answer = await self._asked.upstream.get(
            self._params(centre, stay, query.point.timezone),
            headers={"Authorization": f"Bearer {self._token.reveal()}"},
            public=query.public,
        )
        found = self._asked.body(answer, _Answer)
        yield list(read(found.results, query.point.zone))

    def _params(self, centre: Centre, stay: Stay, zone: str) -> dict[str, str]:
        asked = [name for name in _CATEGORIES if not name.endswith("-holidays")]
        return {
            "within": f"{round(self._radius) + 1}km@{centre[0]},{centre[1]}",
            "active.gte": f"{stay.start}T00:00:00",
            "active.lte": f"{stay.end}T23:59:59",
            "active.tz": zone,
            "category": ",".join(asked),
            "state": "active",
            "brand_unsafe.exclude": "true",  # the page belongs to a place to stay
            "sort": "-rank",
            "limit": str(_LIMIT),
        }


def read(rows: Iterable[Any], around: ZoneInfo) -> Iterator[Told]:
    """The events of one answer; `around` is the point's zone."""
    return each(rows, lambda row: _event(row, around))


def _event(row: dict[str, Any], around: ZoneInfo) -> Told | None:
    gone = row.get("deleted_reason") or row.get("cancelled")
    if gone or row.get("state", "active") not in {"active", "predicted"}:
        return None
    if (category := _CATEGORIES.get(row["category"])) is None:
        return None
    start, end, all_day = _times(row, around)
    rank = number(row.get("rank"))
    status: EventStatus = "postponed" if row.get("postponed") else "confirmed"
    if row.get("state") == "predicted":
        status = "estimated"
    return Told(
        id=needed(row["id"]),
        source=PredictHQ.name,
        title=needed(row["title"]),
        category=category,
        start=start,
        end=end,
        all_day=all_day,
        status=status,
        place=_place(row),
        scope=_SCOPES.get(text(row.get("scope")) or "", "point"),
        country=text(row.get("country"), 2),
        rank=rank if rank is not None and 0 <= rank <= 100 else None,
    )


def _times(row: dict[str, Any], around: ZoneInfo) -> tuple[When, When | None, bool]:
    """Start, end, and whether it fills whole days: from local midnight to the last second."""
    local = ZoneInfo(row["timezone"]) if row.get("timezone") else None
    start = _moment(row["start"], local, around)
    end = _moment(row["end"], local, around) if row.get("end") else None
    if end is not None and end <= start:
        end = None
    if start.time() == time.min:
        if end is None:
            return When(start.date()), None, False  # a date alone: the time is not known
        if _is_midnight(end):
            return When(start.date()), When((end - timedelta(minutes=1)).date()), True
    return When.of(start), When.of(end) if end else None, False


def _moment(given: str, local: ZoneInfo | None, around: ZoneInfo) -> datetime:
    """With a zone, UTC brought to it; without, the clock of the place itself."""
    moment = datetime.fromisoformat(given)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(local) if local else moment.replace(tzinfo=around)


def _is_midnight(end: datetime) -> bool:
    return end.time() >= time(23, 59) or end.time() == time.min


def _place(row: dict[str, Any]) -> Place:
    """Where it is: it must be known, since only the radius asked for brought it here."""
    geo = row.get("geo") or {}
    pair = row.get("location") or _point(geo.get("geometry") or {})
    entities: list[dict[str, Any]] = row.get("entities") or []
    venue = next((one for one in entities if one.get("type") == "venue"), {})
    address = venue.get("formatted_address") or (geo.get("address") or {}).get("formatted_address")
    found = place(venue.get("name"), _one_line(address), pair[1], pair[0])
    if found.lat is None:
        raise ValueError("no coordinates")
    return found


def _point(geometry: dict[str, Any]) -> Any:
    return geometry["coordinates"] if geometry.get("type") == "Point" else None


def _one_line(address: object) -> str | None:
    lines = str(address or "").splitlines()
    return ", ".join(line.strip() for line in lines if line.strip()) or None
