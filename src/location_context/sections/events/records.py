"""Records of the events section: an event, a calendar of the operator's, and their store.

The fields of `ProviderEvent`, `Place`, `When` and `Calendar` are stored as JSON by these names.
Records that are cached by the thousand are in no reference cycle (`gc=False`), so garbage
collection skips them.
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
OWN_SOURCE = "calendars"  # the provider of the operator's own events


class Place(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A venue with its known details."""

    name: str | None = None
    address: str | None = None
    lat: float | None = None
    lng: float | None = None


class When(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A date, or with `at` a moment on it; a date when all-day or when the time is not known."""

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
        """Return it as the response has it: a date, or the moment with the offset of `zone`."""
        return self.at.astimezone(zone) if self.at else self.day


class ProviderEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One event as one provider describes it.

    Attributes:
        id: the provider's own; with the start, unique within it.
        source: the provider's name.
        start, end: if `all_day`, dates, both included. A date otherwise: the time of day is
            unknown.
        scope: the area it concerns; a "region" or "country" event needs no place.
        country: ISO 3166-1, of an event with such a scope.
        regions: ISO 3166-2, of an event that only parts of the country observe.
        rank: weight from 0 to 100, logarithmic.
        url, image: as they came; the response leaves out what is not http or https.
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
        """True if it concerns a whole region or country, wherever in it the point lies."""
        return self.scope in {"region", "country"}

    def span(self, zone: ZoneInfo) -> tuple[date, date]:
        """Return the first and last date it touches, local to `zone`.

        An event that ends at midnight does not touch the day which then begins.
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
        sources: names of the providers that know it.
        first, last: the dates it touches at the point.
        distance: in km; None where its place is not known.
        uncertain: some regions or provinces observe it, and which one the point lies in is unknown.
        merged_from: the events of single providers that it was merged from.
    """

    details: ProviderEvent
    sources: tuple[str, ...]
    first: date
    last: date
    distance: float | None
    uncertain: bool
    merged_from: "tuple[LocalEvent, ...]" = ()

    def first_in(self, stay: Stay) -> date:
        """Return the date to list the event under: its first date inside the stay."""
        return max(self.first, stay.start)


class Calendar(msgspec.Struct, frozen=True, kw_only=True):
    """One of the operator's own sources: a file imported once, or a feed that is refreshed.

    Its place is that of events without one: a point, a region or a country. With `guide`,
    its events are shown only where a query names this guide: the events of one hotel. `attribution`
    is the notice that its licence requires. `list_path` is where a JSON file has the list of its
    events, `columns` the columns of a table by our field, the first choice first. `came_empty`: the
    last response of a feed was a calendar without events, and the earlier events stay. `digest`
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
        """The notice to show with its events; None if the operator gave none."""
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
    """Stores the operator's own calendars and their events, by place and time."""

    async def find_nearby(
        self, point: Point, radius: float, days: Stay, limit: int
    ) -> list[ProviderEvent]:
        """Return events that may lie within `radius` km of the point or concern its country.

        They may touch the days, by their own dates. At most `limit`; the selection checks them.
        """
        ...

    async def calendars(self) -> list[Calendar]:
        """Return all imports and feeds, by id."""
        ...

    async def replace(self, calendar: Calendar, new_events: Sequence[ProviderEvent]) -> None:
        """Store a calendar and its events in place of what it had.

        Every event has a place with coordinates, or a country.
        """
        ...

    async def update_calendar(self, calendar: Calendar) -> None:
        """Store changes of a calendar, if it still exists; its events stay."""
        ...

    async def remove(self, calendar_id: str) -> bool:
        """Delete a calendar and its events; return True if it existed."""
        ...

    async def claim(self, now: datetime, checked_before: datetime) -> Calendar | None:
        """Return a feed last checked before then, marked as checked now; one caller gets it."""
        ...
