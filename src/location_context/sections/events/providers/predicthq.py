"""PredictHQ: ranked events within a radius that are active during the stay.

Locations come as [lng, lat], times in UTC with the zone beside them; an event without a zone is on
the clock of wherever it is. Cancelled and deleted ones are left out, and so are kinds that are no
reason to go anywhere (disasters, delays).
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, ClassVar
from zoneinfo import ZoneInfo

from location_context.errors import ProviderAnswerInvalid
from location_context.sections.events.providers.heard import Asked, Heard
from location_context.sections.events.records import Place, Told, When
from location_context.sections.providers import provider_state
from location_context.upstream.budget import DAY, MINUTE, Budget
from location_context.upstream.provider import Upstream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    import httpx2

    from location_context.sections.contract import ProviderState, Query
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
        """Events around the point, to a hundredth of a degree, during the stay."""
        assert query.stay is not None
        stay, place = query.stay, (round(query.point.lat, 2), round(query.point.lng, 2))
        return await self._asked.hear(
            (place, stay), lambda: self._fetch(place, stay, query), query, deadline
        )

    async def _fetch(self, place: tuple[float, float], stay: Stay, query: Query) -> list[Told]:
        answer = await self._asked.upstream.get(
            self._params(place, stay, query.point.timezone),
            headers={"Authorization": f"Bearer {self._token.reveal()}"},
            public=query.public,
        )
        body = answer.json()
        if not isinstance(body, dict) or not isinstance(body.get("results"), list):
            raise ProviderAnswerInvalid(self.name, "the answer has no results")
        return list(read(body, query.point.zone))

    def _params(self, place: tuple[float, float], stay: Stay, zone: str) -> dict[str, str]:
        asked = [name for name in _CATEGORIES if not name.endswith("-holidays")]
        return {
            "within": f"{round(self._radius) + 1}km@{place[0]},{place[1]}",
            "active.gte": stay.start.isoformat(),
            "active.lte": stay.end.isoformat(),
            "active.tz": zone,
            "category": ",".join(asked),
            "state": "active",
            "sort": "-rank",
            "limit": str(_LIMIT),
        }


def read(body: dict[str, Any], zone: ZoneInfo) -> Iterator[Told]:
    """The events of one answer; `zone` is the point's."""
    for row in body["results"]:
        try:
            told = _event(row, zone)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            continue  # one row that makes no sense does not take the others with it
        if told is not None:
            yield told


def _event(row: dict[str, Any], zone: ZoneInfo) -> Told | None:
    gone = row.get("deleted_reason") or row.get("cancelled")
    if gone or row.get("state", "active") not in {"active", "predicted"}:
        return None
    if (category := _CATEGORIES.get(row["category"])) is None:
        return None
    start, end, all_day = _times(row, zone)
    status: EventStatus = "postponed" if row.get("postponed") else "confirmed"
    if row.get("state") == "predicted":
        status = "estimated"
    return Told(
        id=str(row["id"]),
        source=PredictHQ.name,
        title=str(row["title"])[:300],
        category=category,
        start=start,
        end=end,
        all_day=all_day,
        status=status,
        place=_place(row),
        scope=_SCOPES.get(row.get("scope") or "", "point"),
        country=row.get("country") or None,
        rank=_rank(row.get("rank")),
    )


def _times(row: dict[str, Any], zone: ZoneInfo) -> tuple[When, When | None, bool]:
    """Start, end, and whether it fills whole days: from local midnight to the last second."""
    local = ZoneInfo(row["timezone"]) if row.get("timezone") else None
    start = _moment(row["start"], local, zone)
    end = _moment(row["end"], local, zone) if row.get("end") else None
    if end is not None and end <= start:
        end = None
    if start.time() == time.min:
        if end is None:
            return When(start.date()), None, False  # a date alone: the time is not known
        if _is_midnight(end):
            return When(start.date()), When((end - timedelta(minutes=1)).date()), True
    return When.of(start), When.of(end) if end else None, False


def _moment(text: str, local: ZoneInfo | None, zone: ZoneInfo) -> datetime:
    """With a zone, UTC brought to it; without, the clock of the place itself."""
    given = datetime.fromisoformat(text)
    if given.tzinfo is None:
        given = given.replace(tzinfo=UTC)
    return given.astimezone(local) if local else given.replace(tzinfo=zone)


def _is_midnight(end: datetime) -> bool:
    return end.time() >= time(23, 59) or end.time() == time.min


def _place(row: dict[str, Any]) -> Place | None:
    venues = [one for one in row.get("entities") or () if one.get("type") == "venue"]
    venue = venues[0] if venues else {}
    lng, lat = _lng_lat(row)
    return Place(
        name=venue.get("name"), address=_address(venue.get("formatted_address")), lat=lat, lng=lng
    )


def _address(text: str | None) -> str | None:
    return ", ".join(line.strip() for line in text.splitlines() if line.strip()) if text else None


def _lng_lat(row: dict[str, Any]) -> tuple[float, float]:
    geometry = (row.get("geo") or {}).get("geometry") or {}
    pair: Any = row.get("location")
    if pair is None and geometry.get("type") == "Point":
        pair = geometry["coordinates"]
    lng, lat = float(pair[0]), float(pair[1])
    if not (-180 <= lng <= 180 and -90 <= lat <= 90):
        raise ValueError("no coordinates")
    return lng, lat


def _rank(given: Any) -> float | None:
    return float(given) if isinstance(given, int | float) and 0 <= given <= 100 else None
