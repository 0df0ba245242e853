"""Public and school holidays and observances of the point's country, offline."""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import msgspec

from location_context.lru import LRUCache
from location_context.sections.contract import ProviderState
from location_context.sections.events.providers.base import ProviderResult
from location_context.sections.events.providers.holiday_years import countries, year_of
from location_context.sections.events.providers.parts import keeps_catholic_days, within_city
from location_context.sections.events.records import ProviderEvent, When
from location_context.upstream.deadline import ANSWER_RESERVE
from location_context.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Iterable

    from babel import Locale

    from location_context.point import Point
    from location_context.sections.contract import Query
    from location_context.sections.events.providers.holiday_years import Kept
    from location_context.stay import Stay
    from location_context.upstream.deadline import Deadline

    _Year = tuple[str, int, Locale]

MAX_CACHED_YEARS = 1000  # of a country in a language


class Holidays:
    """The library as a provider; the years asked for stay in memory.

    They are worked out in a thread of its own, so that nothing else that waits in threads (names
    that do not resolve) keeps it from answering; what is late is there for the next caller.
    """

    name: ClassVar[str] = "holidays"

    def __init__(self) -> None:
        self._countries = countries()
        self._cache: LRUCache[_Year, tuple[Kept, ...]] = LRUCache(MAX_CACHED_YEARS)
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="holidays")
        self._in_flight: SingleFlight[tuple[Kept, ...]] = SingleFlight()

    def covers(self, country: str | None) -> bool:
        return country in self._countries

    async def fetch_events(self, query: Query, deadline: Deadline) -> ProviderResult:
        """What is kept in the country during the stay; regions are not weighed here."""
        point, stay = query.point, query.stay
        assert stay is not None
        if point.country is None or not self.covers(point.country):
            return ProviderResult("not_covered")
        years = [(point.country, year, query.language.locale) for year in _years(stay)]
        try:
            holidays = await self._holidays(years, deadline.earlier(ANSWER_RESERVE))
        except TimeoutError:
            return ProviderResult("unavailable")
        return ProviderResult("ok", told_of(holidays, stay, point))

    async def _holidays(self, years: Iterable[_Year], deadline: Deadline) -> list[Kept]:
        """The holidays of the years.

        Raises:
            TimeoutError: that takes too long; the work goes on.
        """
        found = {year: self._cache.get(year) for year in years}
        missing = {
            year: partial(self._work_out, year) for year, held in found.items() if held is None
        }
        for year, work in missing.items():
            self._in_flight.start(year, work)
        for year, work in missing.items():
            found[year] = await self._in_flight.run(year, work, deadline)
        return [holiday for holidays in found.values() for holiday in holidays or ()]

    async def _work_out(self, year: _Year) -> tuple[Kept, ...]:
        loop = asyncio.get_running_loop()
        holidays = await loop.run_in_executor(self._worker, year_of, *year)
        self._cache.put(year, holidays)
        return holidays

    def state(self) -> ProviderState:
        return ProviderState(
            name=self.name,
            status="operational",
            last_success_at=None,
            last_error_code=None,
            breaker=None,
        )

    async def close(self) -> None:
        await self._in_flight.close()


def _years(stay: Stay) -> range:
    """The years in which holidays of the stay may begin: those of schools cross New Year."""
    return range(stay.start.year - 1, stay.end.year + 1)


def told_of(kept: Iterable[Kept], stay: Stay, point: Point) -> list[ProviderEvent]:
    """Those of the stay that are kept around the point; regions are not weighed here."""
    country = point.country or ""
    told = [
        _told(holiday, country)
        for holiday in kept
        if holiday.first <= stay.end and holiday.last >= stay.start and _here(holiday, point)
    ]
    return _numbered(told)


def _here(holiday: Kept, point: Point) -> bool:
    if holiday.category == "catholic" and not keeps_catholic_days(point):
        return False
    return not holiday.city or within_city(point.country or "", holiday.city, point)


def _told(holiday: Kept, country: str) -> ProviderEvent:
    where = holiday.city or ",".join(holiday.regions)
    scope = "city" if holiday.city else "region" if holiday.regions else "country"
    return ProviderEvent(
        id=f"{country}:{holiday.first}:{holiday.category}:{where}",
        source=Holidays.name,
        title=holiday.title,
        category=holiday.kind,
        start=When(holiday.first),
        end=When(holiday.last),
        all_day=True,
        status="estimated" if holiday.estimated else "confirmed",
        scope=scope,  # type: ignore[arg-type]  # one of the three words above
        country=country,
        regions=() if holiday.city else holiday.regions,
    )


def _numbered(told: list[ProviderEvent]) -> list[ProviderEvent]:
    """Two holidays of the same day and parts get ids of their own."""
    seen: Counter[str] = Counter()
    numbered = []
    for one in told:
        seen[one.id] += 1
        again = seen[one.id] > 1
        numbered.append(
            msgspec.structs.replace(one, id=f"{one.id}:{seen[one.id]}") if again else one
        )
    return numbered
