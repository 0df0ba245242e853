"""Repair: what programs get wrong in calendars is put right before the libraries read them.

Bytes become components of numbered, unfolded lines (RFC 5545, 3.1). Only the lines that are used
are taken, so that what stands in the others spoils nothing. Lines may end and fold in any way, an
END may be missing, and nothing here nests.

Names of time zones become names that the libraries know: the name itself where IANA has it, the
calendar's own VTIMEZONE, names of Windows, an IANA name behind a vendor's prefix, an offset, or a
list of cities as Outlook shows it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from uuid import uuid4
from zoneinfo import ZoneInfo, available_timezones

from icalendar import Timezone
from icalendar.timezone import tzp
from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from location_context.sections.events.fields import single_line
from location_context.sections.events.imports.entries import (
    UnreadableEntry,
    decode_line,
    to_utf8,
)

TIMES = frozenset({"DTSTART", "DTEND", "RDATE", "EXDATE", "RECURRENCE-ID"})
REPEATING = frozenset({"RRULE", "RDATE", "EXDATE", "EXRULE", "RECURRENCE-ID"})
VITAL = TIMES | REPEATING | {"DURATION", "STATUS"}
_EVENT_PROPERTIES = VITAL | {
    "UID", "SUMMARY", "SEQUENCE", "GEO", "LOCATION", "CATEGORIES", "URL", "IMAGE",
}  # fmt: skip
_CALENDAR_PROPERTIES = frozenset({"X-WR-TIMEZONE", "METHOD", "CALSCALE"})
_COMPONENTS = frozenset({"VCALENDAR", "VEVENT", "VTIMEZONE"})
_REPEATABLE = REPEATING | {"CATEGORIES"}  # properties that an event may have several times
_MAX_LINES = 20_000  # of a component; with these it is rejected for its size in any case
_LINE_BREAK = re.compile(rb"\r\n|\n|\r")
_NAME = re.compile(rb"[A-Za-z-]+")


@dataclass
class RawLine:
    """A property: its name, the whole line, and where it begins in the file."""

    name: str
    text: str
    number: int

    @property
    def value(self) -> str:
        """What stands after the first colon."""
        return self.text.partition(":")[2].strip()

    def unreadable(self) -> UnreadableEntry:
        """The error that names this line."""
        return UnreadableEntry(f"line {self.number} cannot be read: {single_line(self.text, 60)}")


@dataclass
class RawComponent:
    """A VEVENT or VTIMEZONE; `complete` unless the file ends within it."""

    kind: str
    number: int
    lines: list[RawLine] = field(default_factory=list)
    complete: bool = False

    def add(self, name: str, line: bytes, number: int) -> None:
        """Take a line, if lines of that name are used."""
        used = self.kind == "VTIMEZONE" or name in _EVENT_PROPERTIES
        if used and len(self.lines) < _MAX_LINES:
            self.lines.append(RawLine(name, decode_line(line), number))

    def value(self, name: str) -> str:
        """The value of its first property of that name, or ""."""
        return next((line.value for line in self.lines if line.name == name), "")

    def size(self) -> int:
        """Characters in its lines."""
        return sum(len(line.text) for line in self.lines)

    def version(self) -> int:
        """Its SEQUENCE; 0 where it has none that is a number."""
        given = self.value("SEQUENCE")
        return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0

    def well_formed_lines(self) -> list[RawLine]:
        """The lines to parse: the first of each name that may stand once.

        Raises:
            UnreadableEntry: a line that matters is broken, or the file ends too early.
        """
        if not self.complete:
            raise UnreadableEntry("the file ends before it does")
        used: dict[object, RawLine] = {}
        for line in self.lines:
            after = line.text[len(line.name) :].lstrip()[:1]
            if after not in {":", ";"}:
                if line.name in VITAL and line.text[: len(line.name)].isupper():
                    raise line.unreadable()
                continue
            if line.name == "EXRULE":
                raise UnreadableEntry(f"line {line.number} is an EXRULE, which is no longer read")
            if line.name == "SEQUENCE" and not line.value.isdigit():
                continue
            used.setdefault(line.number if line.name in _REPEATABLE else line.name, line)
        return list(used.values())


@dataclass
class RawCalendar:
    """One VCALENDAR; `complete` when it has an end."""

    properties: dict[str, str] = field(default_factory=dict)
    events: list[RawComponent] = field(default_factory=list)
    zones: list[RawComponent] = field(default_factory=list)
    complete: bool = False

    def events_by_uid(self) -> Iterator[tuple[str, list[RawComponent]]]:
        """Each UID with one event and those that replace dates of it.

        Of several versions the latest counts. Without a version, two that begin at different times
        are two events: some programs give all they write the same UID.
        """
        by_uid: dict[str, list[RawComponent]] = {}
        for count, event in enumerate(self.events, start=1):
            by_uid.setdefault(event.value("UID") or f"event {count}", []).append(event)
        for uid, events in by_uid.items():
            replacing = [event for event in events if event.value("RECURRENCE-ID")]
            masters = [event for event in events if not event.value("RECURRENCE-ID")]
            latest = max((event.version() for event in masters), default=0)
            starts = {one.value("DTSTART"): one for one in masters if one.version() == latest}
            for series in [[one, *replacing] for one in starts.values()] or [replacing]:
                yield uid, series


def parse_calendars(data: bytes) -> list[RawCalendar]:
    """The calendars of a file, in order; none when it is not a calendar."""
    parser = _Parser()
    for number, line in _unfold(to_utf8(data)):
        if match := _NAME.match(line):
            parser.take(match[0].decode().upper(), line, number)
    return [one for one in parser.calendars if one.events or one.complete or one.properties]


class _Parser:
    """Components as they open and close; what is nested in an event (an alarm) is ignored."""

    def __init__(self) -> None:
        self.calendars = [RawCalendar()]
        self._component: RawComponent | None = None
        self._depth = 0  # of what is nested

    def take(self, name: str, line: bytes, number: int) -> None:
        component, calendar = self._component, self.calendars[-1]
        if name in {"BEGIN", "END"}:
            kind = line.partition(b":")[2].strip().upper().decode(errors="replace")
            if kind in _COMPONENTS:
                self._close_and_open(name, kind, number)
            elif component is not None and component.kind == "VTIMEZONE":
                component.add(name, line, number)
            else:
                self._depth = max(0, self._depth + (1 if name == "BEGIN" else -1))
        elif component is not None and not self._depth:
            component.add(name, line, number)
        elif name in _CALENDAR_PROPERTIES and not self._depth:
            calendar.properties[name] = RawLine(name, decode_line(line), number).value

    def _close_and_open(self, name: str, kind: str, number: int) -> None:
        if self._component is not None:  # its END may be missing
            self._component.complete = True
        self._component, self._depth = None, 0
        calendar = self.calendars[-1]
        if name == "END":
            calendar.complete |= kind == "VCALENDAR"
        elif kind == "VCALENDAR":
            self.calendars.append(RawCalendar())
        else:
            self._component = RawComponent(kind, number)
            components = calendar.events if kind == "VEVENT" else calendar.zones
            components.append(self._component)


def _unfold(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers; joined as bytes, since some programs fold within a letter."""
    number, parts = 0, [b""]
    for count, line in enumerate(_LINE_BREAK.split(data), start=1):
        if line[:1] in {b" ", b"\t"}:
            parts.append(line[1:])
        elif line:
            yield number, b"".join(parts)
            number, parts = count, [line]
    yield number, b"".join(parts)


