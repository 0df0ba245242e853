"""Times: an event's dates put in order before its series is expanded, and read off afterwards.

What a calendar leaves open is settled here, once: floating times get a clock (their own place's,
else the calendar's), a duration becomes an end, an end of the other kind is made the start's kind,
one that is not after its start is dropped.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

from icalendar.prop import vDDDTypes

from location_context.sections.events.imports.entries import own_zone
from location_context.sections.events.records import When

if TYPE_CHECKING:
    from collections.abc import Iterator

Component = Any  # icalendar's own type admits every kind of value under every name
_DAY = timedelta(days=1)


class Clock:
    """A calendar's clock: `own` when it names one itself, which its times in UTC then follow.

    `wall` is the clock of times that name none, where it is another one.
    """

    def __init__(self, zone: tzinfo, *, own: bool, wall: tzinfo | None = None) -> None:
        self._zone = zone
        self._wall = wall or zone
        self.own = own

    def at(self, place: tuple[float, float] | None) -> Clock:
        """The clock of what happens at a place of its own; this one where it has none."""
        return Clock(self._zone, own=self.own, wall=own_zone(place)) if place else self

    def of(self, value: Any) -> Any:
        """A date as it is, a moment with its zone, each part of a period likewise."""
        if isinstance(value, tuple):
            return tuple(self.of(one) for one in value)
        if not isinstance(value, datetime):
            return value
        if value.tzinfo is None:
            return value.replace(tzinfo=self._wall)
        utc = self.own and value.tzname() == "UTC"
        return value.astimezone(self._zone) if utc else value


def settle(event: Component, clock: Clock, series: Clock) -> None:
    """Put all times of an event on their clock, and its end in order.

    The date that it replaces is on the clock of its `series`.
    """
    start = event["DTSTART"].dt
    if isinstance(start, datetime) and start.tzinfo is None and "RECURRENCE-ID" in event:
        event["RECURRENCE-ID"].dt = series.of(event["RECURRENCE-ID"].dt)
    start = event["DTSTART"].dt = clock.of(start)
    if isinstance(start, datetime):
        clock = Clock(start.tzinfo or UTC, own=clock.own)  # one zone is often meant for all times
    for held in _times(event):
        held.dt = clock.of(held.dt)
    end = _end(start, event)
    for name in ("DTEND", "DURATION"):
        event.pop(name, None)
    if end is not None:
        event["DTEND"] = vDDDTypes(end)
    for rule in rules(event):
        if "UNTIL" in rule:
            rule["UNTIL"] = [_until(value, start) for value in rule["UNTIL"]]


def name_alike(replacement: Component, master: Component) -> None:
    """Let an event that replaces a date of another name it as the other's dates are.

    Some programs name the day of an hour, others the midnight of a day.
    """
    named, start = replacement["RECURRENCE-ID"], master["DTSTART"].dt
    if isinstance(start, datetime) and not isinstance(named.dt, datetime):
        named.dt = datetime.combine(named.dt, start.timetz())
    elif isinstance(named.dt, datetime) and not isinstance(start, datetime):
        named.dt = named.dt.date()


def rules(event: Component) -> list[Component]:
    """Its RRULEs."""
    given = event.get("RRULE") or []
    return given if isinstance(given, list) else [given]


def read(event: Component) -> tuple[When, When | None, bool]:
    """Start, end and whether it is all-day; the end of whole days is given as the day after."""
    start = event["DTSTART"].dt
    end = event["DTEND"].dt if "DTEND" in event else start
    if isinstance(start, datetime):
        return When.of(start), When.of(end) if end > start else None, False
    return When(start), When(max(start, end - _DAY)), True


def _times(event: Component) -> Iterator[Any]:
    for name in ("DTEND", "RECURRENCE-ID"):
        if name in event:
            yield event[name]
    for name in ("RDATE", "EXDATE"):
        given = event.get(name) or []
        for one in given if isinstance(given, list) else [given]:
            yield from one.dts


def _end(start: date | datetime, event: Component) -> date | datetime | None:
    end = event["DTEND"].dt if "DTEND" in event else None
    if end is None and "DURATION" in event:
        end = _after(start, event["DURATION"].dt)
    if end is None:
        return None
    if isinstance(start, datetime):
        if not isinstance(end, datetime):
            end = datetime.combine(end, time(), start.tzinfo)
        return end if end > start else None
    if isinstance(end, datetime):  # the day on which it ends counts, unless it ends with the night
        end = end.date() + (_DAY if end.time() > time() else timedelta())
    return end if end > start else None


def _until(value: date | datetime, start: date | datetime) -> date | datetime:
    """The end of a rule in the one way that is unambiguous; a day includes all its hours."""
    if not isinstance(start, datetime):
        return value.date() if isinstance(value, datetime) else value
    if not isinstance(value, datetime):
        value = datetime.combine(value, time(23, 59, 59))
    if value.tzinfo is None:
        value = value.replace(tzinfo=start.tzinfo)
    return value.astimezone(UTC)


def _after(start: date | datetime, length: timedelta) -> date | datetime:
    """Days on the calendar, hours by the clock; whole days for a date."""
    if not isinstance(start, datetime):
        return start + timedelta(days=length.days + bool(length.seconds))
    hours = timedelta(seconds=length.seconds)
    then = (start + timedelta(days=length.days)).astimezone(UTC) + hours
    return then.astimezone(start.tzinfo)
