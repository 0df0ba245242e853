"""Calendars (ICS): reads single and repeating events from an ICS file.

icalendar parses the file, and recurring-ical-events computes the dates of each series (repeating
event). Single events are read before series. Each series may use 0.5 s of processor time. Once the
series that yielded no event have used 3 s together, each later series may use only 0.03 s. So
hostile repetition rules, which use time and yield no event, cannot stop the import.
"""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, time, timedelta, tzinfo
from itertools import islice
from time import process_time
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import recurring_ical_events
from icalendar import Calendar

from location_context.sections.events import fields
from location_context.sections.events.imports import reading
from location_context.sections.events.records import OWN_SOURCE, Place, ProviderEvent, When

Component = Any  # icalendar's own type allows any value for any name
Series = Sequence[Component]  # an event that may repeat, and the events that replace dates of it

_SECONDS, _SECONDS_LATER = 0.5, 0.03  # processor time for a series
_MAX_IN_VAIN = 3.0  # seconds of processor time for series without any event
_MAX_OCCURRENCES = 2000  # of a series; five years if it repeats daily
_REPEATING = ("RRULE", "RDATE", "EXDATE", "RECURRENCE-ID")
_VITAL = {*_REPEATING, "DTSTART", "DTEND", "DURATION", "EXRULE"}
_DAY = timedelta(days=1)


def read_ics(data: bytes, task: reading.Task) -> reading.Found:
    """Yield the events of an ICS file that are within the task's dates.

    A repeating event becomes one event for each of its dates. For each unreadable entry, yield a
    rejection with the reason.
    """
    try:
        calendars = Calendar.from_ical(_unfolded(data), multiple=True)
    except (ValueError, RecursionError) as error:
        reason = f"the entry cannot be read: {fields.single_line(error, 120)}"
        yield reading.RejectedEntry("the calendar", reason)
        return
    if not calendars:
        yield reading.RejectedEntry("the calendar", "the file is not a calendar, or ends too early")
    pending = [one for calendar in calendars for one in _series(calendar)]
    in_vain = 0.0
    for series, zone in sorted(pending, key=lambda one: _repeats(one[0])):
        before = process_time()
        seconds = _SECONDS if in_vain < _MAX_IN_VAIN else _SECONDS_LATER
        found = _expanded(series, zone, task, seconds)
        yield from found
        if not any(isinstance(one, ProviderEvent) for one in found):
            in_vain += process_time() - before


def _unfolded(data: bytes) -> str:
    """Return an ICS file as text, in which lines that were split ("folded") are joined again.

    Lines are joined before decoding, since some programs split between the bytes of a character.
    """
    lines = b"\n".join(line for line in data.splitlines() if line)
    return reading.decode(lines.replace(b"\n ", b"").replace(b"\n\t", b""))


def _series(calendar: Component) -> Iterator[tuple[Series, ZoneInfo | None]]:
    """Yield each series of a calendar, with the calendar's time zone (None if it names no zone).

    A series is an event that may repeat, and the events that replace single dates of it. Some
    programs give all events one UID, so events with different starts count as different series.
    """
    if str(calendar.get("METHOD", "")).upper() == "CANCEL":
        return
    name = str(calendar.get("X-WR-TIMEZONE", ""))
    zone = ZoneInfo(name) if name in available_timezones() else None
    by_uid: dict[str, list[Component]] = {}
    for number, event in enumerate(calendar.walk("VEVENT")):
        by_uid.setdefault(str(event.get("UID", f"event {number}")), []).append(event)
    for events in by_uid.values():
        replacing = [event for event in events if "RECURRENCE-ID" in event]
        masters = [event for event in events if "RECURRENCE-ID" not in event]
        latest = max((event.get("SEQUENCE", 0) for event in masters), default=0)
        by_start = {
            str(one.get("DTSTART")): one for one in masters if one.get("SEQUENCE", 0) == latest
        }
        for series in [[one, *replacing] for one in by_start.values()] or [replacing]:
            yield series, zone


def _repeats(series: Series) -> bool:
    return len(series) > 1 or any(name in series[0] for name in _REPEATING)


def _expanded(
    series: Series, zone: ZoneInfo | None, task: reading.Task, seconds: float
) -> list[ProviderEvent | reading.RejectedEntry]:
    """Return the events of a series; if this takes over `seconds`, return only a rejection."""
    titles = (fields.strip_markup(event.get("SUMMARY"), 60) for event in series)
    title = next(filter(None, titles), "untitled")
    try:
        with cpu_time_limit(seconds):
            return list(reading.guard(_occurrences(series, title, zone, task), title))
    except CpuTimeExceeded:
        return [reading.RejectedEntry(title, "the recurrence rule takes too long to expand")]


class CpuTimeExceeded(BaseException):
    """Raised when a limit on processor time is reached.

    It is not a subclass of `Exception`: a library that catches `Exception` would continue.
    """


