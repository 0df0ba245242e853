"""Public and school holidays and observances of a country, offline, from the holidays library.

Which parts of a country keep a day is found by asking for each part in turn: a day that all parts
keep is the country's. Names come in the asked language where the library has it, else in English.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from datetime import date, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import holidays
import msgspec

from location_context.sections.contract import ProviderState
from location_context.sections.events.providers.heard import Heard
from location_context.sections.events.providers.parts import (
    also_kept,
    city_keys,
    has_all_parts,
    iso_of,
    keeps_catholic_days,
    within_city,
)
from location_context.sections.events.records import Told, When

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from location_context.localisation.language import Language
    from location_context.point import Point
    from location_context.sections.contract import Query
    from location_context.stay import Stay
    from location_context.upstream.deadline import Deadline

Kind = Literal["public_holiday", "school_holiday", "observance"]
_KINDS: dict[str, Kind] = {
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


class _Kept(msgspec.Struct, frozen=True):
    """A holiday of one year: by whom it is kept, before the point is looked at."""

    first: date
    last: date
    title: str
    kind: Kind
    category: str
    estimated: bool
    regions: tuple[str, ...]
    city: str | None


class Holidays:
    """The library as a provider; the years asked for stay in memory."""

    name: ClassVar[str] = "holidays"

    def __init__(self, kept: int = 1000) -> None:
        self._countries = frozenset(holidays.list_supported_countries())
        self._year = lru_cache(maxsize=kept)(_year)

    def covers(self, country: str | None) -> bool:
        return country in self._countries

    async def hear(self, query: Query, _: Deadline) -> Heard:
        """What is kept in the country; worked out in a thread the first time, it takes a while."""
        if not self.covers(query.point.country):
            return Heard("not_covered")
        assert query.stay is not None
        told = await asyncio.to_thread(self.during, query.stay, query.point, query.language)
        return Heard("ok", told)

    def state(self) -> ProviderState:
        return ProviderState(
            name=self.name,
            status="operational",
            last_success_at=None,
            last_error_code=None,
            breaker=None,
        )

    async def close(self) -> None:
        """There is nothing to give up."""

    def during(self, stay: Stay, point: Point, language: Language) -> list[Told]:
        """What is kept in the point's country during the stay; regions are not weighed here."""
        country = point.country
        if country is None or not self.covers(country):
            return []
        words = _words(country, language)
        years = range(stay.start.year - 1, stay.end.year + 1)  # holidays of schools cross years
        kept = [holiday for year in years for holiday in self._year(country, year, words)]
        told = [
            _told(holiday, country)
            for holiday in kept
            if holiday.first <= stay.end and holiday.last >= stay.start and _here(holiday, point)
        ]
        return _numbered(told)


def _here(holiday: _Kept, point: Point) -> bool:
    if holiday.category == "catholic" and not keeps_catholic_days(point):
        return False
    return not holiday.city or within_city(point.country or "", holiday.city, point)


def _told(holiday: _Kept, country: str) -> Told:
    where = holiday.city or ",".join(holiday.regions)
    scope = "city" if holiday.city else "region" if holiday.regions else "country"
    return Told(
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


def _numbered(told: list[Told]) -> list[Told]:
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


def _entity(country: str) -> Any:
    return getattr(holidays, country)


def _words(country: str, language: Language) -> str | None:
    """The library's word for the language, or for English; None for its only language."""
    known = _entity(country).supported_languages
    if not known:
        return None
    tags = [f"{language.locale.language}_{language.locale.territory}", language.locale.language]
    tags += [tag for tag in known if tag.split("_")[0] == language.locale.language]
    tags += ["en_US", *(tag for tag in known if tag.startswith("en"))]
    return next((tag for tag in tags if tag in known), None)


def _year(country: str, year: int, words: str | None) -> tuple[_Kept, ...]:
    """All holidays of a country in a year."""
    found: list[_Kept] = []
    named: set[tuple[date, str]] = set()
    supported = _entity(country).supported_categories
    for category in (c for c in _KINDS if c in supported):
        if category == "catholic" and country != "DE":
            continue  # holidays of people of a faith, not of municipalities
        kept = _category(country, year, words, category)
        if _KINDS[category] == "observance":
            kept = [holiday for holiday in kept if (holiday.first, holiday.title) not in named]
        named |= {(holiday.first, holiday.title) for holiday in kept}
        found += kept
    return tuple(found)


def _category(country: str, year: int, words: str | None, category: str) -> list[_Kept]:
    """The holidays of one category, each with the parts that keep it."""
    subdivisions = _entity(country).subdivisions
    parts = {key: iso for key in subdivisions if (iso := iso_of(country, key))}
    all_over = _spans(country, None, year, words, category)
    if not parts:
        return [_kept(span, category, (), None) for span in sorted(all_over)]
    keepers: dict[_Span, set[str]] = defaultdict(set)
    for key, iso in parts.items():
        for span in _spans(country, key, year, words, category):
            keepers[span].add(iso)
    for day, iso in also_kept(country, year) if category == "public" else ():
        named = [span for span in keepers if span[0] == day]
        keepers[max(named, key=lambda span: len(keepers[span]))].add(iso)
    found = []
    for span, isos in sorted(keepers.items()):
        everywhere = len(isos) == len(parts) and (has_all_parts(country) or span in all_over)
        found.append(_kept(span, category, () if everywhere else tuple(sorted(isos)), None))
    for key, around in city_keys(country).items():
        own = _spans(country, key, year, words, category)
        own -= {span for span, isos in keepers.items() if around is None or around in isos}
        found += [_kept(span, category, (), key) for span in sorted(own)]
    return found


_Span = tuple[date, date, str, bool]  # first and last day, title, whether estimated


def _kept(span: _Span, category: str, regions: tuple[str, ...], city: str | None) -> _Kept:
    first, last, title, estimated = span
    return _Kept(first, last, title, _KINDS[category], category, estimated, regions, city)


def _spans(
    country: str, part: str | None, year: int, words: str | None, category: str
) -> set[_Span]:
    """What a part of a country keeps from days of the year on; school holidays are joined."""
    if category != "school":
        return set(_days(country, part, (year,), words, category))
    days = sorted(_days(country, part, (year - 1, year, year + 1), words, category))
    joined: list[_Span] = []
    for first, last, title, estimated in days:
        if joined and joined[-1][1] + _DAY == first and joined[-1][2] == title:
            joined[-1] = (joined[-1][0], last, title, estimated)
        else:
            joined.append((first, last, title, estimated))
    return {span for span in joined if span[0].year == year}


def _days(
    country: str, part: str | None, years: Iterable[int], words: str | None, category: str
) -> Iterator[_Span]:
    kept = holidays.country_holidays(
        country, subdiv=part, years=years, language=words, categories=(category,)
    )
    marks = [_mark(kept, label) for label in ("observed_estimated_label", "estimated_label")]
    for day in kept:
        for name in kept.get_list(day):
            mark = next((mark for mark in marks if mark and mark in name), None)
            yield day, day, name.replace(mark, "").strip() if mark else name, mark is not None


def _mark(kept: Any, label: str) -> str:
    """How a language marks a name: "(estimated)" and its like."""
    pattern = getattr(kept, label, None)
    return re.sub(r"\s*%s\s*", "", kept.tr(pattern)) if pattern else ""
