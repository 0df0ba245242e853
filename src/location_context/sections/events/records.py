"""Records of the events section: an event as one provider tells it, and an operator's calendar."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Literal

import msgspec

from location_context.sections.events.response import Category, EventStatus, Price, Scope

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_INSTANT = timedelta(microseconds=1)


class Place(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A venue: whatever is known of it."""

    name: str | None = None
    address: str | None = None
    lat: float | None = None
    lng: float | None = None


class When(msgspec.Struct, frozen=True, omit_defaults=True):
    """A date, or with `at` a moment on it; a date when all-day or when the time is not known."""

    day: date
    at: datetime | None = None

    @classmethod
    def of(cls, value: date | datetime) -> When:
        """From a date or an aware moment."""
        if isinstance(value, datetime):
            return cls(value.date(), value)
        return cls(value)

    def local_day(self, zone: ZoneInfo) -> date:
        """The date it is at `zone`."""
        return self.at.astimezone(zone).date() if self.at else self.day

    def local(self, zone: ZoneInfo) -> date | datetime:
        """As it is answered: a date, or the moment with the offset of `zone`."""
        return self.at.astimezone(zone) if self.at else self.day


class Told(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event as one provider tells it.

    All-day: dates, both included. A date with `all_day` false: the time is not known.
    """

    id: str
    source: str
    title: str
    category: Category
    start: When
    end: When | None = None
    all_day: bool = False
    status: EventStatus = "confirmed"
    place: Place | None = None
    scope: Scope = "point"
    country: str | None = None
    regions: tuple[str, ...] = ()
    rank: float | None = None
    url: str | None = None
    image: str | None = None
    price: Price | None = None

    def span(self, zone: ZoneInfo) -> tuple[date, date]:
        """The first and last date it touches, local to `zone`.

        An event that ends at midnight does not touch the day which then begins.
        """
        first = self.start.local_day(zone)
        if self.end is None:
            return first, first
        last = self.end.local_day(zone)
        if self.end.at and (self.start.at is None or self.end.at > self.start.at):
            last = (self.end.at - _INSTANT).astimezone(zone).date()
        return first, max(first, last)


class Calendar(msgspec.Struct, frozen=True, kw_only=True):
    """One of the operator's own sources: a file imported once, or a feed that is refreshed.

    Its place is where events go that name none: a point, a region or a country. `came_empty`: the
    last answer of a feed was a calendar without events, and it keeps those from before.
    """

    id: str
    kind: Literal["import", "feed"]
    source: str
    name: str | None = None
    lat: float | None = None
    lng: float | None = None
    country: str | None = None
    region: str | None = None
    timezone: str | None = None
    category: Category | None = None
    rows: int = 0
    imported_at: datetime | None = None
    checked_at: datetime | None = None
    failed_with: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    came_empty: bool = False


def degrees(lat: object, lng: object) -> tuple[float, float] | None:
    """Coordinates, if both are numbers within bounds and not the 0, 0 of a form left empty."""
    try:
        pair = float(str(lat)), float(str(lng))
    except ValueError:
        return None
    if not (-90 <= pair[0] <= 90 and -180 <= pair[1] <= 180) or pair == (0, 0):
        return None
    return pair
