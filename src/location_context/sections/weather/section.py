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

import numpy as np

from location_context.errors import StorageError, UpstreamUnavailable
from location_context.localisation.language import Language
from location_context.sections import contract, registry, section
from location_context.sections.card import Brief, Card, CardContext
from location_context.sections.weather import climatology, estimate, summary_text
from location_context.sections.weather.accuracy import page as accuracy_page
from location_context.sections.weather.accuracy.records import LEADS, by_month, given_columns
from location_context.sections.weather.accuracy.scorekeeper import Scorekeeper
from location_context.sections.weather.calibration import Calibration
from location_context.sections.weather.card import card
from location_context.sections.weather.fallback_grid import MODEL, FallbackGrid
from location_context.sections.weather.presenter import Presenter
from location_context.sections.weather.providers.base import (
    ArchiveProvider,
    Forecast,
    ForecastProvider,
)
from location_context.sections.weather.records import Cell, ClimateStore, Columns, WeatherSeries
from location_context.sections.weather.response import WeatherBody
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.sections.weather.retrieval.archives import Archives
from location_context.sections.weather.retrieval.elevations import Elevations
from location_context.sections.weather.retrieval.forecasts import Forecasts
from location_context.sections.weather.retrieval.prefetch import Prefetch
from location_context.stay import Stay
from location_context.upstream.deadline import ANSWER_RESERVE, FALLBACK_RESERVE, Deadline
from location_context.upstream.fallback_chain import FallbackChain

