"""Records of the events section: an event as one provider tells it, and an operator's calendar."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Literal

import msgspec

from location_context.sections.events.response import Category, EventStatus, Price, Scope

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_DAY = timedelta(days=1)


class Place(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A venue: whatever is known of it."""

    name: str | None = None
    address: str | None = None
    lat: float | None = None
    lng: float | None = None


class Told(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event as one provider tells it.

    `start` and `end` are aware moments, or dates. All-day: dates, both included. A date with
    `all_day` false: the time is not known.
    """

    id: str
    source: str
    title: str
    category: Category
    start: date | datetime
    end: date | datetime | None = None
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
        first = _local_date(self.start, zone)
        if self.end is None:
            return first, first
        last = _local_date(self.end, zone)
        if isinstance(self.end, datetime) and self.end > _moment(self.start, zone):
            last = (self.end.astimezone(zone) - timedelta(microseconds=1)).date()
        return first, max(first, last)


class Calendar(msgspec.Struct, frozen=True, kw_only=True):
    """One of the operator's own sources: a file imported once, or a feed that is refreshed.

    Its place is where events go that name none: a point, a region or a country.
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


def _local_date(when: date | datetime, zone: ZoneInfo) -> date:
    return when.astimezone(zone).date() if isinstance(when, datetime) else when


def _moment(when: date | datetime, zone: ZoneInfo) -> datetime:
    if isinstance(when, datetime):
        return when
    return datetime(when.year, when.month, when.day, tzinfo=zone)
