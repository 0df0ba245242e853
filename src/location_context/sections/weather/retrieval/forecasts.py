"""Forecasts: what providers say of a stay, cached per cell, raced in order of preference."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import numpy as np

from location_context.errors import ProviderError
from location_context.sections.contract import Query, degraded_by
from location_context.sections.weather.providers.base import Forecast, ForecastProvider
from location_context.sections.weather.records import Cell, Spot, WeatherSeries
from location_context.stay import Clock
from location_context.upstream.cached import Cached, Sharing
from location_context.upstream.client import ProviderClient
from location_context.upstream.deadline import Deadline
from location_context.upstream.fallback_chain import FallbackChain, Source
from location_context.upstream.shared_cache import SharedCache

STALE_TTL = timedelta(hours=6)
SETTLE_WINDOW = 0.5  # seconds for which a forecast waits for one of a preferred provider
MAX_CACHED = 2_000
SURE_DAYS = 14  # Open-Meteo's range once shrank to these; later days may be unknown
PAST_DAYS = (0, 14, 92)  # asked for in these steps, so that stays under way share a forecast

Key = tuple[str, Cell, int]  # the provider's name, where, and how many past days


class Forecasts:
    """The forecast providers, the preferred one first.

    Args:
        providers: those that are not configured are left out.
        clock: the time, UTC.
        on_elevation: called with a point and the elevation in m that came with its forecast.
        on_forecast: called with each forecast that was fetched, whose it is and who asked.
        shared: shares forecasts with other processes.
    """

    def __init__(
        self,
        providers: Sequence[ForecastProvider],
        clock: Clock,
        on_elevation: Callable[[Spot, float], None],
        on_forecast: Callable[[ForecastProvider, Query, Forecast], None],
        shared: SharedCache,
    ) -> None:
        self.providers = [one for one in providers if one.client.configured]
        self.clock = clock
        self.on_elevation = on_elevation
        self.on_forecast = on_forecast
        self.cache: Cached[Key, Forecast] = Cached(
            clock,
            fresh=_fresh_until,
            stale=STALE_TTL,
            max_size=MAX_CACHED,
            on_join=lambda key: self._client(key[0]).calls.join(),
            sharing=Sharing(
                shared,
                name=lambda key: (key[0], f"{key[1].key},{key[2]}"),
                pack=lambda forecast, _: forecast.pack(),
                unpack=_unpack,
            ),
        )

    def _client(self, name: str) -> ProviderClient:
        return next(one.client for one in self.providers if one.name == name)

    async def fetch(self, query: Query, deadline: Deadline) -> WeatherSeries | None:
        """The forecast of the stay; None when none can be had."""
        sources: list[Source[WeatherSeries]] = []
        for provider in self.providers:
            sources.append(partial(self._fresh, provider, query, deadline))
            sources.append(partial(self._stale, provider, query))
        chain = FallbackChain(sources, deadline, SETTLE_WINDOW)
        best = await chain.run()
        if best is None or chain.first_failure is None:
            return best
        return replace(best, degraded_reason=degraded_by(chain.first_failure))

    async def probe(self, query: Query) -> None:
        """Ask every provider for the point's forecast; what fails shows in its client."""
        today = query.point.today(self.clock())
        for provider in self.providers:
            with contextlib.suppress(ProviderError):
                cell = Cell.of(query.point, provider.cell_degrees)
                await provider.fetch_forecast(cell, today, 0, public=query.public)

    async def close(self) -> None:
        await self.cache.close()

    def _key(self, provider: ForecastProvider, query: Query) -> Key:
        past = max(0, (query.point.today(self.clock()) - query.dates.start).days)
        days = next(n for n in PAST_DAYS if n >= min(past, PAST_DAYS[-1]))
        return provider.name, Cell.of(query.point, provider.cell_degrees), days

    async def _fresh(
        self, provider: ForecastProvider, query: Query, deadline: Deadline
    ) -> WeatherSeries | None:
        """From a fresh forecast, fetched if need be; None when it does not serve the stay.

        Raises:
            ProviderError, TimeoutError: none came.
        """
        key, point, public = self._key(provider, query), query.point, query.public

        async def fetch() -> Forecast:
            _, cell, past_days = key
            if provider.at_point:
                cell = replace(cell, lat=point.lat, lng=point.lng)
            today = point.today(self.clock())
            forecast = await provider.fetch_forecast(cell, today, past_days, public=public)
            if provider.at_point and forecast.grid.elevation is not None:
                self.on_elevation((point.lat, point.lng), forecast.grid.elevation)
            self.on_forecast(provider, query, forecast)
            return forecast

        entry = await self.cache.get_fresh(key, fetch, deadline, public=public)
        return self._series(provider, query, entry.value, stale=False)

    async def _stale(self, provider: ForecastProvider, query: Query) -> WeatherSeries | None:
        """From the cached forecast, whatever its age; None when there is none."""
        entry = self.cache.peek(self._key(provider, query))
        return None if entry is None else self._series(provider, query, entry.value, stale=True)

    def _series(
        self, provider: ForecastProvider, query: Query, forecast: Forecast, *, stale: bool
    ) -> WeatherSeries | None:
        """The stay's part; None when it ends too early to serve the stay."""
        stay, now = query.dates, self.clock()
        series = self.part_of(provider, query, forecast, stale=stale)
        columns = series.columns
        known = np.isfinite(columns["temperature_max"]) & np.isfinite(columns["temperature_min"])
        if not known.any():
            return None
        # the last known day is the stay's last, or among the horizon's last three
        last = stay.start + timedelta(int(np.flatnonzero(known)[-1]))
        if last < min(stay.end, query.point.today(now) + timedelta(SURE_DAYS - 1)):
            return None
        return series

    def part_of(
        self, provider: ForecastProvider, query: Query, forecast: Forecast, *, stale: bool = False
    ) -> WeatherSeries:
        """What a forecast says of the stay's dates, as far as it knows them."""
        return WeatherSeries(
            mode="forecast",
            kind="forecast",
            provider=provider.title,
            model=provider.model,
            columns=forecast.on_stay(query.dates),
            attribution=provider.attribution,
            ttl=forecast.fresh_until - self.clock(),
            as_of=forecast.issued_at or forecast.fetched_at,
            issued_at=forecast.issued_at,
            grid=forecast.grid,
            product=provider.product,
            stale=stale,
        )


def _fresh_until(key: Key, forecast: Forecast, fetched_at: datetime) -> datetime:
    """As long as the provider says, but never past midnight in the cell's zone."""
    zone = ZoneInfo(key[1].timezone)
    tomorrow = fetched_at.astimezone(zone).date() + timedelta(days=1)
    midnight = datetime.combine(tomorrow, time.min, zone).astimezone(fetched_at.tzinfo)
    return min(forecast.fresh_until, midnight)


def _unpack(data: bytes) -> tuple[Forecast, datetime] | None:
    forecast = Forecast.unpack(data)
    return (forecast, forecast.fetched_at) if forecast else None
