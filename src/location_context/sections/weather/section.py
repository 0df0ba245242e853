"""Weather: a forecast within 16 days, else what ten years say of the same dates.

Order of resort: a fresh forecast, a stale one, the second provider, climatology from the archive
that is held or can be had, the second archive, and the fallback grid in the data directory.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, ClassVar, Self

from location_context.errors import ProviderError, StorageError, UpstreamUnavailable
from location_context.localisation.language import Language
from location_context.sections.contract import (
    DatasetState,
    NotApplicable,
    Query,
    SectionResult,
    foremost,
)
from location_context.sections.open_meteo import open_meteo_host
from location_context.sections.providers import degraded_by, provider_state
from location_context.sections.section import (
    PARIS,
    Card,
    CardContext,
    DatasetInfo,
    Samples,
    Section,
    SectionContext,
    TextTable,
)
from location_context.sections.weather import terminal
from location_context.sections.weather.answer import Answer
from location_context.sections.weather.card import card
from location_context.sections.weather.climatology.fallback import MODEL, FallbackGrid
from location_context.sections.weather.fetching.archives import Archives
from location_context.sections.weather.fetching.forecasts import Forecasts
from location_context.sections.weather.fetching.heights import Heights
from location_context.sections.weather.fetching.holdings import Holdings
from location_context.sections.weather.providers.met_norway import MetNorway
from location_context.sections.weather.providers.nasa_power import NasaPower
from location_context.sections.weather.providers.open_meteo_archive import OpenMeteoArchive
from location_context.sections.weather.providers.open_meteo_elevation import OpenMeteoElevation
from location_context.sections.weather.providers.open_meteo_forecast import OpenMeteoForecast
from location_context.sections.weather.response import WeatherBody
from location_context.upstream.fallback_chain import Attempt, FallbackChain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from location_context.sections.contract import DegradedReason, ProviderState
    from location_context.sections.weather.records import Outlook
    from location_context.sections.weather.store import ClimateStore
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.client import ProviderClient
    from location_context.upstream.deadline import Deadline

_ANSWERING_SECONDS = 0.3
_LEAVING_SECONDS = 0.1
_HEIGHT_SECONDS = 1.0
_HELD_SECONDS = 0.05  # to look up whether the height is held, where nothing hangs on it
_INCOMPLETE = timedelta(minutes=1)
_PAST = timedelta(days=1)
NO_ARCHIVE = (
    "Open-Meteo: the plan of this API key has no archive (that takes the Professional or the "
    "Enterprise plan), so that NASA POWER answers for past years; with "
    "LOCATION_CONTEXT_OPEN_METEO_ARCHIVE_URL set to nothing the archive is no longer asked"
)
FREE_ACCESS = "Open-Meteo free access: non-commercial use only"


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What the section is put together from."""

    forecasts: Forecasts
    archives: Archives
    heights: Heights
    fallback: FallbackGrid
    store: ClimateStore
    upstreams: Sequence[ProviderClient]
    notices: Sequence[str]


