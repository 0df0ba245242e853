"""MET Norway's Locationforecast 2.0 `complete`: the second forecast, about nine days.

Its terms: an identifying User-Agent with a contact (without one it is not configured), at most four
decimals, nothing asked for before `Expires`, `If-Modified-Since` after, redirects followed, and a
203 (a product about to go) told to the operator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import structlog

from location_context.lru import LRUCache
from location_context.sections.weather.cells import FORECAST_DEGREES
from location_context.sections.weather.notices import MET_NORWAY
from location_context.sections.weather.providers.contract import Forecast
from location_context.sections.weather.providers.met_norway_days import gather
from location_context.sections.weather.records import Grid
from location_context.upstream.client import ClientLimits, ProviderClient
from location_context.upstream.host import MINUTE, Budget, Host

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import httpx2

    from location_context.sections.contract import Attribution
    from location_context.sections.weather.cells import Cell
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.http import HttpResponse

NAME = "MET Norway"
_SHORTEST, _LONGEST = timedelta(minutes=5), timedelta(hours=2)
_LIMITS = {MINUTE: 240.0}  # its terms ask for fewer than 20 a second
_SIZE = 500
_REDIRECTS = 3  # its terms ask to follow them


@dataclass(frozen=True, slots=True)
class _Held:
    """An answer as it came, until when it holds, and what to ask again with."""

    body: Any
    expires: datetime
    modified: str | None


class MetNorway:
    """The provider. `past_days` are never known to it."""

    name = NAME
    model: str | None = "Locationforecast 2.0"
    degrees = FORECAST_DEGREES
    at_point = False  # its terms ask to share answers, and it takes at most four decimals
    attribution: Sequence[Attribution] = (MET_NORWAY,)

    def __init__(self, settings: Settings, clock: Clock, client: httpx2.AsyncClient) -> None:
        url = settings.met_norway_url if settings.contact else ""
        self.upstream = ProviderClient(
            "met_norway", url, client, clock,
            host=Host(Budget(_LIMITS, share=settings.budget_share)),
            limits=ClientLimits(max_in_flight=4, redirects=_REDIRECTS),
        )  # fmt: skip
        self._clock = clock
        self._warned = False
        self._held: LRUCache[Cell, _Held] = LRUCache(_SIZE)

    async def forecast(self, cell: Cell, today: date, past_days: int, *, public: bool) -> Forecast:
        """The forecast of a cell, in days of the cell's zone.

        Raises:
            ProviderError: none came.
        """
        del past_days
        held = self._held.get(cell)
        if held is not None and self._clock() < held.expires:
            return self._forecast(cell, held, today)
        params = {"lat": f"{cell.lat:.4f}", "lon": f"{cell.lng:.4f}"}
        headers = {"If-Modified-Since": held.modified} if held and held.modified else {}

        def read(answer: HttpResponse) -> Forecast:
            fresh = self._fresh(answer, held)
            forecast = self._forecast(cell, fresh, today)
            self._held.put(cell, fresh)
            return forecast

        return await self.upstream.get(
            params, read, headers=headers, public=public, accept=(200, 203, 304)
        )

    def _fresh(self, answer: HttpResponse, held: _Held | None) -> _Held:
        """What is held from now on."""
        expires = self._expires(answer.headers)
        if answer.status == 304 and held is not None:
            return replace(held, expires=expires)
        if answer.status == 203 and not self._warned:
            self._warned = True
            structlog.get_logger().warning("product_deprecated", provider=self.upstream.name)
        return _Held(answer.json(), expires, answer.headers.get("last-modified"))

    def _expires(self, headers: Mapping[str, str]) -> datetime:
        """The moment of its `Expires`, kept between five minutes and two hours from now."""
        now = self._clock()
        try:
            said = parsedate_to_datetime(headers["expires"])
        except (KeyError, ValueError):
            return now + _SHORTEST
        if said.tzinfo is None:
            said = said.replace(tzinfo=UTC)
        return min(max(said, now + _SHORTEST), now + _LONGEST)

    def _forecast(self, cell: Cell, held: _Held, today: date) -> Forecast:
        properties = held.body["properties"]
        issued = datetime.fromisoformat(properties["meta"]["updated_at"]).astimezone(UTC)
        lng, lat, *rest = held.body["geometry"]["coordinates"]
        grid = Grid(float(lat), float(lng), float(rest[0]) if rest else None)
        first, columns = gather(properties["timeseries"], cell.timezone, today)
        return Forecast(first, columns, grid, self._clock(), held.expires, issued)
