"""The operator's own events in the database, found by place and time; the same code on both.

An event is stored under a cell and a slot, so that a query reads few rows. A cell is a square of
about 28 km; bands of latitude are 0.25° high, and each is cut into as many cells as its length
needs. Events of a whole country share a cell of their own, below 0.

A slot names the days an event may touch: events are sorted by length into levels (1 day, up to 8,
64, 512, 4096), and at each level time is cut into buckets as long as the level's longest event. An
event is stored under the bucket in which it begins, so one that touches a day begins in the bucket
of that day or in the one before: interval overlap becomes one range of slots for each level.
"""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import and_, bindparam, delete, func, insert, or_, select, union_all, update
from sqlalchemy.ext.asyncio import AsyncConnection

from location_context.point import Point
from location_context.sections.events.records import Calendar, ProviderEvent
from location_context.stay import Stay
from location_context.storage.database import Database
from location_context.storage.schema import event_calendars, events

_BAND = 0.25  # degrees of latitude
_MAX_COLUMNS = 10_000  # more than cells in any band
_KM_PER_DEGREE = 111.195
_LEVEL_BITS = 24  # room for the number of a bucket below that of its level
_LEVEL_SHIFTS = (0, 3, 6, 9, 12)  # buckets of 1, 8, 64, 512 and 4,096 days
MAX_INDEXED_DAYS = 1 << _LEVEL_SHIFTS[-1]
BATCH_ROWS, PRUNED_ROWS = 2000, 500  # written and deleted at once
CELLS_AT_ONCE = 50
_BEFORE_ALL = -100_000  # cells of countries are numbers above this one

_NEARBY = union_all(
    *(
        select(events.c.record).where(
            events.c.cell.in_(bindparam("cells", expanding=True)),
            events.c.slot.between(bindparam(f"first_{n}"), bindparam(f"last_{n}")),
        )
        for n in range(len(_LEVEL_SHIFTS))
    )
).limit(bindparam("most"))
_NEXT_CELL = select(func.min(events.c.cell)).where(events.c.cell > bindparam("after"))
_PAST = union_all(
    *(
        select(events.c.cell, events.c.slot, events.c.calendar, events.c.id).where(
            events.c.cell.in_(bindparam("cells", expanding=True)),
            events.c.slot.between(bindparam(f"first_{n}"), bindparam(f"last_{n}")),
        )
        for n in range(len(_LEVEL_SHIFTS))
    )
).limit(bindparam("most"))
_THIS = delete(events).where(
    *(column == bindparam(f"its_{column.name}") for column in events.primary_key)
)
_event = msgspec.json.Decoder(ProviderEvent)
_calendar = msgspec.json.Decoder(Calendar)


