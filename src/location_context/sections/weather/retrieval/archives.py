"""Archives: the climatology of a stay from a provider's archive; only missing months are fetched.

One request fetches a month of a cell for all ten years. For each cell only one request is under way
at a time. If the stay begins within the forecast horizon, the request includes all months that
forecasts in the cell need. A year that lacks over a fifth of its window is replaced by the next
older year; this takes at most two more requests.
After a forecast was answered, `Prefetch` fetches the climatology of its dates for the next guest.
It fetches one cell after the other: all months that forecasts may need now, in one call of the
first available archive, and only while half of the budget is left for waiting guests.
`ArchiveBuilder` fills the store for many places in advance, as far as the budget allows.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial

import msgspec
import numpy as np
import structlog

from location_context import errors
from location_context.errors import DAMAGED
from location_context.lru import LRUCache
from location_context.point import Point
from location_context.sections.contract import Query, degraded_by
from location_context.sections.weather import climatology, records
from location_context.sections.weather.providers.base import ArchiveProvider
from location_context.sections.weather.records import (
    Cell,
    Floats,
    Month,
    MonthRow,
    WeatherSeries,
    YearMonth,
)
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.stay import Clock, Stay, horizon
from location_context.upstream.cached import Cached, Sharing
from location_context.upstream.deadline import GATHER_SECONDS, Deadline, SingleFlight
from location_context.upstream.fallback_chain import FallbackChain
from location_context.upstream.shared_cache import SharedCache

JUST_FETCHED = timedelta(minutes=1)  # far more than it takes to store the months
SETTLE_WINDOW = 0.5  # seconds for which a climatology waits for one of a preferred provider
SERIES_TTL = timedelta(days=1)
MAX_OLDER_REQUESTS = 2
MIN_HELD_YEARS = 8  # of ten, where no more may be fetched
PAUSE_SECONDS = 30.0
MAX_ATTEMPTS = 3
MAX_QUEUED = 50  # cells; a free archive returns one in a second or two
LONGEST_SECONDS = 60.0  # of one call with its turn in the queue
BUDGET_SHARE = 0.5  # spent by all callers in any window: the rest is for waiting guests
AGAIN = timedelta(hours=1)  # after a call that left something missing
AGAIN_AFTER_FAILURE = timedelta(minutes=10)
AGAIN_AFTER_REFUSAL = timedelta(minutes=1)  # by our budget or queue, or a backoff of unknown end
MAX_REMEMBERED = 5_000


CellMonths = tuple[str, str, tuple[int, ...]]  # source, cell, months of the year


@dataclass(frozen=True)
class _CellFetch:
    """The key of a fetch; `months` are not compared, so that a cell has only one call at a time."""

    source: str
    cell: str
    months: frozenset[YearMonth] = field(compare=False)


class Archives:
    """The archive providers, the preferred one first; those not configured are left out."""

    def __init__(
        self,
        providers: Sequence[ArchiveProvider],
        repository: ArchiveRepository,
        clock: Clock,
        shared: SharedCache,
    ) -> None:
        """Set the parts; `shared` passes fetched months to others until they are stored."""
        self.providers = [one for one in providers if one.client.configured]
        self.repository = repository
        self.clock = clock
        clients = {one.source: one.client for one in self.providers}
        # the repository stores months; this cache only shares those under way or just fetched
        self._fetches: Cached[_CellFetch, list[Month]] = Cached(
            clock,
            fresh=JUST_FETCHED,
            stale=JUST_FETCHED,
            max_size=0,
            on_join=lambda key: clients[key.source].calls.join(),
            sharing=Sharing(
                shared,
                name=lambda key: (key.source, key.cell),
                pack=_pack,
                unpack=_unpack,
                stored=False,
                serves=lambda key, found: not key.months.isdisjoint(map(_name, found)),
            ),
        )

    async def fetch(self, query: Query, deadline: Deadline) -> WeatherSeries | None:
        """Return the climatology of the stay; None if none is available."""
        sources = [partial(archive.series, deadline) for archive in self.queries(query)]
        chain = FallbackChain(sources, deadline, SETTLE_WINDOW)
        best, failure = await chain.run(), chain.first_failure
        if best is None or failure is None or isinstance(failure, errors.ProviderNotInPlan):
            return best  # an archive outside the plan was never expected
        return replace(best, degraded_reason=degraded_by(failure))

    async def load(self, query: Query) -> WeatherSeries | None:
        """Return the climatology from stored months alone; None when a month is missing."""
        for archive in self.queries(query):
            with contextlib.suppress(errors.ProviderError):  # it has no data for this cell
                if (series := await archive.series(None)) is not None:
                    return series
        return None

    def queries(self, query: Query) -> list["ArchiveQuery"]:
        """Return a query for each provider, in order of preference.

        An archive that the key's plan lacks comes last while its backoff of a day lasts. It is not
        left out, as months from an earlier plan may be stored.
        """

        def not_in_plan(provider: ArchiveProvider) -> bool:
            client = provider.client
            return not client.is_in_plan and client.backoff_until is not None

        ranked = sorted(self.providers, key=not_in_plan)
        return [ArchiveQuery(self, provider, query) for provider in ranked]

    async def fetch_months(
        self, archive: "ArchiveQuery", months: Sequence[YearMonth], deadline: Deadline
    ) -> None:
        """Fetch months and store them, except those that another caller's fetch brings."""
        provider, cell, public = archive.provider, archive.cell, archive.query.public
        missing = set(months)

        async def fetch() -> list[Month]:
            today = archive.today
            found = await provider.fetch_months(cell, sorted(missing), today, public=public)
            self.repository.put(provider.source, cell.key, found)
            missing.clear()  # whatever came, once is enough
            return list(found)

        while missing:
            key = _CellFetch(provider.source, cell.key, frozenset(missing))
            entry = await self._fetches.get_fresh(key, fetch, deadline, public=public)
            self.repository.hold(provider.source, cell.key, entry.value)
            missing.difference_update(map(_name, entry.value))

    async def probe(self, query: Query) -> None:
        """Fetch one month of last year from every provider; failures show in its client."""
        today = query.point.today(self.clock())
        for provider in self.providers:
            with contextlib.suppress(errors.ProviderError):
                month = (climatology.last_year(today), today.month)
                cell = provider.cell(query.point)
                await provider.fetch_months(cell, [month], today, public=False)

    async def close(self) -> None:
        await self._fetches.close()
        await self.repository.flush()