@contextmanager
def cpu_time_limit(seconds: float) -> Iterator[None]:
    """Raise `CpuTimeExceeded` if the `with` block takes more than `seconds` of processor time.

    It works only in the main thread. It raises the exception again every 0.1 s until the block
    ends, because an exception that is raised during garbage collection is lost.
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


def _occurrences(
    series: Series, title: str, zone: ZoneInfo | None, task: reading.Task
) -> reading.Found:
    """Yield an event for each date of a series within the task's dates.

    If the series is rejected, the message names it by its `title`. `zone` is the time zone that the
    ICS file names for all its events; None if the file names no zone.

    Raises:
        UnreadableEntry: the series cannot be read; the message says why.
    """
    calendar = Calendar()
    if zone:  # the library then converts times in UTC to this zone too
        calendar.add("X-WR-TIMEZONE", zone.key)
    for event in series:
        _check(event)
        named = getattr(event["DTSTART"].dt, "tzinfo", None)  # usually meant for all times
        _set_zone(event, named or reading.local_zone(_coordinates(event), zone or task.zone))
        if not _ends_after_start(event):
            event.pop("DTEND", None)
            event.pop("DURATION", None)
        calendar.add_component(event)
    first = datetime.combine(task.first, time(), task.zone) - _DAY
    last = datetime.combine(task.last, time(), task.zone) + 2 * _DAY
    found = recurring_ical_events.of(calendar).between(first, last)
    if len(found) > _MAX_OCCURRENCES:
        reason = f"only the first {_MAX_OCCURRENCES} dates of the event are stored"
        yield reading.RejectedEntry(title, reason)
    for occurrence in islice(found, _MAX_OCCURRENCES):
        yield from _event(occurrence, task)


def _event(event: Component, task: reading.Task) -> reading.Found:
    """Yield one date of a series as an event, or a rejection if its title is missing.

    Yield nothing if this date is cancelled or outside the task's dates.
    """
    if str(event.get("STATUS") or "").strip().upper() == "CANCELLED":
        return
    title = fields.strip_markup(event.get("SUMMARY"), fields.MAX_TITLE_LENGTH)
    if title is None:
        yield reading.RejectedEntry("untitled", "the title is missing")
        return
    start, end, all_day = _span(event)
    groups = _all(event, "CATEGORIES")
    words = (str(word) for group in groups for word in getattr(group, "cats", [group]))
    lat, lng = _coordinates(event) or (None, None)
    yield from task.placed(
        ProviderEvent(
            id=str(event.get("UID", title)),
            source=OWN_SOURCE,
            title=title,
            category=task.category(" ".join(words)),
            start=start,
            end=end,
            all_day=all_day,
            place=Place(name=fields.strip_markup(event.get("LOCATION")), lat=lat, lng=lng),
            url=fields.single_line(event.get("URL"), fields.MAX_URL_LENGTH),
            image=fields.single_line(event.get("IMAGE"), fields.MAX_URL_LENGTH),
        )
    )


def _check(event: Component) -> None:
    """Raise an error if the dates of an event cannot be computed.

    icalendar itself only records errors in `event.errors`.

    Raises:
        UnreadableEntry: the event has no start, has a broken time or a broken rule, has an
            `EXRULE`, or repeats every minute or second.
    """
    for name, reason in event.errors:
        broken = [name] if name else [vital for vital in _VITAL if vital in str(reason)]
        if not _VITAL.isdisjoint(broken):
            why = fields.single_line(reason, 120)
            raise reading.UnreadableEntry(f"the entry cannot be read: {why}")
    if "DTSTART" not in event:
        raise reading.UnreadableEntry("the start is missing")
    if "EXRULE" in event:
        raise reading.UnreadableEntry("the entry has an EXRULE, which is not supported")
    for rule in _all(event, "RRULE"):
        often = {str(freq).upper() for freq in rule.get("FREQ", [])} & {"SECONDLY", "MINUTELY"}
        if often:
            raise reading.UnreadableEntry(
                f"the event repeats {often.pop().lower()}, which is not supported"
            )


def _set_zone(event: Component, zone: tzinfo) -> None:
    """Set `zone` for an event's times that have no time zone."""
    for name in ("DTSTART", "DTEND", "RECURRENCE-ID", "RDATE", "EXDATE"):
        for given in _all(event, name):
            for moment in getattr(given, "dts", [given]):
                if isinstance(moment.dt, datetime) and moment.dt.tzinfo is None:
                    moment.dt = moment.dt.replace(tzinfo=zone)


def _ends_after_start(event: Component) -> bool:
    """Return True if the event's end is after its start, or its duration is positive.

    Return False also if neither is given, or if only one of start and end is a date.
    """
    start = event["DTSTART"].dt
    if "DTEND" not in event:
        return "DURATION" in event and event["DURATION"].dt > timedelta()
    end = event["DTEND"].dt
    return isinstance(start, datetime) == isinstance(end, datetime) and end > start


def _all(event: Component, name: str) -> list[Any]:
    """Return all values of an event's property, which may occur several times."""
    given = event.get(name) or []
    return given if isinstance(given, list) else [given]


def _coordinates(event: Component) -> tuple[float, float] | None:
    """Return the event's coordinates (`GEO`); None if they are missing or invalid."""
    given: Any = event.get("GEO")
    known = hasattr(given, "latitude")  # a broken value stays a text
    return fields.parse_coordinates(given.latitude, given.longitude) if known else None


def _span(event: Component) -> tuple[When, When | None, bool]:
    """Return the event's start, its end, and whether the event is all-day.

    The end of an all-day event is its last day, although ICS files state the day after.
    """
    start, end = event["DTSTART"].dt, event["DTEND"].dt
    if isinstance(start, datetime):
        return When.of(start), When.of(end) if end > start else None, False
    return When(start), When(max(start, end - _DAY)), True
