"""Lines: the bytes of a calendar as events and zones of numbered, unfolded lines (RFC 5545, 3.1).

Only the lines that are read are kept, so that what stands in the others spoils nothing. Lines may
end and fold in any way, an END may be missing, and nothing here nests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from location_context.sections.events.imports.encoding import text, utf8

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMES = frozenset({"DTSTART", "DTEND", "RDATE", "EXDATE", "RECURRENCE-ID"})
REPEATING = frozenset({"RRULE", "RDATE", "EXDATE", "EXRULE", "RECURRENCE-ID"})
VITAL = TIMES | REPEATING | {"DURATION", "STATUS"}
_READ = VITAL | {"UID", "SUMMARY", "SEQUENCE", "GEO", "LOCATION", "CATEGORIES", "URL", "IMAGE"}
_OF_CALENDAR = frozenset({"X-WR-TIMEZONE", "METHOD", "CALSCALE"})
_MOST_LINES = 20_000
_BREAK = re.compile(rb"\r\n|\n|\r")
_NAME = re.compile(rb"[A-Za-z-]+")


@dataclass
class Line:
    """A property: its name, the whole line, and where it begins in the file."""

    name: str
    text: str
    number: int

    @property
    def value(self) -> str:
        """What stands after the first colon."""
        return self.text.partition(":")[2].strip()


@dataclass
class Part:
    """A VEVENT or VTIMEZONE; `complete` unless the file ends within it."""

    kind: str
    number: int
    lines: list[Line] = field(default_factory=list)
    complete: bool = False

    @property
    def takes(self) -> bool:
        """Whether it takes more lines: with these it is refused for its size in any case."""
        return len(self.lines) < _MOST_LINES

    def value(self, name: str) -> str:
        """The value of its first property of that name, or nothing."""
        return next((line.value for line in self.lines if line.name == name), "")

    def size(self) -> int:
        return sum(len(line.text) for line in self.lines)


@dataclass
class Lines:
    """One VCALENDAR."""

    properties: dict[str, str] = field(default_factory=dict)
    events: list[Part] = field(default_factory=list)
    zones: list[Part] = field(default_factory=list)
    complete: bool = False


def calendars_of(data: bytes) -> list[Lines]:
    """The calendars of a file, in order; none when it is no calendar."""
    assembly = _Assembly()
    for number, line in _unfolded(utf8(data)):
        assembly.take(number, line)
    return [one for one in assembly.calendars if one.events or one.complete or one.properties]


def _unfolded(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers; joined as bytes, since some programs fold within a letter."""
    number, parts = 0, [b""]
    for count, line in enumerate(_BREAK.split(data), start=1):
        if line[:1] in {b" ", b"\t"}:
            parts.append(line[1:])
        elif line:
            yield number, b"".join(parts)
            number, parts = count, [line]
    yield number, b"".join(parts)


class _Assembly:
    """Parts as they open and close; what is nested in an event (an alarm) is passed over."""

    def __init__(self) -> None:
        self.calendars = [Lines()]
        self._part: Part | None = None
        self._nested = 0

    def take(self, number: int, line: bytes) -> None:
        if not (found := _NAME.match(line)):
            return
        name = found[0].decode().upper()
        if name == "BEGIN":
            self._begin(Line(name, text(line), number))
        elif name == "END":
            self._end(Line(name, text(line), number))
        elif not self._nested and self._is_read(name):
            self._property(Line(name, text(line), number))

    def _is_read(self, name: str) -> bool:
        if self._part is None:
            return name in _OF_CALENDAR
        return self._part.takes and (self._part.kind == "VTIMEZONE" or name in _READ)

    def _begin(self, line: Line) -> None:
        kind = line.value.upper()
        if kind == "VCALENDAR":
            self._close()
            self.calendars.append(Lines())
        elif kind in {"VEVENT", "VTIMEZONE"}:
            self._close()
            self._part = Part(kind, line.number)
            calendar = self.calendars[-1]
            (calendar.events if kind == "VEVENT" else calendar.zones).append(self._part)
        else:
            self._nest(line, 1)

    def _end(self, line: Line) -> None:
        kind = line.value.upper()
        if kind == "VCALENDAR":
            self._close()
            self.calendars[-1].complete = True
        elif self._part and kind == self._part.kind:
            self._close()
        else:
            self._nest(line, -1)

    def _nest(self, line: Line, step: int) -> None:
        if self._part and self._part.kind == "VTIMEZONE":
            if self._part.takes:
                self._part.lines.append(line)
        else:
            self._nested = max(0, self._nested + step)

    def _close(self) -> None:
        if self._part:
            self._part.complete = True
        self._part, self._nested = None, 0

    def _property(self, line: Line) -> None:
        if self._part is None:
            self.calendars[-1].properties[line.name] = line.value
        else:
            self._part.lines.append(line)