_OFFSET = re.compile(r"\(?(?:UTC|GMT|Z)?([+-]\d{1,2}):?(\d{2})?\)?", re.IGNORECASE)
_CITIES = re.compile(r"\((?:UTC|GMT)([+-]\d{2}):?(\d{2})\)\s*(.+)", re.IGNORECASE)
_TZID = re.compile(r';\s*TZID\s*=\s*("[^"]*"|[^;]*)', re.IGNORECASE)
_VALUE = re.compile(r";\s*VALUE\s*=\s*\"?DATE(?:-TIME)?\"?(?=;|$)", re.IGNORECASE)
_LONG_AGO = re.compile(r"(:)1[0-8]\d\d((?!0229)\d{4}T)")
_MAX_ZONE_SIZE = 50_000  # characters; the largest that programs write have some thousands


class TimeZones:
    """The zones of one calendar, its own definitions kept apart from other calendars'."""

    def __init__(self, definitions: list[RawComponent]) -> None:
        self._definitions = {one.value("TZID").strip('"'): one for one in definitions}
        self._names: dict[str, str | None] = {}

    def forget(self) -> None:
        """Define the zones anew: a time limit that struck within one may have left it locked."""
        self._names.clear()

    def rewrite(self, line: str) -> str:
        """A line of times with its TZID as the parser knows it; none where no zone is known.

        The shape of a value tells a date from a time, so a VALUE that says otherwise is dropped.
        """
        head, _, value = line.rpartition(":")  # Outlook's names hold colons, and no time does
        given = _TZID.search(head)
        name = self._name(given[1].strip().strip('"')) if given else None
        head = _VALUE.sub("", _TZID.sub("", head))
        return f"{head};TZID={name}:{value}" if name else f"{head}:{value}"

    def _name(self, tzid: str) -> str | None:
        if tzid not in self._names:
            definition = self._definitions.get(tzid)
            known = _iana_names().get(tzid.lower()) == tzid
            own = self._define(definition) if definition is not None and not known else None
            zone = None if own else zone_of(tzid)
            self._names[tzid] = own or (zone.key if zone else None)
        return self._names[tzid]

    def _define(self, definition: RawComponent) -> str | None:
        """Have the parser know the calendar's own zone, by a name that no other calendar has."""
        name = f"zone-{uuid4().hex}"
        # a definition that begins in 1601, as Outlook's do, costs 425 years to walk
        lines = [
            _LONG_AGO.sub(r"\g<1>1970\g<2>", line.text) if line.name == "DTSTART" else line.text
            for line in definition.lines
            if line.name != "TZID"
        ]
        text = ["BEGIN:VTIMEZONE", f"TZID:{name}", *lines, "END:VTIMEZONE", ""]
        new_year = datetime(2026, 1, 1)  # noqa: DTZ001  in the zone that is tried
        try:
            if definition.size() <= _MAX_ZONE_SIZE:
                Timezone.from_ical("\r\n".join(text))
            return name if tzp.localize(new_year, name).utcoffset() is not None else None
        except (ValueError, KeyError, IndexError, AttributeError, TypeError):
            return None  # it is defined in a way that nobody understands


