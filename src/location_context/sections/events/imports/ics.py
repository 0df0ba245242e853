"""ICS: calendars (RFC 5545), each event expanded over the window, one series at a time.

A series is all that shares a UID; it has half a second of the processor. A rule that repeats every
minute without end is refused at once, one that never comes to its next date is stopped, and the
rest of the calendar is read all the same; events that happen once are read first. Expansion is by
recurring-ical-events.
"""

from __future__ import annotations

import re
import signal
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import recurring_ical_events
from icalendar import Calendar

from location_context.sections.events.imports.entries import (
    LONGEST_TITLE,
    Entry,
    Refused,
    Window,
    category_of,
    clipped,
    degrees,
    is_within,
)
from location_context.sections.events.records import When

if TYPE_CHECKING:
    from collections.abc import Iterator


Component = Any  # icalendar's own type admits every kind of value under every name
_SECONDS_A_SERIES = 0.5
_MOST_A_SERIES = 2000
_MOST_BYTES_AN_EVENT = 200_000
_REPEATS = ("RRULE", "RDATE", "EXDATE", "EXRULE", "RECURRENCE-ID")
_MARGIN = timedelta(days=2)
_EVENT = re.compile(rb"^BEGIN:VEVENT\r?\n.*?^END:VEVENT[ \t]*\r?\n", re.MULTILINE | re.DOTALL)
_DATES = re.compile(rb"^DT(?:START|END)[^:\r\n]*:(\d{8})", re.MULTILINE)
_REPEATING = re.compile(rb"^(?:RRULE|RDATE|EXDATE|EXRULE|RECURRENCE-ID|DURATION)", re.MULTILINE)
_WITHIN_AN_HOUR = {"SECONDLY", "MINUTELY"}


class _TookTooLong(Exception):
    """The alarm of a series went off."""


def read_ics(data: bytes, window: Window) -> Iterator[Entry | Refused]:
    """The occurrences within the window; what cannot be read is told with its reason."""
    try:
        wanted, refused = _worth_parsing(data, window)
        yield from refused
        calendars = Calendar.from_ical(wanted, multiple=True)
    except (ValueError, IndexError, KeyError, RecursionError) as error:
        yield Refused("the calendar", f"it is not one: {clipped(error, 120)}")
        return
    if not calendars:
        yield Refused("the calendar", "it is empty")
    for calendar in calendars:
        yield from _calendar(calendar, window)


def _worth_parsing(data: bytes, window: Window) -> tuple[bytes, list[Refused]]:
    """The calendar without events out of all proportion, or that happen once outside the window.

    Only their lines are looked at: parsing a kilobyte takes a millisecond, and most of a calendar
    that has been kept for years is past.
    """
    first = f"{window.first - _MARGIN:%Y%m%d}".encode()
    last = f"{window.last + _MARGIN:%Y%m%d}".encode()

    refused: list[Refused] = []

    def kept(block: re.Match[bytes]) -> bytes:
        lines = block[0]
        if len(lines) > _MOST_BYTES_AN_EVENT:
            refused.append(Refused(f"byte {block.start()}", f"one event of {len(lines)} bytes"))
            return b""
        dates = [day[1] for day in _DATES.finditer(lines)]
        once = dates and not _REPEATING.search(lines)
        return b"" if once and (max(dates) < first or min(dates) > last) else lines

    return _EVENT.sub(kept, data), refused


def _calendar(calendar: Component, window: Window) -> Iterator[Entry | Refused]:
    zone = _zone(calendar.get("X-WR-TIMEZONE")) or ZoneInfo(window.timezone)
    series: dict[str, list[Component]] = {}
    for number, event in enumerate(calendar.walk("VEVENT"), start=1):
        series.setdefault(str(event.get("UID") or f"event {number}"), []).append(event)
    for uid, events in sorted(series.items(), key=lambda item: _is_repeated(item[1])):
        try:
            with _alarm(_SECONDS_A_SERIES):
                found = list(_series(calendar, uid, events, window, zone))
        except _TookTooLong:
            yield Refused(_named(uid, events), "its rule takes too long to expand")
        except Exception as error:  # noqa: BLE001  a part that chokes on one event must not end the rest
            yield Refused(_named(uid, events), f"it cannot be read: {clipped(error, 120)}")
        else:
            yield from found


