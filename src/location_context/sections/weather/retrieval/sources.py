"""All sources of a stay's weather, and the choice of the best source that answers.

Forecasts are cached by provider and grid cell. Sources are started in order of preference, and the
best result is used (`best_of`):

1. for each forecast provider: its fresh forecast, then its stale forecast;
2. climatology from a climate store in the data directory;
3. climatology from each archive provider, stored or fetched;
4. the fallback grid in the data directory.

Forecasts are used only for stays within the forecast horizon.
"""

import asyncio
import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import numpy as np

from location_context.errors import ProviderError
from location_context.sections.contract import DegradedReason, Query, degraded_by, foremost
from location_context.sections.section import SectionContext
from location_context.sections.weather.climate.store import ClimateStores
from location_context.sections.weather.fallback_grid import FallbackGrid
from location_context.sections.weather.providers.base import (
    ArchiveProvider,
    Forecast,
    ForecastProvider,
)
from location_context.sections.weather.records import Cell, Spot, WeatherSeries
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.sections.weather.retrieval.archives import Archives
from location_context.sections.weather.retrieval.elevations import Elevations
from location_context.stay import Clock
from location_context.upstream.cached import Cached, Sharing
from location_context.upstream.deadline import FALLBACK_RESERVE, Deadline
from location_context.upstream.fallback_chain import Source, best_of
from location_context.upstream.shared_cache import SharedCache

STALE_TTL = timedelta(hours=6)
SETTLE_WINDOW = 0.5  # seconds that a forecast waits for the forecast of a preferred provider
MAX_CACHED = 2_000
SURE_DAYS = 14  # Open-Meteo once sent only this many days; later days may be unknown
PAST_DAYS = (0, 14, 92)  # numbers of past days to fetch; few, so that stays share forecasts
ELEVATION_WAIT = 1.0  # seconds for the point's elevation, where temperatures depend on it
ELEVATION_LOOKUP = 0.05  # seconds for a look-up that the answer does not depend on
FORECAST_SECONDS, FORECAST_SHARE = 2.0, 0.6  # wait before an archive (65 units) is called too

Key = tuple[str, Cell, int]  # the provider's name, where, and how many past days


class Forecasts:
    """The forecasts of all configured providers, the preferred provider first.

    Args:
        providers: the providers; those that are not configured are left out.
        clock: returns the current time in UTC.
        on_elevation: called with a point and the elevation in m that came with its forecast.
        on_forecast: called with the provider, the query and the forecast after each fetch.
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
            sharing=Sharing(
                shared,
                name=lambda key: (key[0], f"{key[1].key},{key[2]}"),
                pack=lambda forecast, _: forecast.pack(),
                unpack=_unpack,
            ),
        )

    async def fetch(self, query: Query, deadline: Deadline) -> WeatherSeries | None:
        """Return the best forecast of the stay; None if no provider has one by the deadline."""
        sources: list[Source[WeatherSeries]] = []
        for provider in self.providers:
            sources.append(partial(self._fresh, provider, query, deadline))
            sources.append(partial(self._stale, provider, query))
        best, failure = await best_of(sources, deadline, SETTLE_WINDOW)
        if best is None or failure is None:
            return best
        return replace(best, degraded_reason=degraded_by(failure))

    async def probe(self, query: Query) -> None:
        """Call every provider to check that it works: fetch the point's forecast.

        Failures show in the state of the provider's client.
        """
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
        """Return a provider's fresh forecast of the stay, cached or fetched.

        Return None if the forecast ends too early for the stay, or has no high and low of any day.

        Raises:
            ProviderError, TimeoutError: the forecast could not be fetched.
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
        return self._series(provider, query, entry.value)

    async def _stale(self, provider: ForecastProvider, query: Query) -> WeatherSeries | None:
        """Return a provider's cached forecast of the stay, even if it is no longer fresh.

        Return None if no forecast is cached, or if it ends too early for the stay.
        """
        entry = self.cache.peek(self._key(provider, query))
        series = self._series(provider, query, entry.value) if entry else None
        return replace(series, stale=True) if series else None

    def _series(
        self, provider: ForecastProvider, query: Query, forecast: Forecast
    ) -> WeatherSeries | None:
        """Return a provider's forecast for the stay's dates; None if it ends too early."""
        stay, now = query.dates, self.clock()
        series = self.part_of(provider, query, forecast)
        columns = series.columns
        known = np.isfinite(columns["temperature_max"]) & np.isfinite(columns["temperature_min"])
        if not known.any():
            return None
        # the last known day must be the stay's last, or one of the horizon's last three
        last = stay.start + timedelta(int(np.flatnonzero(known)[-1]))
        if last < min(stay.end, query.point.today(now) + timedelta(SURE_DAYS - 1)):
            return None
        return series

    def part_of(
        self, provider: ForecastProvider, query: Query, forecast: Forecast
    ) -> WeatherSeries:
        """Return a provider's forecast for the stay's dates, NaN where it has no values."""
        return WeatherSeries(
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
        )