@cache
def zone_of(name: str) -> ZoneInfo | None:
    """The zone that a name means; None where none is known."""
    cleaned = name.strip().strip('"').strip("/")
    parts = cleaned.split("/")
    tails = ["/".join(parts[cut:]) for cut in range(len(parts))]
    for candidate in (cleaned, WINDOWS_TO_OLSON.get(cleaned, ""), *tails):
        if (key := _iana_names().get(candidate.lower())) is not None:
            return ZoneInfo(key)
    return _zone_of_offset(cleaned) or _zone_of_cities(cleaned)


def _zone_of_offset(name: str) -> ZoneInfo | None:
    """Whole hours only, as IANA has them: Etc/GMT with the sign the other way round."""
    given = _OFFSET.fullmatch(name)
    if given is None or (given[2] or "00") != "00":
        return None
    hours = int(given[1])
    return ZoneInfo(_iana_names().get(f"etc/gmt{-hours:+d}", "UTC") if hours else "UTC")


def _zone_of_cities(name: str) -> ZoneInfo | None:
    """What Outlook shows: the first of its places that has a zone of that standard offset."""
    if not (given := _CITIES.fullmatch(name)):
        return None
    sign = -1 if given[1].startswith("-") else 1
    offset = timedelta(hours=int(given[1]), minutes=sign * int(given[2]))
    candidates = (key for place in given[3].split(",") for key in _zones_of_place(place.strip()))
    zones = map(ZoneInfo, candidates)
    return next((zone for zone in zones if _standard_offset(zone) == offset), None)


def _zones_of_place(place: str) -> Iterator[str]:
    """The zones of a city, or of "Eastern Time (US & Canada)"."""
    ending = "/" + place.lower().replace(" ", "_")
    yield from (key for lowered, key in _iana_names().items() if lowered.endswith(ending))
    windows = place.partition(" (")[0].replace(" Time", " Standard Time")
    if windows in WINDOWS_TO_OLSON:
        yield WINDOWS_TO_OLSON[windows]


def _standard_offset(zone: ZoneInfo) -> timedelta | None:
    """Its offset without daylight saving, which is the lesser of January's and July's."""
    both = [datetime(2026, month, 1, tzinfo=UTC).astimezone(zone).utcoffset() for month in (1, 7)]
    return min((one for one in both if one is not None), default=None)


@cache
def _iana_names() -> dict[str, str]:
    """Every IANA name by its lower case."""
    return {name.lower(): name for name in sorted(available_timezones())}
