"""Holidays: computes the public and school holidays and observances of the point's country.

The library `holidays` is called for each subdivision (such as a state) in turn, to find the regions
that observe each holiday. A holiday of all subdivisions belongs to the whole country. Consecutive
days with the same name are one holiday. Names are in the query's language if the library has it,
else in English, or else in the country's language.
"""

import asyncio
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from functools import partial
from itertools import chain
from typing import Any, Literal, NamedTuple

import holidays
import msgspec
from babel import Locale
from dateutil.easter import easter
from holidays.constants import HOLIDAY_NAME_DELIMITER
from holidays.registry import COUNTRIES

from location_context.localisation.language import Language
from location_context.lru import LRUCache
from location_context.point import Point
from location_context.sections.contract import MIT, Attribution, Query
from location_context.sections.events.providers import subdivisions
from location_context.sections.events.providers.base import EventProvider, ProviderResult
from location_context.sections.events.records import ProviderEvent, When
from location_context.stay import Stay
from location_context.upstream.deadline import ANSWER_RESERVE, Deadline, SingleFlight

HolidayCategory = Literal["public_holiday", "school_holiday", "observance"]
_CATEGORIES: dict[str, HolidayCategory] = {  # by the library's category
    "public": "public_holiday",
    "catholic": "public_holiday",
    "school": "school_holiday",
    "half_day": "observance",
    "optional": "observance",
    "unofficial": "observance",
    "bank": "observance",
    "workday": "observance",
}
_DAY = timedelta(days=1)
_Year = tuple[str, int, str | None, bool]  # country, year, language, only school holidays
MAX_CACHED_YEARS = 1000  # each of one country in one language


class Days(NamedTuple):
    """A holiday as the library `holidays` has it: consecutive days with the same name."""

    first: date
    last: date
    title: str
    estimated: bool


class HolidayRecord(msgspec.Struct, frozen=True):
    """A holiday and the area that observes it.

    The area is a city (by its key in the library `holidays`), or else the regions (ISO 3166-2), or
    else the whole country.
    """

    days: Days
    library_category: str
    regions: tuple[str, ...] = ()
    city: str | None = None

    @property
    def category(self) -> HolidayCategory:
        return _CATEGORIES[self.library_category]


_Records = tuple[HolidayRecord, ...]


class Holidays(EventProvider):
    """The provider of holidays from the library `holidays`; recently used years are cached.

    Years are computed in a separate thread, so that work in other threads (such as slow name
    look-ups) does not delay them. A year that is computed after the deadline is still cached for
    later queries.
    """

    name = "holidays"
    order = 100
    attribution = Attribution(
        name="holidays",
        url="https://github.com/vacanza/holidays",
        license=MIT.name,
        text="Public holidays: holidays library, MIT License",
    )

    @classmethod
    def label(cls, language: Language) -> str:
        return language.gettext("public holidays")

    def __init__(self) -> None:
        # the library's own list of countries would import a module for each: 0.1 s and 10 MB
        self._countries = frozenset(codes[1] for codes in COUNTRIES.values())
        self._cache: LRUCache[_Year, _Records] = LRUCache(MAX_CACHED_YEARS)
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="holidays")
        self._in_flight: SingleFlight[_Records] = SingleFlight()

    async def fetch_events(self, query: Query, deadline: Deadline) -> ProviderResult:
        """Return all holidays of the point's country during the stay.

        Holidays of other regions are included; `selection` removes them.
        """
        point, stay = query.point, query.dates
        if point.country is None or point.country not in self._countries:
            return ProviderResult("not_covered")
        country, first = point.country, stay.start.year
        language = language_of(country, query.language.locale)
        # of holidays that began in the year before, only school holidays last into this year
        keys: list[_Year] = [(country, first - 1, language, True)]
        keys += [(country, year, language, False) for year in range(first, stay.end.year + 1)]
        try:
            by = deadline.earlier(ANSWER_RESERVE)
            years = await asyncio.gather(*(self._year(key, by) for key in keys))
        except TimeoutError:
            return ProviderResult("unavailable")
        return ProviderResult("ok", events_of(chain.from_iterable(years), stay, point))

    async def _year(self, year: _Year, deadline: Deadline) -> _Records:
        """Return the holidays of a year, cached or computed.

        Raises:
            TimeoutError: the deadline has passed; the computation continues.
        """
        if (cached := self._cache.get(year)) is not None:
            return cached
        return await self._in_flight.run(year, partial(self._compute, year), deadline)

    async def _compute(self, year: _Year) -> _Records:
        loop = asyncio.get_running_loop()
        country, number, language, school_alone = year
        work = partial(holidays_of_year, country, number, language, school_alone=school_alone)
        records = await loop.run_in_executor(self._worker, work)
        self._cache.put(year, records)
        return records

    async def close(self) -> None:
        await self._in_flight.close()


def events_of(records: Iterable[HolidayRecord], stay: Stay, point: Point) -> list[ProviderEvent]:
    """Return the holidays during the stay as events of the point's country.

    Holidays of other regions are included, since `selection` removes them later. Those of other
    cities are not, nor Catholic ones in municipalities that do not observe them.
    """
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
    is_catholic = record.library_category == "catholic"
    if is_catholic and not subdivisions.observes_catholic_holidays(point, record.regions):
        return False
    cities = subdivisions.cities_of(point.country or "")
    return not record.city or cities[record.city].contains(point)


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
    """Return the events; if several have the same id, a number is added to all but the first."""
    counts: Counter[str] = Counter()
    numbered = []
    for event in events:
        counts[event.id] += 1
        new_id = event.id if counts[event.id] == 1 else f"{event.id}:{counts[event.id]}"
        numbered.append(msgspec.structs.replace(event, id=new_id))
    return numbered


