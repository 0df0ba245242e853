"""Series: all events that share a UID, parsed and expanded over the window as one.

A rule that repeats within the hour without a near end is refused at once. Expansion is by
recurring-ical-events.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

import recurring_ical_events
from icalendar import Calendar, Event

from location_context.sections.events.fields import single_line, strip_markup
from location_context.sections.events.imports.entries import Entry, Refused, Window
from location_context.sections.events.imports.ics.lines import REPEATING, TIMES, VITAL, Line, Part
from location_context.sections.events.imports.ics.occurrence import entry_of, place_of
from location_context.sections.events.imports.ics.times import (
    Clock,
    Component,
    name_alike,
    rules,
    settle,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo

    from location_context.sections.events.imports.ics.zones import Zones

_MOST_OCCURRENCES = 2000
_MOST_BYTES = 200_000
_MARGIN = timedelta(days=2)
_SEVERAL = REPEATING | {"CATEGORIES"}
_WITHIN_AN_HOUR = {"SECONDLY", "MINUTELY"}


class UnreadableError(Exception):
    """Why a series cannot be read."""


@dataclass
class Series:
    """The events of one UID, in the order of the file."""

    uid: str
    parts: list[Part]
    zones: Zones
    clock: Clock

    @property
    def where(self) -> str:
        """Where it stands, for who looks after the file."""
        title = next(
            (t for part in self.parts if (t := strip_markup(part.value("SUMMARY"), 60))), None
        )
        return f"line {self.parts[0].number}: {title or 'untitled'}"

    @property
    def repeats(self) -> bool:
        return len(self.parts) > 1 or any(line.name in REPEATING for line in self.parts[0].lines)

    @property
    def size(self) -> int:
        return sum(part.size() for part in self.parts)

    def is_over(self, window: Window) -> bool:
        """Whether it happens once, and its dates, as they are written, lie outside the window."""
        (part,) = self.parts[:1]
        if self.repeats or part.value("DURATION") or not part.complete:
            return False
        dates = [day for name in ("DTSTART", "DTEND") if (day := part.value(name)[-16:][:8])]
        first, last = (f"{day:%Y%m%d}" for day in (window.first - _MARGIN, window.last + _MARGIN))
        written = [day for day in dates if len(day) == 8 and day.isdigit()]
        return bool(written) and (max(written) < first or min(written) > last)

    def occurrences(self, window: Window, zone: ZoneInfo) -> Iterator[Entry | Refused]:
        """Its entries within the window.

        Raises:
            UnreadableError: it cannot be read, and why.
        """
        if self.size > _MOST_BYTES:
            raise UnreadableError(f"one event of {self.size} bytes")
        events = self._settled()
        if not self.repeats:
            yield from entry_of(events[0], self.uid, self.where, window)
            return
        master = next((event for event in events if "RECURRENCE-ID" not in event), None)
        for event in events:
            if master is not None and "RECURRENCE-ID" in event:
                name_alike(event, master)
        found = _expanded(events, window, zone)
        if len(found) > _MOST_OCCURRENCES:
            yield Refused(self.where, f"only its first {_MOST_OCCURRENCES} dates are kept")
        for occurrence in islice(found, _MOST_OCCURRENCES):
            yield from entry_of(occurrence, self.uid, self.where, window)

    def _settled(self) -> list[Component]:
        events = [self._parsed(part) for part in self.parts]
        home = self.clock.at(place_of(events[0]))
        for event in events:
            settle(event, home.at(place_of(event)), home)
        return events

    def _parsed(self, part: Part) -> Component:
        lines = _lines_of(part)
        texts = [
            self.zones.rewritten(line.text) if line.name in TIMES else line.text for line in lines
        ]
        event = Event.from_ical("\r\n".join(["BEGIN:VEVENT", *texts, "END:VEVENT", ""]))
        broken = {name for name, _ in event.errors if name in VITAL}
        if broken:
            raise _unreadable(next(line for line in lines if line.name in broken))
        if "DTSTART" not in event:
            raise UnreadableError("it has no start")
        _check_rules(event)
        return event


def _lines_of(part: Part) -> list[Line]:
    """The lines to parse: the first of each name that may stand once."""
    if not part.complete:
        raise UnreadableError("the file ends before it does")
    kept: dict[object, Line] = {}
    for line in part.lines:
        after = line.text[len(line.name) :].lstrip()[:1]
        if after not in {":", ";"}:
            if line.name in VITAL and line.text[: len(line.name)].isupper():
                raise _unreadable(line)
            continue
        if line.name == "EXRULE":
            raise UnreadableError(f"line {line.number} is an EXRULE, which is no longer read")
        if line.name == "SEQUENCE" and not line.value.isdigit():
            continue
        kept.setdefault(line.number if line.name in _SEVERAL else line.name, line)
    return list(kept.values())


def _unreadable(line: Line) -> UnreadableError:
    return UnreadableError(f"line {line.number} cannot be read: {single_line(line.text, 60)}")


def _check_rules(event: Component) -> None:
    for rule in rules(event):
        few = 0 < max(map(int, rule.get("COUNT", [0]))) <= _MOST_OCCURRENCES
        often = {str(freq).upper() for freq in rule.get("FREQ", [])} & _WITHIN_AN_HOUR
        if often and not few:
            raise UnreadableError(f"it repeats {often.pop().lower()}")


def _expanded(events: list[Component], window: Window, zone: ZoneInfo) -> list[Component]:
    alone = Calendar()
    for event in events:
        alone.add_component(event)
    start = datetime.combine(window.first, datetime.min.time(), zone) - timedelta(days=1)
    stop = datetime.combine(window.last, datetime.min.time(), zone) + timedelta(days=2)
    return recurring_ical_events.of(alone).between(start, stop)  # type: ignore[no-any-return]  # untyped
