"""Forecasts: what providers say of a stay, kept per cell: fresh for 30 minutes, stale for 6 h."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from location_context.errors import ProviderBackoff, ProviderError
from location_context.lru import LRUCache
from location_context.sections.providers import degraded_by
from location_context.sections.weather.cells import Cell, cell_of
from location_context.sections.weather.providers.contract import Forecast
from location_context.sections.weather.records import Outlook
from location_context.upstream.deadline import Deadline
from location_context.upstream.fallback_chain import Attempt, FallbackChain
from location_context.upstream.shared_cache import CacheRecord
from location_context.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date, datetime

    from numpy.typing import NDArray

    from location_context.sections.contract import Query
    from location_context.sections.weather.providers.contract import ForecastProvider
    from location_context.stay import Clock, Stay
    from location_context.upstream.shared_cache import SharedCache

STALE = timedelta(hours=6)
GRACE_SECONDS = 0.5
_SIZE = 2_000
_SURE_DAYS = 14  # the provider's range once shrank to these; later days may be unknown
_PAST_DAYS = (0, 14, 92)  # asked for in these steps, so that stays under way share a forecast

Key = tuple[str, Cell, int]


class Forecasts:
    """The forecast providers in order of resort."""

    def __init__(
        self,
        providers: Sequence[ForecastProvider],
        clock: Clock,
        learned: Callable[[float, float, float], None],
        answers: SharedCache,
    ) -> None:
        """`learned` is told the lat, lng and height in m that came with a forecast at a point.

        `answers` are shared with other processes.
        """
        self.providers = [one for one in providers if one.upstream.configured]
        self._clock = clock
        self._learned = learned
        self._answers = answers
        self._kept: LRUCache[Key, Forecast] = LRUCache(_SIZE)
        self._flights: SingleFlight[Forecast] = SingleFlight()

    async def outlook(self, query: Query, deadline: Deadline) -> Outlook | None:
        """The forecast of the stay; None when none can be had."""
        attempts: list[Attempt[Outlook]] = []
        for provider in self.providers:
            reader = _Reader(self, provider, query, deadline, self._clock())
            attempts.append(Attempt(reader.fresh, provider.upstream))
            attempts.append(Attempt(reader.stale))
        chain = FallbackChain(attempts, deadline, GRACE_SECONDS)
        best = await chain.run()
        if best is None or chain.first_failure is None:
            return best
        return replace(best, lacking=degraded_by(chain.first_failure))

    def brings_height(self, query: Query) -> bool:
        """Whether the forecast to come is asked for at the point, and so brings its height."""
        if not self.providers:
            return False
        reader = _Reader(self, self.providers[0], query, Deadline.after(0), self._clock())
        return self.providers[0].at_point and not reader.is_held

    def kept(self, key: Key, today: date) -> Forecast | None:
        """The forecast kept for a cell, if it is still to be used; it may be stale."""
        kept = self._kept.get(key)
        if kept is None or self._clock() - kept.fetched_at > STALE:
            return None
        return kept if kept.first <= today else None

    async def fetch(
        self, provider: ForecastProvider, key: Key, today: date, query: Query, deadline: Deadline
    ) -> Forecast:
        """A new forecast; one fetch per cell is under way at a time."""
        point = query.point
        asked = replace(key[1], lat=point.lat, lng=point.lng) if provider.at_point else key[1]

        async def fetch() -> Forecast:
            if (shared := await self._shared(key, today)) is not None:
                return shared
            forecast = await provider.forecast(asked, today, key[2], public=query.public)
            self._kept.put(key, forecast)
            expires = forecast.fetched_at + STALE
            self._answers.save(CacheRecord(key[0], _name(key), expires, forecast.pack()))
            if provider.at_point and forecast.grid.elevation is not None:
                self._learned(point.lat, point.lng, forecast.grid.elevation)
            return forecast

        try:
            return await self._flights.run(key, fetch, deadline)
        except ProviderBackoff:
            if query.public:
                raise
            return await self._flights.run((key, "keyed"), fetch, deadline)

    async def _shared(self, key: Key, today: date) -> Forecast | None:
        """A fresh forecast that another process fetched; a stale one is kept for bad times."""
        data = await self._answers.load(key[0], _name(key))
        forecast = Forecast.unpack(data) if data else None
        if forecast is None or forecast.first > today:
            return None
        if (held := self._kept.get(key)) is None or held.fetched_at < forecast.fetched_at:
            self._kept.put(key, forecast)
        now = self._clock()
        same_day = forecast.fetched_at.astimezone(ZoneInfo(key[1].timezone)).date() == today
        return forecast if now < forecast.until and same_day else None

    async def probe(self, query: Query) -> None:
        """Ask every provider for the point's forecast; what fails shows in its upstream."""
        today = query.point.today(self._clock())
        for provider in self.providers:
            with contextlib.suppress(ProviderError):
                cell = cell_of(query.point, provider.degrees)
                await provider.forecast(cell, today, 0, public=query.public)

    async def close(self) -> None:
        await self._flights.close()
        await self._answers.close()


