"""OpenHolidays: school holidays of the countries it knows, a year of a country at a time.

A row names subdivisions, groups (kinds of schools, or communities) or both. One for few schools
stands for a region only where the others are unknown; one tagged `Exception` is a deviation of a
few places or of one school and stands for none. Districts without a code stand for their canton
when they are most of it. The names of subdivisions stand in `open_holidays.toml`.
"""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from location_context.sections.events.fields import parse_rows, required_text
from location_context.sections.events.providers.base import EventSource, Page, ProviderResult
from location_context.sections.events.providers.subdivisions import (
    PROVINCES_BY_REGION,
    collapse_provinces,
)
from location_context.sections.events.records import ProviderEvent, When
from location_context.sections.providers import provider_state
from location_context.upstream.client import ProviderClient
from location_context.upstream.host import DAY, MINUTE, Budget, Host

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from typing import Self

    import httpx2

    from location_context.localisation.language import Language
    from location_context.sections.contract import ProviderState, Query
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.deadline import Deadline
    from location_context.upstream.shared_cache import SharedCache

FRESH_TTL, STALE_TTL = timedelta(days=7), timedelta(days=180)
_PROVINCES = frozenset[str]().union(*PROVINCES_BY_REGION.values())


class _Tables(msgspec.Struct, frozen=True):
    """The data file: its countries, and its names for parts of them as ISO 3166-2.

    `regions` and `provinces` by name; `districts`: how many each canton named by districts has.
    """

    countries: frozenset[str]
    minority_schools: frozenset[str]
    districts: dict[str, int]
    regions: dict[str, list[str]]
    provinces: dict[str, str]


TABLES = msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=_Tables)


class OpenHolidays:
    """The provider. What it tells of a year is asked for once a week."""

    name: ClassVar[str] = "open_holidays"

    def __init__(self, source: EventSource) -> None:
        self._source = source

    @classmethod
    def build(
        cls,
        settings: Settings,
        clock: Clock,
        client: httpx2.AsyncClient,
        shared: SharedCache | None = None,
    ) -> Self:
        upstream = ProviderClient(
            cls.name,
            settings.open_holidays_url.rstrip("/"),
            client,
            clock,
            host=Host(Budget({MINUTE: 30, DAY: 2000}, share=settings.budget_share)),
        )
        return cls(EventSource(upstream, clock, fresh=FRESH_TTL, stale=STALE_TTL, shared=shared))

    def state(self) -> ProviderState:
        return provider_state(self._source.client)

    async def close(self) -> None:
        await self._source.close()

    async def fetch_events(self, query: Query, deadline: Deadline) -> ProviderResult:
        """School holidays during the stay, of all regions of the country."""
        assert query.stay is not None
        country, stay = query.point.country, query.stay
        if country not in TABLES.countries:
            return ProviderResult(
                "not_covered" if self._source.client.configured else "not_configured"
            )
        first, last = stay.start.year, stay.end.year
        tag = query.language.locale.language.upper()
        key = (country, first, last, tag)
        return await self._source.fetch_events(
            key,
            lambda: self._fetch(country, first, last, query),
            query,
            deadline,
        )

    async def _fetch(
        self, country: str, first: int, last: int, query: Query
    ) -> AsyncIterator[Page]:
        rows = await self._source.client.get_json(
            {
                "countryIsoCode": country,
                "validFrom": f"{first - 1}-12-01",  # those over New Year begin the year before
                "validTo": f"{last}-12-31",
            },
            lambda body: msgspec.convert(body, list[Any]),
            path="/SchoolHolidays",
            headers={"Accept": "application/json"},
            public=query.public,
        )
        yield parse_holidays(rows, country, query.language)


def parse_holidays(rows: Sequence[Any], country: str, language: Language) -> list[ProviderEvent]:
    """The school holidays of one answer; those for few schools only where no others are known."""

    def parse(*, minority: bool) -> list[ProviderEvent]:
        chosen = (row for row in rows if _is_for_minority(_codes(row, "groups")) is minority)
        return list(parse_rows(chosen, lambda row: _holiday(row, country, language)))

    events = parse(minority=False)
    known = {region for event in events for region in event.regions}
    others = [event for event in parse(minority=True) if known.isdisjoint(event.regions)]
    return _merge_provinces(events + others)


def _merge_provinces(events: Iterable[ProviderEvent]) -> list[ProviderEvent]:
    """Rows of single provinces with equal days become one, of the region if it is all of them."""
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
        return None  # the last day of lessons is not a holiday
    if not nationwide and not regions:
        return None  # towns or kinds of schools only
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
    """The ISO 3166-2 codes of the regions and provinces that a row names, in order.

    Its groups count only where it names no subdivision: else they say which schools there.
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
    """The codes of its subdivisions or groups; an absent list is an empty one."""
    parts = row.get(name) if isinstance(row, dict) else None
    rows = parts if isinstance(parts, list) else []
    return [str(part.get("code")) for part in rows if isinstance(part, dict)]


def _is_for_minority(groups: Sequence[str]) -> bool:
    """Whether it is only for schools that most children of its region do not go to."""
    return bool(groups) and TABLES.minority_schools.issuperset(groups)


def _is_exception(tags: object) -> bool:
    """Whether it is tagged so: words in one text, as the server's flags come, or a list of them."""
    words = tags.split(",") if isinstance(tags, str) else tags if isinstance(tags, list) else ()
    return any(str(word).strip() == "Exception" for word in words)


def _title(names: list[dict[str, str]], language: Language) -> str:
    """The name in the query's language, else in English, else in the first one there is."""
    texts = {name["language"].lower(): name["text"] for name in names if name.get("text")}
    english = texts.get("en") or next(iter(texts.values()), None)
    return required_text(texts.get(language.locale.language) or english)
