"""Weather: a forecast within 16 days, else what ten years say of the same dates.

Order of preference: a fresh forecast, a stale one, the next provider's, climatology from the
archive that is stored or can be had, the next archive, and the fallback grid in the data directory.
"""

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import ClassVar, Self

from location_context.errors import ProviderError, StorageError, UpstreamUnavailable
from location_context.localisation.language import Language
from location_context.sections import contract, registry, section
from location_context.sections.weather import summary_text
from location_context.sections.weather.card import card
from location_context.sections.weather.fallback_grid import MODEL, FallbackGrid
from location_context.sections.weather.presenter import Presenter
from location_context.sections.weather.providers.base import ArchiveProvider, ForecastProvider
from location_context.sections.weather.records import ClimateStore, WeatherSeries
from location_context.sections.weather.response import WeatherBody
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.sections.weather.retrieval.archives import Archives
from location_context.sections.weather.retrieval.elevations import Elevations
from location_context.sections.weather.retrieval.forecasts import Forecasts
from location_context.upstream.deadline import ANSWER_RESERVE, FALLBACK_RESERVE, Deadline
from location_context.upstream.fallback_chain import Attempt, FallbackChain

ELEVATION_WAIT = 1.0  # seconds for the point's elevation, where temperatures hang on it
ELEVATION_LOOKUP = 0.05  # seconds to look up whether it is stored, where nothing hangs on it
FORECAST_SHARE = 0.9  # of the time, before an archive is asked beside a host that answers others
INCOMPLETE_TTL = timedelta(minutes=1)
PAST_TTL = timedelta(days=1)
NO_ARCHIVE = (
    "Open-Meteo: the plan of this API key has no archive (that takes the Professional or the "
    "Enterprise plan), so that NASA POWER answers for past years; with "
    "LOCATION_CONTEXT_OPEN_METEO_ARCHIVE_URL set to nothing the archive is no longer asked"
)
FREE_ACCESS = "Open-Meteo free access: non-commercial use only"


