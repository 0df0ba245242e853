"""The section `air_quality`: the European air quality index of each day of the stay."""

import asyncio
import datetime as dt
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec
from msgspec import Meta

from location_context.errors import ProviderError, UpstreamUnavailable
from location_context.localisation.language import Language
from location_context.sections.card import Card, CardContext, PlainCard
from location_context.sections.contract import (
    Attribution,
    DatedApplicable,
    NotApplicable,
    ProviderState,
    Query,
    SectionResult,
    StayBody,
    point_body,
    point_notices,
)
from location_context.sections.section import (
    PARIS,
    Samples,
    Section,
    SectionContext,
    TextTable,
    provider_state,
)
from location_context.sections.units import Measure
from location_context.settings.parsers import Address
from location_context.upstream.client import ProviderClient
from location_context.upstream.deadline import ANSWER_RESERVE, Deadline

Level = Literal["good", "fair", "moderate", "poor", "very_poor", "extremely_poor"]
LEVELS: Sequence[tuple[int, Level]] = (  # the first upper bound that is not exceeded
    (20, "good"), (40, "fair"), (60, "moderate"), (80, "poor"), (100, "very_poor"),
    (10_000, "extremely_poor"),
)  # fmt: skip
NAMES = {"en": "air quality", "de": "Luftqualität", "fr": "qualité de l’air"}
TTL = timedelta(hours=1)
ATTRIBUTION = Attribution(
    name="Skyline", url="https://skyline.example/", license="CC BY 4.0",
    text="Air quality: Skyline, CC BY 4.0",
)  # fmt: skip


class AirQualitySettings(msgspec.Struct, frozen=True, kw_only=True):
    """`LOCATION_CONTEXT_AIR_QUALITY_URL`."""

    air_quality_url: Annotated[Address, "Skyline's air quality; empty switches it off."] = ""


class DayBody(msgspec.Struct, frozen=True, kw_only=True):
    """One day."""

    date: Annotated[dt.date, Meta(description="The date, local to the point.")]
    index: Annotated[int, Meta(ge=0, description="European air quality index.")]
    level: Annotated[Level, Meta(description="The meaning of the index.")]


class AirQualityBody(DatedApplicable, frozen=True, kw_only=True, tag="air_quality"):
    """The air of the stay."""

    days: Annotated[list[DayBody], Meta(description="The days that are known, in order.")]


class NoAirQuality(NotApplicable, frozen=True, kw_only=True, tag="not_applicable"):
    """Why there is nothing to say."""

    reason: Annotated[
        Literal["no_forecast"], Meta(description="`no_forecast`: no day of the stay is known.")
    ]


class AirQuality(Section[AirQualityBody]):
    """Asks one provider; what is not known is left out."""

    name = "air_quality"
    dated = True
    response = AirQualityBody
    not_applicable_type = NoAirQuality
    order = 250  # between the sky and the restaurants
    title = "Air quality: the European index for each day"
    description = "Known for about five days; `not_applicable` where no day of the stay is."
    samples: ClassVar[Samples] = {
        "applicable": {**PARIS, "start": "2026-11-22", "end": "2026-11-23"},
        "not_applicable": {**PARIS, "start": "2026-12-22", "end": "2026-12-23"},
    }
    answers_past = False

    def __init__(self, context: SectionContext) -> None:
        url = context.settings_of(AirQualitySettings).air_quality_url
        self._client = ProviderClient(self.name, url, context.client, context.clock)
        self._clock = context.clock

    @classmethod
    def build(cls, context: SectionContext) -> Self:
        return cls(context)

    async def read(self, query: Query, deadline: Deadline) -> SectionResult:
        assert query.stay is not None
        point, stay, now = query.point, query.stay, self._clock()
        params = {"lat": f"{point.lat:.2f}", "lon": f"{point.lng:.2f}"}
        try:
            async with asyncio.timeout(deadline.earlier(ANSWER_RESERVE).left()):
                known = await self._client.get_json(params, _parse, public=query.public)
        except (ProviderError, TimeoutError):
            raise UpstreamUnavailable("The air quality cannot be had at the moment.", 30) from None
        days = [day for day in known if stay.start <= day.date <= stay.end]
        if not days:
            message = "The air quality of these dates is not known."
            return SectionResult(NoAirQuality(reason="no_forecast", message=message), now + TTL)
        body = AirQualityBody(
            point=point_body(point),
            stay=StayBody(start=stay.start, end=stay.end),
            units=Measure(query.units).body,
            as_of=now,
            stale=False,
            attribution=[ATTRIBUTION, *point_notices(point)],
            days=days,
        )
        return SectionResult(body, now + TTL)

    def providers(self) -> Sequence[ProviderState]:
        return [provider_state(self._client)]

    def label(self, language: Language) -> str:
        return NAMES.get(language.locale.language, NAMES["en"])

    def card(self, body: AirQualityBody, context: CardContext) -> Card:
        fmt = context.fmt
        facts = [
            (fmt.date_short(day.date), f"{day.level.replace('_', ' ')} ({day.index})")
            for day in body.days
        ]
        heading = self.label(fmt.language)
        return PlainCard(heading=heading[:1].upper() + heading[1:], facts=facts).card()

    def text(self, body: AirQualityBody) -> Iterator[str | TextTable]:
        rows = [[f"{day.date}", f"{day.index}", day.level.replace("_", " ")] for day in body.days]
        yield TextTable(columns=("date", "index", "level"), rows=rows)


def _parse(body: Any) -> list[DayBody]:
    """Whatever this raises is the provider's failure."""
    return [
        DayBody(
            date=dt.date.fromisoformat(row["day"]),
            index=(index := round(row["aqi"])),
            level=next(level for bound, level in LEVELS if index <= bound),
        )
        for row in body["days"]
    ]