def _series(
    calendar: Component, uid: str, events: list[Component], window: Window, zone: ZoneInfo
) -> Iterator[Entry | Refused]:
    if too_often := [freq for event in events for freq in _too_often(event)]:
        yield Refused(_named(uid, events), f"it repeats {too_often[0].lower()}")
        return
    if not _is_repeated(events):
        yield from _entry(events[0], uid, zone, window)
        return
    alone = Calendar()
    if "X-WR-TIMEZONE" in calendar:
        alone["X-WR-TIMEZONE"] = calendar["X-WR-TIMEZONE"]
    for event in events:
        alone.add_component(event)
    start = datetime.combine(window.first, datetime.min.time(), zone) - timedelta(days=1)
    stop = datetime.combine(window.last, datetime.min.time(), zone) + timedelta(days=2)
    occurrences = recurring_ical_events.of(alone).between(start, stop)
    if len(occurrences) > _MOST_A_SERIES:
        yield Refused(_named(uid, events), f"only its first {_MOST_A_SERIES} dates are kept")
    for occurrence in islice(occurrences, _MOST_A_SERIES):
        yield from _entry(occurrence, uid, zone, window)


def _is_repeated(events: list[Component]) -> bool:
    return len(events) > 1 or any(name in events[0] for name in _REPEATS)


def _too_often(event: Component) -> Iterator[str]:
    """The frequencies of rules that repeat within an hour, and more often than is ever kept."""
    rules = event.get("RRULE") or []
    for rule in rules if isinstance(rules, list) else [rules]:
        few = 0 < max(map(int, rule.get("COUNT", [0]))) <= _MOST_A_SERIES
        if not few:
            yield from {str(freq).upper() for freq in rule.get("FREQ", [])} & _WITHIN_AN_HOUR


def _entry(event: Component, uid: str, zone: ZoneInfo, window: Window) -> Iterator[Entry | Refused]:
    if str(event.get("STATUS") or "").upper() == "CANCELLED":
        return
    if (title := clipped(event.get("SUMMARY"), LONGEST_TITLE)) is None:
        yield Refused(uid[:100], "it has no title")
        return
    start, end, all_day = _times(event, zone)
    if not is_within(start, end, window):
        return
    place = _geo(event.get("GEO"))
    venue = clipped(event.get("LOCATION"))
    yield Entry(
        uid=uid,
        title=title,
        start=start,
        end=end,
        all_day=all_day,
        category=category_of(_categories(event)),
        venue=venue,
        lat=place[0] if place else None,
        lng=place[1] if place else None,
        url=clipped(event.get("URL"), 2000),
        image=clipped(event.get("IMAGE"), 2000),
    )


def _times(event: Component, zone: ZoneInfo) -> tuple[When, When | None, bool]:
    """Start, end and whether it is all-day; the end of whole days is given as the day after."""
    start = event["DTSTART"].dt
    end = event["DTEND"].dt if "DTEND" in event else None
    if end is None and "DURATION" in event:
        end = start + event["DURATION"].dt
    if not isinstance(start, datetime):
        last = _day(end) - timedelta(days=1) if end is not None else start
        return When(start), When(max(start, last)), True
    zone = _zone(event["DTSTART"].params.get("TZID")) or zone
    first = _moment(start, zone)
    last_moment = _moment(end, zone) if isinstance(end, datetime) else None
    known = last_moment is not None and last_moment > first
    return When.of(first), When.of(last_moment) if known and last_moment else None, False


def _day(value: date | datetime) -> date:
    return value.date() if isinstance(value, datetime) else value


def _moment(value: datetime, zone: ZoneInfo) -> datetime:
    return value if value.tzinfo else value.replace(tzinfo=zone)


def _geo(given: Any) -> tuple[float, float] | None:
    return degrees(given.latitude, given.longitude) if hasattr(given, "latitude") else None


def _categories(event: Component) -> str:
    given = event.get("CATEGORIES")
    parts = given if isinstance(given, list) else [given] if given else []
    return " ".join(str(word) for part in parts for word in getattr(part, "cats", [part]))


def _zone(name: Any) -> ZoneInfo | None:
    """The zone of a name; None where there is no such zone."""
    try:
        return ZoneInfo(str(name)) if name else None
    except (KeyError, ValueError, OSError):
        return None


def _named(uid: str, events: list[Component]) -> str:
    title = next((clipped(event.get("SUMMARY"), 60) for event in events), None)
    return f"{title or 'untitled'} ({uid[:60]})"


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise `_TookTooLong` in the main thread after so much of the processor's time.

    It rings again until it is heard: what is raised while garbage is collected is lost.
    """
    armed = [True]

    def ring(*_: object) -> None:
        if armed:
            raise _TookTooLong

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.1)
    try:
        yield
    finally:
        armed.clear()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
