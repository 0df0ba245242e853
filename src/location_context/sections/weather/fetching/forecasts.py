"""Forecasts: what providers say of a stay, kept per cell: fresh for 30 minutes, stale for 6 h."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from location_context.errors import ProviderQuiet
from location_context.sections.recent import Recent
from location_context.sections.weather.cells import Cell, cell_of
from location_context.sections.weather.fetching.ladder import Ladder, Rung
from location_context.sections.weather.records import Outlook
from location_context.upstream.flights import Flights

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime

    from numpy.typing import NDArray

    from location_context.sections.contract import Query
    from location_context.sections.weather.providers.contract import Forecast, ForecastProvider
    from location_context.stay import Clock, Stay
    from location_context.upstream.deadline import Deadline

STALE = timedelta(hours=6)
GRACE_SECONDS = 0.5
_SIZE = 2_000
_SURE_DAYS = 14  # the provider's range once shrank to these; later days may be unknown
_PAST_DAYS = (0, 14, 92)  # asked for in these steps, so that stays under way share a forecast

Key = tuple[str, Cell, int]


class Forecasts:
    """The forecast providers in order of resort."""

    def __init__(self, providers: Sequence[ForecastProvider], clock: Clock) -> None:
        self.providers = [one for one in providers if one.upstream.configured]
        self._clock = clock
        self._kept: Recent[Key, Forecast] = Recent(_SIZE)
        self._flights: Flights[Forecast] = Flights()

    async def outlook(self, query: Query, deadline: Deadline) -> Outlook | None:
        """The forecast of the stay; None when none can be had."""
        rungs: list[Rung[Outlook]] = []
        for place, provider in enumerate(self.providers):
            reader = _Reader(self, provider, query, deadline, self._clock(), first=place == 0)
            rungs.append(Rung(reader.fresh, provider.upstream))
            rungs.append(Rung(reader.stale))
        return await Ladder(rungs, deadline, GRACE_SECONDS).climb()

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

        async def fetch() -> Forecast:
            forecast = await provider.forecast(key[1], today, key[2], public=query.public)
            self._kept.put(key, forecast)
            return forecast

        try:
            return await self._flights.join(key, fetch, deadline)
        except ProviderQuiet:
            if query.public:
                raise
            return await self._flights.join((key, "keyed"), fetch, deadline)

    async def close(self) -> None:
        await self._flights.close()


class _Reader:
    """One provider's answer to one query."""

    def __init__(  # noqa: PLR0913  who asks whom, for what, by when
        self,
        forecasts: Forecasts,
        provider: ForecastProvider,
        query: Query,
        deadline: Deadline,
        now: datetime,
        *,
        first: bool,
    ) -> None:
        assert query.stay is not None
        self._forecasts = forecasts
        self._provider = provider
        self._query = query
        self._stay: Stay = query.stay
        self._deadline = deadline
        self._first = first
        self._now = now
        self._today = query.point.today(now)
        past = max(0, (self._today - self._stay.start).days)
        days = next(n for n in _PAST_DAYS if n >= min(past, 92))
        self._key: Key = (provider.name, cell_of(query.point, provider.degrees), days)

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
        known = np.isfinite(columns["temperature_max"]) & np.isfinite(columns["temperature_min"])
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
            complete=self._first and not stale,
        )

    def _reaches(self, known: NDArray[np.bool_]) -> bool:
        """Whether the last known day is the stay's last, or among the horizon's last three."""
        if not known.any():
            return False
        last = self._stay.start + timedelta(int(np.flatnonzero(known)[-1]))
        return last >= min(self._stay.end, self._today + timedelta(_SURE_DAYS - 1))