def holidays_of_year(
    country: str, year: int, language: str | None, *, school_alone: bool = False
) -> tuple[HolidayRecord, ...]:
    """Return a country's holidays that begin in a year; if `school_alone`, only school holidays.

    `language` is a tag of the library `holidays`; None means the country's own language.
    """
    found: list[HolidayRecord] = []
    seen: set[tuple[date, str]] = set()
    supported = _entity(country).supported_categories
    wanted = ("school",) if school_alone else _CATEGORIES
    for category in (c for c in wanted if c in supported):
        if category == "catholic" and country != "DE":
            continue  # elsewhere this category means believers' holidays, not municipalities'
        records = _of_category(country, year, language, category)
        if _CATEGORIES[category] == "observance":
            records = [one for one in records if (one.days.first, one.days.title) not in seen]
        seen |= {(one.days.first, one.days.title) for one in records}
        found += records
    return tuple(found)


def _of_category(
    country: str, year: int, language: str | None, category: str
) -> list[HolidayRecord]:
    """Return the holidays of one of the library's categories, with the area that observes each."""
    keys = _entity(country).subdivisions
    codes_by_key = {key: code for key in keys if (code := subdivisions.iso_3166_2(country, key))}
    national = _holidays(country, None, year, language, category)
    if not codes_by_key:
        return [HolidayRecord(days, category) for days in sorted(national)]
    observers: dict[Days, set[str]] = defaultdict(set)
    for key, code in codes_by_key.items():
        for days in _holidays(country, key, year, language, category):
            observers[days].add(code)
    if country == "US" and category == "public":  # Hawaii Revised Statutes, section 8-1
        good_friday = easter(year) - 2 * _DAY
        same_day = [days for days in observers if days.first == good_friday]
        observers[max(same_day, key=lambda days: len(observers[days]))].add("US-HI")
    found = []
    for days, codes in sorted(observers.items()):
        # for France, the library lists only the subdivisions with their own holidays
        lists_all = country != "FR" or days in national
        everywhere = lists_all and len(codes) == len(codes_by_key)
        regions = () if everywhere else tuple(sorted(codes))
        found.append(HolidayRecord(days, category, regions))
    for key, city in subdivisions.cities_of(country).items():
        own = _holidays(country, key, year, language, category)
        own -= {days for days, codes in observers.items() if city.surroundings in codes}
        found += [HolidayRecord(days, category, city=key) for days in sorted(own)]
    return found


def _holidays(
    country: str, key: str | None, year: int, language: str | None, category: str
) -> set[Days]:
    """Return the holidays of the country, or of its subdivision `key`, that begin in the year."""
    # school holidays cross New Year
    years = (year - 1, year, year + 1) if category == "school" else (year,)
    time.sleep(0)  # release the interpreter's lock, for which the event loop would wait 5 ms
    single_days = _single_days(country, key, years, language, category)
    joined: list[Days] = []
    for days in sorted(single_days, key=lambda days: (days.title, days.estimated, days.first)):
        before = joined[-1] if joined else None
        if before and before.last + _DAY == days.first and before[2:] == days[2:]:
            joined[-1] = before._replace(last=days.last)
        else:
            joined.append(days)
    return {days for days in joined if days.first.year == year}


def _single_days(
    country: str, key: str | None, years: Iterable[int], language: str | None, category: str
) -> Iterator[Days]:
    found = holidays.country_holidays(
        country, subdiv=key, years=years, language=language, categories=(category,)
    )
    labels = [_label(found, name) for name in ("observed_estimated_label", "estimated_label")]
    for day, names in dict.items(found):  # the library's own `items` looks up each day again
        for name in filter(None, names.split(HOLIDAY_NAME_DELIMITER)):
            label = next((label for label in labels if label and label in name), None)
            title = name.replace(label, "").strip() if label else name
            yield Days(day, day, title, label is not None)


def _label(found: Any, attribute: str) -> str:
    """Return the words that the library adds to a holiday's name if its date is estimated.

    An example is "(estimated)". `found` is the library's object with a country's holidays, and
    `attribute` the name of its attribute that has the words. Return "" if it lacks the attribute.
    """
    pattern = getattr(found, attribute, None)
    return re.sub(r"\s*%s\s*", "", found.tr(pattern)) if pattern else ""


def language_of(country: str, locale: Locale) -> str | None:
    """Return the language tag of the library `holidays` for the locale, else that for English.

    Return None if the library has neither for the country; names are then in the country's own
    language.
    """
    known = _entity(country).supported_languages
    if not known:
        return None
    tags = [f"{locale.language}_{locale.territory}", locale.language]
    tags += [tag for tag in known if tag.split("_")[0] == locale.language]
    tags += ["en_US", *(tag for tag in known if tag.startswith("en"))]
    return next((tag for tag in tags if tag in known), None)


def _entity(country: str) -> Any:
    return getattr(holidays, country)
