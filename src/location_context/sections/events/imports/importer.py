"""Imports: the bytes of a calendar, page or table become stored events of one `Calendar`.

An entry without coordinates goes where the calendar says: its point, its region or its country; a
calendar that says nothing has such entries refused. What is read in part, or holds nothing but
refusals, is an error and no import.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from location_context.errors import OperatorError
from location_context.sections.addresses import web_address
from location_context.sections.events.cells import LONGEST_DAYS, cell, country_cell, slot
from location_context.sections.events.imports.encoding import utf8
from location_context.sections.events.imports.entries import Entry, Format, Refused, Window
from location_context.sections.events.imports.expansion import Expansion, Task
from location_context.sections.events.providers.calendars import Calendars
from location_context.sections.events.records import Calendar, Place, ProviderEvent, When

if TYPE_CHECKING:
    from datetime import datetime

Progress = Callable[[int], None]  # events read so far
_NO_PLACE = "it names no place, and neither does the calendar"
_EVERY = 1000
_EARLIEST, _LATEST = date(1000, 1, 1), date(9000, 12, 31)  # "never" in other programs; zones shift
_BEFORE, _AHEAD = timedelta(days=31), timedelta(days=3 * 366)
_EXTENSIONS: dict[str, Format] = {
    "ics": "ics", "ical": "ics", "ifb": "ics", "csv": "csv",
    "json": "jsonld", "jsonld": "jsonld", "html": "jsonld", "htm": "jsonld",
}  # fmt: skip


class ImportRefused(OperatorError):
    """The whole of it is refused and changes nothing; `refused` tells of its parts."""

    def __init__(self, message: str, refused: Sequence[Refused] = ()) -> None:
        super().__init__(message)
        self.refused = refused


@dataclass(frozen=True)
class Imported:
    """A calendar as it will be kept: its events with cell and slot, and what was refused."""

    calendar: Calendar
    rows: list[tuple[int, int, ProviderEvent]]
    refused: list[Refused]


def is_address(source: str) -> bool:
    """Whether a source is an address and no file."""
    return source.lower().startswith(("http://", "https://"))


def named(source: str) -> str:
    """The one name of a source: an address as it is, a file by its absolute path."""
    if is_address(source):
        return source
    # a link keeps its own name: it may point to another file next year
    return os.path.abspath(Path(source).expanduser())  # noqa: PTH100  `resolve` follows links


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
    calendar: Calendar, data: bytes, task: Task, now: datetime, progress: Progress | None = None
) -> Imported:
    """Expand the bytes and file what comes out.

    Raises:
        ImportRefused: it could not be read to its end, or nothing in it could.
    """
    expansion = Expansion(data, task)
    try:
        rows, refused = await asyncio.to_thread(_filing, calendar, expansion, task.window, progress)
    except OperatorError as error:
        raise ImportRefused(error.message) from None
    finally:
        expansion.give_up()  # who was cancelled does not wait for it
    if refused and not rows:
        raise ImportRefused(f"nothing in it could be read ({refused[0].why})", refused)
    kept = msgspec.structs.replace(
        calendar, rows=len(rows), imported_at=now, checked_at=now, failed_with=None,
        came_empty=False,
    )  # fmt: skip
    return Imported(kept, rows, refused)


def _filing(
    calendar: Calendar, expansion: Expansion, window: Window, progress: Progress | None
) -> tuple[list[tuple[int, int, ProviderEvent]], list[Refused]]:
    rows: dict[str, tuple[int, int, ProviderEvent]] = {}
    refused: list[Refused] = []
    read = 0
    with closing(expansion.read()) as all_told:
        for told in all_told:
            if isinstance(told, Refused):
                refused.append(told)
                continue
            if told.start.day.year < _EARLIEST.year:
                refused.append(Refused(told.title[:60], f"its start is before {_EARLIEST}"))
            elif row := _filed(told, calendar, window):
                rows[row[2].id] = row
            else:
                refused.append(Refused(told.title[:60], _NO_PLACE))
            read += 1
            if progress and read % _EVERY == 0:
                progress(read)
    return list(rows.values()), refused


def _filed(
    entry: Entry, calendar: Calendar, window: Window
) -> tuple[int, int, ProviderEvent] | None:
    """The event with the cell and slot it is filed under; None without a place."""
    lat, lng = (entry.lat, entry.lng) if entry.lat is not None else (calendar.lat, calendar.lng)
    told = _told(entry, calendar, lat, lng)
    when = _slot(told, window)
    if lat is not None and lng is not None:
        return cell(lat, lng), when, told
    if calendar.country:
        return country_cell(calendar.country), when, told
    return None


def _slot(told: ProviderEvent, window: Window) -> int:
    """The slot of its days within the window: years before it would be too early to be found."""
    end = told.end.day if told.end else told.start.day
    first = max(told.start.day, min(window.first, end))
    return slot(first, max(first, min(end, first + timedelta(days=LONGEST_DAYS - 1))))


def _told(entry: Entry, calendar: Calendar, lat: float | None, lng: float | None) -> ProviderEvent:
    name = f"{entry.uid} {entry.start.at or entry.start.day}"
    placed = lat is not None and lng is not None
    named = placed or entry.venue or entry.address
    return ProviderEvent(
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
