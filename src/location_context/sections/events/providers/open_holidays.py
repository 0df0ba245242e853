"""OpenHolidays: school holidays, fetched for a whole country and the years of the stay.

Each row of an answer is a holiday. It names the subdivisions that observe it, or groups (kinds of
schools, or language communities), or both. A row for a minority of schools is used only for regions
without other rows. A row tagged `Exception`, for a few places or one school, is left out. Some
districts have no ISO code: a row that names over half of a canton's districts counts for the
canton. The names of subdivisions are in `open_holidays.toml`.
"""

from collections.abc import AsyncIterator, Hashable, Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec

from location_context.localisation.language import Language
from location_context.sections.contract import ODBL, Attribution, Query
from location_context.sections.events.fields import parse_rows, required_text
from location_context.sections.events.providers.base import HttpEventProvider, Page
from location_context.sections.events.providers.subdivisions import (
    PROVINCES_BY_REGION,
    collapse_provinces,
)
from location_context.sections.events.records import ProviderEvent, When
from location_context.sections.section import SectionContext

_PROVINCES = frozenset[str]().union(*PROVINCES_BY_REGION.values())


class _Tables(msgspec.Struct, frozen=True):
    """The tables in `open_holidays.toml`.

    `countries` are those that OpenHolidays covers. `regions` and `provinces` map OpenHolidays'
    own codes to ISO 3166-2 codes. `districts` has the number of districts of each canton.
    `minority_schools` are the kinds of schools that only a minority of children attends.
    """

    countries: frozenset[str]
    minority_schools: frozenset[str]
    districts: dict[str, int]
    regions: dict[str, list[str]]
    provinces: dict[str, str]


TABLES = msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=_Tables)


class OpenHolidays(HttpEventProvider):
    """The provider of school holidays from OpenHolidays.

    Its licence allows storing its answers, and sharing them between processes.
    """

    name = "open_holidays"
    order = 300
    attribution = Attribution(  # the notice that section 4.3 of the ODbL requires
        name="OpenHolidays API",
        url="https://www.openholidaysapi.org/",
        license=ODBL.name,
        text="Contains information from the OpenHolidays API, which is made available here under "
        f"the Open Database License (ODbL), {ODBL.url}",
        adapted=True,  # subdivisions are converted to regions, and merged with other sources
    )
    fresh, stale = timedelta(days=7), timedelta(days=180)
    is_sharable = True
    by_tile = False

    @classmethod
    def label(cls, language: Language) -> str:
        del language
        return "OpenHolidays"

    def configured_url(self, context: SectionContext) -> str:
        return context.settings.open_holidays_url.rstrip("/")

    def covers(self, query: Query) -> bool:
        return query.point.country in TABLES.countries

    def cache_key(self, query: Query) -> Hashable:
        """Return country, first and last year, and language (since titles are translated)."""
        tag = query.language.locale.language.upper()
        return query.point.country, query.dates.start.year, query.dates.end.year, tag

    def headers(self) -> dict[str, str]:
        return {"Accept": "application/json"}

    async def fetch_pages(self, query: Query) -> AsyncIterator[Page]:
        """Yield one page with the school holidays of the whole country in the years of the stay."""
        country = query.point.country or ""
        params = {
            "countryIsoCode": country,
            "validFrom": f"{query.dates.start.year - 1}-12-01",  # some last from December on
            "validTo": f"{query.dates.end.year}-12-31",
        }
        rows = await self.get_json(query, params, self.read_rows, "/SchoolHolidays")
        yield Page(parse_holidays(rows, country, query.language))


def parse_holidays(rows: Sequence[Any], country: str, language: Language) -> list[ProviderEvent]:
    """Return the school holidays in the rows of an answer.

    Holidays of a minority of schools are used only for regions that have no other holidays.
    """

    def parse(*, minority: bool) -> list[ProviderEvent]:
        chosen = (row for row in rows if _is_for_minority(_codes(row, "groups")) is minority)
        return list(parse_rows(chosen, lambda row: _holiday(row, country, language)))

    events = parse(minority=False)
    known = {region for event in events for region in event.regions}
    others = [event for event in parse(minority=True) if known.isdisjoint(event.regions)]
    return _merge_provinces(events + others)


def _merge_provinces(events: Iterable[ProviderEvent]) -> list[ProviderEvent]:
    """Merge events of single provinces that have the same title and dates.

    If the merged event has all provinces of a region, the region replaces them.
    """
    merged: dict[object, ProviderEvent] = {}
    for event in events:
        of_provinces = not _PROVINCES.isdisjoint(event.regions)
        key = (event.title, event.start, event.end) if of_provinces else id(event)
        same = merged.get(key, event)
        regions = collapse_provinces({*same.regions, *event.regions})
        merged[key] = msgspec.structs.replace(same, regions=regions)
    return list(merged.values())


def _holiday(row: Any, country: str, language: Language) -> ProviderEvent | None:
    first, last = date.fromisoformat(row["startDate"]), date.fromisoformat(row["endDate"])
    nationwide = bool(row.get("nationwide"))
    regions = () if nationwide else regions_of(_codes(row, "subdivisions"), _codes(row, "groups"))
    if row.get("type", "School") != "School" or last < first or _is_exception(row.get("tags")):
        return None  # other types include the last day of lessons, which is not a holiday
    if not nationwide and not regions:
        return None  # the row is only for towns or kinds of schools
    return ProviderEvent(
        id=required_text(row["id"]),
        source=OpenHolidays.name,
        title=_title(row["name"], language),
        category="school_holiday",
        start=When(first),
        end=When(last),
        all_day=True,
        scope="region" if regions else "country",
        country=country,
        regions=regions,
    )


def regions_of(subdivisions: Sequence[str], groups: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the sorted ISO 3166-2 codes of the regions and provinces that a row names.

    If the row has no subdivisions, `groups` may name regions (language communities, say). In other
    rows they are kinds of schools and are ignored.
    """
    found: set[str] = set()
    for name in subdivisions or groups:
        if province := TABLES.provinces.get(name):
            found.add(province)
        else:
            found.update(TABLES.regions.get(name, [name] if name.count("-") == 1 else []))
    for canton, districts in TABLES.districts.items():
        named = {name for name in subdivisions if name.startswith(f"{canton}-")}
        if len(named) * 2 > districts:
            found.add(canton)
    return collapse_provinces(found)


def _codes(row: Any, name: str) -> list[str]:
    """Return the codes in a row's list `subdivisions` or `groups`; empty if it is missing."""
    parts = row.get(name) if isinstance(row, dict) else None
    rows = parts if isinstance(parts, list) else []
    return [str(part.get("code")) for part in rows if isinstance(part, dict)]


def _is_for_minority(groups: Sequence[str]) -> bool:
    """Return True if all groups are schools that only a minority of children attends."""
    return bool(groups) and TABLES.minority_schools.issuperset(groups)


def _is_exception(tags: object) -> bool:
    """Return True if the row has the tag `Exception`; tags are a comma-separated text or a list."""
    words = tags.split(",") if isinstance(tags, str) else tags if isinstance(tags, list) else ()
    return any(str(word).strip() == "Exception" for word in words)


def _title(names: list[dict[str, str]], language: Language) -> str:
    """Return the holiday's name in `language`, else in English, else the first name in `names`."""
    texts = {name["language"].lower(): name["text"] for name in names if name.get("text")}
    english = texts.get("en") or next(iter(texts.values()), None)
    return required_text(texts.get(language.locale.language) or english)
