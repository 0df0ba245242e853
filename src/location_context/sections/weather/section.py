"""The section `weather`: a forecast for the next 16 days, else typical weather.

Typical weather (climatology) is computed from the same dates in ten years. `Sources` fetches the
data and chooses a source, `Estimator` calibrates a forecast, and `Presenter` builds the answer's
body.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar, Self

from location_context.errors import StorageError, UpstreamUnavailable
from location_context.localisation.language import Language
from location_context.sections import contract, registry, section
from location_context.sections.card import Card, CardContext
from location_context.sections.weather import card, climatology, summary_text
from location_context.sections.weather.accuracy import page as accuracy_page
from location_context.sections.weather.accuracy.scorekeeper import Recorder, Scorekeeper
from location_context.sections.weather.calibration import Calibration
from location_context.sections.weather.estimate import Estimator
from location_context.sections.weather.fallback_grid import MODEL
from location_context.sections.weather.fixed_weather import fixed_series
from location_context.sections.weather.presenter import Presenter
from location_context.sections.weather.providers.base import ArchiveProvider, ForecastProvider
from location_context.sections.weather.records import ClimateStore, WeatherSeries
from location_context.sections.weather.response import WeatherBody
from location_context.sections.weather.retrieval.archives import Prefetch
from location_context.sections.weather.retrieval.sources import Sources
from location_context.upstream.deadline import ANSWER_RESERVE, Deadline

INCOMPLETE_TTL = timedelta(minutes=1)
PAST_TTL = timedelta(days=1)
NO_ARCHIVE = (
    "Open-Meteo: the plan of this API key excludes the archive (Professional and Enterprise "
    "include it), so NASA POWER supplies past years. To stop calling the archive, set "
    "LOCATION_CONTEXT_OPEN_METEO_ARCHIVE_URL to an empty value"
)
FREE_ACCESS = (
    "Open-Meteo free access: non-commercial use only. A business needs a paid plan "
    "(LOCATION_CONTEXT_OPEN_METEO_API_KEY) or its own Open-Meteo server "
    "(docs/weather-server.md)"
)


class Weather(section.Section[WeatherBody]):
    """The section `weather`: a forecast or typical weather for a stay."""

    name = "weather"
    dated = True
    response = WeatherBody
    order = 100
    title = "Weather: a forecast for each day, or ten-year climatology"
    description = (
        "If the stay ends at most 15 days after today at the point, the answer is a forecast; "
        "otherwise it is the climatology of the same dates. `mode` says which; both have the same "
        "fields. If no forecast is available, climatology or a monthly mean is used, and "
        "`degraded` is true. If a stay is only partly within the forecast, request it in two "
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
        hint=(
            "no months stored yet and no fallback grid; build it with: location-context climate "
            "fallback"
        ),
    )
    answers_past = False
    splits_at_horizon = True

    def __init__(
        self,
        context: section.SectionContext,
        forecast_providers: Sequence[ForecastProvider],
        archive_providers: Sequence[ArchiveProvider],
    ) -> None:
        settings, self._clock = context.settings, context.clock
        self._store: ClimateStore = context.stores["climate"]
        self._free_access = settings.uses_open_meteo_free
        self.sources = Sources(
            context,
            forecast_providers,
            archive_providers,
            on_forecast=lambda *given: self._recorder.record(*given),  # noqa: PLW0108  made below
        )
        self._prefetch = Prefetch(self.sources.archives)
        calibration = Calibration.load() if settings.calibrate_forecast else None
        self._estimator = Estimator(calibration, self.sources.fallback, self._clock)
        archives = self.sources.archives
        self.score = Scorekeeper(context.stores["accuracy"], archives, self._clock)
        self._recorder = Recorder(self.score, self.sources, self._estimator)
        context.unwritten.append(lambda: self.sources.repository.pending)

    @classmethod
    def build(cls, context: section.SectionContext) -> Self:
        """Create the section with all registered weather providers."""
        forecasts = registry.load(registry.FORECAST_PROVIDERS, ForecastProvider)
        archives = registry.load(registry.ARCHIVE_PROVIDERS, ArchiveProvider)
        return cls(
            context,
            [provider.build(context) for provider in forecasts],
            [provider.build(context) for provider in archives],
        )

    async def read(self, query: contract.Query, deadline: Deadline) -> contract.SectionResult:
        """Return the weather of the stay.

        Raises:
            UpstreamUnavailable: no provider answered, and there is no fallback grid.
        """
        now = self._clock()
        today = query.point.today(now)
        if query.dates.is_past(today):
            return contract.SectionResult(_past(query), now + PAST_TTL)
        found = await self.sources.fetch(query, deadline.earlier(ANSWER_RESERVE))
        if found is None:
            sentence = "No weather provider answered, and no fallback grid is there."
            raise UpstreamUnavailable(sentence, 30)
        chosen, elevation = found
        series = self._estimator.estimate(query, chosen, elevation)
        body = Presenter(query, series, elevation, today).body()
        lasts = contract.lasts(body.degraded_reason, stale=body.stale)
        fresh_until = self._fresh_until(query, series, lasts=lasts)
        return contract.SectionResult(body, fresh_until, awaits=self._prefetched(query, series))

    async def fixed(
        self, query: contract.Query, deadline: Deadline, now: datetime, *, failing: bool
    ) -> contract.Applicable | contract.NotApplicable:
        """Return made-up weather for test keys; "not applicable" if the stay is past.

        The weather is a forecast if the stay is within the forecast horizon and `failing` is False,
        else a climatology.
        """
        del deadline
        today = query.point.today(now)
        if query.dates.is_past(today):
            return _past(query)
        estimator = Estimator(Calibration.load(), self.sources.fallback, lambda: now)
        series = estimator.estimate(query, fixed_series(query, now, failing=failing), None)
        return Presenter(query, series, None, today).body()

    def _prefetched(
        self, query: contract.Query, series: WeatherSeries
    ) -> asyncio.Future[None] | None:
        """Start to fetch the typical weather with which later answers calibrate their forecasts.

        Return a future for the fetch; None if no fetch is needed or possible now.
        """
        typical = series.typical
        if series.spread is None or (typical and len(typical.years) == climatology.YEARS):
            return None
        return self._prefetch.start(query)

    def _fresh_until(
        self, query: contract.Query, series: WeatherSeries, *, lasts: bool
    ) -> datetime:
        """Return the time until which the answer is fresh: at most until midnight at the point.

        If `lasts` is False, the answer is incomplete and only fresh for a minute.
        """
        now = self._clock()
        ttl = max(series.ttl, timedelta(0)) if lasts else INCOMPLETE_TTL
        midnight = query.point.next_midnight(now)
        return min(now + ttl, midnight.astimezone(now.tzinfo))

    def providers(self) -> Sequence[contract.ProviderState]:
        return [section.provider_state(client) for client in self.sources.clients]

    async def dataset(self) -> contract.DatasetState | None:
        """Return the state of the stored data, for the status of the service.

        `rows` is the number of stored months. `version` names the climate stores; without climate
        stores, it names the fallback grid.
        """
        try:
            rows, newest = await self._store.extent()
        except StorageError:
            rows, newest = 0, None
        names = [store.folder.name for store in self.sources.stores.open()]
        grid = MODEL if self.sources.fallback.exists else None
        return contract.DatasetState(
            version=", ".join(names) or grid, rows=rows, imported_at=newest
        )

    def warnings(self) -> Sequence[str]:
        warnings = [FREE_ACCESS] if self._free_access else []
        warnings += [NO_ARCHIVE for client in self.sources.clients if not client.is_in_plan]
        warnings += self.sources.stores.damages()
        if not self.sources.fallback.exists:
            warnings.append(
                "The fallback climate grid is missing; build it with: location-context climate "
                "fallback"
            )
        return warnings

    async def probe(self, query: contract.Query) -> None:
        await self.sources.probe(query)

    async def run(self) -> None:
        """Retry failed writes, and compare forecasts with observed weather, until cancelled."""
        try:
            await asyncio.gather(self.sources.repository.retry_writes(), self.score.run())
        finally:
            await self.close()

    async def close(self) -> None:
        """Finish pending writes, and stop background work."""
        for part in (self.score, self._prefetch, self.sources):
            await part.close()

    def docs_pages(self) -> Sequence[section.DocsPage]:
        return [accuracy_page.docs_page(self.score)]

    def label(self, language: Language) -> str:
        return language.pgettext("section", "weather")

    def summary(self, language: Language) -> str:
        return language.gettext("forecast, typical")

    def card(self, body: WeatherBody, context: CardContext) -> Card:
        return card.card(body, _near(context), context.fmt, context.now)

    def page_data(self, bodies: Sequence[WeatherBody]) -> Mapping[str, str]:
        """Return `data-` attributes for the widget's page.

        The page's script sends them to the builder, the page where a widget is configured.
        `weather` names the kinds of weather shown. `reason` says why the weather is degraded; it is
        empty if the weather is not degraded.
        """
        shown = bodies if bodies and bodies[0].mode == "forecast" else bodies[-1:]
        kinds = dict.fromkeys(body.basis.kind for body in shown)
        reason = contract.foremost(body.degraded_reason for body in bodies)
        return {"weather": "_".join(kinds), "reason": reason or ""}

    def updated_at(self, body: WeatherBody) -> datetime | None:
        """Return the time of issue of a forecast.

        Return None for typical values: the page shows their years instead.
        """
        return body.as_of if body.mode == "forecast" else None

    def text(self, body: WeatherBody) -> Iterator[str | section.TextTable]:
        return summary_text.terminal_lines(body)


def _past(query: contract.Query) -> contract.NotApplicable:
    message = query.language.gettext("This stay has ended.")
    return contract.NotApplicable(reason="stay_in_past", message=message)


def _near(context: CardContext) -> WeatherBody | None:
    near = context.forecast_part
    return near if isinstance(near, WeatherBody) else None
