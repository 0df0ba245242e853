"""Public and school holidays and observances of the point's country, offline."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgspec
from babel import Locale

from location_context.lru import LRUCache
from location_context.point import Point
from location_context.sections.contract import MIT, Attribution, Query
from location_context.sections.events.providers.base import EventProvider, ProviderResult
from location_context.sections.events.providers.holiday_records import (
    HolidayRecord,
    holidays_of_year,
    supported_countries,
)
from location_context.sections.events.providers.subdivisions import (
    is_in_city,
    observes_catholic_holidays,
)
from location_context.sections.events.records import ProviderEvent, When
from location_context.stay import Stay
from location_context.upstream.deadline import ANSWER_RESERVE, Deadline, SingleFlight

_Year = tuple[str, int, Locale]
_Records = tuple[HolidayRecord, ...]
MAX_CACHED_YEARS = 1000  # of a country in a language


class Holidays(EventProvider):
    """The library as a provider; recently used years stay in memory.

    They are computed in a thread of its own, so that nothing else that waits in threads (names that
    do not resolve) delays it; what is late is there for the next caller.
    """

    name = "holidays"
    order = 100
    attribution = Attribution(
        name="holidays",
        url="https://github.com/vacanza/holidays",
        license=MIT.name,
        text="Public holidays: holidays library, MIT License",
    )

    def __init__(self) -> None:
        self._countries = supported_countries()
        self._cache: LRUCache[_Year, _Records] = LRUCache(MAX_CACHED_YEARS)
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="holidays")
        self._in_flight: SingleFlight[_Records] = SingleFlight()

    async def fetch_events(self, query: Query, deadline: Deadline) -> ProviderResult:
        """The holidays of the country during the stay; the selection looks at their regions."""
        point, stay = query.point, query.stay
        assert stay is not None
        if point.country is None or point.country not in self._countries:
            return ProviderResult("not_covered")
        # holidays of schools cross New Year
        years = range(stay.start.year - 1, stay.end.year + 1)
        keys = [(point.country, year, query.language.locale) for year in years]
        try:
            records = await self._records(keys, deadline.earlier(ANSWER_RESERVE))
        except TimeoutError:
            return ProviderResult("unavailable")
        return ProviderResult("ok", events_of(records, stay, point))

    async def _records(self, years: Iterable[_Year], deadline: Deadline) -> list[HolidayRecord]:
        """The holidays of the years.

        Raises:
            TimeoutError: that takes too long; the work goes on.
        """
        found = {year: self._cache.get(year) for year in years}
        missing = {
            year: partial(self._compute, year) for year, cached in found.items() if cached is None
        }
        for year, compute in missing.items():
            self._in_flight.start(year, compute)
        for year, compute in missing.items():
            found[year] = await self._in_flight.run(year, compute, deadline)
        return [record for records in found.values() for record in records or ()]

    async def _compute(self, year: _Year) -> _Records:
        loop = asyncio.get_running_loop()
        records = await loop.run_in_executor(self._worker, holidays_of_year, *year)
        self._cache.put(year, records)
        return records

    async def close(self) -> None:
        await self._in_flight.close()


def events_of(records: Iterable[HolidayRecord], stay: Stay, point: Point) -> list[ProviderEvent]:
    """The holidays of the stay in the point's country; the selection looks at their regions."""
    country = point.country or ""
    events = [
        _event(record, country)
        for record in records
        if record.days.first <= stay.end
        and record.days.last >= stay.start
        and _is_observed_near(record, point)
    ]
    return _with_unique_ids(events)


def _is_observed_near(record: HolidayRecord, point: Point) -> bool:
    if record.library_category == "catholic" and not observes_catholic_holidays(point):
        return False
    return not record.city or is_in_city(point.country or "", record.city, point)


def _event(record: HolidayRecord, country: str) -> ProviderEvent:
    where = record.city or ",".join(record.regions)
    days, scope = record.days, "city" if record.city else "region" if record.regions else "country"
    return ProviderEvent(
        id=f"{country}:{days.first}:{record.library_category}:{where}",
        source=Holidays.name,
        title=days.title,
        category=record.category,
        start=When(days.first),
        end=When(days.last),
        all_day=True,
        status="estimated" if days.estimated else "confirmed",
        scope=scope,  # type: ignore[arg-type]  # one of the three words above
        country=country,
        regions=record.regions,
    )


def _with_unique_ids(events: list[ProviderEvent]) -> list[ProviderEvent]:
    """A second holiday of the same day and parts gets the id with a number behind it."""
    counts: Counter[str] = Counter()
    numbered = []
    for event in events:
        counts[event.id] += 1
        new_id = event.id if counts[event.id] == 1 else f"{event.id}:{counts[event.id]}"
        numbered.append(msgspec.structs.replace(event, id=new_id))
    return numbered
