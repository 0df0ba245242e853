"""Reading a calendar: every series by itself, the short ones first, none with more than its time.

What happens once comes before what repeats. Each series first gets a moment of the processor, and
half a second when all others are done, until three seconds of these were in vain: hostile rules
cost nobody but themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from location_context.sections.events.fields import single_line
from location_context.sections.events.imports.entries import Entry, Refused, Window
from location_context.sections.events.imports.ics.lines import Lines, Part, calendars_of
from location_context.sections.events.imports.ics.patience import TookTooLongError, patience
from location_context.sections.events.imports.ics.series import Series, UnreadableError
from location_context.sections.events.imports.ics.times import Clock
from location_context.sections.events.imports.ics.zones import Zones, zone_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROUNDS = (0.03, 0.5)
_IN_VAIN = 6  # series whose second round may fail


def read_ics(data: bytes, window: Window) -> Iterator[Entry | Refused]:
    """The occurrences within the window; what cannot be read is told with its reason."""
    calendars = calendars_of(data)
    if not any(one.events or one.complete for one in calendars):
        yield Refused("the calendar", "it is not one")
    zone = ZoneInfo(window.timezone)
    waiting: list[Series] = []
    for calendar in calendars:
        if calendar.properties.get("CALSCALE", "GREGORIAN").upper() != "GREGORIAN":
            yield Refused("the calendar", "its dates are not Gregorian")
        elif calendar.properties.get("METHOD", "").upper() != "CANCEL":
            waiting += _series(calendar, zone)
    waiting = [one for one in waiting if not one.is_over(window)]
    waiting.sort(key=lambda one: (one.repeats, one.size))
    yield from _in_rounds(waiting, window, zone)


def _in_rounds(waiting: list[Series], window: Window, zone: ZoneInfo) -> Iterator[Entry | Refused]:
    for seconds in _ROUNDS:
        late: list[Series] = []
        for series in waiting:
            if seconds == _ROUNDS[-1] and len(late) >= _IN_VAIN:
                late.append(series)
                continue
            try:
                with patience(seconds):
                    found = list(series.occurrences(window, zone))
            except TookTooLongError:
                series.zones.forget()
                late.append(series)
            except UnreadableError as error:
                yield Refused(series.where, str(error))
            except Exception as error:  # noqa: BLE001  a part that chokes on one event must not end the rest
                yield Refused(series.where, f"it cannot be read: {single_line(error, 120)}")
            else:
                yield from found
        waiting = late
    for series in waiting:
        yield Refused(series.where, "its rule takes too long to expand")


def _series(calendar: Lines, zone: ZoneInfo) -> list[Series]:
    own = zone_of(calendar.properties.get("X-WR-TIMEZONE", ""))
    clock, zones = Clock(own or zone, own=own is not None), Zones(calendar.zones)
    parts: dict[str, list[Part]] = {}
    for count, part in enumerate(calendar.events, start=1):
        parts.setdefault(part.value("UID") or f"event {count}", []).append(part)
    return [
        Series(uid, together, zones, clock)
        for uid, named_alike in parts.items()
        for together in _apart(named_alike)
    ]


def _apart(parts: list[Part]) -> list[list[Part]]:
    """Events of one UID, each with what replaces dates of it.

    Of several versions the latest counts. Without a version, two that begin at different times are
    two events: some programs give all they write the same UID.
    """
    replacing = [part for part in parts if part.value("RECURRENCE-ID")]
    masters = [part for part in parts if not part.value("RECURRENCE-ID")]
    latest = max((_version(part) for part in masters), default=0)
    starts = {part.value("DTSTART"): part for part in masters if _version(part) == latest}
    return [[master, *replacing] for master in starts.values()] or [replacing]


def _version(part: Part) -> int:
    given = part.value("SEQUENCE")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0