def _name(key: Key) -> str:
    """The name under which other processes find the forecast of a cell."""
    return f"{key[1].key},{key[2]}"


class _Reader:
    """One provider's answer to one query."""

    def __init__(
        self,
        forecasts: Forecasts,
        provider: ForecastProvider,
        query: Query,
        deadline: Deadline,
        now: datetime,
    ) -> None:
        assert query.stay is not None
        self._forecasts = forecasts
        self._provider = provider
        self._query = query
        self._stay: Stay = query.stay
        self._deadline = deadline
        self._now = now
        self._today = query.point.today(now)
        past = max(0, (self._today - self._stay.start).days)
        days = next(n for n in _PAST_DAYS if n >= min(past, 92))
        self._key: Key = (provider.name, cell_of(query.point, provider.degrees), days)

    @property
    def is_held(self) -> bool:
        """Whether a fresh forecast is at hand."""
        kept = self._forecasts.kept(self._key, self._today)
        return kept is not None and self._is_fresh(kept)

    async def fresh(self) -> Outlook | None:
        kept = self._forecasts.kept(self._key, self._today)
        if kept is None or not self._is_fresh(kept):
            kept = await self._forecasts.fetch(
                self._provider, self._key, self._today, self._query, self._deadline
            )
        return self._outlook(kept, stale=False)

    async def stale(self) -> Outlook | None:
        kept = self._forecasts.kept(self._key, self._today)
        return None if kept is None else self._outlook(kept, stale=True)

    def _is_fresh(self, kept: Forecast) -> bool:
        same_day = self._query.point.today(kept.fetched_at) == self._today
        return self._now < kept.until and same_day

    def _outlook(self, forecast: Forecast, *, stale: bool) -> Outlook | None:
        """The stay's part; None when it ends too early to serve the stay."""
        columns = forecast.of(self._stay)
        unknown = np.full(self._stay.days, np.nan)
        high, low = (columns.get(f"temperature_{end}", unknown) for end in ("max", "min"))
        known = np.isfinite(high) & np.isfinite(low)
        if not self._reaches(known):
            return None
        return Outlook(
            mode="forecast",
            kind="forecast",
            provider=self._provider.name,
            model=self._provider.model,
            columns=columns,
            attribution=self._provider.attribution,
            lasts=forecast.until - self._now,
            as_of=forecast.issued_at or forecast.fetched_at,
            issued_at=forecast.issued_at,
            grid=forecast.grid,
            stale=stale,
        )

    def _reaches(self, known: NDArray[np.bool_]) -> bool:
        """Whether the last known day is the stay's last, or among the horizon's last three."""
        if not known.any():
            return False
        last = self._stay.start + timedelta(int(np.flatnonzero(known)[-1]))
        return last >= min(self._stay.end, self._today + timedelta(_SURE_DAYS - 1))
