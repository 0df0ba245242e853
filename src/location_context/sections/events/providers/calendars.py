"""Calendars: provides the events that the operator imported or reads from feeds."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Self

from location_context.errors import StorageError
from location_context.localisation.language import Language
from location_context.sections.contract import DatasetState, ProviderState, ProviderStatus, Query
from location_context.sections.events.providers.base import EventProvider, ProviderResult
from location_context.sections.events.records import (
    OWN_SOURCE,
    Calendar,
    EventStore,
    LocalEvent,
    ProviderEvent,
)
from location_context.sections.events.response import CoverageStatus
from location_context.sections.events.selection import moment_of, relevant_events
from location_context.sections.section import SectionContext
from location_context.stay import Clock, Stay
from location_context.upstream.deadline import ANSWER_RESERVE, Deadline

MAX_READ_EVENTS = 50_000  # for one query; they take 20 MB of memory until it is answered
MAX_EVENTS = 3_000  # for one answer; comparing more with each other would take seconds
_DAY = timedelta(days=1)


class Calendars(EventProvider):
    """The provider of the operator's own events, which are in the database."""

    name = OWN_SOURCE
    order = 200

    def __init__(self, store: EventStore, radius: float, clock: Clock) -> None:
        self._store = store
        self._radius = radius
        self._clock = clock
        self._calendars: Sequence[Calendar] | None = None
        self._digests: Mapping[str, object] | None = None
        self._storage_failed = False
        self._last_success: datetime | None = None

    @classmethod
    def build(cls, context: SectionContext) -> Self:
        return cls(context.stores["events"], context.settings.events_radius, context.clock)

    @classmethod
    def label(cls, language: Language) -> str:
        return language.gettext("local calendars")

    async def fetch_events(self, query: Query, deadline: Deadline) -> ProviderResult:
        """Return the stored events near the point (see `EventStore.find_nearby`) during the stay.

        An operator can tie a calendar to a restaurant guide. Its events are then returned only to
        queries that name this guide.
        """
        # stored dates are local to the event, and may differ by a day from those at the point
        days = Stay(query.dates.start - _DAY, query.dates.end + _DAY)
        try:
            async with asyncio.timeout(deadline.earlier(ANSWER_RESERVE).left()):
                if not (calendars := await self._list()):
                    return ProviderResult("not_configured")
                found = await self._store.find_nearby(
                    query.point, self._radius, days, MAX_READ_EVENTS + 1
                )
                hidden = {one.id for one in calendars if one.guide not in {None, query.guide}}
                found = [one for one in found if one.id.partition(":")[0] not in hidden]
                events: Sequence[ProviderEvent] = found
                if len(found) > MAX_EVENTS:
                    events = await asyncio.to_thread(_first_of_each_day, found, query, self._radius)
        except (StorageError, TimeoutError):
            self._storage_failed = True
            return ProviderResult("unavailable")
        self._storage_failed, self._last_success = False, self._clock()
        cut = len(events) > MAX_EVENTS or len(found) > MAX_READ_EVENTS
        stale = any(calendar.failed_with for calendar in calendars)
        status: CoverageStatus = "stale" if stale else "partial" if cut else "ok"
        events = events[:MAX_EVENTS]
        notices = {one.id: one.notice for one in calendars if one.notice}
        return ProviderResult(status, events, _as_of(events, calendars), notices=notices)

    async def _list(self) -> Sequence[Calendar]:
        self._calendars = await self._store.calendars()
        return self._calendars

    async def dataset_changed(self) -> bool:
        """Return True if a calendar changed since the last call; False if that is unknown."""
        try:
            calendars = await self._list()
        except StorageError:
            return False
        digests = {one.id: (one.digest, one.notice, one.guide) for one in calendars}
        former, self._digests = self._digests, digests
        return former is not None and former != self._digests

    def state(self) -> ProviderState:
        failing = any(calendar.failed_with for calendar in self._calendars or ())
        return ProviderState(
            name=self.name,
            status=self._status(failing=failing),
            last_success_at=self._last_success,
            last_error_code="storage" if self._storage_failed else "feed" if failing else None,
            breaker=None,
        )

    def _status(self, *, failing: bool) -> ProviderStatus:
        if self._storage_failed:
            return "outage"
        if self._calendars is None:
            return "unknown"
        if not self._calendars:
            return "not_configured"
        return "degraded" if failing else "operational"

    async def dataset(self) -> DatasetState:
        """Return the number of events in all calendars, and the time of the latest import."""
        calendars = await self._store.calendars()
        times = [calendar.imported_at for calendar in calendars if calendar.imported_at]
        rows = sum(calendar.rows for calendar in calendars)
        return DatasetState(version=None, rows=rows, imported_at=max(times, default=None))

    def warnings(self) -> list[str]:
        """Return a message for each feed that cannot be refreshed."""
        return [
            f"The feed {calendar.name or calendar.id} cannot be refreshed: {calendar.failed_with}"
            for calendar in self._calendars or ()
            if calendar.failed_with
        ]


def _first_of_each_day(
    events: Sequence[ProviderEvent], query: Query, radius: float
) -> list[ProviderEvent]:
    """Return the events within `radius` km during the stay, in an order that favours no day.

    The earliest event of each day comes first, then the second event of each day, and so on. So if
    the list is cut, no day loses all its events.
    """
    by_day: dict[date, list[LocalEvent]] = defaultdict(list)
    for event in relevant_events(events, query.point, query.dates, radius):
        by_day[event.first_in(query.dates)].append(event)
    ranked = [
        (number, day, event.details)
        for day, its_events in by_day.items()
        for number, event in enumerate(sorted(its_events, key=_start))
    ]
    return [event for *_, event in sorted(ranked, key=lambda one: one[:2])]


def _start(event: LocalEvent) -> tuple[datetime, str, str]:
    return moment_of(event.details), event.details.title, event.details.id


def _as_of(events: Sequence[ProviderEvent], calendars: Sequence[Calendar]) -> datetime | None:
    """Return the time of the oldest import among these events' calendars; None without events."""
    ids = {event.id.partition(":")[0] for event in events}
    times = [one.imported_at for one in calendars if one.id in ids and one.imported_at]
    return min(times, default=None)