def _fresh_until(key: Key, forecast: Forecast, fetched_at: datetime) -> datetime:
    """Return the time until which a forecast is fresh.

    This is the time that the provider states, or the next local midnight if that is earlier.
    """
    zone = ZoneInfo(key[1].timezone)
    tomorrow = fetched_at.astimezone(zone).date() + timedelta(days=1)
    midnight = datetime.combine(tomorrow, time.min, zone).astimezone(fetched_at.tzinfo)
    return min(forecast.fresh_until, midnight)


def _unpack(data: bytes) -> tuple[Forecast, datetime]:
    forecast = Forecast.unpack(data)
    return forecast, forecast.fetched_at


class Sources:
    """All sources of weather: forecasts, archives, climate stores, elevations, fallback grid.

    Attributes:
        clients: the clients of all providers, in the order in which the status lists them.
    """

    def __init__(
        self,
        context: SectionContext,
        forecast_providers: Sequence[ForecastProvider],
        archive_providers: Sequence[ArchiveProvider],
        on_forecast: Callable[[ForecastProvider, Query, Forecast], None],
    ) -> None:
        """Create the caches and sources of forecasts, archives and elevations.

        `on_forecast` is called with the provider, the query and the forecast after each fetch.
        """
        shared, clock = context.shared_cache(), context.clock
        self._clock = clock
        self.repository = ArchiveRepository(context.stores["climate"], clock)
        self.elevations = Elevations(context, self.repository, shared)
        self.forecasts = Forecasts(
            forecast_providers, clock, self.elevations.put, on_forecast, shared
        )
        self.archives = Archives(archive_providers, self.repository, clock, shared)
        self.stores = ClimateStores(context.settings.data_dir)
        self.fallback = FallbackGrid(context.settings.data_dir)
        self.clients = [provider.client for provider in forecast_providers]
        self.clients.insert(1, self.elevations.client)  # next to the forecast of the same server
        self.clients += [provider.client for provider in archive_providers]

    async def fetch(
        self, query: Query, deadline: Deadline
    ) -> tuple[WeatherSeries, float | None] | None:
        """Return the best weather available by the deadline, and the point's elevation in m.

        The elevation is None if unknown. If it was needed to correct temperatures, the series'
        `degraded_reason` says why it is unknown. Return None if no source has any weather.
        """
        series = await self._choose(query, deadline)
        if series is None:
            return None
        elevation, missing = await self._elevation(query, series, deadline)
        reason = foremost((series.degraded_reason, missing))
        return replace(series, degraded_reason=reason), elevation

    async def _choose(self, query: Query, deadline: Deadline) -> WeatherSeries | None:
        """Return the weather from the best source that answers by the deadline, else None."""
        inner = deadline.earlier(FALLBACK_RESERVE)
        series: WeatherSeries | None
        if query.dates.within_horizon(query.point.today(self._clock())):
            sources = [
                lambda: self._forecast(query, inner),
                lambda: self._climatology(query, inner),
            ]
            stagger = min(FORECAST_SECONDS, deadline.left() * FORECAST_SHARE)
            series, _ = await best_of(sources, deadline, math.inf, stagger=stagger)
        else:
            series = await self._climatology(query, inner)
        return series or self.fallback.series(query.point, query.dates)

    async def _climatology(self, query: Query, deadline: Deadline) -> WeatherSeries | None:
        """Return the typical weather of the stay from a climate store, else from an archive."""
        stored = self.stores.series(query.point, query.dates)
        return stored or await self.archives.fetch(query, deadline)

    async def _forecast(self, query: Query, deadline: Deadline) -> WeatherSeries | None:
        """Return the forecast of the stay; attach typical weather of its dates, if stored."""
        series = await self.forecasts.fetch(query, deadline)
        if series is None:
            return None
        stored = self.stores.series(query.point, query.dates)
        typical = stored or await self.archives.load(query)
        if typical is None:
            return series
        return replace(series, typical=typical).crediting(typical.attribution)

    async def _elevation(
        self, query: Query, series: WeatherSeries, deadline: Deadline
    ) -> tuple[float | None, DegradedReason | None]:
        """Return the point's elevation in m (None if unknown), and a reason why it is missing.

        A reason is returned only if temperatures must be corrected to the elevation and fetching it
        failed; else the reason is None.
        """
        matters = series.grid is not None and series.grid.elevation is not None
        if not matters and series.kind != "forecast":
            return await self.elevations.stored(query.point), None
        soon = deadline.at_most(ELEVATION_WAIT if matters else ELEVATION_LOOKUP)
        try:
            elevation = await self.elevations.fetch(query.point, soon, public=query.public)
        except (ProviderError, TimeoutError) as error:
            known = matters and self.elevations.client.configured
            return None, degraded_by(error) if known else None
        return elevation, None

    async def probe(self, query: Query) -> None:
        """Call every provider to check that it works, even those that an answer would not need."""
        await asyncio.gather(
            self.forecasts.probe(query),
            self.archives.probe(query),
            self.elevations.probe(query.point),
        )

    async def close(self) -> None:
        for part in (self.forecasts, self.elevations, self.archives):
            await part.close()
