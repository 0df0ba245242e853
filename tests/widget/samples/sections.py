"""A section made of a function, and all four of them: the real sky, the rest made up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import ClassVar

from location_context.errors import UpstreamUnavailable
from location_context.sections.astronomy.section import Astronomy
from location_context.sections.contract import (
    Applicable,
    DatasetState,
    NotApplicable,
    ProviderState,
    Query,
    Reading,
    Section,
)
from location_context.sections.events.response import EventsBody, NoEvents
from location_context.sections.guide.response import GuideBody
from location_context.sections.weather.response import WeatherBody
from location_context.stay import Clock
from location_context.upstream.deadline import Deadline
from tests.widget.samples.programme import events
from tests.widget.samples.tables import guide
from tests.widget.samples.weather import weather


class Sample:
    """A section that answers with what `make` gives, for every point and stay."""

    name: ClassVar[str] = "sample"
    dated: ClassVar[bool] = True
    response: ClassVar[type[Applicable]] = Applicable
    refusal: ClassVar[type[NotApplicable]] = NotApplicable

    def __init__(self, clock: Clock, make: Callable[[Query], Applicable | NotApplicable]) -> None:
        self.clock = clock
        self.make = make
        self.broken = False

    async def read(self, query: Query, deadline: Deadline) -> Reading:
        if self.broken:
            raise UpstreamUnavailable("It holds nothing.", 5)
        return Reading(self.make(query), self.clock() + timedelta(minutes=30))

    def providers(self) -> Sequence[ProviderState]:
        return ()

    async def dataset(self) -> DatasetState | None:
        return None

    def notices(self) -> Sequence[str]:
        return ()

    async def run(self) -> None:
        return None


class SampleWeather(Sample):
    name = "weather"
    response = WeatherBody


class SampleGuide(Sample):
    name = "guide"
    dated = False
    response = GuideBody


class SampleEvents(Sample):
    name = "events"
    response = EventsBody
    refusal = NoEvents


def sample_sections(clock: Clock) -> list[Section]:
    """All four: the real sky, the rest made up."""
    return [
        SampleWeather(clock, lambda query: weather(query, clock())),
        Astronomy.build(clock),
        SampleGuide(clock, guide),
        SampleEvents(clock, events),
    ]
