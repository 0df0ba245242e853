"""The operator's own events, stored by cell and slot: the same code on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

import msgspec
from sqlalchemy import and_, delete, insert, or_, select, union_all, update
from sqlalchemy.ext.asyncio import AsyncConnection

from location_context.sections.events.records import Calendar, ProviderEvent
from location_context.storage.database import Database
from location_context.storage.schema import event_calendars, events

BATCH_ROWS = 2000

_event = msgspec.json.Decoder(ProviderEvent)
_calendar = msgspec.json.Decoder(Calendar)


class SqlEventStore:
    """The `EventStore` in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_nearby(
        self, cells: Sequence[int], slots: Sequence[tuple[int, int]], limit: int
    ) -> list[ProviderEvent]:
        """Events filed in these cells and ranges of slots, at most `limit`.

        One select for each range, so that each is a few ranges of the key and never a scan.
        """
        parts = [
            select(events.c.record).where(
                events.c.cell.in_(cells), events.c.slot.between(low, high)
            )
            for low, high in slots
        ]
        query = union_all(*parts).limit(limit)
        async with self._database.read() as connection:
            return [_event.decode(record) for record in await connection.scalars(query)]

    async def calendars(self) -> list[Calendar]:
        """All imports and feeds, by id."""
        query = select(event_calendars.c.record).order_by(event_calendars.c.id)
        async with self._database.read() as connection:
            return [_calendar.decode(record) for record in await connection.scalars(query)]

    async def replace(
        self, calendar: Calendar, rows: Sequence[tuple[int, int, ProviderEvent]]
    ) -> None:
        """Store a calendar and its events in place of what it had, in one transaction."""
        # in a thread, since many events take long enough to be felt by requests
        values = await asyncio.to_thread(_values, calendar.id, rows)
        async with self._database.write() as connection:
            await connection.execute(delete(events).where(events.c.calendar == calendar.id))
            await connection.execute(
                delete(event_calendars).where(event_calendars.c.id == calendar.id)
            )
            await connection.execute(insert(event_calendars).values(**_row(calendar)))
            await _insert(connection, values)

    async def update_calendar(self, calendar: Calendar) -> None:
        """Store what is new about a calendar, if it still is there."""
        row = _row(calendar)
        async with self._database.write() as connection:
            await connection.execute(
                update(event_calendars).where(event_calendars.c.id == calendar.id).values(**row)
            )

    async def remove(self, calendar_id: str) -> bool:
        """Delete a calendar and its events; whether it was there."""
        async with self._database.write() as connection:
            await connection.execute(delete(events).where(events.c.calendar == calendar_id))
            deleted = await connection.execute(
                delete(event_calendars).where(event_calendars.c.id == calendar_id)
            )
            return bool(deleted.rowcount)

    async def claim(self, now: datetime, checked_before: datetime) -> Calendar | None:
        """A feed last checked before that, marked as checked now."""
        checked = event_calendars.c.checked_at
        due = and_(
            event_calendars.c.kind == "feed", or_(checked.is_(None), checked < checked_before)
        )
        async with self._database.read() as connection:
            ids = list(await connection.scalars(select(event_calendars.c.id).where(due)))
        for calendar_id in ids:
            taken = (
                update(event_calendars)
                .where(event_calendars.c.id == calendar_id, due)
                .values(checked_at=now)
                .returning(event_calendars.c.record)
            )
            async with self._database.write() as connection:
                if record := await connection.scalar(taken):
                    return msgspec.structs.replace(_calendar.decode(record), checked_at=now)
        return None


def _row(calendar: Calendar) -> dict[str, object]:
    return {
        "id": calendar.id,
        "kind": calendar.kind,
        "checked_at": calendar.checked_at,
        "record": msgspec.json.encode(calendar).decode(),
    }


def _values(
    calendar: str, rows: Sequence[tuple[int, int, ProviderEvent]]
) -> list[tuple[object, ...]]:
    """Rows as they are stored, in the order of the key, so that neighbours are written together."""
    return sorted(
        (cell, slot, calendar, event.id, msgspec.json.encode(event).decode())
        for cell, slot, event in rows
    )


async def _insert(connection: AsyncConnection, values: Sequence[tuple[object, ...]]) -> None:
    """By the driver's own bulk insert: SQLAlchemy's parameters would double the time."""
    statement = str(insert(events).compile(dialect=connection.dialect))
    for first in range(0, len(values), BATCH_ROWS):
        await connection.exec_driver_sql(statement, list(values[first : first + BATCH_ROWS]))
