"""Archives: the climatology of a stay from the daily values of a provider's archive.

Only missing months are fetched. One request fetches the same calendar months of a cell in all ten
years. Only one request per cell is under way at a time. If the stay begins within the forecast
horizon, the request includes all months that forecasts in the cell need. A year that lacks over a
fifth of its values is replaced by the next older year; this takes at most two more requests.

After a forecast has been sent, `Prefetch` fetches the climatology of its dates for the next guest.
It fetches one cell after the other, with all months that forecasts may need now, in one call to the
first available archive. It stops when half of the budget is spent, since the other half is for
guests who wait for an answer.

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
from location_context.upstream.fallback_chain import best_of
from location_context.upstream.shared_cache import SharedCache

JUST_FETCHED = timedelta(minutes=1)  # far more than it takes to store the months
SETTLE_WINDOW = 0.5  # seconds that a result waits for the result of a preferred provider
SERIES_TTL = timedelta(days=1)
MAX_OLDER_REQUESTS = 2
MIN_HELD_YEARS = 8  # of ten; enough if no more years may be fetched
PAUSE_SECONDS = 30.0
MAX_ATTEMPTS = 3
MAX_QUEUED = 50  # cells; a free archive returns one in a second or two
LONGEST_SECONDS = 60.0  # longest duration of a call, with its wait in the queue
BUDGET_SHARE = 0.5  # spent by all callers in any window: the rest is for waiting guests
AGAIN = timedelta(hours=1)  # wait after a call that returned only some of the months
AGAIN_AFTER_FAILURE = timedelta(minutes=10)
AGAIN_AFTER_REFUSAL = timedelta(minutes=1)  # by our budget or queue, or a backoff of unknown length
MAX_REMEMBERED = 5_000


CellMonths = tuple[str, str, tuple[int, ...]]  # source, cell, months of the year


@dataclass(frozen=True)
class _CellFetch:
    """The key of a fetch of months for a cell.

    Keys that differ only in `months` are equal, so that one fetch of a cell runs at a time.
    """

    source: str
    cell: str
    months: frozenset[YearMonth] = field(compare=False)


class Archives:
    """The configured archive providers, in order of preference."""

    def __init__(
        self,
        providers: Sequence[ArchiveProvider],
        repository: ArchiveRepository,
        clock: Clock,
        shared: SharedCache,
    ) -> None:
        """Keep only those providers that are configured.

        `shared` is the cache through which other processes receive months just fetched.
        """
        self.providers = [one for one in providers if one.client.configured]
        self.repository = repository
        self.clock = clock
        # the repository stores months; this cache only shares those being fetched or just fetched
        self._fetches: Cached[_CellFetch, list[Month]] = Cached(
            clock,
            fresh=JUST_FETCHED,
            stale=JUST_FETCHED,
            max_size=0,
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
        """Return the typical weather of the stay from the best archive; fetch missing months.

        Return None if no archive answers by the deadline.
        """
        sources = [partial(archive.series, deadline) for archive in self.queries(query)]
        best, failure = await best_of(sources, deadline, SETTLE_WINDOW)
        if best is None or failure is None or isinstance(failure, errors.ProviderNotInPlan):
            return best  # an archive outside the plan was never expected
        return replace(best, degraded_reason=degraded_by(failure))

    async def load(self, query: Query) -> WeatherSeries | None:
        """Return the typical weather of the stay from stored months, without any fetch.

        Return None if fewer than eight years are stored.
        """
        for archive in self.queries(query):
            with contextlib.suppress(errors.ProviderError):  # it has no data for this cell
                if (series := await archive.series(None)) is not None:
                    return series
        return None

    def queries(self, query: Query) -> list["ArchiveQuery"]:
        """Return an `ArchiveQuery` for each provider, in order of preference.

        If a provider answered that the operator's plan does not include its archive, it comes last
        and is not called in the next 24 hours. It is not left out: months from an earlier plan may
        be stored.
        """

        def not_in_plan(provider: ArchiveProvider) -> bool:
            client = provider.client
            return not client.is_in_plan and client.backoff_until is not None

        ranked = sorted(self.providers, key=not_in_plan)
        return [ArchiveQuery(self, provider, query) for provider in ranked]

    async def fetch_months(
        self, archive: "ArchiveQuery", months: Sequence[YearMonth], deadline: Deadline
    ) -> None:
        """Fetch months of a cell and store them.

        If a fetch for the cell is under way, wait for it; then fetch the months still missing.
        """
        provider, cell, public = archive.provider, archive.cell, archive.query.public
        missing = set(months)

        async def fetch() -> list[Month]:
            today = archive.today
            found = await provider.fetch_months(cell, sorted(missing), today, public=public)
            self.repository.put(provider.source, cell.key, found)
            missing.clear()  # do not fetch again, even if months were missing from the answer
            return list(found)

        while missing:
            key = _CellFetch(provider.source, cell.key, frozenset(missing))
            entry = await self._fetches.get_fresh(key, fetch, deadline, public=public)
            self.repository.hold(provider.source, cell.key, entry.value)
            missing.difference_update(map(_name, entry.value))

    async def probe(self, query: Query) -> None:
        """Call every provider to check that it works: fetch one month of last year.

        Failures show in the state of the provider's client.
        """
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


def _unpack(data: bytes) -> tuple[list[Month], datetime]:
    at, rows = msgspec.msgpack.decode(data, type=tuple[datetime, list[MonthRow]])
    return [month for row in rows if (month := row.unpack()) is not None], at


class ArchiveQuery:
    """Computes typical weather (the climatology) for one query from one archive provider."""

    def __init__(self, archives: Archives, provider: ArchiveProvider, query: Query) -> None:
        self.provider = provider
        self.query = query
        self.stay: Stay = query.dates
        self.cell = provider.cell(query.point)
        self.today: date = query.point.today(archives.clock())
        self._archives = archives
        self._months: dict[YearMonth, Month] = {}

    async def series(self, deadline: Deadline | None) -> WeatherSeries | None:
        """Return the climatology of the query's stay.

        Missing months are fetched by `deadline`. If `deadline` is None, only stored months are
        used. Return None if these are too few.

        Raises:
            ProviderError: the provider could not be called, or has no data for this cell.
        """
        found = await self.years(deadline)
        return None if found is None else self.summarise(*found)

    async def years(self, deadline: Deadline | None) -> tuple[list[int], Floats] | None:
        """Return the years to use, oldest first, and their daily values around the stay's dates.

        The values are an array: ARCHIVE_FIELDS x years x days. Missing months are fetched by
        `deadline`. If `deadline` is None, only stored years are used. Return None if fewer than
        eight of these are complete.
        """
        years: list[int] = []
        parts: list[Floats] = []
        wanted = list(climatology.latest(climatology.last_year(self.today)))
        for _ in range(1 + MAX_OLDER_REQUESTS):
            if not await self._gather(wanted, deadline):
                wanted = [year for year in wanted if self._holds(year)]  # use only these years
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
        """Load the stay's months of these years from memory or store, and fetch missing months.

        If the stay begins within the forecast horizon, the provider call also requests the months
        that other stays within the horizon need, to save later calls. If `deadline` is None,
        nothing is fetched, and the result is False if a month of the stay is missing. Otherwise the
        result is True.
        """
        wanted = [month for year in years for month in climatology.months_of(self.stay, year)]
        repository, source = self._archives.repository, self.provider.source
        of_all = list(wanted)
        if deadline is not None and self.stay.start <= horizon(self.today):
            of_all += climatology.months_to_horizon(self.stay, self.today)
        self._months |= await repository.get(source, self.cell.key, of_all)
        absent = [month for month in wanted if month not in self._months]
        if absent and deadline is not None:
            missing = [month for month in of_all if month not in self._months]
            await self._archives.fetch_months(self, missing, deadline)
            self._months |= await repository.get(source, self.cell.key, absent)
        return not absent or deadline is not None

    def _holds(self, year: int) -> bool:
        return all(month in self._months for month in climatology.months_of(self.stay, year))

    def grid(self, years: Sequence[int]) -> records.Grid:
        """Return the provider's grid cell, as stored with the data of the newest of these years."""
        return self._months[climatology.months_of(self.stay, years[-1])[0]].grid

    def summarise(self, years: Sequence[int], values: Floats) -> WeatherSeries:
        """Return the climatology computed from these years.

        `values` are the daily values of these years, as `years` returns them.
        """
        return WeatherSeries(
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
    """Fetches the past weather of cells in the background, one after the other, for later guests.

    After a fetch, the same months of a cell are not fetched again for a while.
    """

    def __init__(self, archives: Archives) -> None:
        self._archives = archives
        self._fetches: SingleFlight[None] = SingleFlight()
        self._turn = asyncio.Lock()
        self._again_at: LRUCache[CellMonths, datetime] = LRUCache(MAX_REMEMBERED)

    def start(self, query: Query) -> "asyncio.Future[None] | None":
        """Queue a fetch of the months that this stay and all forecasts in its cell need.

        Returns:
            A future that is done once the fetch has succeeded or failed; None if the queue, the
            budget or a recent fetch of the cell forbids a new fetch.
        """
        archives = self._archives.queries(query)
        archive = next((one for one in archives if has_spare_budget(one.provider)), None)
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
        """Wait for earlier fetches, fetch a cell, and record when it may be fetched again."""
        async with self._turn:
            await asyncio.sleep(GATHER_SECONDS)  # a waiting guest may fetch the same months
            try:
                pause = await self._fetch(archive, wanted)
            except Exception:  # noqa: BLE001  it costs this cell, not those behind it
                structlog.get_logger().exception("prefetch_failed")
                pause = AGAIN_AFTER_FAILURE
            self._again_at.put(key, self._archives.clock() + pause)

    async def _fetch(self, archive: ArchiveQuery, wanted: Sequence[YearMonth]) -> timedelta:
        """Fetch those wanted months that are missing; return the wait before the next try."""
        if not has_spare_budget(archive.provider):
            return AGAIN_AFTER_REFUSAL
        try:
            if await self._archives.load(archive.query) is not None:
                return timedelta(0)  # already fetched for a waiting guest
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
        """Cancel all fetches."""
        await self._fetches.close()


def has_spare_budget(provider: ArchiveProvider) -> bool:
    """Return True if the provider can be called and at most half of its budget is spent."""
    client = provider.client
    return client.available and client.host.budget.spent_share() <= BUDGET_SHARE


@dataclass
class BuildReport:
    """The progress of an `ArchiveBuilder`: counts of cells; `held` counts those stored before."""

    cells: int = 0
    held: int = 0
    fetched: int = 0
    failed: int = 0


@dataclass(frozen=True)
class ArchiveBuilder:
    """Fills the store with the past weather of many places in advance, from one archive.

    A cell takes one request, which costs about 400 units of the budget. Stored months are never
    fetched again, so an interrupted build resumes where it stopped. `pause` waits for a number of
    seconds, `say` prints a line.
    """

    archive: ArchiveProvider
    repository: ArchiveRepository
    clock: Clock
    say: Callable[[str], None]
    pause: Callable[[float], Awaitable[None]]

    async def build(self, points: Iterable[Point]) -> BuildReport:
        """Fetch and store the grid cell of every point; cells that fail are counted and skipped.

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
        """Fetch and store the missing months of a cell; return False after three failures.

        Wait as long as the budget or the provider requires.
        """
        attempts = unreached = 0
        while attempts < MAX_ATTEMPTS:
            try:
                months = await self.archive.fetch_months(cell, missing, today, public=False)
            except errors.ProviderBackoff as backoff:
                self.say(f"Waiting: {backoff.message}")
                until = backoff.until
                left = (until - self.clock()).total_seconds() if until else PAUSE_SECONDS
                await self.pause(max(1.0, left))
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


def all_months(today: date) -> list[YearMonth]:
    """Return all months (year, month) that any stay can need: those of the latest ten whole years.

    January to March after these years are included once archives have their final values: a stay
    over New Year can need them.
    """
    years = climatology.latest(climatology.last_year(today))
    after = [(years[-1] + 1, month) for month in (1, 2, 3)]
    wanted = [(year, month) for year in years for month in range(1, 13)]
    return wanted + [one for one in after if records.is_past(one, today)]