class SqlEventStore:
    """The `EventStore` in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_nearby(
        self, point: Point, radius: float, days: Stay, limit: int
    ) -> list[ProviderEvent]:
        """Events that may lie within `radius` km or concern the country, and touch the days.

        One select for each range of slots, so that each is a few ranges of the key, never a scan.
        """
        cells = cells_within(point.lat, point.lng, radius)
        if point.country:
            cells.append(country_cell(point.country))
        bounds = _bounds(buckets_overlapping(days.start, days.end))
        found = await self._database.scalars(_NEARBY, cells=cells, most=limit, **bounds)
        if len(found) <= BATCH_ROWS:
            return [_event.decode(record) for record in found]
        # in a thread, since many events take long enough to be felt by other requests
        return await asyncio.to_thread(lambda: [_event.decode(record) for record in found])

    async def calendars(self) -> list[Calendar]:
        """All imports and feeds, by id."""
        query = select(event_calendars.c.record).order_by(event_calendars.c.id)
        return [_calendar.decode(record) for record in await self._database.scalars(query)]

    async def replace(
        self, calendar: Calendar, new_events: Sequence[ProviderEvent], since: date | None = None
    ) -> None:
        """Store a calendar and its events in place of what it had, in one transaction."""
        # in a thread, since many events take long enough to be felt by requests
        rows = await asyncio.to_thread(_event_rows, calendar.id, new_events, since or date.min)
        async with self._database.write() as connection:
            await _delete(connection, calendar.id)
            await connection.execute(insert(event_calendars).values(**_calendar_row(calendar)))
            await _insert(connection, rows)

    async def update_calendar(self, calendar: Calendar) -> None:
        """Store what is new about a calendar, if it still is there."""
        row = _calendar_row(calendar)
        async with self._database.write() as connection:
            await connection.execute(
                update(event_calendars).where(event_calendars.c.id == calendar.id).values(**row)
            )

    async def remove(self, calendar_id: str) -> bool:
        """Delete a calendar and its events; whether it was there."""
        async with self._database.write() as connection:
            return await _delete(connection, calendar_id)

    async def claim(self, now: datetime, checked_before: datetime) -> Calendar | None:
        """A feed last checked before that, marked as checked now."""
        checked = event_calendars.c.checked_at
        due = and_(
            event_calendars.c.kind == "feed", or_(checked.is_(None), checked < checked_before)
        )
        for calendar_id in await self._database.scalars(select(event_calendars.c.id).where(due)):
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

    async def prune(self, before: date) -> AsyncIterator[int]:
        """Delete events that ended before a day; yields the number of each batch.

        Goes from cell to cell by the key. An event goes when its bucket is past: one of a day at
        once, a longer one within twice the length of its bucket.
        """
        past = _bounds(buckets_before(before))
        cells = await self._cells(_BEFORE_ALL)
        while cells:
            values = {"cells": cells, "most": PRUNED_ROWS, **past}
            found = await self._database.rows(_PAST, **values)
            if found:
                calendars = {row.calendar for row in found}
                async with self._database.write() as connection:
                    await _delete_past(connection, calendars, values)
            if len(found) < PRUNED_ROWS:
                cells = await self._cells(cells[-1])
            yield len(found)

    async def _cells(self, after: int) -> list[int]:
        """The next cells that have events, by looks into the key."""
        cells: list[int] = []
        while len(cells) < CELLS_AT_ONCE:
            cell = await self._database.scalar(_NEXT_CELL, after=cells[-1] if cells else after)
            if cell is None:
                break
            cells.append(cell)
        return cells


async def _delete_past(
    connection: AsyncConnection, calendars: Iterable[str], values: Mapping[str, Any]
) -> None:
    """Delete what `_PAST` finds with these values of these calendars, and count it off them.

    They are locked first, as an import does, so that neither waits for the other.
    """
    held = select(event_calendars.c.record).where(event_calendars.c.id.in_(calendars))
    held = held.order_by(event_calendars.c.id).with_for_update()
    records = [_calendar.decode(record) for record in await connection.scalars(held)]
    rows = (await connection.execute(_PAST, values)).all()
    ids = {calendar.id for calendar in records}
    gone = [row for row in rows if row.calendar in ids]
    if not gone:
        return
    keys = [{f"its_{name}": value for name, value in row._asdict().items()} for row in gone]
    await connection.execute(_THIS, keys)
    counts = Counter(row.calendar for row in gone)
    for calendar in records:
        left = msgspec.structs.replace(calendar, rows=max(0, calendar.rows - counts[calendar.id]))
        changed = update(event_calendars).where(event_calendars.c.id == calendar.id)
        await connection.execute(changed.values(record=msgspec.json.encode(left).decode()))


async def _delete(connection: AsyncConnection, calendar_id: str) -> bool:
    held = select(event_calendars.c.id).where(event_calendars.c.id == calendar_id)
    await connection.execute(held.with_for_update())
    await connection.execute(delete(events).where(events.c.calendar == calendar_id))
    calendar = delete(event_calendars).where(event_calendars.c.id == calendar_id)
    return bool((await connection.execute(calendar)).rowcount)


def _calendar_row(calendar: Calendar) -> dict[str, object]:
    return {
        "id": calendar.id,
        "kind": calendar.kind,
        "checked_at": calendar.checked_at,
        "record": msgspec.json.encode(calendar).decode(),
    }


def _event_rows(
    calendar_id: str, new_events: Sequence[ProviderEvent], since: date
) -> list[tuple[object, ...]]:
    """Rows in the order of the key, so that neighbours are written together."""
    encode = msgspec.json.encode
    return sorted(
        (_cell(event), _slot(event, since), calendar_id, event.id, encode(event).decode())
        for event in new_events
    )


def _cell(event: ProviderEvent) -> int:
    """That of its place, else of its country."""
    place = event.place
    if place and place.lat is not None and place.lng is not None:
        return cell_of(place.lat, place.lng)
    return country_cell(event.country or "")


def _slot(event: ProviderEvent, since: date) -> int:
    """That of its days from `since` on: years before it would be too early to be found."""
    end = event.end.day if event.end else event.start.day
    first = max(event.start.day, min(since, end))
    return time_bucket(first, max(first, min(end, first + timedelta(days=MAX_INDEXED_DAYS - 1))))


async def _insert(connection: AsyncConnection, rows: Sequence[tuple[object, ...]]) -> None:
    """By the driver's own bulk insert: SQLAlchemy's parameters would double the time."""
    statement = str(insert(events).compile(dialect=connection.dialect))
    for first in range(0, len(rows), BATCH_ROWS):
        await connection.exec_driver_sql(statement, list(rows[first : first + BATCH_ROWS]))


def cell_of(lat: float, lng: float) -> int:
    """The cell of a point."""
    band = _band(lat)
    count = _columns(band)
    return band * _MAX_COLUMNS + math.floor((lng + 180) / 360 * count) % count


def country_cell(country: str) -> int:
    """The cell of a whole country."""
    return -(ord(country[0]) * 256 + ord(country[1]))


def cells_within(lat: float, lng: float, radius_km: float) -> list[int]:
    """Every cell that a circle may touch."""
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


def time_bucket(first: date, last: date) -> int:
    """The slot of an event that touches the days from `first` to `last`."""
    levels = (n for n, shift in enumerate(_LEVEL_SHIFTS) if (last - first).days < 1 << shift)
    return _bucket(next(levels, len(_LEVEL_SHIFTS) - 1), first)


def buckets_overlapping(first: date, last: date) -> list[tuple[int, int]]:
    """Ranges of slots, both ends included, of all events that may touch the days."""
    return [
        (_bucket(level, first - timedelta(days=1 << shift if shift else 0)), _bucket(level, last))
        for level, shift in enumerate(_LEVEL_SHIFTS)
    ]


def buckets_before(day: date) -> list[tuple[int, int]]:
    """Ranges of slots, both ends included, of all events that surely ended before the day."""
    number = day.toordinal()
    lasts = (number - 1, *((number >> shift) - 2 for shift in _LEVEL_SHIFTS[1:]))
    return [(n << _LEVEL_BITS, (n << _LEVEL_BITS) + last) for n, last in enumerate(lasts)]


def _bounds(ranges: Sequence[tuple[int, int]]) -> dict[str, int]:
    """Ranges of slots as values of a query's parameters."""
    bounds = {f"first_{n}": first for n, (first, _) in enumerate(ranges)}
    return bounds | {f"last_{n}": last for n, (_, last) in enumerate(ranges)}


def _bucket(level: int, day: date) -> int:
    return (level << _LEVEL_BITS) + (day.toordinal() >> _LEVEL_SHIFTS[level])


def _band(lat: float) -> int:
    return min(int(180 / _BAND) - 1, math.floor((lat + 90) / _BAND))


def _columns(band: int) -> int:
    """How many cells go round the Earth in a band, at its edge nearer the equator."""
    south = band * _BAND - 90
    edge = min(abs(south), abs(south + _BAND))
    return max(1, math.floor(360 / _BAND * math.cos(math.radians(edge))))
