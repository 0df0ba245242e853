"""Weather: a forecast within 16 days, else what ten years say of the same dates.

Order of resort: a fresh forecast, a stale one, the second provider, climatology from the archive
that is held or can be had, the second archive, and the fallback grid in the data directory.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, ClassVar, Self

from location_context.errors import ProviderError, StorageError, UpstreamUnavailable
from location_context.sections.contract import (
    Applicable,
    DatasetState,
    NotApplicable,
    Query,
    Reading,
)
from location_context.sections.providers import provider_state
from location_context.sections.weather.answer import Answer
from location_context.sections.weather.climatology.fallback import MODEL, FallbackGrid
from location_context.sections.weather.fetching.archives import Archives
from location_context.sections.weather.fetching.forecasts import Forecasts
from location_context.sections.weather.fetching.heights import Heights
from location_context.sections.weather.fetching.holdings import Holdings
from location_context.sections.weather.fetching.ladder import Ladder, Rung
from location_context.sections.weather.providers.met_norway import MetNorway
from location_context.sections.weather.providers.nasa_power import NasaPower
from location_context.sections.weather.providers.open_meteo import budget
from location_context.sections.weather.providers.open_meteo_archive import OpenMeteoArchive
from location_context.sections.weather.providers.open_meteo_forecast import OpenMeteoForecast
from location_context.sections.weather.response import WeatherBody

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx2

    from location_context.sections.contract import ProviderState
    from location_context.sections.weather.records import Outlook
    from location_context.sections.weather.store import ClimateStore
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.deadline import Deadline
    from location_context.upstream.provider import Upstream

_ANSWERING_SECONDS = 0.3
_LEAVING_SECONDS = 0.1
_HEIGHT_SECONDS = 1.0
_INCOMPLETE = timedelta(minutes=1)
_PAST = timedelta(days=1)
FREE_ACCESS = "Open-Meteo free access: non-commercial use only"


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What the section is put together from."""

    forecasts: Forecasts
    archives: Archives
    heights: Heights
    fallback: FallbackGrid
    store: ClimateStore
    upstreams: Sequence[Upstream]
    notices: Sequence[str]


