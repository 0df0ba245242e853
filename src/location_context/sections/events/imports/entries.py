"""Entries: events as calendars, pages and tables hold them, before they have a place and an id.

`ics`, `jsonld` and `table` read them, in a process of their own (`expansion`).
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo

import msgspec

from location_context.gazetteer.zones import zone_at
from location_context.sections.events.fields import single_line
from location_context.sections.events.records import When
from location_context.sections.events.response import Category, EventStatus, Price

if TYPE_CHECKING:
    from collections.abc import Iterator

Format = Literal["ics", "jsonld", "csv"]


class Window(msgspec.Struct, frozen=True):
    """The dates that are read, both included, and the zone of times that name none.

    It is the last resort: an event's own place and the calendar's own zone come before it.
    """

    first: date
    last: date
    timezone: str


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One occurrence. `uid` names it in its source; `venue` and `address` are words."""

    uid: str
    title: str
    start: When
    end: When | None = None
    all_day: bool = False
    status: EventStatus = "confirmed"
    category: Category | None = None
    venue: str | None = None
    address: str | None = None
    lat: float | None = None
    lng: float | None = None
    url: str | None = None
    image: str | None = None
    price: Price | None = None


class Refused(msgspec.Struct, frozen=True):
    """What could not be read: where it stands, and why."""

    where: str
    why: str


def guarded(told: Iterator[Entry | Refused], where: str) -> Iterator[Entry | Refused]:
    """What is told of one event; that nobody foresaw how it is broken costs no other."""
    try:
        yield from told
    except Exception as error:  # noqa: BLE001  see above
        yield Refused(where, f"it cannot be read: {single_line(error, 120)}")


def own_zone(place: tuple[float, float]) -> ZoneInfo:
    """The zone whose clocks are kept at a place."""
    return ZoneInfo(zone_at(*place))


def when(text: str, zone: ZoneInfo) -> When:
    """A date or a moment as ISO 8601 has it; one without offset is on the clock of `zone`.

    Raises:
        ValueError: it is neither.
    """
    text = text.strip()
    if len(text) <= 10 and "T" not in text:
        return When(date.fromisoformat(text))
    given = datetime.fromisoformat(text.replace(" ", "T", 1))
    return When.of(given if given.tzinfo else given.replace(tzinfo=zone))


def is_within(start: When, end: When | None, window: Window) -> bool:
    """Whether an entry touches the window, give or take the day a zone may shift it."""
    last = end.day if end else start.day
    day = timedelta(days=1)
    return start.day <= window.last + day and last >= window.first - day


def amount(given: object) -> float | None:
    """A price, if it is a number that can be one."""
    try:
        number = float(str(given).replace(",", "."))
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None