class Weather(Section[WeatherBody]):
    """The section `weather`."""

    name = "weather"
    dated = True
    response = WeatherBody
    order = 100
    title = "Weather: a forecast for each day, or ten-year climatology"
    description = (
        "A stay whose last day is at most 15 days after today at the point is answered with a "
        "forecast; one beyond with the climatology of the same dates. `mode` tells which; the "
        "shape is the same. Where no forecast can be had, climatology or a monthly mean stands "
        "in, and `degraded` says so. A stay that crosses the horizon is best asked for in two "
        "parts, split at `forecast_until`."
    )
    samples: ClassVar[Samples] = {
        "forecast": {**PARIS, "start": "2026-11-28", "end": "2026-12-01"},
        "not_applicable": {**PARIS, "start": "2026-10-01", "end": "2026-10-03"},
        "climatology": {**PARIS, "start": "2026-12-24", "end": "2026-12-25"},
    }
    dataset_info = DatasetInfo(
        name="climate",
        description="The climate fallback.",
        hint="no month kept yet, and no fallback grid: location-context climate fallback",
    )
    answers_past = False
    splits_at_horizon = True

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
    def build(cls, context: SectionContext) -> Self:
        """The section with every provider of the settings; processes share their answers."""
        settings, clock, client = context.settings, context.clock, context.client
        store: ClimateStore = context.stores["climate"]
        shared = context.shared_cache()
        host = open_meteo_host(context.hosts, settings)
        forecast = OpenMeteoForecast(settings, clock, client, host)
        elevation = OpenMeteoElevation(settings, clock, client, host)
        archive = OpenMeteoArchive(settings, clock, client, host)
        norway, power = MetNorway(settings, clock, client), NasaPower(settings, clock, client)
        holdings = Holdings(store, clock)
        parts = Parts(
            forecasts=Forecasts([forecast, norway], clock, holdings.keep_height, shared),
            archives=Archives([archive, power], holdings, clock),
            heights=Heights(elevation, holdings),
            fallback=FallbackGrid(settings.data_dir),
            store=store,
            upstreams=[one.upstream for one in (forecast, elevation, norway, archive, power)],
            notices=[FREE_ACCESS] if _uses_free_access(settings) else [],
        )
        return cls(parts, clock)

    async def read(self, query: Query, deadline: Deadline) -> SectionResult:
        """The weather of the stay.

        Raises:
            UpstreamUnavailable: no provider answered, and there is no fallback grid.
        """
        assert query.stay is not None
        now = self._clock()
        today = query.point.today(now)
        if query.stay.is_past(today):
            message = query.language.gettext("The stay has ended.")
            return SectionResult(NotApplicable(reason="stay_in_past", message=message), now + _PAST)
        inner = deadline.earlier(_ANSWERING_SECONDS)
        is_near = query.stay.within_horizon(today)
        comes_along = is_near and self._forecasts.brings_height(query)
        height = None if comes_along else self._ask(query, inner)
        try:
            outlook = await self._outlook(query, inner)
            if outlook is None:
                sentence = "No weather provider answered, and no fallback grid is there."
                raise UpstreamUnavailable(sentence, 30)
            height = height or self._ask(query, inner)  # held now, if the forecast brought it
            metres, lacking = await self._height(height, outlook)
        finally:
            if height is not None:
                height.cancel()
                await asyncio.gather(height, return_exceptions=True)
        body = Answer(query, outlook, metres, today, lacking).body()
        return SectionResult(body, self._fresh_until(query, outlook, complete=not body.degraded))

    async def _outlook(self, query: Query, deadline: Deadline) -> Outlook | None:
        """The best that is there by the deadline."""
        assert query.stay is not None
        inner = deadline.earlier(_LEAVING_SECONDS)
        outlook: Outlook | None
        if not query.stay.within_horizon(query.point.today(self._clock())):
            outlook = await self.archives.outlook(query, inner)
        else:
            attempts = [
                Attempt(lambda: self._forecast(query, inner)),
                Attempt(lambda: self._instead(query, inner)),
            ]
            outlook = await FallbackChain(attempts, deadline, math.inf).run()
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
        return await self.archives.outlook(query, deadline)

    def _ask(self, query: Query, deadline: Deadline) -> asyncio.Task[float | None]:
        """The point's height, being asked for."""
        height = self._heights.of(query.point, deadline, public=query.public)
        return asyncio.ensure_future(height)

    async def _height(
        self, asked: asyncio.Task[float | None], outlook: Outlook
    ) -> tuple[float | None, DegradedReason | None]:
        """The point's height if it is there soon, and why it is missing where it matters."""
        matters = outlook.grid is not None and outlook.grid.elevation is not None
        await asyncio.wait([asked], timeout=_HEIGHT_SECONDS if matters else _HELD_SECONDS)
        if _succeeded(asked):
            return asked.result(), None
        if not (matters and self._heights.configured):
            return None, None
        return None, degraded_by((asked.done() and asked.exception()) or TimeoutError())

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

    def warnings(self) -> Sequence[str]:
        told = list(self._notices)
        told += [NO_ARCHIVE for one in self._upstreams if not one.is_in_plan]
        if not self._fallback.made:
            told.append("No fallback climate grid: location-context climate fallback")
        return told

    async def probe(self, query: Query) -> None:
        """Ask every provider for this point, whether an answer would need it or not."""
        await asyncio.gather(
            self._forecasts.probe(query),
            self.archives.probe(query),
            self._heights.probe(query.point),
        )

    async def run(self) -> None:
        """Writes what could not be written before; ends what is under way when it is cancelled."""
        try:
            await self.archives.holdings.keep_writing()
        finally:
            await self.close()

    async def close(self) -> None:
        """End what is under way, and finish writing what is to be kept."""
        for part in (self._forecasts, self._heights, self.archives):
            await part.close()

    def label(self, language: Language) -> str:
        return language.pgettext("section", "weather")

    def summary(self, language: Language) -> str:
        return language.gettext("forecast, typical")

    def card(self, body: WeatherBody, context: CardContext) -> Card:
        near = context.forecast_part
        near = near if isinstance(near, WeatherBody) else None
        view = card.card(body, near, context.fmt, context.now)
        template = "location_context.sections.weather.card:card.html"
        return Card(template=template, view=view, style=view.style)

    def page_data(self, bodies: Sequence[WeatherBody]) -> Mapping[str, str]:
        """Which weather the page shows: its kinds in order, and why it is less than was due."""
        shown = bodies if bodies and bodies[0].mode == "forecast" else bodies[-1:]
        kinds = dict.fromkeys(body.basis.kind for body in shown)
        reason = foremost(body.degraded_reason for body in bodies)
        return {"weather": "_".join(kinds), "reason": reason or ""}

    def text(self, body: WeatherBody) -> Iterator[str | TextTable]:
        return terminal.text(body)


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
