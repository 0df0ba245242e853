"""What the holidays library says of a year in a country: each holiday with who observes it.

Which subdivisions observe a day is found by asking for each in turn: a day of all of them is the
country's. Days in a row of one name are one holiday. Names come in the query's language where the
library has it, else in English, else in the country's own.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import Any, Literal, NamedTuple

import holidays
import msgspec
from babel import Locale

from location_context.sections.events.providers.subdivisions import (
    cities_of,
    extra_holidays,
    iso_3166_2,
    lists_all_subdivisions,
)

HolidayCategory = Literal["public_holiday", "school_holiday", "observance"]
_CATEGORIES: dict[str, HolidayCategory] = {  # by the library's
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


class Days(NamedTuple):
    """A holiday as the library has it: the days in a row that bear a name."""

    first: date
    last: date
    title: str
    estimated: bool


class HolidayRecord(msgspec.Struct, frozen=True):
    """A holiday and who observes it: a city (its key), else regions, else the whole country."""

    days: Days
    library_category: str
    regions: tuple[str, ...] = ()
    city: str | None = None

    @property
    def category(self) -> HolidayCategory:
        return _CATEGORIES[self.library_category]


def supported_countries() -> frozenset[str]:
    """The ISO 3166-1 codes the library knows."""
    return frozenset(holidays.list_supported_countries(include_aliases=False))


def holidays_of_year(country: str, year: int, locale: Locale) -> tuple[HolidayRecord, ...]:
    """All holidays that begin in the year. The first call for a country takes a while."""
    found: list[HolidayRecord] = []
    seen: set[tuple[date, str]] = set()
    language, supported = _language(country, locale), _entity(country).supported_categories
    for category in (c for c in _CATEGORIES if c in supported):
        if category == "catholic" and country != "DE":
            continue  # holidays of people of a faith, not of municipalities
        records = _of_category(country, year, language, category)
        if _CATEGORIES[category] == "observance":
            records = [one for one in records if (one.days.first, one.days.title) not in seen]
        seen |= {(one.days.first, one.days.title) for one in records}
        found += records
    return tuple(found)


def _of_category(
    country: str, year: int, language: str | None, category: str
) -> list[HolidayRecord]:
    """The holidays of one of the library's categories, each with who observes it."""
    subdivisions = {
        key: code for key in _entity(country).subdivisions if (code := iso_3166_2(country, key))
    }
    national = _holidays(country, None, year, language, category)
    if not subdivisions:
        return [HolidayRecord(days, category) for days in sorted(national)]
    observers: dict[Days, set[str]] = defaultdict(set)
    for key, code in subdivisions.items():
        for days in _holidays(country, key, year, language, category):
            observers[days].add(code)
    for day, code in extra_holidays(country, year) if category == "public" else ():
        same_day = [days for days in observers if days.first == day]
        observers[max(same_day, key=lambda days: len(observers[days]))].add(code)
    found = []
    for days, codes in sorted(observers.items()):
        everywhere = len(codes) == len(subdivisions) and (
            lists_all_subdivisions(country) or days in national
        )
        regions = () if everywhere else tuple(sorted(codes))
        found.append(HolidayRecord(days, category, regions))
    for key, surroundings in cities_of(country).items():
        own = _holidays(country, key, year, language, category)
        own -= {days for days, codes in observers.items() if surroundings in codes}
        found += [HolidayRecord(days, category, city=key) for days in sorted(own)]
    return found


def _holidays(
    country: str, key: str | None, year: int, language: str | None, category: str
) -> set[Days]:
    """What the country or a part of it observes from days of the year on."""
    # school holidays cross New Year
    years = (year - 1, year, year + 1) if category == "school" else (year,)
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
    for day in found:
        for name in found.get_list(day):
            label = next((label for label in labels if label and label in name), None)
            title = name.replace(label, "").strip() if label else name
            yield Days(day, day, title, label is not None)


def _label(found: Any, name: str) -> str:
    """How a language marks a name: "(estimated)" and its like."""
    pattern = getattr(found, name, None)
    return re.sub(r"\s*%s\s*", "", found.tr(pattern)) if pattern else ""


def _language(country: str, locale: Locale) -> str | None:
    """The library's tag for the language, or for English; None for its only language."""
    known = _entity(country).supported_languages
    if not known:
        return None
    tags = [f"{locale.language}_{locale.territory}", locale.language]
    tags += [tag for tag in known if tag.split("_")[0] == locale.language]
    tags += ["en_US", *(tag for tag in known if tag.startswith("en"))]
    return next((tag for tag in tags if tag in known), None)


def _entity(country: str) -> Any:
    return getattr(holidays, country)
