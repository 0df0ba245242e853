"""OpenHolidays: school holidays of the countries it knows, a year of a country at a time.

A row names subdivisions, groups (kinds of schools, or communities) or both. One for few schools
stands for a region only where nothing is told for the others; one tagged `Exception` is a deviation
of a few places or of one school and stands for none.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from location_context.sections.events.fields import parse_rows, required_text
from location_context.sections.events.providers.base import EventSource, Page, ProviderResult
from location_context.sections.events.providers.provinces import PROVINCES, collapse_provinces
from location_context.sections.events.providers.school_regions import is_of_few, regions_of
from location_context.sections.events.records import ProviderEvent, When
from location_context.sections.providers import provider_state
from location_context.upstream.budget import DAY, MINUTE, Budget
from location_context.upstream.host import Host
from location_context.upstream.provider import Upstream

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

_COUNTRIES = frozenset(
    {
        "AD", "AL", "AT", "BE", "BG", "BR", "BY", "CH", "CZ", "DE", "EE", "ES", "FR", "HR", "HU",
        "IE", "IT", "LI", "LT", "LU", "LV", "MC", "MD", "MT", "MX", "NL", "PL", "PT", "RO", "RS",
        "SE", "SI", "SK", "SM", "VA", "ZA",
    }
)  # fmt: skip
_PROVINCES = frozenset[str]().union(*PROVINCES.values())
FRESH_TTL, STALE_TTL = timedelta(days=7), timedelta(days=180)


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
        upstream = Upstream(
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
        if country not in _COUNTRIES:
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
        yield read(rows, country, query.language)


def read(rows: Sequence[Any], country: str, language: Language) -> list[ProviderEvent]:
    """The school holidays of one answer."""

    def told(*, of_few: bool) -> list[ProviderEvent]:
        some = (row for row in rows if is_of_few(_codes(row, "groups")) is of_few)
        return list(parse_rows(some, lambda row: _holiday(row, country, language)))

    found = told(of_few=False)
    known = {region for one in found for region in one.regions}
    return _joined(found + [one for one in told(of_few=True) if known.isdisjoint(one.regions)])


def _joined(told: Iterable[ProviderEvent]) -> list[ProviderEvent]:
    """Rows of single provinces that keep the same days become one, of the region if of them all."""
    found: dict[object, ProviderEvent] = {}
    for one in told:
        key = (one.title, one.start, one.end) if _PROVINCES.intersection(one.regions) else id(one)
        same = found.get(key, one)
        regions = collapse_provinces({*same.regions, *one.regions})
        found[key] = msgspec.structs.replace(same, regions=regions)
    return list(found.values())


def _holiday(row: Any, country: str, language: Language) -> ProviderEvent | None:
    first, last = date.fromisoformat(row["startDate"]), date.fromisoformat(row["endDate"])
    named = _codes(row, "subdivisions"), _codes(row, "groups")
    regions = () if row.get("nationwide") else regions_of(*named)
    if row.get("type", "School") != "School" or last < first or _is_exception(row.get("tags")):
        return None  # the last day of lessons is none without
    if not row.get("nationwide") and not regions:
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


def _codes(row: Any, name: str) -> list[str]:
    """The codes of its subdivisions or groups; an absent list is an empty one."""
    parts = row.get(name) if isinstance(row, dict) else None
    given = parts if isinstance(parts, list) else []
    return [str(part.get("code")) for part in given if isinstance(part, dict)]


def _is_exception(tags: object) -> bool:
    """Whether it is tagged so: words in one text, as the server's flags come, or a list of them."""
    words = tags.split(",") if isinstance(tags, str) else tags if isinstance(tags, list) else ()
    return any(str(word).strip() == "Exception" for word in words)


def _title(names: list[dict[str, str]], language: Language) -> str:
    """The name in the asked language, else in English, else in the first one there is."""
    texts = {name["language"].lower(): name["text"] for name in names if name.get("text")}
    english = texts.get("en") or next(iter(texts.values()), None)
    return required_text(texts.get(language.locale.language) or english)
