"""The events section: calls all providers in parallel, merges their events and selects some.

Offline holidays and the operator's own calendars need no network. If another provider does not
answer by the deadline, its cached events are used, or it is left out. `coverage` has the state of
each provider.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar, Self

import structlog

from location_context.localisation.language import Language
from location_context.sections import contract, registry, section
from location_context.sections.addresses import web_address
from location_context.sections.card import Card, CardContext, Entry
from location_context.sections.events import card
from location_context.sections.events.fields import MAX_TITLE_LENGTH, single_line
from location_context.sections.events.imports.importer import Feeds
from location_context.sections.events.providers.base import EventProvider, ProviderResult
from location_context.sections.events.providers.fixed_events import FixedEvents
from location_context.sections.events.providers.holidays import Holidays
from location_context.sections.events.providers.open_holidays import OpenHolidays
from location_context.sections.events.providers.subdivisions import is_observed_at
from location_context.sections.events.records import LocalEvent, ProviderEvent
from location_context.sections.events.response import Coverage, Event, EventsBody, NoEvents, Venue
from location_context.sections.events.selection import overlaps, relevant_events, select_events
from location_context.sections.units import Measure
from location_context.stay import Clock, Stay
from location_context.upstream.deadline import Deadline

FRESH_TTL = timedelta(minutes=15)
SHARED_TTL = timedelta(hours=1)  # in a CDN
_TEXT_COLUMNS = ("start", "event", "category", "venue", "away", "source")


class Events(section.Section[EventsBody]):
    """The section `events`: holidays and events near the point during the stay."""

    name = "events"
    dated = True
    response = EventsBody
    parameters = ("guide",)
    not_applicable_type = NoEvents
    order = 400
    title = "Events: holidays and events that touch the stay"
    description = (
        "At most 50 events, and at most 10 a day; `omitted` counts the others. `coverage` says "
        "which providers answered and which have more events than were read (`partial`). If a "
        "provider did not answer, `degraded` is true."
    )
    samples: ClassVar[section.Samples] = {
        "applicable": {**section.PARIS, "start": "2026-11-28", "end": "2026-12-01"},
        "not_applicable": {**section.AT_SEA, "start": "2026-11-28", "end": "2026-12-01"},
    }
    dataset_info = section.DatasetInfo(
        name="events",
        description="Imported calendars.",
        hint="no events of your own; import them with: location-context events import FILE",
        required=False,
    )
    answers_past = False

    def __init__(
        self, providers: Sequence[EventProvider], feeds: Feeds, *, radius: float, clock: Clock
    ) -> None:
        self._providers = providers
        self._feeds = feeds
        self._radius = radius
        self._clock = clock

    @classmethod
    def build(cls, context: section.SectionContext) -> Self:
        settings, clock = context.settings, context.clock
        providers = tuple(
            provider.build(context)
            for provider in registry.load(registry.EVENT_PROVIDERS, EventProvider)
        )
        feeds = Feeds(settings, clock, context.client, context.stores["events"])
        return cls(providers, feeds, radius=settings.events_radius, clock=clock)

    async def read(self, query: contract.Query, deadline: Deadline) -> contract.SectionResult:
        """Return the events of the stay.

        It never raises an error: if a provider fails, its events are left out.
        """
        now = self._clock()
        if query.dates.is_past(query.point.today(now)):
            message = query.language.gettext("This stay has ended.")
            past = NoEvents(reason="stay_in_past", message=message, coverage=[])
            return contract.SectionResult(past, now + timedelta(days=1))
        found = await asyncio.gather(*(_fetch(one, query, deadline) for one in self._providers))
        results = {one.name: result for one, result in zip(self._providers, found, strict=True)}
        midnight = query.point.next_midnight(now)
        fresh_until = min(now + FRESH_TTL, midnight)
        shared_until = min(fresh_until + SHARED_TTL, midnight)
        lacks = contract.foremost(result.degraded_reason for result in found)
        if any(result.status == "stale" for result in found):
            lacks = contract.foremost([lacks, "provider_unavailable"])
        body = self._body(query, query.dates, results)
        return contract.SectionResult(body, fresh_until, lacks, shared_until=shared_until)

    async def fixed(
        self, query: contract.Query, deadline: Deadline, now: datetime, *, failing: bool
    ) -> contract.Applicable | contract.NotApplicable:
        """Return the answer for a test key: real public holidays and made-up concerts.

        If `failing`, the concerts are missing, as if their provider did not answer.
        """
        holidays = [one for one in self._providers if isinstance(one, Holidays)]
        providers = (*holidays, FixedEvents(failing=failing))
        twin = type(self)(providers, self._feeds, radius=self._radius, clock=lambda: now)
        return (await twin.read(query, deadline)).body

    def _body(
        self, query: contract.Query, stay: Stay, results: Mapping[str, ProviderResult]
    ) -> EventsBody | NoEvents:
        coverage = [Coverage(provider=name, status=one.status) for name, one in results.items()]
        lacks = contract.foremost(result.degraded_reason for result in results.values())
        point, measure = query.point, Measure(query.units)
        found = relevant_events(_provider_events(query, stay, results), point, stay, self._radius)
        if not found:
            message = query.language.gettext("No known events near here during the stay.")
            return NoEvents(
                reason="no_events", message=message, coverage=coverage, degraded_reason=lacks
            )
        # imported here: loading its vocabulary takes 0.03 s, which would delay every start
        from location_context.sections.events.deduplication import merge_records  # noqa: PLC0415  large

        events, omitted = select_events(merge_records.merge_duplicates(found), stay)
        sources = {source for event in events for source in event.sources}
        times = (one.as_of for name, one in results.items() if one.as_of and name in sources)
        return EventsBody(
            point=contract.point_body(point),
            stay=contract.StayBody(start=stay.start, end=stay.end),
            units=measure.body,
            as_of=min(times, default=None),  # holidays computed offline have no time
            stale=any(result.status == "stale" for result in results.values()),
            degraded_reason=lacks,
            attribution=_notices(self._providers, results, events) + contract.point_notices(point),
            radius=measure.distance(self._radius) or 0.0,
            events=[_response(event, query, stay, measure) for event in events],
            omitted=omitted,
            coverage=coverage,
        )

    def providers(self) -> list[contract.ProviderState]:
        return [provider.state() for provider in self._providers]

    async def dataset(self) -> contract.DatasetState | None:
        """Return the state of the operator's own calendars, which count as one dataset."""
        for provider in self._providers:
            if (dataset := await provider.dataset()) is not None:
                return dataset
        return None

    def warnings(self) -> list[str]:
        return [warning for provider in self._providers for warning in provider.warnings()]

    async def run(self) -> None:
        """Refresh feeds and notice changed calendars until cancelled; then close the providers."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._feeds.run())
                tasks.create_task(self._follow())
        finally:
            await self.close()

    async def prepare(self) -> None:
        """Remember the state of the calendars at start, so that `refresh` notices later changes."""
        await self.refresh()

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(section.FOLLOW_SECONDS)
            await self.refresh()

    async def refresh(self) -> bool:
        """Drop cached answers if the operator's calendars changed; return True if they did."""
        changed = [await one.dataset_changed() for one in self._providers]
        if any(changed):
            self.announce_change()
        return any(changed)

    async def close(self) -> None:
        for provider in self._providers:
            await provider.close()

    def label(self, language: Language) -> str:
        return language.pgettext("section", "events")

    def summary(self, language: Language) -> str:
        return language.gettext("holidays, events")

    def calendar(self, body: EventsBody, context: CardContext) -> Sequence[Entry]:
        return card.entries(body, context.fmt)

    def card(self, body: EventsBody, context: CardContext) -> Card:
        return card.card(body, context.fmt, context.today(body.point.timezone))

    def rows(self, body: EventsBody) -> int:
        return len(body.events)

    def text(self, body: EventsBody) -> Iterator[str | section.TextTable]:
        """Yield a table of the events, the number of omitted events, and each provider's status."""
        rows = []
        for event in body.events:
            venue = event.venue
            away = f"{venue.distance:g} {body.units.distance}" if venue and venue.distance else ""
            rows.append([
                event.start[:16].replace("T", " "), event.title, event.category,
                (venue.name or "") if venue else "", away, ", ".join(event.sources),
            ])  # fmt: skip
        yield section.TextTable(columns=_TEXT_COLUMNS, rows=rows)
        if body.omitted:
            yield f"{sum(body.omitted.values())} more did not fit"
        coverage = (f"{one.provider}: {one.status.replace('_', ' ')}" for one in body.coverage)
        yield f"Sources: {', '.join(coverage)}"


