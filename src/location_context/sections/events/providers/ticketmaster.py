"""Ticketmaster Discovery v2: events with a venue; 5 calls a second and 5,000 a day are free.

It pages through a thousand events at the most, in a great city not enough for a week: such a stay
is asked in parts by date. Where even these are too many, the most relevant of every part come.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from location_context.errors import ProviderBackoff
from location_context.sections.events.fields import optional_number
from location_context.sections.events.providers.base import EventSource, ProviderResult, Truncated
from location_context.sections.events.providers.geohash import geohash
from location_context.sections.events.providers.rate_limiter import IntervalLimiter
from location_context.sections.events.providers.ticketmaster_parser import NAME, parse_events
from location_context.sections.providers import provider_state
from location_context.stay import Stay
from location_context.upstream.client import ProviderClient
from location_context.upstream.host import DAY, Budget, Host

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    import httpx2

    from location_context.sections.contract import ProviderState, Query
    from location_context.sections.events.providers.base import Centre, Page
    from location_context.settings import Secret, Settings
    from location_context.stay import Clock
    from location_context.upstream.deadline import Deadline

PAGE_SIZE, MAX_PAGES = 200, 5  # size × page must stay below 1,000
MAX_PAGED_EVENTS = PAGE_SIZE * MAX_PAGES
TARGET_EVENTS_PER_WINDOW = 800  # since days are not equally full
MAX_CALLS = 30  # for one stay
MIN_INTERVAL = 0.26  # seconds between calls: four a second
MAX_WAIT_SECONDS = 2.0
FRESH_TTL, STALE_TTL = timedelta(hours=3), timedelta(days=2)


@dataclass(frozen=True)
class _Page:
    """One call: a page of the events of some days."""

    stay: Stay
    number: int


class _Embedded(msgspec.Struct):
    events: list[Any] = []


class _Answer(msgspec.Struct):
    """One page as it comes, with `page` always, and without `_embedded` where there is nothing."""

    page: dict[str, Any]
    embedded: _Embedded = msgspec.field(name="_embedded", default_factory=_Embedded)

    @property
    def total(self) -> int:
        """How many events there are on all pages; 0 when it does not say."""
        return int(optional_number(self.page.get("totalElements")) or 0)


class Ticketmaster:
    """The provider."""

    name: ClassVar[str] = NAME

    def __init__(
        self, source: EventSource, key: Secret, radius: float, limiter: IntervalLimiter
    ) -> None:
        self._source = source
        self._limiter = limiter
        self._key = key
        self._radius = radius

    @classmethod
    def build(cls, settings: Settings, clock: Clock, client: httpx2.AsyncClient) -> Self:
        url = settings.ticketmaster_url if settings.ticketmaster_api_key else ""
        budget = Budget({DAY: 4000}, share=settings.budget_share)
        upstream = ProviderClient(cls.name, url, client, clock, host=Host(budget))
        source = EventSource(upstream, clock, fresh=FRESH_TTL, stale=STALE_TTL)
        limiter = IntervalLimiter(MIN_INTERVAL)
        return cls(source, settings.ticketmaster_api_key, settings.events_radius, limiter)

    def state(self) -> ProviderState:
        return provider_state(self._source.client)

    async def close(self) -> None:
        await self._source.close()

    async def fetch_events(self, query: Query, deadline: Deadline) -> ProviderResult:
        return await self._source.fetch_nearby(self._fetch, query, deadline)

    async def _fetch(self, centre: Centre, stay: Stay, query: Query) -> AsyncIterator[Page]:
        """Page after page; a stay of more events than can be paged through is asked in parts."""
        if self._limiter.wait > MAX_WAIT_SECONDS:
            raise ProviderBackoff(self.name, "too many are asking at once")
        calls, waiting, crowded = MAX_CALLS, deque([_Page(stay, 0)]), False
        while waiting and calls:
            page, calls = waiting.popleft(), calls - 1
            answer = await self._page(centre, page, public=query.public)
            yield list(parse_events(answer.embedded.events, query.point.zone))
            if page.number == 0:
                further = _further(page.stay, answer.total, calls - len(waiting))
                crowded |= answer.total > MAX_PAGED_EVENTS and all(one.number for one in further)
                waiting += further
        if crowded or waiting:
            yield Truncated()

    async def _page(self, centre: Centre, page: _Page, *, public: bool) -> _Answer:
        await self._limiter.acquire()
        return await self._source.client.get_json(
            self._params(centre, page), lambda body: msgspec.convert(body, _Answer), public=public
        )

    def _params(self, centre: Centre, page: _Page) -> dict[str, str]:
        return {
            "apikey": self._key.reveal(),
            "geoPoint": geohash(*centre),
            "radius": str(round(self._radius) + 1),
            "unit": "km",
            "localStartEndDateTime": f"{page.stay.start}T00:00:00,{page.stay.end}T23:59:59",
            "locale": "*",  # else only what is on sale in English
            "includeTBA": "yes",
            "includeTBD": "no",
            "includeTest": "no",
            "sort": "relevance,desc",
            "size": str(PAGE_SIZE),
            "page": str(page.number),
        }


def _further(stay: Stay, total: int, room: int) -> list[_Page]:
    """What to ask after the first page: its further pages, or the parts it has to be split into."""
    pages = math.ceil(total / PAGE_SIZE)
    fewest = math.ceil(total / TARGET_EVENTS_PER_WINDOW)
    # where not every page can be asked, many small parts leave no day out
    parts = min(stay.days, room, fewest if pages + fewest <= room else room)
    if total <= MAX_PAGED_EVENTS or parts < 2:
        return [_Page(stay, number) for number in range(1, min(pages, MAX_PAGES))]
    return [_Page(part, 0) for part in _split(stay, parts)]


def _split(stay: Stay, parts: int) -> list[Stay]:
    """Parts of nearly the same length, in order, which together are the stay."""
    firsts = [stay.start + timedelta(days=stay.days * n // parts) for n in range(parts)]
    lasts = [first - timedelta(days=1) for first in firsts[1:]]
    return [Stay(first, last) for first, last in zip(firsts, [*lasts, stay.end], strict=True)]
