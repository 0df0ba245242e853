"""Reading: a process of its own makes events of a calendar, a page or a table.

The process takes a `Task` on its first line of input and the bytes after it. It prints a line of
JSON for each event or rejection as it goes: both side by side, one of them null. `ics`, `jsonld`
and `tables` read the formats.
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
# at least three times a 2026 core's time for the slowest 16 MB: 50,000 events of a calendar
# 24 s, events of a page 5 s, a table whose rows are all rejected 20 s, a list of empty objects 36 s
CPU_SECONDS: dict[Format, int] = {"ics": 120, "jsonld": 30, "csv": 60, "list": 120}
FEED_CPU_SECONDS = 20  # of any format: a stranger's feed is read again every hour
# 16 MB, the largest file, hold so many events of a calendar or a page as most are written, with 320
# bytes each; a server that refreshes such a feed holds 85 MB for it meanwhile
MAX_ENTRIES = 50_000
MAX_REJECTED = 1_000  # more than anybody reads
_WINDOW_BEFORE, _WINDOW_AHEAD = timedelta(days=31), timedelta(days=3 * 366)
# "never" in other programs; zones shift
_MIN_DATE, _MAX_DATE = date(1000, 1, 1), date(9000, 12, 31)
_NO_PLACE = "it names no place, and neither does the calendar"
_DAY = timedelta(days=1)
_MODULES: dict[Format, str] = {"ics": "ics", "jsonld": "jsonld", "csv": "tables", "list": "tables"}


class RejectedEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry that could not be read: its place in the source, and the reason.

    The `events` commands print it as JSON. `entries` is the number of entries that it stands for: 0
    for a remark on a column.
    """

    location: str = msgspec.field(name="where")
    reason: str = msgspec.field(name="why")
    entries: int = 1


Found = Iterator[ProviderEvent | RejectedEntry]


class UnreadableEntry(Exception):
    """The reason why an entry is rejected, as part of a sentence: "it has no title"."""


class Task(msgspec.Struct, frozen=True):
    """The data to read, and the calendar for which they are read.

    Attributes:
        first, last: the dates that are read, both included.
    """

    calendar: Calendar
    format: Format
    first: date
    last: date

    @classmethod
    def of(cls, calendar: Calendar, format_: Format, today: date) -> "Task":
        """Return a task for the stored dates: a month back and three years ahead."""
        return cls(calendar, format_, today - _WINDOW_BEFORE, today + _WINDOW_AHEAD)

    @property
    def cpu_seconds(self) -> int:
        """The most seconds that the processor may take; a feed has less."""
        return FEED_CPU_SECONDS if self.calendar.kind == "feed" else CPU_SECONDS[self.format]

    @property
    def zone(self) -> ZoneInfo:
        """The zone of times that name none, where neither the event nor the file has one."""
        return ZoneInfo(self.calendar.timezone or "UTC")

    def category(self, words: str) -> Category:
        """Return the category that an event's own words name, else the calendar's."""
        return fields.category_of(words) or self.calendar.category or "other"

    def placed(self, event: ProviderEvent) -> Found:
        """Yield an event at its own place, else at the calendar's, if it touches the dates.

        Its id stays that of the source. An event without any place is rejected.
        """
        last = event.end or event.start
        if event.start.day > self.last + _DAY or last.day < self.first - _DAY:
            return  # by a day more than the dates, since a zone may shift it
        calendar, place = self.calendar, event.place or Place()
        if place.lat is None:
            place = msgspec.structs.replace(place, lat=calendar.lat, lng=calendar.lng)
        at_point = place.lat is not None
        if event.start.day < _MIN_DATE:
            yield RejectedEntry(event.title[:60], f"its start is before {_MIN_DATE}")
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
    """One reading of `data`. `found` blocks: for a thread."""

    def __init__(self, data: bytes, task: Task) -> None:
        super().__init__(__name__, msgspec.json.encode(task) + b"\n" + data, task.cpu_seconds)

    def found(self) -> Generator[ProviderEvent | RejectedEntry, None, None]:
        """Yield every event and rejection that the process prints.

        Raises:
            OperatorError: the process did not finish, so its events are incomplete.
        """
        line = msgspec.json.Decoder(tuple[ProviderEvent | None, RejectedEntry | None])
        for text in self.lines():
            with contextlib.suppress(msgspec.DecodeError):  # the last one may be cut
                event, rejected = line.decode(text)
                if one := event or rejected:
                    yield one


