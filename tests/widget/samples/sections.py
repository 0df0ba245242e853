"""A section made of a function, and all four of them: the real sky, the rest made up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from location_context.errors import UpstreamUnavailable
from location_context.sections.astronomy.section import Astronomy
from location_context.sections.astronomy.sky.ephemeris import Ephemeris
from location_context.sections.contract import (
    Applicable,
    NotApplicable,
    Query,
    SectionResult,
)
from location_context.sections.events.response import EventsBody, NoEvents
from location_context.sections.guide.response import GuideBody
from location_context.sections.section import Section
from location_context.sections.weather.response import WeatherBody
from location_context.stay import Clock
from location_context.upstream.deadline import Deadline
from tests.widget.samples.programme import events
from tests.widget.samples.tables import guide
from tests.widget.samples.weather import weather


class Sample(Section):
    """A section that answers with what `make` gives, for every point and stay."""

    name = "sample"
    dated = True
    response = Applicable

    def __init__(self, clock: Clock, make: Callable[[Query], Applicable | NotApplicable]) -> None:
        self.clock = clock
        self.make = make
        self.broken = False

    async def read(self, query: Query, deadline: Deadline) -> SectionResult:
        if self.broken:
            raise UpstreamUnavailable("It holds nothing.", 5)
        return SectionResult(self.make(query), self.clock() + timedelta(minutes=30))


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
    not_applicable_type = NoEvents


def sample_sections(clock: Clock) -> list[Section]:
    """All four: the real sky, the rest made up."""
    return [
        SampleWeather(clock, lambda query: weather(query, clock())),
        Astronomy(Ephemeris(), clock),
        SampleGuide(clock, guide),
        SampleEvents(clock, events),
    ]
