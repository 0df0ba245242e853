"""MET Norway's Locationforecast 2.0 `complete`: the second forecast, about nine days.

Its terms: an identifying User-Agent with a contact (without one it is not configured), at most four
decimals, nothing asked for before `Expires`, `If-Modified-Since` after, redirects followed, and a
203 (a product about to go) logged for the operator.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Self

import structlog

from location_context.lru import LRUCache
from location_context.sections.section import SectionContext
from location_context.sections.weather.attributions import MET_NORWAY
from location_context.sections.weather.providers.base import Forecast, ForecastProvider
from location_context.sections.weather.providers.met_norway_days import aggregate_to_days
from location_context.sections.weather.records import Cell, Grid
from location_context.upstream.client import ClientLimits, ProviderClient
from location_context.upstream.host import MINUTE, Budget, Host
from location_context.upstream.http import HttpResponse

MIN_TTL, MAX_TTL = timedelta(minutes=5), timedelta(hours=2)
CALLS = {MINUTE: 240.0}  # its terms ask for fewer than 20 a second
MAX_CACHED = 500
MAX_REDIRECTS = 3  # its terms ask to follow them


@dataclass(frozen=True, slots=True)
class _Cached:
    """An answer as it came, until when it holds, and what to ask again with."""

    body: Any
    expires_at: datetime
    last_modified: str | None


class MetNorway(ForecastProvider):
    """The provider. `past_days` are never known to it."""

    name = "met_norway"
    title = "MET Norway"
    model = "Locationforecast 2.0"
    order = 200
    attribution = (MET_NORWAY,)

    def __init__(self, context: SectionContext) -> None:
        settings = context.settings
        url = settings.met_norway_url if settings.contact else ""
        self.client = ProviderClient(
            self.name, url, context.client, context.clock,
            host=Host(Budget(CALLS, share=settings.budget_share)),
            limits=ClientLimits(max_in_flight=4, redirects=MAX_REDIRECTS),
        )  # fmt: skip
        self._clock = context.clock
        self._warned = False
        self._cache: LRUCache[Cell, _Cached] = LRUCache(MAX_CACHED)

    @classmethod
    def build(cls, context: SectionContext) -> Self:
        return cls(context)

    async def fetch_forecast(
        self, cell: Cell, today: date, past_days: int, *, public: bool
    ) -> Forecast:
        """The forecast of a cell, in days of the cell's zone.

        Raises:
            ProviderError: none came.
        """
        del past_days
        cached = self._cache.get(cell)
        if cached is not None and self._clock() < cached.expires_at:
            return self._forecast(cell, cached, today)
        params = {"lat": f"{cell.lat:.4f}", "lon": f"{cell.lng:.4f}"}
        since = cached.last_modified if cached else None

        def read(response: HttpResponse) -> Forecast:
            fresh = self._read(response, cached)
            forecast = self._forecast(cell, fresh, today)
            self._cache.put(cell, fresh)
            return forecast

        return await self.client.get(
            params, read, headers={"If-Modified-Since": since} if since else {},
            public=public, accept=(200, 203, 304),
        )  # fmt: skip

    def _read(self, response: HttpResponse, cached: _Cached | None) -> _Cached:
        """What is cached from now on."""
        expires_at = self._expires_at(response.headers)
        if response.status == 304 and cached is not None:
            return replace(cached, expires_at=expires_at)
        if response.status == 203 and not self._warned:
            self._warned = True
            structlog.get_logger().warning("product_deprecated", provider=self.name)
        return _Cached(response.json(), expires_at, response.headers.get("last-modified"))

    def _expires_at(self, headers: Mapping[str, str]) -> datetime:
        """The moment of its `Expires`, kept between five minutes and two hours from now."""
        now = self._clock()
        try:
            moment = parsedate_to_datetime(headers["expires"])
        except (KeyError, ValueError):
            return now + MIN_TTL
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return min(max(moment, now + MIN_TTL), now + MAX_TTL)

    def _forecast(self, cell: Cell, cached: _Cached, today: date) -> Forecast:
        properties = cached.body["properties"]
        issued = datetime.fromisoformat(properties["meta"]["updated_at"]).astimezone(UTC)
        lng, lat, *rest = cached.body["geometry"]["coordinates"]
        grid = Grid(float(lat), float(lng), float(rest[0]) if rest else None)
        first, columns = aggregate_to_days(properties["timeseries"], cell.timezone, today)
        return Forecast(first, columns, grid, self._clock(), cached.expires_at, issued)
