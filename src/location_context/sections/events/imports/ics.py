"""Calendars (ICS): icalendar parses each series of events, recurring-ical-events expands it.

What a calendar leaves open is settled between the two: times without a zone get one (their own
place's, else the calendar's), a duration becomes an end, an end of the other kind is made the
start's kind, one that is not after its start is dropped.

What happens once comes before what repeats. Each series first gets a moment of the processor, and
half a second when all others are done, until three seconds of these were in vain: hostile rules
cost nobody but themselves. A rule that repeats within the hour is rejected.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import islice
from time import process_time
from typing import Any
from zoneinfo import ZoneInfo

import recurring_ical_events
from icalendar import Calendar, Event
from icalendar.prop import vDDDTypes

from location_context.sections.events import fields
from location_context.sections.events.imports import entries, ics_repair
from location_context.sections.events.records import When

Component = Any  # icalendar's own type admits every kind of value under every name

_ROUNDS = (0.03, 0.5)  # seconds of the processor for a series
_MAX_IN_VAIN = 3.0  # seconds of second rounds that fail or give no date
_MAX_OCCURRENCES = 2000  # of a series: five years of days
_MAX_SERIES_SIZE = 200_000  # characters
_MARGIN = timedelta(days=2)  # between dates as written and dates in any zone
_DAY = timedelta(days=1)


def read_ics(data: bytes, window: entries.Window) -> entries.Entries:
    """The occurrences within the window; what cannot be read is rejected with its reason."""
    calendars = ics_repair.parse_calendars(data)
    if not any(one.events or one.complete for one in calendars):
        yield entries.RejectedEntry("the calendar", "it is not one")
    default_zone = ZoneInfo(window.timezone)
    pending: list[Series] = []
    for calendar in calendars:
        if calendar.properties.get("CALSCALE", "GREGORIAN").upper() != "GREGORIAN":
            yield entries.RejectedEntry("the calendar", "its dates are not Gregorian")
        elif calendar.properties.get("METHOD", "").upper() != "CANCEL":
            calendar_zone = ics_repair.zone_of(calendar.properties.get("X-WR-TIMEZONE", ""))
            zones = ics_repair.TimeZones(calendar.zones)
            pending += [
                Series(uid, events, zones, calendar_zone, default_zone)
                for uid, events in calendar.events_by_uid()
            ]
    pending = [series for series in pending if not series.is_over(window)]
    pending.sort(key=lambda series: (series.repeats, series.size))
    yield from _expand_in_rounds(pending, window)


def _expand_in_rounds(pending: "list[Series]", window: entries.Window) -> entries.Entries:
    for seconds in _ROUNDS:
        late: list[Series] = []
        in_vain = 0.0
        for series in pending:
            if seconds == _ROUNDS[-1] and in_vain >= _MAX_IN_VAIN:
                late.append(series)
                continue
            found: list[entries.CalendarEntry | entries.RejectedEntry] = []
            before = process_time()
            try:
                with cpu_time_limit(seconds):
                    found = list(entries.guard(series.occurrences(window), series.location))
            except CpuTimeExceeded:
                series.zones.forget()
                late.append(series)
            else:
                yield from found
            if not found:
                in_vain += process_time() - before
        pending = late
    for series in pending:
        yield entries.RejectedEntry(series.location, "its rule takes too long to expand")


class CpuTimeExceeded(BaseException):
    """The time limit struck. Not an `Exception`, which a library could take for its own."""


@contextmanager
def cpu_time_limit(seconds: float) -> Iterator[None]:
    """Raise `CpuTimeExceeded` in the main thread after so much of the processor's time.

    The alarm repeats until it is received: what is raised while garbage is collected is lost.
    """
    armed = [True]

    def on_alarm(*_: object) -> None:
        if armed:
            raise CpuTimeExceeded

    previous = signal.signal(signal.SIGVTALRM, on_alarm)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.1)
    try:
        yield
    finally:
        armed.clear()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


@dataclass
class Series:
    """One event with all its repetitions, and the events that replace dates of it.

    Attributes:
        uid: which they share.
        components: in the order of the file.
        zones: what their calendar calls time zones.
        calendar_zone: the zone that the calendar itself names; its times in UTC follow it.
        default_zone: the zone of times without one, where no place and no calendar has one.
    """

    uid: str
    components: list[ics_repair.RawComponent]
    zones: ics_repair.TimeZones
    calendar_zone: ZoneInfo | None
    default_zone: ZoneInfo

    @property
    def location(self) -> str:
        """Where it stands in the file, for its owner."""
        titles = (fields.strip_markup(one.value("SUMMARY"), 60) for one in self.components)
        title = next(filter(None, titles), "untitled")
        return f"line {self.components[0].number}: {title}"

    @property
    def repeats(self) -> bool:
        first = self.components[0]
        names = {line.name for line in first.lines}
        return len(self.components) > 1 or not names.isdisjoint(ics_repair.REPEATING)

    @property
    def size(self) -> int:
        return sum(component.size() for component in self.components)

    def is_over(self, window: entries.Window) -> bool:
        """Whether it happens once, and its dates, as they are written, lie outside the window."""
        event = self.components[0]
        if self.repeats or event.value("DURATION") or not event.complete:
            return False
        dates = [event.value(name)[-16:][:8] for name in ("DTSTART", "DTEND")]
        written = [day for day in dates if len(day) == 8 and day.isdigit()]
        first, last = (f"{day:%Y%m%d}" for day in (window.first - _MARGIN, window.last + _MARGIN))
        return bool(written) and (max(written) < first or min(written) > last)

    def occurrences(self, window: entries.Window) -> entries.Entries:
        """Its entries within the window.

        Raises:
            UnreadableEntry: it cannot be read, and why.
        """
        if self.size > _MAX_SERIES_SIZE:
            raise entries.UnreadableEntry(f"one event of {self.size} bytes")
        events = [self._parse(component) for component in self.components]
        # times that name no zone are those of the event's own place, where it has one
        zone = self.calendar_zone or self.default_zone
        floating = entries.local_zone(_coordinates(events[0]), zone)
        for event in events:
            self._normalise_times(event, floating)
        if not self.repeats:
            yield from self._entry(events[0], window)
            return
        master = next((event for event in events if "RECURRENCE-ID" not in event), None)
        calendar = Calendar()
        for event in events:
            if master is not None and "RECURRENCE-ID" in event:
                _align_recurrence_id(event, master)
            calendar.add_component(event)
        first = datetime.combine(window.first, time(), self.default_zone) - _DAY
        last = datetime.combine(window.last, time(), self.default_zone) + 2 * _DAY
        found = recurring_ical_events.of(calendar).between(first, last)
        if len(found) > _MAX_OCCURRENCES:
            reason = f"only its first {_MAX_OCCURRENCES} dates are kept"
            yield entries.RejectedEntry(self.location, reason)
        for occurrence in islice(found, _MAX_OCCURRENCES):
            yield from self._entry(occurrence, window)

    def _parse(self, component: ics_repair.RawComponent) -> Component:
        lines, times = component.well_formed_lines(), ics_repair.TIMES
        texts = [self.zones.rewrite(one.text) if one.name in times else one.text for one in lines]
        event = Event.from_ical("\r\n".join(["BEGIN:VEVENT", *texts, "END:VEVENT", ""]))
        broken = {name for name, _ in event.errors if name in ics_repair.VITAL}
        if broken:
            raise next(line for line in lines if line.name in broken).unreadable()
        if "DTSTART" not in event:
            raise entries.UnreadableEntry("it has no start")
        for rule in _all(event, "RRULE"):
            often = {str(freq).upper() for freq in rule.get("FREQ", [])} & {"SECONDLY", "MINUTELY"}
            if often:
                raise entries.UnreadableEntry(f"it repeats {often.pop().lower()}")
        return event

    def _normalise_times(self, event: Component, series_zone: tzinfo) -> None:
        """Give all times of an event a zone, and put its end in order."""
        zone = entries.local_zone(_coordinates(event), series_zone)
        start = event["DTSTART"].dt = self._with_zone(event["DTSTART"].dt, zone)
        if isinstance(start, datetime):
            zone = start.tzinfo or UTC  # one zone is often meant for all times
        for moment in _moments(event):
            moment.dt = self._with_zone(moment.dt, zone)
        end = _end(start, event)
        for name in ("DTEND", "DURATION"):
            event.pop(name, None)
        if end is not None:
            event["DTEND"] = vDDDTypes(end)
        for rule in _all(event, "RRULE"):
            if "UNTIL" in rule:
                rule["UNTIL"] = [_until(value, start) for value in rule["UNTIL"]]

    def _with_zone(self, value: Any, floating: tzinfo) -> Any:
        """A moment with its zone; a date or a period as it is."""
        if not isinstance(value, datetime):
            return value
        if value.tzinfo is None:
            return value.replace(tzinfo=floating)
        follows = self.calendar_zone is not None and value.tzname() == "UTC"
        return value.astimezone(self.calendar_zone) if follows else value

    def _entry(self, event: Component, window: entries.Window) -> entries.Entries:
        """One date as an entry; nothing when it is cancelled or outside the window."""
        start, end, all_day = _span(event)
        cancelled = str(event.get("STATUS") or "").strip().upper() == "CANCELLED"
        if cancelled or not entries.is_within(start, end, window):
            return
        title = fields.strip_markup(event.get("SUMMARY"), fields.MAX_TITLE_LENGTH)
        if title is None:
            yield entries.RejectedEntry(self.location, "it has no title")
            return
        groups = _all(event, "CATEGORIES")
        words = (str(word) for group in groups for word in getattr(group, "cats", [group]))
        yield entries.CalendarEntry(
            uid=self.uid,
            title=title,
            start=start,
            end=end,
            all_day=all_day,
            category=fields.category_of(" ".join(words)),
            venue=fields.strip_markup(event.get("LOCATION")),
            coordinates=_coordinates(event),
            url=fields.single_line(event.get("URL"), 2000),
            image=fields.single_line(event.get("IMAGE"), 2000),
        )


def _all(event: Component, name: str) -> list[Any]:
    """Its properties of a name that may stand several times."""
    given = event.get(name) or []
    return given if isinstance(given, list) else [given]


def _coordinates(event: Component) -> tuple[float, float] | None:
    """Its own coordinates, where it has any."""
    given: Any = event.get("GEO")
    known = hasattr(given, "latitude")  # else it was broken, and is kept as text
    return fields.parse_coordinates(given.latitude, given.longitude) if known else None


def _moments(event: Component) -> Iterator[Any]:
    """Every time of an event but its start, as icalendar holds it."""
    yield from (event[name] for name in ("DTEND", "RECURRENCE-ID") if name in event)
    for name in ("RDATE", "EXDATE"):
        for one in _all(event, name):
            yield from one.dts


def _end(start: date | datetime, event: Component) -> date | datetime | None:
    """The end, of the start's kind; None without one after the start."""
    end = event["DTEND"].dt if "DTEND" in event else None
    if end is None and "DURATION" in event:
        end = _after(start, event["DURATION"].dt)
    if end is None:
        return None
    if isinstance(start, datetime) and not isinstance(end, datetime):
        end = datetime.combine(end, time(), start.tzinfo)
    elif isinstance(end, datetime) and not isinstance(start, datetime):
        # the day on which it ends counts, unless it ends with the night
        end = end.date() + (_DAY if end.time() > time() else timedelta())
    return end if end > start else None


