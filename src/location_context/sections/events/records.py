"""Records of the events section: an event, an operator's calendar, and the store of both.

The fields of `ProviderEvent`, `Place`, `When` and `Calendar` are stored as JSON under these names.
Structs that are cached by the thousand have `gc=False`: they have no reference cycles, so garbage
collection need not visit them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal, Protocol
from zoneinfo import ZoneInfo

import msgspec

from location_context.point import Point
from location_context.sections.addresses import web_address
from location_context.sections.contract import Attribution
from location_context.sections.events.response import Category, EventStatus, Price, Scope
from location_context.stay import Stay

_INSTANT = timedelta(microseconds=1)
OWN_SOURCE = "calendars"  # name of the provider of the operator's own events


class Place(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A venue; details that are not known are None."""

    name: str | None = None
    address: str | None = None
    lat: float | None = None
    lng: float | None = None


class When(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The start or end of an event: a date, and the exact time `at` if it is known.

    An all-day event has no `at`.
    """

    day: date
    at: datetime | None = None

    @classmethod
    def of(cls, value: date | datetime) -> "When":
        """Return a `When` for a date, or for a time that has a time zone."""
        if isinstance(value, datetime):
            return cls(value.date(), value)
        return cls(value)

    def local_day(self, zone: ZoneInfo) -> date:
        """Return the date in the time zone `zone`; if the time is unknown, the date `day`."""
        return self.at.astimezone(zone).date() if self.at else self.day

    def local(self, zone: ZoneInfo) -> date | datetime:
        """Return the time in `zone`; if the time is unknown, the date."""
        return self.at.astimezone(zone) if self.at else self.day


class ProviderEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One event as one provider describes it.

    Attributes:
        id: the provider's id; no two events of the provider have the same id and start.
        source: the provider's name.
        start, end: the times at which it starts and ends. An end without a time is the last date.
        all_day: True if it lasts for whole days. If False and `start` has no time, its time of day
            is unknown.
        scope: the area that the event concerns; for "region" and "country", no place is needed.
        country: ISO 3166-1 code of the country, for an event of a region or country.
        regions: ISO 3166-2 codes, if only parts of the country observe the event.
        rank: importance from 0 to 100, on a logarithmic scale.
        url, image: URLs from the provider; the response omits a URL that is not http(s).
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

    @property
    def is_wide(self) -> bool:
        """True if the event concerns a whole region or country; its distance does not matter."""
        return self.scope in {"region", "country"}

    def span(self, zone: ZoneInfo) -> tuple[date, date]:
        """Return the first and last date of the event, local to `zone`.

        If an event ends at midnight, its last date is the day before.
        """
        first = self.start.local_day(zone)
        if self.end is None:
            return first, first
        last = self.end.local_day(zone)
        if self.end.at and (self.start.at is None or self.end.at > self.start.at):
            last = (self.end.at - _INSTANT).astimezone(zone).date()
        return first, max(first, last)


@dataclass(frozen=True)
class LocalEvent:
    """An event as seen from a point: with dates local to the point, and the distance to it.

    Attributes:
        details: the event itself.
        sources: names of the providers that list the event.
        first, last: its first and last date, local to the point.
        distance: distance from the point in km; None if the event's place is unknown.
        uncertain: True if only some regions observe the event, and the point's region is unknown.
        merged_from: the events of single providers that were merged into this one.
    """

    details: ProviderEvent
    sources: tuple[str, ...]
    first: date
    last: date
    distance: float | None
    uncertain: bool
    merged_from: "tuple[LocalEvent, ...]" = ()

    def first_in(self, stay: Stay) -> date:
        """Return the event's first date inside the stay, under which it is listed."""
        return max(self.first, stay.start)


class Calendar(msgspec.Struct, frozen=True, kw_only=True):
    """A source of the operator's own events: a file imported once, or a feed that is refreshed.

    Attributes:
        lat, lng, country, region: the calendar's place, for events that have none.
        guide: if set, the events are shown only for queries that name this restaurant guide.
        attribution: the notice that the licence requires.
        list_path: in a JSON file, the path of keys to the list of events, such as `data.events`.
        columns: the columns to read for each field, in order of preference.
        came_empty: True if the last response of a feed had no events; the events of the previous
            response are then still stored.
        digest: a hash of the events.
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
    guide: str | None = None
    attribution: str = ""
    attribution_url: str | None = None
    license: str | None = None
    list_path: str | None = None
    columns: dict[str, list[str]] = msgspec.field(default_factory=dict)
    rows: int = 0
    imported_at: datetime | None = None
    checked_at: datetime | None = None
    failed_with: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    came_empty: bool = False
    digest: str | None = None

    @property
    def notice(self) -> Attribution | None:
        """The licence notice to show with the calendar's events; None if the operator set none."""
        if not self.attribution:
            return None
        return Attribution(
            name=self.attribution,
            url=web_address(self.attribution_url),
            license=self.license,
            text=self.attribution,
            adapted=True,  # fields chosen, categories mapped, duplicates merged
        )


class EventStore(Protocol):
    """A store of the operator's calendars and their events, searched by place and time."""

    async def find_nearby(
        self, point: Point, radius: float, days: Stay, limit: int
    ) -> list[ProviderEvent]:
        """Return at most `limit` events on `days` that are near the point.

        An event is near if it is within about `radius` km, or if it has no coordinates and is in
        the same country. The module `selection` later checks place and dates exactly.
        """
        ...

    async def calendars(self) -> list[Calendar]:
        """Return all calendars (imports and feeds), sorted by id."""
        ...

    async def replace(self, calendar: Calendar, new_events: Sequence[ProviderEvent]) -> None:
        """Store a calendar and its events in place of its earlier events.

        Every event must have a place with coordinates, or a country.
        """
        ...

    async def update_calendar(self, calendar: Calendar) -> None:
        """Store the changed fields of a calendar, if it still exists; its events stay unchanged."""
        ...

    async def remove(self, calendar_id: str) -> bool:
        """Delete a calendar and its events; return True if it existed."""
        ...

    async def claim(self, now: datetime, checked_before: datetime) -> Calendar | None:
        """Return a feed last checked before `checked_before`, and mark it as checked at `now`.

        Several servers may call this in parallel: each feed is returned to only one of them. Return
        None if no feed needs a check.
        """
        ...
