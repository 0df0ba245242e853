"""Importer: the bytes of a calendar, page or table become stored events of one `Calendar`.

An entry without coordinates goes where the calendar says: its point, its region or its country; if
the calendar says nothing, such entries are rejected. What is read in part, or holds nothing but
rejected entries, is an error and no import.
"""

import asyncio
import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

import msgspec

from location_context.errors import OperatorError
from location_context.sections.addresses import web_address
from location_context.sections.events.imports.entries import (
    CalendarEntry,
    Format,
    RejectedEntry,
    Window,
    to_utf8,
)
from location_context.sections.events.imports.sandbox import Sandbox, Task
from location_context.sections.events.providers.calendars import Calendars
from location_context.sections.events.records import Calendar, Place, ProviderEvent, When

Progress = Callable[[int], None]  # events read so far
_NO_PLACE = "it names no place, and neither does the calendar"
_PROGRESS_EVERY = 1000  # events
_MIN_DATE, _MAX_DATE = (
    date(1000, 1, 1),
    date(9000, 12, 31),
)  # "never" in other programs; zones shift
_WINDOW_BEFORE, _WINDOW_AHEAD = timedelta(days=31), timedelta(days=3 * 366)
_EXTENSIONS: dict[str, Format] = {
    "ics": "ics", "ical": "ics", "ifb": "ics", "csv": "csv",
    "json": "jsonld", "jsonld": "jsonld", "html": "jsonld", "htm": "jsonld",
}  # fmt: skip


class ImportRejected(OperatorError):
    """The whole of a source is rejected, and nothing changed; `rejected` lists its entries."""

    def __init__(self, message: str, rejected: Sequence[RejectedEntry] = ()) -> None:
        super().__init__(message)
        self.rejected = rejected


@dataclass(frozen=True)
class ImportedCalendar:
    """A calendar as it will be stored: its events from `since` on, and what was rejected."""

    calendar: Calendar
    events: list[ProviderEvent]
    since: date
    rejected: list[RejectedEntry]


def is_url(source: str) -> bool:
    """Whether a source is an address on the web, not a file."""
    return source.lower().startswith(("http://", "https://"))


def canonical_source(source: str) -> str:
    """The one name of a source: an address as it is, a file by its absolute path."""
    if is_url(source):
        return source
    # a link keeps its own name: it may point to another file next year
    return os.path.abspath(Path(source).expanduser())  # noqa: PTH100  `resolve` follows links


def calendar_id(source: str) -> str:
    """The id of a calendar: the same for the same source."""
    return "cal_" + hashlib.blake2b(source.encode(), digest_size=6).hexdigest()


def format_of(source: str, data: bytes, content_type: str = "") -> Format:
    """The format, by what the bytes begin with, the type they came with, or their name."""
    head = to_utf8(data[:2000]).lstrip(b" \t\r\n").upper()
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
    return Window(today - _WINDOW_BEFORE, today + _WINDOW_AHEAD, timezone or "UTC")


async def read_calendar(
    calendar: Calendar, data: bytes, task: Task, now: datetime, progress: Progress | None = None
) -> ImportedCalendar:
    """Read the bytes in a process of their own, and place what comes out.

    Raises:
        ImportRejected: it could not be read to its end, or nothing in it could.
    """
    sandbox = Sandbox(data, task)
    try:
        events, rejected = await asyncio.to_thread(_events, calendar, sandbox, progress)
    except OperatorError as error:
        raise ImportRejected(error.message) from None
    finally:
        sandbox.cancel()  # who was cancelled does not wait for it
    if rejected and not events:
        raise ImportRejected(f"nothing in it could be read ({rejected[0].reason})", rejected)
    calendar = msgspec.structs.replace(
        calendar, rows=len(events), imported_at=now, checked_at=now, failed_with=None,
        came_empty=False,
    )  # fmt: skip
    return ImportedCalendar(calendar, events, task.window.first, rejected)


def _events(
    calendar: Calendar, sandbox: Sandbox, progress: Progress | None
) -> tuple[list[ProviderEvent], list[RejectedEntry]]:
    events: dict[str, ProviderEvent] = {}
    rejected: list[RejectedEntry] = []
    count = 0
    with closing(sandbox.parse_in_subprocess()) as entries:
        for entry in entries:
            if isinstance(entry, RejectedEntry):
                rejected.append(entry)
                continue
            if entry.start.day.year < _MIN_DATE.year:
                reason = f"its start is before {_MIN_DATE}"
                rejected.append(RejectedEntry(entry.title[:60], reason))
            elif event := _event(entry, calendar):
                events[event.id] = event
            else:
                rejected.append(RejectedEntry(entry.title[:60], _NO_PLACE))
            count += 1
            if progress and count % _PROGRESS_EVERY == 0:
                progress(count)
    return list(events.values()), rejected


def _event(entry: CalendarEntry, calendar: Calendar) -> ProviderEvent | None:
    """The event at its place, or at its calendar's; None without a place."""
    lat, lng = entry.coordinates or (calendar.lat, calendar.lng)
    placed = lat is not None and lng is not None
    if not placed and not calendar.country:
        return None
    name = f"{entry.uid} {entry.start.at or entry.start.day}"
    has_place = placed or entry.venue or entry.address
    return ProviderEvent(
        id=f"{calendar.id}:{hashlib.blake2b(name.encode(), digest_size=10).hexdigest()}",
        source=Calendars.name,
        title=entry.title,
        category=entry.category or calendar.category or "other",
        start=entry.start,
        end=entry.end if entry.end is None or entry.end.day <= _MAX_DATE else When(_MAX_DATE),
        all_day=entry.all_day,
        status=entry.status,
        place=Place(name=entry.venue, address=entry.address, lat=lat, lng=lng)
        if has_place
        else None,
        scope="point" if placed else "region" if calendar.region else "country",
        country=None if placed else calendar.country,
        regions=(calendar.region,) if calendar.region and not placed else (),
        url=web_address(entry.url),
        image=web_address(entry.image),
        price=entry.price,
    )