class Weather(section.Section[WeatherBody]):
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
    samples: ClassVar[section.Samples] = {
        "forecast": {**section.PARIS, "start": "2026-11-28", "end": "2026-12-01"},
        "not_applicable": {**section.PARIS, "start": "2026-10-01", "end": "2026-10-03"},
        "climatology": {**section.PARIS, "start": "2026-12-24", "end": "2026-12-25"},
    }
    dataset_info = section.DatasetInfo(
        name="climate",
        description="The climate fallback.",
        hint="no months stored yet, and no fallback grid: location-context climate fallback",
    )
    answers_past = False
    splits_at_horizon = True

    def __init__(
        self,
        context: section.SectionContext,
        forecast_providers: Sequence[ForecastProvider],
        archive_providers: Sequence[ArchiveProvider],
    ) -> None:
        settings, clock = context.settings, context.clock
        self._clock = clock
        self._store: ClimateStore = context.stores["climate"]
        self._free_access = settings.uses_open_meteo_free
        repository = ArchiveRepository(self._store, clock)
        self._elevations = Elevations(context, repository)
        self._forecasts = Forecasts(
            forecast_providers, clock, self._elevations.put, context.shared_cache()
        )
        self.archives = Archives(archive_providers, repository, clock)
        self._fallback = FallbackGrid(settings.data_dir)
        self._clients = [provider.client for provider in forecast_providers]
        self._clients.insert(1, self._elevations.client)  # beside the forecast that it belongs to
        self._clients += [provider.client for provider in archive_providers]

    @classmethod
    def build(cls, context: section.SectionContext) -> Self:
        """The section with every registered provider; processes share their answers."""
        forecasts, archives = forecast_providers(), archive_providers()
        return cls(
            context,
            [provider.build(context) for provider in forecasts],
            [provider.build(context) for provider in archives],
        )

    async def read(self, query: contract.Query, deadline: Deadline) -> contract.SectionResult:
        """The weather of the stay.

        Raises:
            UpstreamUnavailable: no provider answered, and there is no fallback grid.
        """
        assert query.stay is not None
        now = self._clock()
        today = query.point.today(now)
        if query.stay.is_past(today):
            message = query.language.gettext("The stay has ended.")
            return contract.SectionResult(
                contract.NotApplicable(reason="stay_in_past", message=message), now + PAST_TTL
            )
        inner = deadline.earlier(ANSWER_RESERVE)
        is_near = query.stay.within_horizon(today)
        comes_along = is_near and self._forecasts.brings_elevation(query)
        elevation = None if comes_along else self._ask_elevation(query, inner)
        try:
            series = await self._series(query, inner)
            if series is None:
                sentence = "No weather provider answered, and no fallback grid is there."
                raise UpstreamUnavailable(sentence, 30)
            elevation = elevation or self._ask_elevation(query, inner)  # cached if it came along
            metres, reason = await self._elevation(elevation, series)
        finally:
            if elevation is not None:
                elevation.cancel()
                await asyncio.gather(elevation, return_exceptions=True)
        body = Presenter(query, series, metres, today, reason).body()
        return contract.SectionResult(
            body, self._fresh_until(query, series, complete=not body.degraded)
        )

    async def _series(self, query: contract.Query, deadline: Deadline) -> WeatherSeries | None:
        """The best that is there by the deadline."""
        assert query.stay is not None
        inner = deadline.earlier(FALLBACK_RESERVE)
        series: WeatherSeries | None
        if not query.stay.within_horizon(query.point.today(self._clock())):
            series = await self.archives.fetch(query, inner)
        else:
            attempts = [
                Attempt(lambda: self._forecast(query, inner), queue=self._forecasts.queue),
                Attempt(lambda: self.archives.fetch(query, inner)),
            ]
            series = await FallbackChain(
                attempts, deadline, math.inf, queue_share=FORECAST_SHARE
            ).run()
        return series or self._fallback.series(query.point, query.stay)

    async def _forecast(self, query: contract.Query, deadline: Deadline) -> WeatherSeries | None:
        """The forecast, with the history that is stored."""
        series = await self._forecasts.fetch(query, deadline)
        if series is None:
            return None
        try:
            stored = await self.archives.load(query)
        except ProviderError:
            stored = None
        return with_history(series, stored) if stored else series

    def _ask_elevation(
        self, query: contract.Query, deadline: Deadline
    ) -> asyncio.Task[float | None]:
        elevation = self._elevations.fetch(query.point, deadline, public=query.public)
        return asyncio.ensure_future(elevation)

    async def _elevation(
        self, asked: asyncio.Task[float | None], series: WeatherSeries
    ) -> tuple[float | None, contract.DegradedReason | None]:
        """The point's elevation if it is there soon, and why it is missing where it matters."""
        matters = series.grid is not None and series.grid.elevation is not None
        await asyncio.wait([asked], timeout=ELEVATION_WAIT if matters else ELEVATION_LOOKUP)
        error = asked.exception() if asked.done() else TimeoutError()
        if error is None:
            return asked.result(), None
        if not (matters and self._elevations.client.configured):
            return None, None
        return None, contract.degraded_by(error)

    def _fresh_until(
        self, query: contract.Query, series: WeatherSeries, *, complete: bool
    ) -> datetime:
        """As long as the source says, not past midnight at the point."""
        now = self._clock()
        ttl = max(series.ttl, timedelta(0)) if complete else INCOMPLETE_TTL
        tomorrow = query.point.today(now) + timedelta(days=1)
        midnight = datetime.combine(tomorrow, time(), query.point.zone)
        return min(now + ttl, midnight.astimezone(now.tzinfo))

    def providers(self) -> Sequence[contract.ProviderState]:
        return [section.provider_state(client) for client in self._clients]

    async def dataset(self) -> contract.DatasetState | None:
        """The archive stored, and the version of the fallback grid."""
        try:
            rows, newest = await self._store.extent()
        except StorageError:
            rows, newest = 0, None
        version = MODEL if self._fallback.exists else None
        return contract.DatasetState(version=version, rows=rows, imported_at=newest)

    def warnings(self) -> Sequence[str]:
        warnings = [FREE_ACCESS] if self._free_access else []
        warnings += [NO_ARCHIVE for client in self._clients if not client.is_in_plan]
        if not self._fallback.exists:
            warnings.append("No fallback climate grid: location-context climate fallback")
        return warnings

    async def probe(self, query: contract.Query) -> None:
        """Ask every provider for this point, whether an answer would need it or not."""
        await asyncio.gather(
            self._forecasts.probe(query),
            self.archives.probe(query),
            self._elevations.probe(query.point),
        )

    async def run(self) -> None:
        """Writes what could not be written before; ends what is under way when it is cancelled."""
        try:
            await self.archives.repository.retry_writes()
        finally:
            await self.close()

    async def close(self) -> None:
        """End what is under way, and finish writing what is to be stored."""
        for part in (self._forecasts, self._elevations, self.archives):
            await part.close()

    def label(self, language: Language) -> str:
        return language.pgettext("section", "weather")

    def summary(self, language: Language) -> str:
        return language.gettext("forecast, typical")

    def card(self, body: WeatherBody, context: section.CardContext) -> section.Card:
        near = context.forecast_part
        near = near if isinstance(near, WeatherBody) else None
        view = card.card(body, near, context.fmt, context.now)
        template = "location_context.sections.weather.card:card.html"
        return section.Card(template=template, view=view, style=view.style)

    def page_data(self, bodies: Sequence[WeatherBody]) -> Mapping[str, str]:
        """Which weather the page shows: its kinds in order, and why it is less than was due."""
        shown = bodies if bodies and bodies[0].mode == "forecast" else bodies[-1:]
        kinds = dict.fromkeys(body.basis.kind for body in shown)
        reason = contract.foremost(body.degraded_reason for body in bodies)
        return {"weather": "_".join(kinds), "reason": reason or ""}

    def text(self, body: WeatherBody) -> Iterator[str | section.TextTable]:
        return summary_text.terminal_lines(body)


def with_history(forecast: WeatherSeries, stored: WeatherSeries) -> WeatherSeries:
    """The forecast with another source's history, its notices and its own height."""
    new = [notice for notice in stored.attribution if notice not in forecast.attribution]
    return replace(
        forecast,
        history=stored.history,
        history_grid=stored.grid,
        attribution=[*forecast.attribution, *new],
    )


def forecast_providers() -> list[type[ForecastProvider]]:
    """The classes of all registered forecast providers, the preferred one first."""
    kind: type[ForecastProvider] = ForecastProvider  # type: ignore[type-abstract]  # subclasses are built
    return registry.load(registry.FORECAST_PROVIDERS, kind)


def archive_providers() -> list[type[ArchiveProvider]]:
    """The classes of all registered archive providers, the preferred one first."""
    kind: type[ArchiveProvider] = ArchiveProvider  # type: ignore[type-abstract]  # subclasses are built
    return registry.load(registry.ARCHIVE_PROVIDERS, kind)
