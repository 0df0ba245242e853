"""Entries: what calendars, pages and tables hold, as events or as rejections.

`ics`, `jsonld` and `table` read them, in a process of their own (`sandbox`).
"""

import codecs
import hashlib
from collections.abc import Iterator
from datetime import date, datetime, timedelta, tzinfo
from typing import Any, Literal, Self, TypeVar
from zoneinfo import ZoneInfo

import msgspec

from location_context.gazetteer.zones import zone_at
from location_context.sections.addresses import web_address
from location_context.sections.events.fields import single_line
from location_context.sections.events.records import (
    OWN_SOURCE,
    Calendar,
    Place,
    ProviderEvent,
    When,
)
from location_context.sections.events.response import Category, Price

_DAY = timedelta(days=1)
_BEFORE, _AHEAD = timedelta(days=31), timedelta(days=3 * 366)
# "never" in other programs; zones shift
_MIN_DATE, _MAX_DATE = date(1000, 1, 1), date(9000, 12, 31)
Zone = TypeVar("Zone", bound=tzinfo)
Format = Literal["ics", "jsonld", "csv"]


class Reading(msgspec.Struct, frozen=True):
    """What is read of a calendar: the events that touch the dates, both included.

    What an event does not say (its place, its category, the zone of its times), the calendar says.
    """

    calendar: Calendar
    first: date
    last: date

    @classmethod
    def at(cls, calendar: Calendar, today: date) -> Self:
        """Return what is kept: a month back and three years ahead."""
        return cls(calendar, today - _BEFORE, today + _AHEAD)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.calendar.timezone or "UTC")

    def touches(self, start: When, end: When | None) -> bool:
        """Return whether an event is read, give or take the day a zone may shift it."""
        last = end.day if end else start.day
        return start.day <= self.last + _DAY and last >= self.first - _DAY

    def event(  # noqa: PLR0913  what a source may say of an event
        self,
        *,
        uid: str,
        title: str,
        start: When,
        end: When | None = None,
        venue: str | None = None,
        address: str | None = None,
        coordinates: tuple[float, float] | None = None,
        category: Category | None = None,
        url: str | None = None,
        image: str | None = None,
        **more: Any,
    ) -> ProviderEvent:
        """Return the event at its place, or at its calendar's.

        `uid` names it in its source, `coordinates` are its latitude and longitude; `more` are other
        fields of `ProviderEvent`.

        Raises:
            UnreadableEntry: it has no place, or began in another age.
        """
        calendar = self.calendar
        lat, lng = coordinates or (calendar.lat, calendar.lng)
        placed = lat is not None and lng is not None
        if not placed and not calendar.country:
            raise UnreadableEntry("it names no place, and neither does the calendar")
        if start.day < _MIN_DATE:
            raise UnreadableEntry(f"its start is before {_MIN_DATE}")
        name = f"{uid} {start.at or start.day}"
        place = Place(name=venue, address=address, lat=lat, lng=lng)
        return ProviderEvent(
            id=f"{calendar.id}:{hashlib.blake2b(name.encode(), digest_size=10).hexdigest()}",
            source=OWN_SOURCE,
            title=title,
            category=category or calendar.category or "other",
            start=start,
            end=end if end is None or end.day <= _MAX_DATE else When(_MAX_DATE),
            place=place if placed or venue or address else None,
            scope="point" if placed else "region" if calendar.region else "country",
            country=None if placed else calendar.country,
            regions=(calendar.region,) if calendar.region and not placed else (),
            url=web_address(url),
            image=web_address(image),
            **more,
        )


class RejectedEntry(msgspec.Struct, frozen=True, rename={"location": "where", "reason": "why"}):
    """What could not be read: where it stands in the source, and why.

    The `events` commands print it as JSON, whose fields are `where` and `why`.
    """

    location: str
    reason: str


Entries = Iterator[ProviderEvent | RejectedEntry]


class UnreadableEntry(Exception):
    """Why an entry is rejected, as part of a sentence: "it has no title"."""


def guard(entries: Entries, location: str) -> Entries:
    """The entries of one event; whatever is wrong with it costs no other."""
    try:
        yield from entries
    except UnreadableEntry as error:
        yield RejectedEntry(location, str(error))
    except Exception as error:  # noqa: BLE001  also what nobody foresaw
        yield RejectedEntry(location, f"it cannot be read: {single_line(error, 120)}")


def local_zone(coordinates: tuple[float, float] | None, otherwise: Zone) -> ZoneInfo | Zone:
    """The time zone at a latitude and longitude, or the other one where they are not known."""
    return ZoneInfo(zone_at(*coordinates)) if coordinates else otherwise


def parse_times(start: str, end: str | None, zone: ZoneInfo) -> tuple[When, When | None]:
    """Start and end from ISO 8601, each a date or a moment; one without offset is in `zone`.

    Raises:
        UnreadableEntry: one of them is neither; an end that is missing is None or "".
    """

    def parse(text: str) -> When:
        text = text.strip()
        if len(text) <= 10 and "T" not in text:
            return When(date.fromisoformat(text))
        moment = datetime.fromisoformat(text)
        return When.of(moment if moment.tzinfo else moment.replace(tzinfo=zone))

    try:
        return parse(start), parse(end) if end else None
    except ValueError:
        raise UnreadableEntry(f"its dates cannot be read: {single_line(start, 40)}") from None


def parse_price(low: object, high: object, currency: object) -> Price | None:
    """A price range, if either end is a number that can be a price."""
    bounds = _amount(low), _amount(high)
    if bounds == (None, None):
        return None
    return Price(min=bounds[0], max=bounds[1], currency=single_line(currency, 3))


def _amount(value: object) -> float | None:
    try:
        number = float(str(value).replace(",", "."))
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None


def to_utf8(data: bytes) -> bytes:
    """UTF-16 recoded, a mark dropped; bytes that are not UTF-8 stay, for `decode_line`."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif (data[:1] == b"\0") != (data[1:2] == b"\0"):
        encoding = "utf-16-be" if data[:1] == b"\0" else "utf-16-le"
    else:
        return data.removeprefix(codecs.BOM_UTF8)
    return data.decode(encoding, "replace").encode("utf-8", "replace")


def decode_line(line: bytes) -> str:
    """A line as UTF-8, or as Windows wrote it before that."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")
