"""Archives: the climatology of a stay from a provider's archive, what is held before what is asked.

A month of a cell is asked for once, in one request for all ten years; a year that lacks over a
fifth of its window is replaced by the next older one, as far as two more requests reach.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from location_context.errors import (
    ProviderBackoff,
    ProviderError,
    ProviderNotInPlan,
    ProviderResponseInvalid,
)
from location_context.lru import LRUCache
from location_context.sections.providers import degraded_by
from location_context.sections.weather.climatology import climatology
from location_context.sections.weather.climatology.years import (
    YEARS,
    last_year,
    latest,
    missing,
    months_of,
    records,
    windows,
)
from location_context.sections.weather.records import Outlook
from location_context.upstream.fallback_chain import Attempt, FallbackChain
from location_context.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from location_context.sections.contract import Query
    from location_context.sections.weather.fetching.holdings import Holdings
    from location_context.sections.weather.providers.contract import ArchiveProvider, YearMonth
    from location_context.sections.weather.records import Month
    from location_context.stay import Clock, Stay
    from location_context.upstream.deadline import Deadline

    Held = dict[YearMonth, Month]
    Floats = NDArray[np.float64]

GRACE_SECONDS = 0.5
_LASTS = timedelta(days=1)
_OLDER_REQUESTS = 2
_OUTLOOKS = 300  # points of one cell share them


class Archives:
    """The archive providers in order of resort."""

    def __init__(
        self, providers: Sequence[ArchiveProvider], holdings: Holdings, clock: Clock
    ) -> None:
        self.providers = [one for one in providers if one.upstream.configured]
        self.holdings = holdings
        self.clock = clock
        self.made: LRUCache[tuple[str, str, Stay, date], Outlook] = LRUCache(_OUTLOOKS)
        self._flights: SingleFlight[None] = SingleFlight()

    async def outlook(self, query: Query, deadline: Deadline) -> Outlook | None:
        """The climatology of the stay; None when none can be had."""
        attempts = [
            Attempt(partial(reader.outlook, deadline), reader.provider.upstream)
            for reader in self._readers(query)
        ]
        chain = FallbackChain(attempts, deadline, GRACE_SECONDS)
        best, failure = await chain.run(), chain.first_failure
        if best is None or failure is None or isinstance(failure, ProviderNotInPlan):
            return best  # what the plan lacks was never due
        return replace(best, lacking=degraded_by(failure))

    async def held(self, query: Query) -> Outlook | None:
        """The climatology from what is held alone; None when something is missing."""
        for reader in self._readers(query):
            if (outlook := await reader.outlook(None)) is not None:
                return outlook
        return None

    def _readers(self, query: Query) -> list[Reader]:
        """A reader for each provider, in order of resort.

        An archive that the plan behind the key lacks comes last, until its day of quiet is over:
        what it gave before is held.
        """

        def lacking(provider: ArchiveProvider) -> bool:
            upstream = provider.upstream
            return not upstream.is_in_plan and upstream.backoff_until is not None

        ranked = sorted(self.providers, key=lacking)
        return [Reader(self, provider, query) for provider in ranked]

    async def fetch(self, reader: Reader, lacking: Sequence[YearMonth], deadline: Deadline) -> None:
        """Ask for months and keep them; one flight per cell and months."""
        provider, cell, public = reader.provider, reader.cell, reader.query.public

        async def fetch() -> None:
            months = await provider.months(cell, lacking, reader.today, public=public)
            self.holdings.keep(provider.source, cell.key, months)

        key = (provider.source, cell.key, tuple(lacking))
        try:
            await self._flights.run(key, fetch, deadline)
        except ProviderBackoff:
            if public:
                raise
            await self._flights.run((key, "keyed"), fetch, deadline)

    async def probe(self, query: Query) -> None:
        """Ask every provider for one month of last year; what fails shows in its upstream."""
        today = query.point.today(self.clock())
        for provider in self.providers:
            with contextlib.suppress(ProviderError):
                month = (last_year(today), today.month)
                await provider.months(provider.cell(query.point), [month], today, public=False)

    async def close(self) -> None:
        await self._flights.close()
        await self.holdings.flush()


class Reader:
    """One provider's answer to one query."""

    def __init__(self, archives: Archives, provider: ArchiveProvider, query: Query) -> None:
        assert query.stay is not None
        self.provider = provider
        self.query = query
        self.stay: Stay = query.stay
        self.cell = provider.cell(query.point)
        self.today: date = query.point.today(archives.clock())
        self._archives = archives
        self._held: Held = {}

    async def outlook(self, deadline: Deadline | None) -> Outlook | None:
        """The climatology; without a deadline nothing is asked for.

        Raises:
            ProviderError: the provider could not be asked, or has nothing for this cell.
        """
        key = (self.provider.source, self.cell.key, self.stay, self.today)
        if (made := self._archives.made.get(key)) is None:
            found = await self.years(deadline)
            if found is None:
                return None
            made = self.answer(*found)
            self._archives.made.put(key, made)
        return made

    async def years(self, deadline: Deadline | None) -> tuple[list[int], Floats] | None:
        """The years to use, oldest first, and their windows; None when that may not be done."""
        years: list[int] = []
        kept: list[Floats] = []
        asked = list(latest(last_year(self.today)))
        for _ in range(1 + _OLDER_REQUESTS):
            if not await self._gather(asked, deadline):
                return None
            values = windows(self.stay, asked, self._month)
            good = ~missing(values)
            years = [year for year, is_good in zip(asked, good, strict=True) if is_good] + years
            kept = [values if good.all() else values[:, good], *kept]
            if len(years) >= YEARS or not years:
                break
            asked = list(latest(asked[0] - 1, YEARS - len(years)))
        if not years:
            raise ProviderResponseInvalid(self.provider.name, "has no data for this cell")
        return years, kept[0] if len(kept) == 1 else np.concatenate(kept, axis=1)

    def _month(self, year: int, name: int) -> Month | None:
        return self._held.get((year, name))

    async def _gather(self, years: Sequence[int], deadline: Deadline | None) -> bool:
        """Hold the months of the years, fetched if need be; False when that may not be done."""
        wanted = [month for year in years for month in months_of(self.stay, year)]
        holdings, source = self._archives.holdings, self.provider.source
        asking = deadline is not None  # which is paid for, so that a look into the store is not
        self._held |= await holdings.held(source, self.cell.key, wanted, look_again=asking)
        lacking = [month for month in wanted if month not in self._held]
        if lacking and deadline is not None:
            await self._archives.fetch(self, lacking, deadline)
            self._held |= await holdings.held(source, self.cell.key, lacking)
        return not lacking or deadline is not None

    def answer(self, years: Sequence[int], values: Floats) -> Outlook:
        """The climatology from the windows of these years."""
        values = climatology.screened(values)
        month = self._held[months_of(self.stay, years[-1])[0]]
        return Outlook(
            mode="climatology",
            kind="reanalysis",
            provider=self.provider.name,
            model=self.provider.model,
            columns=climatology.describe(values),
            attribution=self.provider.attribution(self.today),
            lasts=_LASTS,
            as_of=datetime(years[-1], 12, 31, 23, 59, 59, tzinfo=UTC),
            years=years,
            samples_per_day=climatology.samples(values),
            grid=month.grid,
            history=records(self.stay, years, values),
        )
