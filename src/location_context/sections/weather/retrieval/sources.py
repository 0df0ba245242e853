"""Sources: all that a stay's weather is read from, and the choice among it.

Order of preference: a fresh forecast, a stale one, the next provider's, climatology from the
archive that is stored or can be had, the next archive, and the fallback grid in the data directory.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from location_context.errors import ProviderError
from location_context.sections.contract import DegradedReason, Query, degraded_by
from location_context.sections.section import SectionContext
from location_context.sections.weather.fallback_grid import FallbackGrid
from location_context.sections.weather.providers.base import (
    ArchiveProvider,
    Forecast,
    ForecastProvider,
)
from location_context.sections.weather.records import WeatherSeries
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.sections.weather.retrieval.archives import Archives
from location_context.sections.weather.retrieval.elevations import Elevations
from location_context.sections.weather.retrieval.forecasts import Forecasts
from location_context.upstream.deadline import FALLBACK_RESERVE, Deadline
from location_context.upstream.fallback_chain import FallbackChain

ELEVATION_WAIT = 1.0  # seconds for the point's elevation, where temperatures hang on it
ELEVATION_LOOKUP = 0.05  # seconds to look up whether it is stored, where nothing hangs on it
FORECAST_SECONDS, FORECAST_SHARE = 2.0, 0.6  # after which an archive, of 65 units, is asked too


@dataclass(frozen=True)
class Found:
    """The best there is on a stay.

    Attributes:
        series: of the source that was chosen.
        elevation: of the point in m; None where it is not known.
        reason: why an elevation that matters is not known; else None.
    """

    series: WeatherSeries
    elevation: float | None
    reason: DegradedReason | None


class Sources:
    """The forecasts, archives, elevations and monthly means of one process.

    Attributes:
        clients: of all providers, in the order in which the status lists them.
    """

    def __init__(
        self,
        context: SectionContext,
        forecast_providers: Sequence[ForecastProvider],
        archive_providers: Sequence[ArchiveProvider],
        on_forecast: Callable[[ForecastProvider, Query, Forecast], None],
    ) -> None:
        """`on_forecast` is called with each forecast that was fetched, its source and its query."""
        shared, clock = context.shared_cache(), context.clock
        self._clock = clock
        self.repository = ArchiveRepository(context.stores["climate"], clock)
        self.elevations = Elevations(context, self.repository, shared)
        self.forecasts = Forecasts(
            forecast_providers, clock, self.elevations.put, on_forecast, shared
        )
        self.archives = Archives(archive_providers, self.repository, clock, shared)
        self.fallback = FallbackGrid(context.settings.data_dir)
        self.clients = [provider.client for provider in forecast_providers]
        self.clients.insert(1, self.elevations.client)  # beside the forecast that it belongs to
        self.clients += [provider.client for provider in archive_providers]

    async def fetch(self, query: Query, deadline: Deadline) -> Found | None:
        """Return the best there is by the deadline; None where there is nothing at all."""
        series = await self._choose(query, deadline)
        return Found(series, *await self._elevation(query, series, deadline)) if series else None

    async def _choose(self, query: Query, deadline: Deadline) -> WeatherSeries | None:
        """Return the series of the best source that answers by the deadline."""
        inner = deadline.earlier(FALLBACK_RESERVE)
        series: WeatherSeries | None
        if query.dates.within_horizon(query.point.today(self._clock())):
            sources = [
                lambda: self._forecast(query, inner),
                lambda: self.archives.fetch(query, inner),
            ]
            stagger = min(FORECAST_SECONDS, deadline.left() * FORECAST_SHARE)
            series = await FallbackChain(sources, deadline, math.inf, stagger=stagger).run()
        else:
            series = await self.archives.fetch(query, inner)
        return series or self.fallback.series(query.point, query.dates)

    async def _forecast(self, query: Query, deadline: Deadline) -> WeatherSeries | None:
        """Return the forecast, with what is typical of its dates as far as that is stored."""
        series = await self.forecasts.fetch(query, deadline)
        if series is None:
            return None
        typical = await self.archives.load(query)
        if typical is None:
            return series
        return replace(series, typical=typical).crediting(typical.attribution)

    async def _elevation(
        self, query: Query, series: WeatherSeries, deadline: Deadline
    ) -> tuple[float | None, DegradedReason | None]:
        """Return the point's elevation if it comes soon, and why it is missing if it matters."""
        matters = series.grid is not None and series.grid.elevation is not None
        soon = deadline.at_most(ELEVATION_WAIT if matters else ELEVATION_LOOKUP)
        try:
            elevation = await self.elevations.fetch(query.point, soon, public=query.public)
        except (ProviderError, TimeoutError) as error:
            known = matters and self.elevations.client.configured
            return None, degraded_by(error) if known else None
        return elevation, None

    async def probe(self, query: Query) -> None:
        """Ask every provider for this point, whether an answer would need it or not."""
        await asyncio.gather(
            self.forecasts.probe(query),
            self.archives.probe(query),
            self.elevations.probe(query.point),
        )

    async def close(self) -> None:
        for part in (self.forecasts, self.elevations, self.archives):
            await part.close()
