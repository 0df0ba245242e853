"""EventStore: what the events section asks of storage. A calendar's events are replaced at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from location_context.sections.events.records import Calendar, Told


class EventStore(Protocol):
    """Keeps the operator's own events, by place and time."""

    async def around(
        self, cells: Sequence[int], slots: Sequence[tuple[int, int]], most: int
    ) -> list[Told]:
        """Events filed in these cells and ranges of slots, at most `most`; check them again."""
        ...

    async def calendars(self) -> list[Calendar]:
        """All imports and feeds, by id."""
        ...

    async def replace(self, calendar: Calendar, events: Sequence[tuple[int, int, Told]]) -> None:
        """Keep a calendar and its events, each with cell and slot, in place of what it had."""
        ...

    async def note(self, calendar: Calendar) -> None:
        """Keep what is new about a calendar, if it still is there; its events stay."""
        ...

    async def remove(self, calendar_id: str) -> bool:
        """Drop a calendar and its events; whether it was there."""
        ...

    async def claim(self, now: datetime, checked_before: datetime) -> Calendar | None:
        """A feed last checked before that, marked as checked now: each goes to one caller only."""
        ...
