"""The operator's imported events in the database, found by place and time.

An event is stored under the number of its cell and its last day, so that a query reads few rows. A
cell is a square of about 28 km: each band of latitude, 0.25° high, is divided into as many cells as
fit around the Earth. Events of a whole country have a cell with a negative number.
"""

import asyncio
import math
from collections.abc import Sequence
from datetime import date, datetime
from functools import partial

import msgspec
from sqlalchemy import Connection, and_, bindparam, delete, insert, or_, select, update

from location_context.point import Point
from location_context.sections.events.records import Calendar, ProviderEvent
from location_context.stay import Stay
from location_context.storage.database import Database
from location_context.storage.schema import event_calendars, events

_BAND = 0.25  # degrees of latitude
_MAX_COLUMNS = 10_000  # more than cells in any band
_KM_PER_DEGREE = 111.195

_NEARBY = (
    select(events.c.record)
    .where(
        events.c.cell.in_(bindparam("cells", expanding=True)),
        events.c.last_day >= bindparam("start"),
        events.c.first_day <= bindparam("end"),
    )
    .limit(bindparam("most"))
)
_event = msgspec.json.Decoder(ProviderEvent)
_calendar = msgspec.json.Decoder(Calendar)


class SqlEventStore:
    """The `EventStore` in SQLite or PostgreSQL: imports, feeds and their events."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_nearby(
        self, point: Point, radius: float, days: Stay, limit: int
    ) -> list[ProviderEvent]:
        """Return at most `limit` events during `days`, near the point or for its whole country.

        Events count as near if their cell lies at least partly within `radius` km of the point.
        """
        cells = cells_within(point.lat, point.lng, radius)
        if point.country:
            cells.append(country_cell(point.country))
        found = await self._database.scalars(
            _NEARBY, cells=cells, start=days.start, end=days.end, most=limit
        )
        # in a thread, since decoding many events would delay other requests
        return await asyncio.to_thread(lambda: [_event.decode(record) for record in found])

    async def calendars(self) -> list[Calendar]:
        """Return all imports and feeds, ordered by id."""
        query = select(event_calendars.c.record).order_by(event_calendars.c.id)
        return [_calendar.decode(record) for record in await self._database.scalars(query)]

    async def replace(self, calendar: Calendar, new_events: Sequence[ProviderEvent]) -> None:
        """Store a calendar and replace its events, in one transaction."""

        def work(connection: Connection) -> None:
            _delete(connection, calendar.id)
            connection.execute(insert(event_calendars).values(**_calendar_row(calendar)))
            if rows:
                connection.execute(insert(events), rows)

        # in a thread, since encoding many events would delay requests
        rows = await asyncio.to_thread(_event_rows, calendar.id, new_events)
        await self._database.write(work, patience=None)

    async def update_calendar(self, calendar: Calendar) -> None:
        """Store the changed record of a calendar, if the calendar still exists."""
        is_it = event_calendars.c.id == calendar.id
        await self._database.execute(
            (update(event_calendars).where(is_it), _calendar_row(calendar))
        )

    async def remove(self, calendar_id: str) -> bool:
        """Delete a calendar and its events; return False if there was no such calendar."""
        return await self._database.write(lambda connection: _delete(connection, calendar_id))

    async def claim(self, now: datetime, checked_before: datetime) -> Calendar | None:
        """Take a feed to check: one that was last checked before `checked_before`, or never.

        Store `now` as the time of its check, so that no other process takes it, and return the
        feed; return None if there is no such feed.
        """
        checked = event_calendars.c.checked_at
        waits = and_(
            event_calendars.c.kind == "feed", or_(checked.is_(None), checked < checked_before)
        )
        for calendar_id in await self._database.scalars(select(event_calendars.c.id).where(waits)):
            taken = (
                update(event_calendars)
                .where(event_calendars.c.id == calendar_id, waits)
                .values(checked_at=now)
                .returning(event_calendars.c.record)
            )
            record = await self._database.write(
                lambda connection: connection.scalar(taken)  # noqa: B023  awaited at once
            )
            if record:
                return msgspec.structs.replace(_calendar.decode(record), checked_at=now)
        return None

    async def prune(self, before: date) -> int:
        """Delete events that ended before `before`, a transaction per calendar; return how many."""
        count = 0
        for calendar in await self.calendars():
            count += await self._database.write(partial(_prune, calendar.id, before))
        return count


def _prune(calendar_id: str, before: date, connection: Connection) -> int:
    """Delete a calendar's events that ended before `before`; return the number of events.

    The function locks the calendar's row, as imports do, and updates its number of events.
    """
    is_it = event_calendars.c.id == calendar_id
    record = connection.scalar(select(event_calendars.c.record).where(is_it).with_for_update())
    past = delete(events).where(events.c.calendar == calendar_id, events.c.last_day < before)
    count = connection.execute(past).rowcount
    if record and count:
        calendar = _calendar.decode(record)
        left = msgspec.structs.replace(calendar, rows=max(0, calendar.rows - count))
        connection.execute(update(event_calendars).where(is_it).values(**_calendar_row(left)))
    return count


def _delete(connection: Connection, calendar_id: str) -> bool:
    held = select(event_calendars.c.id).where(event_calendars.c.id == calendar_id)
    connection.execute(held.with_for_update())
    connection.execute(delete(events).where(events.c.calendar == calendar_id))
    calendar = delete(event_calendars).where(event_calendars.c.id == calendar_id)
    return bool(connection.execute(calendar).rowcount)


def _calendar_row(calendar: Calendar) -> dict[str, object]:
    return {
        "id": calendar.id,
        "kind": calendar.kind,
        "checked_at": calendar.checked_at,
        "record": msgspec.json.encode(calendar).decode(),
    }


def _event_rows(calendar_id: str, new_events: Sequence[ProviderEvent]) -> list[dict[str, object]]:
    """Return the events as table rows, sorted by primary key so that inserting them is fast."""
    rows = [_event_row(calendar_id, event) for event in new_events]
    return sorted(rows, key=lambda row: (row["cell"], row["last_day"], row["id"]))


def _event_row(calendar_id: str, event: ProviderEvent) -> dict[str, object]:
    """Return an event as a row of the table `events`."""
    return {
        "cell": _cell(event),
        "last_day": event.end.day if event.end else event.start.day,
        "calendar": calendar_id,
        "id": event.id,
        "first_day": event.start.day,
        "record": msgspec.json.encode(event).decode(),
    }


def _cell(event: ProviderEvent) -> int:
    """Return the number of the cell at the event's place; without a place, its country's number."""
    place = event.place
    if place and place.lat is not None and place.lng is not None:
        return cell_of(place.lat, place.lng)
    return country_cell(event.country or "")


def cell_of(lat: float, lng: float) -> int:
    """Return the number of the cell (a square of 28 km) that contains a point."""
    band = _band(lat)
    count = _columns(band)
    return band * _MAX_COLUMNS + math.floor((lng + 180) / 360 * count) % count


def country_cell(country: str) -> int:
    """Return the cell number of events whose exact place is unknown, for their country (ISO code).

    It is negative, so that it differs from the number of every cell.
    """
    return -(ord(country[0]) * 256 + ord(country[1]))


def cells_within(lat: float, lng: float, radius_km: float) -> list[int]:
    """Return the numbers of all cells that a circle may touch, ascending."""
    reach = radius_km / _KM_PER_DEGREE
    found: set[int] = set()
    for band in range(_band(max(-90.0, lat - reach)), _band(min(90.0, lat + reach)) + 1):
        edge = min(89.99, max(abs(lat - reach), abs(lat + reach)))
        width = reach / math.cos(math.radians(edge))
        count = _columns(band)
        first, last = 0, count - 1
        if width < 180:
            first = math.floor((lng - width + 180) / 360 * count)
            last = math.floor((lng + width + 180) / 360 * count)
        found.update(band * _MAX_COLUMNS + column % count for column in range(first, last + 1))
    return sorted(found)


def _band(lat: float) -> int:
    return min(int(180 / _BAND) - 1, math.floor((lat + 90) / _BAND))


def _columns(band: int) -> int:
    """Return how many cells fit into a band of latitude, along its edge nearer the equator."""
    south = band * _BAND - 90
    edge = min(abs(south), abs(south + _BAND))
    return max(1, math.floor(360 / _BAND * math.cos(math.radians(edge))))