async def _fetch(
    provider: EventProvider, query: contract.Query, deadline: Deadline
) -> ProviderResult:
    """Return the provider's result; after an error, log it and return one that is "unavailable".

    So a bug in one provider affects only the events of this provider.
    """
    try:
        return await provider.fetch_events(query, deadline)
    except Exception:  # noqa: BLE001  an error of any kind leaves the other providers' events
        structlog.get_logger().exception("provider_failed", provider=provider.name)
        return ProviderResult("unavailable")


def _provider_events(
    query: contract.Query, stay: Stay, results: Mapping[str, ProviderResult]
) -> list[ProviderEvent]:
    """Return the events of all providers, without duplicate school holidays.

    School holidays of the library `holidays` are left out if OpenHolidays, which has only some
    years, has data for the stay. It counts as having data if one of its school holidays may be
    observed at the point and ends during or after the stay.
    """
    schools = results[OpenHolidays.name].events if OpenHolidays.name in results else ()
    is_known = any(
        event.category == "school_holiday"
        and (event.end or event.start).day >= stay.start
        and is_observed_at(event.regions, query.point) is not False
        for event in schools
    )
    return [
        event
        for name, result in results.items()
        for event in result.events
        if not (is_known and name == Holidays.name and event.category == "school_holiday")
    ]