def _name(month: Month) -> YearMonth:
    return month.year, month.month


def _pack(months: Sequence[Month], at: datetime) -> bytes:
    return msgspec.msgpack.encode((at, [MonthRow.pack("", "", month) for month in months]))


def _unpack(data: bytes) -> tuple[list[Month], datetime] | None:
    try:
        at, rows = msgspec.msgpack.decode(data, type=tuple[datetime, list[MonthRow]])
    except DAMAGED:
        return None
    months = [row.unpack() for row in rows]
    return None if None in months else ([month for month in months if month], at)


class ArchiveQuery:
    """The climatology for one query from one provider."""

    def __init__(self, archives: Archives, provider: ArchiveProvider, query: Query) -> None:
        self.provider = provider
        self.query = query
        self.stay: Stay = query.dates
        self.cell = provider.cell(query.point)
        self.today: date = query.point.today(archives.clock())
        self._archives = archives
        self._months: dict[YearMonth, Month] = {}

    async def series(self, deadline: Deadline | None) -> WeatherSeries | None:
        """Return the climatology; None if months are missing and there is no deadline to fetch.

        Raises:
            ProviderError: the provider could not be called, or has no data for this cell.
        """
        found = await self.years(deadline)
        return None if found is None else self.summarise(*found)

    async def years(self, deadline: Deadline | None) -> tuple[list[int], Floats] | None:
        """Return the years to use, oldest first, and their `climatology.windows`.

        Return None if months are missing and there is no deadline to fetch them.
        """
        years: list[int] = []
        parts: list[Floats] = []
        wanted = list(climatology.latest(climatology.last_year(self.today)))
        for _ in range(1 + MAX_OLDER_REQUESTS):
            if not await self._gather(wanted, deadline):
                wanted = [year for year in wanted if self._holds(year)]  # these must do
                if len(years) + len(wanted) < MIN_HELD_YEARS:
                    return None
                if not wanted:
                    break
            values = climatology.windows(
                self.stay, wanted, lambda year, month: self._months.get((year, month))
            )
            good = ~climatology.missing(values)
            years = [year for year, is_good in zip(wanted, good, strict=True) if is_good] + years
            parts = [values if good.all() else values[:, good], *parts]
            if len(years) >= climatology.YEARS or not years:
                break
            wanted = list(climatology.latest(wanted[0] - 1, climatology.YEARS - len(years)))
        if not years:
            raise errors.ProviderResponseInvalid(self.provider.title, "has no data for this cell")
        return years, parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    async def _gather(self, years: Sequence[int], deadline: Deadline | None) -> bool:
        """Load the months of these years; fetch missing ones if there is a deadline.

        Return False if months are missing and there is no deadline.
        """
        wanted = [month for year in years for month in climatology.months_of(self.stay, year)]
        repository, source = self._archives.repository, self.provider.source
        along = self._months_along() if deadline is not None else []
        of_all = [*wanted, *along]
        self._months |= await repository.get(source, self.cell.key, of_all)
        absent = [month for month in wanted if month not in self._months]
        if absent and deadline is not None:
            missing = [month for month in of_all if month not in self._months]
            await self._archives.fetch_months(self, missing, deadline)
            self._months |= await repository.get(source, self.cell.key, absent)
        return not absent or deadline is not None

    def _months_along(self) -> list[YearMonth]:
        """Return the months that forecasts in the cell need, to fetch them in the same call.

        Return none if the stay begins after the forecast horizon.
        """
        is_near = self.stay.start <= horizon(self.today)
        return climatology.months_to_horizon(self.stay, self.today) if is_near else []

    def _holds(self, year: int) -> bool:
        return all(month in self._months for month in climatology.months_of(self.stay, year))

    def grid(self, years: Sequence[int]) -> records.Grid:
        """Return the grid cell of the months of these years."""
        return self._months[climatology.months_of(self.stay, years[-1])[0]].grid

    def summarise(self, years: Sequence[int], values: Floats) -> WeatherSeries:
        """Return the climatology computed from the windows of these years."""
        return WeatherSeries(
            mode="climatology",
            kind="reanalysis",
            provider=self.provider.title,
            model=self.provider.model,
            columns=climatology.on_dates(self.stay, climatology.summarise(values)),
            attribution=self.provider.attribution(self.today),
            ttl=SERIES_TTL,
            as_of=datetime(years[-1], 12, 31, 23, 59, 59, tzinfo=UTC),
            years=years,
            samples_per_day=climatology.samples(values),
            grid=self.grid(years),
            representativeness=self.provider.representativeness,
            history=climatology.history(self.stay, years, values),
        )