def _after(start: date | datetime, length: timedelta) -> date | datetime:
    """Days on the calendar, hours by the clock; whole days for a date."""
    if not isinstance(start, datetime):
        return start + timedelta(days=length.days + bool(length.seconds))
    hours = timedelta(seconds=length.seconds)
    then = (start + timedelta(days=length.days)).astimezone(UTC) + hours
    return then.astimezone(start.tzinfo)


def _until(value: date | datetime, start: date | datetime) -> date | datetime:
    """The end of a rule in the one way that is unambiguous; a day includes all its hours."""
    if not isinstance(start, datetime):
        return value.date() if isinstance(value, datetime) else value
    if not isinstance(value, datetime):
        value = datetime.combine(value, time(23, 59, 59))
    if value.tzinfo is None:
        value = value.replace(tzinfo=start.tzinfo)
    return value.astimezone(UTC)


def _align_recurrence_id(replacement: Component, master: Component) -> None:
    """Let a replacement name the date that it replaces as the master's dates are.

    Some programs name the day of an hour, others the midnight of a day.
    """
    replaced, start = replacement["RECURRENCE-ID"], master["DTSTART"].dt
    if isinstance(start, datetime) and not isinstance(replaced.dt, datetime):
        replaced.dt = datetime.combine(replaced.dt, start.timetz())
    elif isinstance(replaced.dt, datetime) and not isinstance(start, datetime):
        replaced.dt = replaced.dt.date()


def _span(event: Component) -> tuple[When, When | None, bool]:
    """Start, end and whether it is all-day; the end of whole days is given as the day after."""
    start = event["DTSTART"].dt
    end = event["DTEND"].dt if "DTEND" in event else start
    if isinstance(start, datetime):
        return When.of(start), When.of(end) if end > start else None, False
    return When(start), When(max(start, end - _DAY)), True
