"""Prefetch: the climatology of a forecast's dates, fetched behind its guest for the next one.

A cell is asked for once: all the months that forecasts can be asked for now, in one call of the
first archive that may be asked. Calls are made one after the other, and only while half of the
provider's budget is left for guests who wait.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog

from location_context.errors import ProviderBackoff, ProviderError
from location_context.lru import LRUCache
from location_context.sections.contract import Query
from location_context.sections.weather import climatology
from location_context.sections.weather.records import YearMonth
from location_context.sections.weather.retrieval.archives import ArchiveQuery, Archives
from location_context.upstream.deadline import GATHER_SECONDS, Deadline, SingleFlight

MAX_QUEUED = 50  # cells; a free archive gives one in a second or two
LONGEST_SECONDS = 60.0  # of one call with its turn in the queue
BUDGET_SHARE = 0.5  # spent by whomever in any window: what is left is for who waits
AGAIN = timedelta(hours=1)  # after a call that left something missing
AGAIN_AFTER_FAILURE = timedelta(minutes=10)
AGAIN_AFTER_REFUSAL = timedelta(minutes=1)  # by our budget or queue, or a backoff without its end
MAX_REMEMBERED = 5_000

CellMonths = tuple[str, str, tuple[int, ...]]  # source, cell, months of the year


class Prefetch:
    """The cells that are fetched behind, and when what failed may be tried again."""

    def __init__(self, archives: Archives) -> None:
        self._archives = archives
        self._fetches: SingleFlight[None] = SingleFlight()
        self._turn = asyncio.Lock()
        self._again_at: LRUCache[CellMonths, datetime] = LRUCache(MAX_REMEMBERED)

    def start(self, query: Query) -> "asyncio.Future[None] | None":
        """Fetch the climatology of the stay soon, with that of other stays until the horizon.

        Returns:
            A future that is done once it has come or failed; None where nothing may be asked now.
        """
        archive = next(filter(_may_be_asked, self._archives.queries(query)), None)
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
        """Fetch one cell in its turn, and note when it may be asked for again."""
        async with self._turn:
            await asyncio.sleep(GATHER_SECONDS)  # a guest may ask for the same
            try:
                pause = await self._fetch(archive, wanted)
            except Exception:  # noqa: BLE001  it costs this cell, not those behind it
                structlog.get_logger().exception("prefetch_failed")
                pause = AGAIN_AFTER_FAILURE
            self._again_at.put(key, self._archives.clock() + pause)

    async def _fetch(self, archive: ArchiveQuery, wanted: Sequence[YearMonth]) -> timedelta:
        """Ask once for what is missing; return how long to leave the cell alone then."""
        if not _may_be_asked(archive):
            return AGAIN_AFTER_REFUSAL
        try:
            if await self._archives.load(archive.query) is not None:
                return timedelta(0)  # a guest who waited for it has had it fetched
            deadline = Deadline.after(LONGEST_SECONDS)
            await self._archives.fetch_missing(archive, wanted, deadline)
        except ProviderBackoff as backoff:
            if backoff.until is None:
                return AGAIN_AFTER_REFUSAL
            return backoff.until - self._archives.clock()
        except (ProviderError, TimeoutError):
            return AGAIN_AFTER_FAILURE
        return AGAIN

    async def close(self) -> None:
        """End what is under way."""
        await self._fetches.close()


def _may_be_asked(archive: ArchiveQuery) -> bool:
    """Whether its provider answers, as far as is known, and budget is left for who waits."""
    client = archive.provider.client
    return client.available and client.host.budget.spent_share() <= BUDGET_SHARE