ELEVATION_WAIT = 1.0  # seconds for the point's elevation, where temperatures hang on it
PATIENT_SECONDS = 20.0  # more than a guest has: who fills caches waits so long and longer
ELEVATION_LOOKUP = 0.05  # seconds to look up whether it is stored, where nothing hangs on it
FORECAST_SECONDS, FORECAST_SHARE = 2.0, 0.6  # after which an archive, of 65 units, is asked too
TYPICAL_WAIT = 1.0  # seconds for the climatology that the rest of the page waits for, if it does
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
        context.unwritten.append(lambda: repository.pending + self.score.pending)
        shared = context.shared_cache()
        self._elevations = Elevations(context, repository, shared)
        self._forecasts = Forecasts(
            forecast_providers,
            clock,
            self._elevations.put,
            self._record,
            shared,
        )
        self.archives = Archives(archive_providers, repository, clock, shared)
        self._prefetch = Prefetch(self.archives)
        self._calibration = Calibration.load() if settings.calibrate_forecast else None
        self._fallback = FallbackGrid(settings.data_dir)
        self.score = Scorekeeper(
            context.stores.get("accuracy"),
            self.archives.providers,
            clock,
        )
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
        now = self._clock()
        today = query.point.today(now)
        if query.dates.is_past(today):
            message = query.language.gettext("The stay has ended.")
            return contract.SectionResult(
                contract.NotApplicable(reason="stay_in_past", message=message), now + PAST_TTL
            )
        inner = deadline.earlier(ANSWER_RESERVE)
        is_near = query.dates.within_horizon(today)
        comes_along = is_near and self._forecasts.brings_elevation(query)
        elevation = None if comes_along else self._ask_elevation(query, inner)
        try:
            if elevation is not None and deadline.left() > PATIENT_SECONDS:
                # else an archive's hundred units may be spent, and the one for this be refused
                await asyncio.wait([elevation])
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
        awaits = None
        if series.kind == "forecast" and self._calibration is not None:
            series = self._calibrated(query, series, metres, self._calibration)
            awaits = self._prefetched(query, series)
        body = Presenter(query, series, metres, today, reason).body()
        lasts = contract.lasts(body.degraded_reason, stale=body.stale)
        fresh_until = self._fresh_until(query, series, lasts=lasts)
        return contract.SectionResult(body, fresh_until, awaits=awaits)

    async def _series(self, query: contract.Query, deadline: Deadline) -> WeatherSeries | None:
        """The best that is there by the deadline."""
        inner = deadline.earlier(FALLBACK_RESERVE)
        series: WeatherSeries | None
        if not query.dates.within_horizon(query.point.today(self._clock())):
            series = await self.archives.fetch(query, inner)
        else:
            sources = [
                lambda: self._forecast(query, inner),
                lambda: self.archives.fetch(query, inner),
            ]
            stagger = min(FORECAST_SECONDS, deadline.left() * FORECAST_SHARE)
            series = await FallbackChain(sources, deadline, math.inf, stagger=stagger).run()
        return series or self._fallback.series(query.point, query.dates)

    async def _forecast(self, query: contract.Query, deadline: Deadline) -> WeatherSeries | None:
        """The forecast, with what is typical of its dates as far as that is stored."""
        series = await self._forecasts.fetch(query, deadline)
        if series is None:
            return None
        typical = await self.archives.load(query, min(TYPICAL_WAIT, deadline.left() / 2))
        if typical is None:
            return series
        return replace(
            series, typical=typical, attribution=_both(series.attribution, typical.attribution)
        )

    def _calibrated(
        self,
        query: contract.Query,
        series: WeatherSeries,
        metres: float | None,
        calibration: Calibration,
    ) -> WeatherSeries:
        """The forecast weighed against the climatology that is held, or the fallback grid's."""
        assert series.as_of is not None
        issued = series.as_of.astimezone(query.point.zone).date()
        lead = estimate.leads(query.dates, issued, query.point.today(self._clock()))
        normals = None
        if series.typical is not None:
            kelvin = estimate.height_between(series.grid, series.typical.grid, metres)
            normals = estimate.Normals.of_archive(series.typical, kelvin)
        elif (monthly := self._fallback.series(query.point, query.dates)) is not None:
            normals = estimate.Normals.of_grid(monthly, series.columns, query.point, query.dates)
            series = replace(series, attribution=_both(series.attribution, monthly.attribution))
        return estimate.calibrated(series, normals, lead, calibration)

    def _record(
        self, provider: ForecastProvider, query: contract.Query, forecast: Forecast
    ) -> None:
        """Keep a forecast of 16 days for the score, as guests of all its days are given it."""
        issued = (forecast.issued_at or forecast.fetched_at).astimezone(query.point.zone).date()
        last = min(forecast.last_known, issued + timedelta(LEADS - 1))
        if last < issued:
            return

        async def columns() -> Columns:
            # month by month, since what is typical of one may be held when the next one's is not
            months = [
                await self._given(replace(query, stay=stay), provider, forecast)
                for stay in by_month(Stay(issued, last))
            ]
            return {name: np.concatenate([one[name] for one in months]) for name in months[0]}

        cell = Cell.of(query.point, provider.cell_degrees)
        self.score.record(provider.title, cell, issued, forecast.grid.elevation, columns)

    async def _given(
        self, query: contract.Query, provider: ForecastProvider, forecast: Forecast
    ) -> Columns:
        """What a guest is given of a forecast, as it is kept; nothing is asked for."""
        series = self._forecasts.part_of(provider, query, forecast)
        typical = await self.archives.load(query)
        given = replace(series, typical=typical)
        if self._calibration is not None:
            given = self._calibrated(query, given, None, self._calibration)
        grid = typical.grid if typical is not None else None
        return given_columns(given, estimate.height_between(given.grid, grid, None))

    def _prefetched(
        self, query: contract.Query, series: WeatherSeries
    ) -> asyncio.Future[None] | None:
        """What is fetched behind where not all ten years of the dates are held."""
        if series.typical is not None and len(series.typical.years) == climatology.YEARS:
            return None
        return self._prefetch.start(query)

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
        self, query: contract.Query, series: WeatherSeries, *, lasts: bool
    ) -> datetime:
        """As long as the source says, not past midnight at the point."""
        now = self._clock()
        ttl = max(series.ttl, timedelta(0)) if lasts else INCOMPLETE_TTL
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
        """Writes what could not be written before, and verifies forecasts, until cancelled."""
        try:
            await asyncio.gather(self.archives.repository.retry_writes(), self.score.run())
        finally:
            await self.close()

    async def close(self) -> None:
        """End what is under way, and finish writing what is to be stored."""
        for part in (self.score, self._prefetch, self._forecasts, self._elevations, self.archives):
            await part.close()

    def docs_pages(self) -> Sequence[section.DocsPage]:
        return [accuracy_page.docs_page(self.score)]

    def label(self, language: Language) -> str:
        return language.pgettext("section", "weather")

    def summary(self, language: Language) -> str:
        return language.gettext("forecast, typical")

    def card(self, body: WeatherBody, context: CardContext) -> Card:
        view = card.card(body, _near(context), context.fmt, context.now)
        template = "location_context.sections.weather.card:card.html"
        return Card(template=template, view=view, style=view.style)

    def brief(self, body: WeatherBody, context: CardContext) -> Brief:
        return card.brief(body, _near(context), context.fmt, context.now)

    def page_data(self, bodies: Sequence[WeatherBody]) -> Mapping[str, str]:
        """Which weather the page shows: its kinds in order, and why it is less than was due."""
        shown = bodies if bodies and bodies[0].mode == "forecast" else bodies[-1:]
        kinds = dict.fromkeys(body.basis.kind for body in shown)
        reason = contract.foremost(body.degraded_reason for body in bodies)
        return {"weather": "_".join(kinds), "reason": reason or ""}

    def text(self, body: WeatherBody) -> Iterator[str | section.TextTable]:
        return summary_text.terminal_lines(body)


def _both(
    first: Sequence[contract.Attribution], second: Sequence[contract.Attribution]
) -> list[contract.Attribution]:
    """The notices of two sources, none twice."""
    return [*first, *(notice for notice in second if notice not in first)]


def forecast_providers() -> list[type[ForecastProvider]]:
    """The classes of all registered forecast providers, the preferred one first."""
    kind: type[ForecastProvider] = ForecastProvider  # type: ignore[type-abstract]  # subclasses are built
    return registry.load(registry.FORECAST_PROVIDERS, kind)


def archive_providers() -> list[type[ArchiveProvider]]:
    """The classes of all registered archive providers, the preferred one first."""
    kind: type[ArchiveProvider] = ArchiveProvider  # type: ignore[type-abstract]  # subclasses are built
    return registry.load(registry.ARCHIVE_PROVIDERS, kind)


def _near(context: CardContext) -> WeatherBody | None:
    near = context.forecast_part
    return near if isinstance(near, WeatherBody) else None