class Prefetch:
    """A queue of cells to fetch after guests were answered; it limits when a cell is retried."""

    def __init__(self, archives: Archives) -> None:
        self._archives = archives
        self._fetches: SingleFlight[None] = SingleFlight()
        self._turn = asyncio.Lock()
        self._again_at: LRUCache[CellMonths, datetime] = LRUCache(MAX_REMEMBERED)

    def start(self, query: Query) -> "asyncio.Future[None] | None":
        """Queue a fetch of the climatology for this stay and for others within the horizon.

        Returns:
            A future that is done when the fetch succeeded or failed; None if none is allowed now.
        """
        archive = next(filter(_may_prefetch, self._archives.queries(query)), None)
        if archive is None:
            return None
        wanted = climatology.months_to_horizon(query.dates, archive.today)
        key = (archive.provider.source, archive.cell.key, tuple(sorted({m for _, m in wanted})))
        if key not in self._fetches:
            again_at = self._again_at.get(key)
            if len(self._fetches) >= MAX_QUEUED or (again_at and self._archives.clock() < again_at):
                return None
        return self._fetches.start(key, lambda: self._run(key, archive, wanted))

    async def _run(
        self, key: CellMonths, archive: ArchiveQuery, wanted: Sequence[YearMonth]
    ) -> None:
        """Fetch one cell in its turn, and record when it may be fetched again."""
        async with self._turn:
            await asyncio.sleep(GATHER_SECONDS)  # a guest may need the same
            try:
                pause = await self._fetch(archive, wanted)
            except Exception:  # noqa: BLE001  it costs this cell, not those behind it
                structlog.get_logger().exception("prefetch_failed")
                pause = AGAIN_AFTER_FAILURE
            self._again_at.put(key, self._archives.clock() + pause)

    async def _fetch(self, archive: ArchiveQuery, wanted: Sequence[YearMonth]) -> timedelta:
        """Fetch the missing months once; return how long to wait before the next try."""
        if not _may_prefetch(archive):
            return AGAIN_AFTER_REFUSAL
        try:
            if await self._archives.load(archive.query) is not None:
                return timedelta(0)  # fetched already for a waiting guest
            source, cell = archive.provider.source, archive.cell.key
            held = await self._archives.repository.get(source, cell, wanted)
            if missing := [month for month in wanted if month not in held]:
                deadline = Deadline.after(LONGEST_SECONDS)
                await self._archives.fetch_months(archive, missing, deadline)
        except errors.ProviderBackoff as backoff:
            if backoff.until is None:
                return AGAIN_AFTER_REFUSAL
            return backoff.until - self._archives.clock()
        except (errors.ProviderError, TimeoutError):
            return AGAIN_AFTER_FAILURE
        return AGAIN

    async def close(self) -> None:
        """End the fetches under way."""
        await self._fetches.close()