def main() -> None:
    """Run the process: read the task and the data from stdin, and print line by line."""
    sandbox.confine()
    task = msgspec.json.decode(sys.stdin.buffer.readline(), type=Task)
    # each library is loaded only where it is needed: a third of a second
    module = import_module(f"{__spec__.parent}.{_MODULES[task.format]}")
    read = getattr(module, f"read_{task.format}")
    out = sys.stdout.buffer
    for one in _bounded(read(sys.stdin.buffer.read(), task)):
        line = (None, one) if isinstance(one, RejectedEntry) else (one, None)
        out.write(msgspec.json.encode(line) + b"\n")
    out.flush()


def _bounded(found: Found) -> Found:
    """Yield events up to the storage limit, and rejections up to the number that people read."""
    stored = rejected = 0
    for one in found:
        if isinstance(one, RejectedEntry):
            rejected += 1
            if rejected <= MAX_REJECTED:
                yield one
        elif stored == MAX_ENTRIES:
            bound = f"{MAX_ENTRIES:,}"
            reason = f"it holds more than {bound} events; the first {bound} are stored"
            yield RejectedEntry("the rest", reason, entries=0)
            break
        else:
            stored += 1
            yield one
    if rejected > MAX_REJECTED:
        more = rejected - MAX_REJECTED
        yield RejectedEntry("the rest", f"{more:,} more were refused", more)


def guard(found: Found, location: str) -> Found:
    """Yield the events of one entry; an error in it does not affect other entries."""
    try:
        yield from found
    except UnreadableEntry as error:
        yield RejectedEntry(location, str(error))
    except Exception as error:  # noqa: BLE001  also unforeseen errors
        yield RejectedEntry(location, f"it cannot be read: {fields.single_line(error, 120)}")


def local_zone(coordinates: tuple[float, float] | None, otherwise: Zone) -> ZoneInfo | Zone:
    """Return the time zone at these coordinates, or `zone` if they are unknown."""
    return ZoneInfo(zone_at(*coordinates)) if coordinates else otherwise


def parse_times(start: str, end: str | None, zone: ZoneInfo) -> tuple[When, When | None]:
    """Return start and end from ISO 8601, each a date or a moment; `zone` if without offset.

    Raises:
        UnreadableEntry: one of them is neither; an end that is missing is None or "".
    """
    try:
        return fields.parse_when(start, zone), fields.parse_when(end, zone) if end else None
    except ValueError:
        reason = f"its dates cannot be read: {fields.single_line(start, 40)}"
        raise UnreadableEntry(reason) from None


def decode(data: bytes) -> str:
    """Return the text in UTF-8, in UTF-16 with its mark, or as Windows wrote it before both."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def decode_json(data: bytes) -> Any:
    """Return the value of a JSON text, also if a text in it holds a line break, as on many pages.

    Raises:
        UnreadableEntry: it is not JSON, or nested too deeply.
    """
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        pass
    except RecursionError:
        raise UnreadableEntry("it is JSON nested too deeply") from None
    try:
        return json.loads(data, strict=False)
    except (ValueError, RecursionError) as error:
        reason = f"it is not JSON: {fields.single_line(error, 120)}"
        raise UnreadableEntry(reason) from None


if __name__ == "__main__":  # under its own name, by which the other modules know its types
    import_module(__spec__.name).main()
