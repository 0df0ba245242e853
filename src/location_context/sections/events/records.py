"""Records of the events section: an event, an operator's calendar, and the store of both.

The fields of `ProviderEvent`, `Place`, `When` and `Calendar` are stored as JSON under these names.
Garbage collection skips records that are cached by the thousand (`gc=False`): they have no
reference cycles.
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
    """A venue with its known details."""

    name: str | None = None
    address: str | None = None
    lat: float | None = None
    lng: float | None = None


class When(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A date, with its moment `at` if the time is known and the event is not all-day."""

    day: date
    at: datetime | None = None

    @classmethod
    def of(cls, value: date | datetime) -> "When":
        """Build from a date or an aware moment."""
        if isinstance(value, datetime):
            return cls(value.date(), value)
        return cls(value)

    def local_day(self, zone: ZoneInfo) -> date:
        """Return the local date in `zone`."""
        return self.at.astimezone(zone).date() if self.at else self.day

    def local(self, zone: ZoneInfo) -> date | datetime:
        """Return the value for the response: a date, or the moment with the offset of `zone`."""
        return self.at.astimezone(zone) if self.at else self.day


class ProviderEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One event as one provider describes it.

    Attributes:
        id: the provider's id; unique within the provider together with the start.
        source: the provider's name.
        start, end: if `all_day`, dates, both included. If a date is not `all_day`, its time is
            unknown.
        scope: the area it concerns; a "region" or "country" event needs no place.
        country: ISO 3166-1 code of the country, for an event of a region or country.
        regions: ISO 3166-2 codes, if only parts of the country observe the event.
        rank: importance from 0 to 100, logarithmic.
        url, image: addresses from the provider; the response omits any that are not http(s).
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
        """True if the event concerns a whole region or country, so that distance is ignored."""
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
    """An event in relation to a point.

    Attributes:
        details: the event itself.
        sources: names of the providers that list the event.
        first, last: its first and last date, local to the point.
        distance: distance from the point in km; None if the event's place is unknown.
        uncertain: True if only some regions observe it, and the point's region is unknown.
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
        """Return the date under which the event is listed: its first date inside the stay."""
        return max(self.first, stay.start)


class Calendar(msgspec.Struct, frozen=True, kw_only=True):
    """One of the operator's own sources: a file imported once, or a feed that is refreshed.

    Its place (a point, region or country) is used for events that have none. If `guide` is set, its
    events are shown only for queries that name this guide, such as a hotel's. `attribution` is the
    notice that its licence requires. `list_path` is the path of the list of events in a JSON file.
    `columns` are the columns to read for each field, in order of preference. `came_empty` is True
    if a feed's last response had no events, so that its earlier events were kept. `digest`
    identifies its events.
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
        """The notice to show with its events; None if the operator has set none."""
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
        """Return at most `limit` events on `days` near the point, or of its whole country.

        Near is within about `radius` km. `selection` checks place and dates exactly.
        """
        ...

    async def calendars(self) -> list[Calendar]:
        """Return all imports and feeds, by id."""
        ...

    async def replace(self, calendar: Calendar, new_events: Sequence[ProviderEvent]) -> None:
        """Store a calendar with `new_events`, which replace its earlier events.

        Every event must have a place with coordinates, or a country.
        """
        ...

    async def update_calendar(self, calendar: Calendar) -> None:
        """Store a calendar's changed fields, if it still exists, and leave its events."""
        ...

    async def remove(self, calendar_id: str) -> bool:
        """Delete a calendar and its events; return True if it existed."""
        ...

    async def claim(self, now: datetime, checked_before: datetime) -> Calendar | None:
        """Return, to one caller only, a feed last checked before then; mark it as checked `now`."""
        ...
