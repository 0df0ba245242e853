"""Calendars: the operator's own events, imported or from feeds, read by place and time."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from location_context.errors import StorageError
from location_context.sections.contract import DatasetState, ProviderState, ProviderStatus
from location_context.sections.events.cells import cells_around, country_cell, slots_touching
from location_context.sections.events.providers.base import ProviderResult
from location_context.upstream.deadline import ANSWER_RESERVE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from location_context.sections.contract import Query
    from location_context.sections.events.records import Calendar, EventStore, ProviderEvent
    from location_context.stay import Clock
    from location_context.upstream.deadline import Deadline

_MOST = 3000
_LOOK_AGAIN = 10.0
_DAY = timedelta(days=1)


class Calendars:
    """The operator's own events as a provider. The list of calendars is looked at now and then."""

    name: ClassVar[str] = "calendars"

    def __init__(self, store: EventStore, radius: float, clock: Clock) -> None:
        self._store = store
        self._radius = radius
        self._clock = clock
        self._listed: tuple[datetime, Sequence[Calendar]] | None = None
        self._failed = False
        self._last_success: datetime | None = None

    async def fetch_events(self, query: Query, deadline: Deadline) -> ProviderResult:
        """Events filed around the point during the stay, and those of its whole country."""
        assert query.stay is not None
        point = query.point
        cells = cells_around(point.lat, point.lng, self._radius)
        if point.country:
            cells.append(country_cell(point.country))
        # filed by the event's own dates, which may be a day off those at the point
        slots = slots_touching(query.stay.start - _DAY, query.stay.end + _DAY)
        try:
            async with asyncio.timeout(deadline.earlier(ANSWER_RESERVE).left()):
                if not (listed := await self._calendars()):
                    return ProviderResult("not_configured")
                told = await self._store.find_nearby(cells, slots, _MOST)
        except (StorageError, TimeoutError):
            self._failed = True
            return ProviderResult("unavailable")
        self._failed, self._last_success = False, self._clock()
        stale = any(calendar.failed_with for calendar in listed)
        return ProviderResult("stale" if stale else "ok", told, self._as_of(told, listed))

    def state(self) -> ProviderState:
        listed = self._listed[1] if self._listed else ()
        failing = any(calendar.failed_with for calendar in listed)
        return ProviderState(
            name=self.name,
            status=self._status(failing=failing),
            last_success_at=self._last_success,
            last_error_code="storage" if self._failed else "feed" if failing else None,
            breaker=None,
        )

    def _status(self, *, failing: bool) -> ProviderStatus:
        if self._failed:
            return "outage"
        if self._listed is None:
            return "unknown"
        if not self._listed[1]:
            return "not_configured"
        return "degraded" if failing else "operational"

    async def close(self) -> None:
        """There is nothing to give up."""

    async def dataset(self) -> DatasetState:
        listed = await self._store.calendars()
        times = [calendar.imported_at for calendar in listed if calendar.imported_at]
        return DatasetState(
            version=None, rows=sum(c.rows for c in listed), imported_at=max(times, default=None)
        )

    def warnings(self) -> list[str]:
        """A sentence for each feed that cannot be refreshed."""
        listed = self._listed[1] if self._listed else ()
        return [
            f"The feed {c.name or c.id} cannot be refreshed: {c.failed_with}"
            for c in listed
            if c.failed_with
        ]

    async def _calendars(self) -> Sequence[Calendar]:
        now = self._clock()
        if self._listed and abs((now - self._listed[0]).total_seconds()) < _LOOK_AGAIN:
            return self._listed[1]
        self._listed = (now, await self._store.calendars())
        return self._listed[1]

    @staticmethod
    def _as_of(told: Sequence[ProviderEvent], listed: Sequence[Calendar]) -> datetime | None:
        """When the oldest calendar that told something was last known to be true."""
        ids = {event.id.partition(":")[0] for event in told}
        times = [c.imported_at for c in listed if c.id in ids and c.imported_at]
        return min(times, default=None)
