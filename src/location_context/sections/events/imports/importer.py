"""Imports: the bytes of a calendar, page or table become stored events of one `Calendar`.

An entry without coordinates goes where the calendar says: its point, its region or its country; a
calendar that says nothing has such entries refused.
"""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

import msgspec

from location_context.sections.events.answer import web_address
from location_context.sections.events.cells import LONGEST_DAYS, cell, country_cell, slot
from location_context.sections.events.imports.encoding import utf8
from location_context.sections.events.imports.entries import Entry, Format, Refused, Window
from location_context.sections.events.imports.expansion import Task, expand
from location_context.sections.events.providers.calendars import Calendars
from location_context.sections.events.records import Calendar, Place, Told, When

if TYPE_CHECKING:
    from datetime import datetime

    from location_context.upstream.deadline import Deadline

_NO_PLACE = "it names no place, and neither does the calendar"
_TO_STORE_ONE = 50e-6  # seconds; some three times what it takes a database that is not busy
_EARLIEST, _LATEST = date(1000, 1, 1), date(9000, 12, 31)  # "never" in other programs; zones shift
_BEFORE, _AHEAD = timedelta(days=31), timedelta(days=3 * 366)
_EXTENSIONS: dict[str, Format] = {
    "ics": "ics", "ical": "ics", "ifb": "ics", "csv": "csv",
    "json": "jsonld", "jsonld": "jsonld", "html": "jsonld", "htm": "jsonld",
}  # fmt: skip


@dataclass(frozen=True)
class Imported:
    """A calendar as it will be kept: its events with cell and slot, and what was refused."""

    calendar: Calendar
    rows: list[tuple[int, int, Told]]
    refused: list[Refused]


def calendar_id(source: str) -> str:
    """The id of a calendar: the same for the same source."""
    return "cal_" + hashlib.blake2b(source.encode(), digest_size=6).hexdigest()


def format_of(source: str, data: bytes, content_type: str = "") -> Format:
    """The format, by what the bytes begin with, the type they came with, or their name."""
    head = utf8(data[:2000]).lstrip(b" \t\r\n").upper()
    if head.startswith(b"BEGIN:VCALENDAR"):
        return "ics"
    if head[:1] in {b"{", b"[", b"<"}:
        return "jsonld"
    kind = content_type.partition(";")[0].strip().lower()
    by_type: dict[str, Format] = {"text/calendar": "ics", "text/csv": "csv", "text/html": "jsonld"}
    extension = source.partition("?")[0].rpartition(".")[2].lower()
    return by_type.get(kind) or _EXTENSIONS.get(extension, "csv")


def window_at(today: date, timezone: str | None) -> Window:
    """What is kept of a calendar: a month back and three years ahead."""
    return Window(today - _BEFORE, today + _AHEAD, timezone or "UTC")


async def read_calendar(
    calendar: Calendar, data: bytes, task: Task, now: datetime, deadline: Deadline
) -> Imported:
    """Expand the bytes and file what comes out; what has not come by the deadline is left out."""
    return await asyncio.to_thread(_read, calendar, data, task, now, deadline)


def _read(
    calendar: Calendar, data: bytes, task: Task, now: datetime, deadline: Deadline
) -> Imported:
    rows: dict[str, tuple[int, int, Told]] = {}
    refused: list[Refused] = []
    with closing(expand(data, task, deadline)) as all_told:
        for told in all_told:
            if isinstance(told, Refused):
                refused.append(told)
            elif told.start.day.year < _EARLIEST.year:
                refused.append(Refused(told.title[:60], f"its start is before {_EARLIEST}"))
            elif row := _filed(told, calendar, task.window):
                rows[row[2].id] = row
            else:
                refused.append(Refused(told.title[:60], _NO_PLACE))
            if not deadline.earlier(len(rows) * _TO_STORE_ONE).left() and deadline.left():
                refused.append(Refused("the rest", "reading so many events took too long"))
                break
    kept = msgspec.structs.replace(
        calendar, rows=len(rows), imported_at=now, checked_at=now, failed_with=None
    )
    return Imported(kept, list(rows.values()), refused)


def _filed(entry: Entry, calendar: Calendar, window: Window) -> tuple[int, int, Told] | None:
    """The event with the cell and slot it is filed under; None without a place."""
    lat, lng = (entry.lat, entry.lng) if entry.lat is not None else (calendar.lat, calendar.lng)
    told = _told(entry, calendar, lat, lng)
    when = _slot(told, window)
    if lat is not None and lng is not None:
        return cell(lat, lng), when, told
    if calendar.country:
        return country_cell(calendar.country), when, told
    return None


def _slot(told: Told, window: Window) -> int:
    """The slot of its days within the window: years before it would be too early to be found."""
    end = told.end.day if told.end else told.start.day
    first = max(told.start.day, min(window.first, end))
    return slot(first, max(first, min(end, first + timedelta(days=LONGEST_DAYS - 1))))


def _told(entry: Entry, calendar: Calendar, lat: float | None, lng: float | None) -> Told:
    name = f"{entry.uid} {entry.start.at or entry.start.day}"
    placed = lat is not None and lng is not None
    named = placed or entry.venue or entry.address
    return Told(
        id=f"{calendar.id}:{hashlib.blake2b(name.encode(), digest_size=10).hexdigest()}",
        source=Calendars.name,
        title=entry.title,
        category=entry.category or calendar.category or "other",
        start=entry.start,
        end=entry.end if entry.end is None or entry.end.day <= _LATEST else When(_LATEST),
        all_day=entry.all_day,
        status=entry.status,
        place=Place(name=entry.venue, address=entry.address, lat=lat, lng=lng) if named else None,
        scope="point" if placed else "region" if calendar.region else "country",
        country=None if placed else calendar.country,
        regions=(calendar.region,) if calendar.region and not placed else (),
        url=web_address(entry.url),
        image=web_address(entry.image),
        price=entry.price,
    )
