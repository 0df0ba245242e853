"""Reading: turns a calendar, a page or a table into events, in a sandboxed process.

The process reads a `Task` from its first line of input, and then the data. For each entry it prints
a line of JSON, `[event, rejection]`, in which one of the two is null. The modules `ics`,
`jsonld` and `tables` read the formats.
"""

import codecs
import contextlib
import hashlib
import json
import sys
from collections.abc import Generator, Iterator
from datetime import date, timedelta, tzinfo
from importlib import import_module
from typing import Any, Literal, TypeVar
from zoneinfo import ZoneInfo

import msgspec

from location_context.gazetteer.zones import zone_at
from location_context.sections import sandbox
from location_context.sections.addresses import web_address
from location_context.sections.events import fields
from location_context.sections.events.records import Calendar, Place, ProviderEvent, When
from location_context.sections.events.response import Category

Zone = TypeVar("Zone", bound=tzinfo)
Format = Literal["ics", "jsonld", "csv", "list"]
# at least three times what a core of 2026 needs for the slowest 16 MB: 24 s for 50,000 events in
# ICS, 5 s for a page, 20 s for a table with only rejected rows, 36 s for a list of empty objects
CPU_SECONDS: dict[Format, int] = {"ics": 120, "jsonld": 30, "csv": 60, "list": 120}
FEED_CPU_SECONDS = 20  # of any format; less, since an untrusted feed is read again every hour
# as many as fit into 16 MB, the largest file, at a usual size of 320 bytes; a server that
# refreshes such a feed needs 85 MB for it meanwhile
MAX_ENTRIES = 50_000
MAX_REJECTED = 1_000  # more would not be read
_WINDOW_BEFORE, _WINDOW_AHEAD = timedelta(days=31), timedelta(days=3 * 366)
# programs use extreme dates for "never"; beyond these limits, converting time zones fails
_MIN_DATE, _MAX_DATE = date(1000, 1, 1), date(9000, 12, 31)
_NO_PLACE = "the entry names no place, and neither does the calendar"
_DAY = timedelta(days=1)
_MODULES: dict[Format, str] = {"ics": "ics", "jsonld": "jsonld", "csv": "tables", "list": "tables"}


class RejectedEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message about the source: usually an entry that could not be read, its location and reason.

    The `events` commands print it as JSON. `entries` is the number of rejected entries: 1; more if
    the message sums up several; 0 if it is only a warning.
    """

    location: str = msgspec.field(name="where")
    reason: str = msgspec.field(name="why")
    entries: int = 1


Found = Iterator[ProviderEvent | RejectedEntry]


class UnreadableEntry(Exception):
    """Raised if an entry cannot be read. Its message is a clause: "the title is missing"."""


class Task(msgspec.Struct, frozen=True):
    """The instructions for the sandbox: the calendar, its format, and the dates to read.

    Attributes:
        first, last: the first and last date of events to read, both included.
    """

    calendar: Calendar
    format: Format
    first: date
    last: date

    @classmethod
    def of(cls, calendar: Calendar, format_: Format, today: date) -> "Task":
        """Return a task that reads events from a month before until three years after today."""
        return cls(calendar, format_, today - _WINDOW_BEFORE, today + _WINDOW_AHEAD)

    @property
    def cpu_seconds(self) -> int:
        """The limit on the sandbox's processor time, in seconds; it is lower for a feed."""
        return FEED_CPU_SECONDS if self.calendar.kind == "feed" else CPU_SECONDS[self.format]

    @property
    def zone(self) -> ZoneInfo:
        """The time zone for times without a zone: the calendar's, or UTC if it has none."""
        return ZoneInfo(self.calendar.timezone or "UTC")

    def category(self, words: str) -> Category:
        """Return the category that `words` mean, else the calendar's category, else "other"."""
        return fields.category_of(words) or self.calendar.category or "other"

    def placed(self, event: ProviderEvent) -> Found:
        """Yield the event with a place and a new id; nothing if it is outside the task's dates.

        An event without coordinates takes the calendar's place; if the calendar has none either,
        yield a rejection. The new id has two parts: the calendar's id, and a hash of the event's
        start and of its id in the source.
        """
        last = event.end or event.start
        if event.start.day > self.last + _DAY or last.day < self.first - _DAY:
            return  # a day of tolerance, since a time zone may shift the date
        calendar, place = self.calendar, event.place or Place()
        if place.lat is None:
            place = msgspec.structs.replace(place, lat=calendar.lat, lng=calendar.lng)
        at_point = place.lat is not None
        if event.start.day < _MIN_DATE:
            yield RejectedEntry(event.title[:60], f"the start is before {_MIN_DATE}")
        elif not at_point and not calendar.country:
            yield RejectedEntry(event.title[:60], _NO_PLACE)
        else:
            name = f"{event.id} {event.start.at or event.start.day}"
            yield msgspec.structs.replace(
                event,
                id=f"{calendar.id}:{hashlib.blake2b(name.encode(), digest_size=10).hexdigest()}",
                end=event.end if last.day <= _MAX_DATE else When(_MAX_DATE),
                place=place if place != Place() else None,
                scope="point" if at_point else "region" if calendar.region else "country",
                country=None if at_point else calendar.country,
                regions=(calendar.region,) if calendar.region and not at_point else (),
                url=web_address(event.url),
                image=web_address(event.image),
            )


