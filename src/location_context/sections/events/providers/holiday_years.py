"""What the holidays library says of a year in a country: each day with the parts that keep it.

Which parts keep a day is found by asking for each part in turn: a day that all parts keep is the
country's. Days in a row that bear one name are one holiday. Names come in the asked language where
the library has it, else in English, else in the country's own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Literal

import holidays
import msgspec

from location_context.sections.events.providers.parts import (
    also_kept,
    city_keys,
    has_all_parts,
    iso_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from babel import Locale

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


class Kept(msgspec.Struct, frozen=True):
    """A holiday, and by whom it is kept, before the point is looked at."""

    first: date
    last: date
    title: str
    kind: Kind
    category: str
    estimated: bool
    regions: tuple[str, ...]
    city: str | None


def countries() -> frozenset[str]:
    """The ISO 3166-1 codes the library knows."""
    return frozenset(holidays.list_supported_countries(include_aliases=False))


def _entity(country: str) -> Any:
    return getattr(holidays, country)


def _words(country: str, locale: Locale) -> str | None:
    """The library's word for the language, or for English; None for its only language."""
    known = _entity(country).supported_languages
    if not known:
        return None
    tags = [f"{locale.language}_{locale.territory}", locale.language]
    tags += [tag for tag in known if tag.split("_")[0] == locale.language]
    tags += ["en_US", *(tag for tag in known if tag.startswith("en"))]
    return next((tag for tag in tags if tag in known), None)


def year_of(country: str, year: int, locale: Locale) -> tuple[Kept, ...]:
    """All holidays that begin in the year. The first call for a country takes a while."""
    found: list[Kept] = []
    named: set[tuple[date, str]] = set()
    words, supported = _words(country, locale), _entity(country).supported_categories
    for category in (c for c in _KINDS if c in supported):
        if category == "catholic" and country != "DE":
            continue  # holidays of people of a faith, not of municipalities
        kept = _category(country, year, words, category)
        if _KINDS[category] == "observance":
            kept = [holiday for holiday in kept if (holiday.first, holiday.title) not in named]
        named |= {(holiday.first, holiday.title) for holiday in kept}
        found += kept
    return tuple(found)


def _category(country: str, year: int, words: str | None, category: str) -> list[Kept]:
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


def _kept(span: _Span, category: str, regions: tuple[str, ...], city: str | None) -> Kept:
    first, last, title, estimated = span
    return Kept(first, last, title, _KINDS[category], category, estimated, regions, city)


def _spans(
    country: str, part: str | None, year: int, words: str | None, category: str
) -> set[_Span]:
    """What a part of a country keeps from days of the year on, days of one name joined."""
    years = (year - 1, year, year + 1) if category == "school" else (year,)
    days = sorted(
        _days(country, part, years, words, category), key=lambda span: (span[2:], span[:2])
    )
    joined: list[_Span] = []
    for first, last, title, estimated in days:
        before = joined[-1] if joined else None
        if before and before[1] + _DAY == first and before[2:] == (title, estimated):
            joined[-1] = (before[0], last, title, estimated)
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
