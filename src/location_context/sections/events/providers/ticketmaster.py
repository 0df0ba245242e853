"""Ticketmaster Discovery v2: events with a venue, in pages, 5 calls a second and 5,000 a day."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from location_context.errors import ProviderAnswerInvalid, ProviderError
from location_context.sections.events.providers.geohash import geohash
from location_context.sections.events.providers.heard import Asked, Heard
from location_context.sections.events.providers.ticketmaster_rows import NAME, read
from location_context.sections.providers import provider_state
from location_context.upstream.budget import DAY, Budget
from location_context.upstream.provider import Upstream

if TYPE_CHECKING:
    from typing import Self

    import httpx2

    from location_context.sections.contract import ProviderState, Query
    from location_context.sections.events.records import Told
    from location_context.settings import Secret, Settings
    from location_context.stay import Clock, Stay
    from location_context.upstream.deadline import Deadline

_SIZE, _PAGES = 200, 5  # size × page stays below 1,000
_PACE = 0.26  # seconds between pages: four a second
_FRESH, _GOOD = timedelta(hours=3), timedelta(days=2)


class Ticketmaster:
    """The provider."""

    name: ClassVar[str] = NAME

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