class Reading(sandbox.Sandbox):
    """A sandboxed process that reads `data`; `found()` blocks, so iterate over it in a thread."""

    def __init__(self, data: bytes, task: Task) -> None:
        super().__init__(__name__, msgspec.json.encode(task) + b"\n" + data, task.cpu_seconds)

    def found(self) -> Generator[ProviderEvent | RejectedEntry, None, None]:
        """Yield every event and rejection that the process prints.

        Raises:
            OperatorError: the process did not finish, so its events are incomplete.
        """
        line = msgspec.json.Decoder(tuple[ProviderEvent | None, RejectedEntry | None])
        for text in self.lines():
            with contextlib.suppress(msgspec.DecodeError):  # the last line may be incomplete
                event, rejected = line.decode(text)
                if one := event or rejected:
                    yield one


def main() -> None:
    """Run in the sandbox: read task and data from stdin, and print a line of JSON per entry."""
    sandbox.confine()
    task = msgspec.json.decode(sys.stdin.buffer.readline(), type=Task)
    # import only the module that is needed: the libraries take a third of a second
    module = import_module(f"{__spec__.parent}.{_MODULES[task.format]}")
    read = getattr(module, f"read_{task.format}")
    out = sys.stdout.buffer
    for one in _bounded(read(sys.stdin.buffer.read(), task)):
        line = (None, one) if isinstance(one, RejectedEntry) else (one, None)
        out.write(msgspec.json.encode(line) + b"\n")
    out.flush()


def _bounded(found: Found) -> Found:
    """Yield at most `MAX_ENTRIES` events and `MAX_REJECTED` rejections.

    If there are more, a last rejection says so.
    """
    stored = rejected = 0
    for one in found:
        if isinstance(one, RejectedEntry):
            rejected += 1
            if rejected <= MAX_REJECTED:
                yield one
        elif stored == MAX_ENTRIES:
            bound = f"{MAX_ENTRIES:,}"
            reason = f"the calendar has more than {bound} events; only the first {bound} are stored"
            yield RejectedEntry("the rest", reason, entries=0)
            break
        else:
            stored += 1
            yield one
    if rejected > MAX_REJECTED:
        more = rejected - MAX_REJECTED
        yield RejectedEntry("the rest", f"{more:,} more entries were rejected", more)


def guard(found: Found, location: str) -> Found:
    """Yield from `found`; if that raises an error, yield a rejection with the reason instead.

    So one unreadable entry does not stop the import. `location` is the entry's location in the
    source.
    """
    try:
        yield from found
    except UnreadableEntry as error:
        yield RejectedEntry(location, str(error))
    except Exception as error:  # noqa: BLE001  also unforeseen errors
        yield RejectedEntry(location, f"the entry cannot be read: {fields.single_line(error, 120)}")


def local_zone(coordinates: tuple[float, float] | None, otherwise: Zone) -> ZoneInfo | Zone:
    """Return the time zone at these coordinates, or `otherwise` if they are unknown."""
    return ZoneInfo(zone_at(*coordinates)) if coordinates else otherwise


def parse_times(start: str, end: str | None, zone: ZoneInfo) -> tuple[When, When | None]:
    """Return start and end from ISO 8601 texts; the end is None if its text is missing.

    A time without an offset is in `zone`.

    Raises:
        UnreadableEntry: a text is neither a date nor a time.
    """
    try:
        return fields.parse_when(start, zone), fields.parse_when(end, zone) if end else None
    except ValueError:
        reason = f"the dates cannot be read: {fields.single_line(start, 40)}"
        raise UnreadableEntry(reason) from None


def decode(data: bytes) -> str:
    """Return the bytes as text.

    The encoding is UTF-16 if they begin with its byte order mark, UTF-8 if they are valid UTF-8,
    and otherwise Windows-1252.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def decode_json(data: bytes) -> Any:
    """Return the decoded JSON; line breaks within strings, which many pages have, are accepted.

    Raises:
        UnreadableEntry: the data is not JSON, or is nested too deeply.
    """
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        pass
    except RecursionError:
        raise UnreadableEntry("the JSON is nested too deeply") from None
    try:
        return json.loads(data, strict=False)
    except (ValueError, RecursionError) as error:
        reason = f"the file is not JSON: {fields.single_line(error, 120)}"
        raise UnreadableEntry(reason) from None


if __name__ == "__main__":  # import by name, so that other modules share its classes
    import_module(__spec__.name).main()