class Weather:
    """The section `weather`."""

    name: ClassVar[str] = "weather"
    dated: ClassVar[bool] = True
    response: ClassVar[type[Applicable]] = WeatherBody
    refusal: ClassVar[type[NotApplicable]] = NotApplicable

    def __init__(self, parts: Parts, clock: Clock) -> None:
        self.archives = parts.archives
        self._forecasts = parts.forecasts
        self._heights = parts.heights
        self._fallback = parts.fallback
        self._store = parts.store
        self._clock = clock
        self._upstreams = parts.upstreams
        self._notices = parts.notices

    @classmethod
    def build(
        cls, settings: Settings, clock: Clock, client: httpx2.AsyncClient, store: ClimateStore
    ) -> Self:
        shared = budget(settings)
        forecast = OpenMeteoForecast(settings, clock, client, shared)
        archive = OpenMeteoArchive(settings, clock, client, shared)
        norway, power = MetNorway(settings, clock, client), NasaPower(settings, clock, client)
        holdings = Holdings(store, clock)
        parts = Parts(
            forecasts=Forecasts([forecast, norway], clock),
            archives=Archives([archive, power], holdings, clock),
            heights=Heights(forecast, holdings),
            fallback=FallbackGrid(settings.data_dir),
            store=store,
            upstreams=[forecast.upstream, norway.upstream, archive.upstream, power.upstream],
            notices=[FREE_ACCESS] if _uses_free_access(settings) else [],
        )
        return cls(parts, clock)

    async def read(self, query: Query, deadline: Deadline) -> Reading:
        """The weather of the stay.

        Raises:
            UpstreamUnavailable: no provider answered, and there is no fallback grid.
        """
        assert query.stay is not None
        now = self._clock()
        today = query.point.today(now)
        if query.stay.is_past(today):
            message = query.language.gettext("The stay has ended.")
            return Reading(NotApplicable(reason="stay_in_past", message=message), now + _PAST)
        inner = deadline.earlier(_ANSWERING_SECONDS)
        answered = self._heights.answered
        height = asyncio.ensure_future(self._heights.of(query.point, inner, public=query.public))
        try:
            outlook = await self._outlook(query, inner)
            if outlook is None:
                sentence = "No weather provider answered, and no fallback grid is there."
                raise UpstreamUnavailable(sentence, 30)
            metres, complete = await self._height(height, outlook)
            if not height.done() and self._heights.answered == answered and not complete:
                self._heights.late()
        finally:
            height.cancel()
            await asyncio.gather(height, return_exceptions=True)
        complete = complete and outlook.complete
        body = Answer(query, outlook, metres, today).body()
        return Reading(body, self._fresh_until(query, outlook, complete=complete), complete)

    async def _outlook(self, query: Query, deadline: Deadline) -> Outlook | None:
        """The best that is there by the deadline."""
        assert query.stay is not None
        inner = deadline.earlier(_LEAVING_SECONDS)
        outlook: Outlook | None
        if not query.stay.within_horizon(query.point.today(self._clock())):
            outlook = await self.archives.outlook(query, inner)
        else:
            rungs = [
                Rung(lambda: self._forecast(query, inner)),
                Rung(lambda: self._instead(query, inner)),
            ]
            outlook = await Ladder(rungs, deadline, math.inf).climb()
        return outlook or self._fallback.outlook(query.point, query.stay)

    async def _forecast(self, query: Query, deadline: Deadline) -> Outlook | None:
        """The forecast, with the history that is held."""
        outlook = await self._forecasts.outlook(query, deadline)
        if outlook is None:
            return None
        try:
            held = await self.archives.held(query)
        except ProviderError:
            held = None
        return with_history(outlook, held) if held else outlook

    async def _instead(self, query: Query, deadline: Deadline) -> Outlook | None:
        """Climatology in place of a forecast that cannot be had."""
        outlook = await self.archives.outlook(query, deadline)
        return replace(outlook, complete=False) if outlook else None

    async def _height(
        self, asked: asyncio.Task[float | None], outlook: Outlook
    ) -> tuple[float | None, bool]:
        """The point's height if it is there soon, and whether nothing that matters is missing."""
        if outlook.grid is None or outlook.grid.elevation is None or not self._heights.configured:
            return (asked.result() if _succeeded(asked) else None), True
        await asyncio.wait([asked], timeout=_HEIGHT_SECONDS)
        return (asked.result(), True) if _succeeded(asked) else (None, False)

    def _fresh_until(self, query: Query, outlook: Outlook, *, complete: bool) -> datetime:
        """As long as the source says, not past midnight at the point."""
        now = self._clock()
        lasts = max(outlook.lasts, timedelta(0)) if complete else _INCOMPLETE
        tomorrow = query.point.today(now) + timedelta(days=1)
        midnight = datetime.combine(tomorrow, time(), query.point.zone)
        return min(now + lasts, midnight.astimezone(now.tzinfo))

    def providers(self) -> Sequence[ProviderState]:
        return [provider_state(upstream) for upstream in self._upstreams]

    async def dataset(self) -> DatasetState | None:
        """The archive kept, and the version of the fallback grid."""
        try:
            rows, newest = await self._store.extent()
        except StorageError:
            rows, newest = 0, None
        version = MODEL if self._fallback.made else None
        return DatasetState(version=version, rows=rows, imported_at=newest)

    def notices(self) -> Sequence[str]:
        if self._fallback.made:
            return self._notices
        return [*self._notices, "No fallback climate grid: location-context climate fallback"]

    async def run(self) -> None:
        """Ends what is under way when it is cancelled; there is no other work."""
        try:
            await asyncio.Event().wait()
        finally:
            await self.close()

    async def close(self) -> None:
        """End what is under way, and finish writing what is to be kept."""
        for part in (self._forecasts, self._heights, self.archives):
            await part.close()


def with_history(forecast: Outlook, held: Outlook) -> Outlook:
    """The forecast with another source's history, its notices and its own height."""
    new = [notice for notice in held.attribution if notice not in forecast.attribution]
    return replace(
        forecast,
        history=held.history,
        history_grid=held.grid,
        attribution=[*forecast.attribution, *new],
    )


def _succeeded(task: asyncio.Task[float | None]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def _uses_free_access(settings: Settings) -> bool:
    if settings.open_meteo_api_key:
        return False
    return any("open-meteo.com" in url for url in (settings.forecast_url, settings.archive_url))
