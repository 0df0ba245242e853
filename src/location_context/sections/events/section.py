"""The events section: asks every provider side by side, joins what they tell, chooses and answers.

Offline holidays and the operator's own calendars always answer; the others within the deadline, or
from what is held, or not at all: `coverage` says which.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, ClassVar, Self

import structlog

from location_context.sections.contract import SectionResult, StayBody, foremost
from location_context.sections.events import terminal
from location_context.sections.events.attribution import TICKETMASTER_LOGO, notices
from location_context.sections.events.imports.feeds import Feeds
from location_context.sections.events.merging.merge import merge
from location_context.sections.events.presenter import to_response
from location_context.sections.events.providers.base import ProviderResult
from location_context.sections.events.providers.calendars import Calendars
from location_context.sections.events.providers.holidays import Holidays
from location_context.sections.events.providers.open_holidays import OpenHolidays
from location_context.sections.events.providers.predicthq import PredictHQ
from location_context.sections.events.providers.subdivisions import is_observed_at
from location_context.sections.events.providers.ticketmaster import Ticketmaster
from location_context.sections.events.relevance import relevant_events
from location_context.sections.events.response import Coverage, EventsBody, NoEvents
from location_context.sections.events.selection import select_events
from location_context.sections.placed import point_body, point_notices
from location_context.sections.section import (
    AT_SEA,
    PARIS,
    DatasetInfo,
    Samples,
    Section,
    SectionContext,
    TextTable,
)
from location_context.sections.units import Measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from location_context.point import Point
    from location_context.sections.contract import DatasetState, ProviderState, Query
    from location_context.sections.events.providers.base import Provider
    from location_context.sections.events.records import EventStore, ProviderEvent
    from location_context.sections.events.relevance import LocalEvent
    from location_context.stay import Clock, Stay
    from location_context.upstream.deadline import Deadline

_FRESH = timedelta(minutes=15)


class Events(Section[EventsBody]):
    """What happens around the stay."""

    name = "events"
    dated = True
    response = EventsBody
    not_applicable_type = NoEvents
    order = 400
    title = "Events: holidays and events that touch the stay"
    description = (
        "At most 50, at most 10 a day; `omitted` counts the rest. `coverage` tells which "
        "providers could be asked and which have more events than were read (`partial`), and "
        "`degraded` whether one of them is missing."
    )
    samples: ClassVar[Samples] = {
        "applicable": {**PARIS, "start": "2026-11-28", "end": "2026-12-01"},
        "not_applicable": {**AT_SEA, "start": "2026-11-28", "end": "2026-12-01"},
    }
    dataset_info = DatasetInfo(
        name="events",
        description="Imported calendars.",
        hint="none of your own: location-context events import FILE",
        required=False,
    )
    answers_past = False
    half_width = True

    def __init__(
        self, providers: Sequence[Provider], calendars: Calendars, feeds: Feeds, *,
        radius: float, clock: Clock,
    ) -> None:  # fmt: skip
        self._providers = providers
        self._calendars = calendars
        self._feeds = feeds
        self._radius = radius
        self._clock = clock

    @classmethod
    def build(cls, context: SectionContext) -> Self:
        """The section with every provider of the settings.

        Answers are shared by processes: OpenHolidays' licence lets them be kept, the terms of
        those who sell tickets or events do not.
        """
        settings, clock, client = context.settings, context.clock, context.client
        store: EventStore = context.stores["events"]
        calendars = Calendars(store, settings.events_radius, clock)
        providers = (
            Holidays(),
            calendars,
            OpenHolidays.build(settings, clock, client, context.shared_cache()),
            Ticketmaster.build(settings, clock, client),
            PredictHQ.build(settings, clock, client),
        )
        feeds = Feeds(settings, clock, client, store)
        return cls(providers, calendars, feeds, radius=settings.events_radius, clock=clock)

    async def read(self, query: Query, deadline: Deadline) -> SectionResult:
        """The events of the stay; never raises, since holidays are always at hand."""
        assert query.stay is not None
        now = self._clock()
        if query.stay.is_past(query.point.today(now)):
            message = query.language.gettext("The stay has ended.")
            past = NoEvents(reason="stay_in_past", message=message, coverage=[])
            return SectionResult(past, now + timedelta(days=1))
        results = dict(
            zip(
                (provider.name for provider in self._providers),
                await asyncio.gather(*(_fetch(p, query, deadline) for p in self._providers)),
                strict=True,
            )
        )
        fresh_until = min(now + _FRESH, _midnight(query, now))
        whole = all(answer.is_complete for answer in results.values())
        return SectionResult(self._body(query, query.stay, results), fresh_until, whole)

    def _body(
        self, query: Query, stay: Stay, results: Mapping[str, ProviderResult]
    ) -> EventsBody | NoEvents:
        seen = merge(
            relevant_events(_told(results, query.point, stay), query.point, stay, self._radius)
        )
        coverage = [
            Coverage(provider=name, status=result.status) for name, result in results.items()
        ]
        if not seen:
            message = query.language.gettext("No event is known around the point during the stay.")
            return NoEvents(reason="no_events", message=message, coverage=coverage)
        shown, omitted = select_events(seen, stay)
        measure = Measure(query.units)
        point = query.point
        return EventsBody(
            point=point_body(point),
            stay=StayBody(start=stay.start, end=stay.end),
            units=measure.body,
            as_of=_as_of(shown, results),
            stale=any(answer.status == "stale" for answer in results.values()),
            degraded_reason=foremost(answer.degraded_reason for answer in results.values()),
            attribution=[
                *notices(source for event in shown for source in event.sources),
                *point_notices(point),
            ],
            radius=measure.distance(self._radius) or 0.0,
            events=[to_response(event, query, stay, measure) for event in shown],
            omitted=omitted,
            coverage=coverage,
        )  # fmt: skip

    def providers(self) -> list[ProviderState]:
        return [provider.state() for provider in self._providers]

    async def dataset(self) -> DatasetState | None:
        return await self._calendars.dataset()

    def warnings(self) -> list[str]:
        found = self._calendars.warnings()
        if any(p.name == "ticketmaster" and p.status != "not_configured" for p in self.providers()):
            found.append(TICKETMASTER_LOGO)
        return found

    async def run(self) -> None:
        """Refresh the feeds while the server runs; give up what is under way when it ends."""
        try:
            await self._feeds.run()
        finally:
            await self.close()

    async def close(self) -> None:
        for provider in self._providers:
            await provider.close()

    def text(self, body: EventsBody) -> Iterator[str | TextTable]:
        return terminal.text(body)


async def _fetch(provider: Provider, query: Query, deadline: Deadline) -> ProviderResult:
    """What it tells; a mistake of ours in one provider costs its own events only."""
    try:
        return await provider.fetch_events(query, deadline)
    except Exception:  # noqa: BLE001  whatever it is, the other providers answer
        structlog.get_logger().exception("provider_failed", provider=provider.name)
        return ProviderResult("unavailable")


def _told(results: Mapping[str, ProviderResult], point: Point, stay: Stay) -> list[ProviderEvent]:
    """Everything told; where OpenHolidays tells school holidays, the library's are left out.

    It knows some years ahead, and must know of one in the point's region that ends no earlier than
    the stay begins.
    """
    better = any(
        told.category == "school_holiday"
        and (told.end or told.start).day >= stay.start
        and is_observed_at(told.regions, point) is not False
        for told in results["open_holidays"].events
    )
    return [
        told
        for name, answer in results.items()
        for told in answer.events
        if not (better and name == "holidays" and told.category == "school_holiday")
    ]


def _as_of(shown: Sequence[LocalEvent], results: Mapping[str, ProviderResult]) -> datetime | None:
    """When the oldest answer used was true; holidays worked out offline have no such time."""
    used = {source for event in shown for source in event.sources}
    times = [
        result.as_of
        for name, result in results.items()
        if name in used and result.as_of is not None
    ]
    return min(times, default=None)


def _midnight(query: Query, now: datetime) -> datetime:
    """The next local midnight: from then on, today is another day."""
    tomorrow = query.point.today(now) + timedelta(days=1)
    return datetime.combine(tomorrow, time.min, tzinfo=query.point.zone)