def _may_prefetch(archive: ArchiveQuery) -> bool:
    """Return True if the provider is available and at most half of its budget is spent."""
    client = archive.provider.client
    return client.available and client.host.budget.spent_share() <= BUDGET_SHARE


@dataclass
class BuildReport:
    """The progress of a build in cells; `held` are the cells that were already stored."""

    cells: int = 0
    held: int = 0
    fetched: int = 0
    failed: int = 0


@dataclass(frozen=True)
class ArchiveBuilder:
    """A builder that fills the repository from one archive.

    A cell takes one request, which counts as about 400 units of the budget. Stored months are never
    fetched again: an interrupted build resumes where it stopped. `pause` waits for a number of
    seconds, `say` prints a line.
    """

    archive: ArchiveProvider
    repository: ArchiveRepository
    clock: Clock
    say: Callable[[str], None]
    pause: Callable[[float], Awaitable[None]]

    async def build(self, points: Iterable[Point]) -> BuildReport:
        """Fetch every cell that holds a point; count and skip a cell that fails.

        Raises:
            OperatorError: the provider could not be reached several times in a row.
        """
        cells = {self.archive.cell(point): point for point in points}
        built = BuildReport(cells=len(cells))
        for number, (cell, point) in enumerate(cells.items(), 1):
            today = point.today(self.clock())
            wanted = all_months(today)
            held = await self.repository.get(self.archive.source, cell.key, wanted)
            missing = [month for month in wanted if month not in held]
            if not missing:
                built.held += 1
            elif await self._fetch(cell, missing, today):
                built.fetched += 1
            else:
                built.failed += 1
            self.say(f"{number} of {len(cells)} cells: {built.fetched} fetched, {built.held} held")
        return built

    async def _fetch(self, cell: Cell, missing: list[YearMonth], today: date) -> bool:
        """Fetch and store a cell; return False after three failures.

        Wait as long as the budget or the provider requires.
        """
        attempts = unreached = 0
        while attempts < MAX_ATTEMPTS:
            try:
                months = await self.archive.fetch_months(cell, missing, today, public=False)
            except errors.ProviderBackoff as backoff:
                self.say(f"Waiting: {backoff.message}")
                await self.pause(self._seconds(backoff))
            except errors.ProviderError as error:
                attempts += 1
                self.say(error.message)
                unreached += isinstance(error, errors.ProviderUnreachable | errors.ProviderTimeout)
                if unreached == MAX_ATTEMPTS:
                    raise errors.OperatorError(
                        f"{self.archive.client.hostname} could not be reached {unreached} times "
                        f"in a row ({error.message}). Check this machine's outgoing connections; "
                        "everything fetched so far is stored, so run this again later to "
                        "continue."
                    ) from None
            else:
                self.repository.put(self.archive.source, cell.key, months)
                await self.repository.flush()
                return True
        return False

    def _seconds(self, backoff: errors.ProviderBackoff) -> float:
        if backoff.until is None:
            return PAUSE_SECONDS
        return max(1.0, (backoff.until - self.clock()).total_seconds())


def all_months(today: date) -> list[YearMonth]:
    """Return all months of the ten years, and January to March after them for New Year's stays."""
    years = climatology.latest(climatology.last_year(today))
    after = [(years[-1] + 1, month) for month in (1, 2, 3)]
    wanted = [(year, month) for year in years for month in range(1, 13)]
    return wanted + [one for one in after if records.is_past(one, today)]
