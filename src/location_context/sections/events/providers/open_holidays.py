"""OpenHolidays: school holidays of the countries it knows, a year of a country at a time."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from location_context.sections.events.providers.heard import Asked, Heard
from location_context.sections.events.providers.reading import each, needed
from location_context.sections.events.providers.school_regions import regions_of
from location_context.sections.events.records import Told, When
from location_context.sections.providers import provider_state
from location_context.upstream.budget import DAY, MINUTE, Budget
from location_context.upstream.provider import Upstream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    import httpx2

    from location_context.localisation.language import Language
    from location_context.sections.contract import ProviderState, Query
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.deadline import Deadline

_COUNTRIES = frozenset(
    {
        "AD", "AL", "AT", "BE", "BG", "BR", "BY", "CH", "CZ", "DE", "EE", "ES", "FR", "HR", "HU",
        "IE", "IT", "LI", "LT", "LU", "LV", "MC", "MD", "MT", "MX", "NL", "PL", "PT", "RO", "RS",
        "SE", "SI", "SK", "SM", "VA", "ZA",
    }
)  # fmt: skip
_FRESH, _GOOD = timedelta(days=7), timedelta(days=180)


class OpenHolidays:
    """The provider. What it tells of a year is asked for once a week."""

    name: ClassVar[str] = "open_holidays"

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    @classmethod
    def build(cls, settings: Settings, clock: Clock, client: httpx2.AsyncClient) -> Self:
        upstream = Upstream(
            cls.name,
            settings.open_holidays_url.rstrip("/"),
            client,
            clock,
            budget=Budget({MINUTE: 30, DAY: 2000}, share=settings.budget_share),
        )
        return cls(Asked(upstream, clock, fresh=_FRESH, good=_GOOD))

    def state(self) -> ProviderState:
        return provider_state(self._asked.upstream)

    async def close(self) -> None:
        await self._asked.close()

    async def hear(self, query: Query, deadline: Deadline) -> Heard:
        """School holidays during the stay, of all regions of the country."""
        assert query.stay is not None
        country, stay = query.point.country, query.stay
        if country not in _COUNTRIES:
            return Heard("not_covered" if self._asked.upstream.configured else "not_configured")
        first, last = stay.start.year, stay.end.year
        tag = query.language.locale.language.upper()
        key = (country, first, last, tag)
        return await self._asked.hear(
            key,
            lambda: self._fetch(country, first, last, query),
            query,
            deadline,
        )

    async def _fetch(
        self, country: str, first: int, last: int, query: Query
    ) -> AsyncIterator[list[Told]]:
        answer = await self._asked.upstream.get(
            {
                "countryIsoCode": country,
                "validFrom": f"{first - 1}-12-01",  # those over New Year begin the year before
                "validTo": f"{last}-12-31",
            },
            path="/SchoolHolidays",
            headers={"Accept": "application/json"},
            public=query.public,
        )
        rows = self._asked.body(answer, list[Any])
        yield list(each(rows, lambda row: _holiday(row, country, query.language)))


def _holiday(row: Any, country: str, language: Language) -> Told | None:
    first, last = date.fromisoformat(row["startDate"]), date.fromisoformat(row["endDate"])
    parts = row.get("groups") or row.get("subdivisions") or ()  # groups narrow the parts down
    regions = () if row.get("nationwide") else regions_of(str(part["code"]) for part in parts)
    if row.get("type", "School") != "School" or last < first:
        return None  # the last day of lessons is none without
    if not row.get("nationwide") and not regions:
        return None  # towns or kinds of schools only
    return Told(
        id=needed(row["id"]),
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


def _title(names: list[dict[str, str]], language: Language) -> str:
    """The name in the asked language, else in English, else in the first one there is."""
    texts = {name["language"].lower(): name["text"] for name in names if name.get("text")}
    english = texts.get("en") or next(iter(texts.values()), None)
    return needed(texts.get(language.locale.language) or english)
