"""A section made of a function, and all five of them: the real sky, the rest made up."""

from collections.abc import Callable
from datetime import timedelta

import msgspec

from location_context.errors import UpstreamUnavailable
from location_context.sections import registry
from location_context.sections.astronomy.section import Astronomy
from location_context.sections.astronomy.sky.ephemeris import Ephemeris
from location_context.sections.contract import (
    Applicable,
    NotApplicable,
    Query,
    SectionResult,
    point_body,
)
from location_context.sections.events.providers.base import EventProvider
from location_context.sections.events.section import Events
from location_context.sections.guide.section import Guide
from location_context.sections.section import Section
from location_context.sections.weather.section import Weather
from location_context.sections.weather.year.response import TypicalYear
from location_context.sections.weather.year.section import Year
from location_context.stay import Clock
from location_context.upstream.deadline import Deadline
from tests.widget.samples.programme import events
from tests.widget.samples.tables import guide
from tests.widget.samples.weather import weather


class Sample(Section):
    """A section that answers with what `make` gives, for every point and stay."""

    def __init__(self, clock: Clock, make: Callable[[Query], Applicable | NotApplicable]) -> None:
        self.clock = clock
        self.make = make
        self.broken = False

    async def read(self, query: Query, deadline: Deadline) -> SectionResult:
        if self.broken:
            raise UpstreamUnavailable("It holds nothing.", 5)
        return SectionResult(self.make(query), self.clock() + timedelta(minutes=30))

    providers = Section.providers
    dataset = Section.dataset
    warnings = Section.warnings
    docs_pages = Section.docs_pages
    prepare = Section.prepare
    run = Section.run
    probe = Section.probe
    on_change = Section.on_change
    close = Section.close


class SampleWeather(Sample, Weather):
    """Describes itself as the real section does."""


class SampleGuide(Sample, Guide):
    """Likewise."""


class SampleEvents(Sample, Events):
    """Likewise; its card names the real providers."""

    _providers = registry.load(registry.EVENT_PROVIDERS, EventProvider)


class SampleYear(Sample, Year):
    """Likewise."""


def year(query: Query) -> TypicalYear:
    """The example of the API reference at another point."""
    body = msgspec.convert(Year.sample()["typical"], TypicalYear)
    return msgspec.structs.replace(body, point=point_body(query.point))


def sample_sections(clock: Clock) -> list[Section]:
    """All five: the real sky, the rest made up."""
    return [
        SampleWeather(clock, lambda query: weather(query, clock())),
        Astronomy(Ephemeris(), clock),
        SampleGuide(clock, guide),
        SampleEvents(clock, events),
        SampleYear(clock, year),
    ]