def _notices(
    providers: Sequence[EventProvider],
    results: Mapping[str, ProviderResult],
    events: Sequence[LocalEvent],
) -> list[contract.Attribution]:
    """Return the licence notices of the providers and calendars of these events, each once."""
    origins = {
        (one.details.source, one.details.id.partition(":")[0])
        for event in events
        for one in event.merged_from or (event,)
    }
    sources = {source for source, _ in origins}
    notices = [one.attribution for one in providers if one.attribution and one.name in sources]
    for name, result in results.items():
        notices += [one for prefix, one in result.notices.items() if (name, prefix) in origins]
    return list(dict.fromkeys(notices))


def _response(event: LocalEvent, query: contract.Query, stay: Stay, measure: Measure) -> Event:
    """Return the event for the response: with local times, short texts and the query's units."""
    details, zone, place = event.details, query.point.zone, event.details.place
    venue = (
        Venue(
            name=single_line(place.name),
            address=single_line(place.address),
            lat=place.lat,
            lng=place.lng,
            distance=measure.distance(event.distance),
        )
        if place
        else None
    )
    return Event(
        id=f"{details.source}:{details.id}",
        title=single_line(details.title, MAX_TITLE_LENGTH) or "-",
        category=details.category,
        start=details.start.local(zone).isoformat(),
        end=details.end.local(zone).isoformat() if details.end else None,
        all_day=details.all_day,
        overlaps=overlaps(event.first, event.last, stay),
        status=details.status,
        venue=venue,
        scope=details.scope,
        regions=list(details.regions),
        uncertain=event.uncertain,
        rank=details.rank,
        url=web_address(details.url),
        image=web_address(details.image),
        price=details.price,
        sources=list(event.sources),
    )
