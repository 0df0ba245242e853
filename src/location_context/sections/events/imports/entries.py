"""Entries: events as calendars, pages and tables hold them, before they have a place and an id.

`ics`, `jsonld` and `table` read them, in a process of their own (`sandbox`).
"""

import codecs
from collections.abc import Iterator
from datetime import date, datetime, timedelta, tzinfo
from typing import Literal, TypeVar
from zoneinfo import ZoneInfo

import msgspec

from location_context.gazetteer.zones import zone_at
from location_context.sections.events.fields import single_line
from location_context.sections.events.records import When
from location_context.sections.events.response import Category, EventStatus, Price

Zone = TypeVar("Zone", bound=tzinfo)
Format = Literal["ics", "jsonld", "csv"]


class Window(msgspec.Struct, frozen=True):
    """The dates that are read, both included, and the zone of times that name none.

    It is the last resort: an event's own place and the calendar's own zone come before it.
    """

    first: date
    last: date
    timezone: str


class CalendarEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One occurrence.

    Attributes:
        uid: what names it in its source.
        venue, address: texts.
        coordinates: latitude and longitude.
    """

    uid: str
    title: str
    start: When
    end: When | None = None
    all_day: bool = False
    status: EventStatus = "confirmed"
    category: Category | None = None
    venue: str | None = None
    address: str | None = None
    coordinates: tuple[float, float] | None = None
    url: str | None = None
    image: str | None = None
    price: Price | None = None


class RejectedEntry(msgspec.Struct, frozen=True, rename={"location": "where", "reason": "why"}):
    """What could not be read: where it stands in the source, and why.

    The `events` commands print it as JSON, whose fields are `where` and `why`.
    """

    location: str
    reason: str


Entries = Iterator[CalendarEntry | RejectedEntry]


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


def is_within(start: When, end: When | None, window: Window) -> bool:
    """Whether an entry touches the window, give or take the day a zone may shift it."""
    last = end.day if end else start.day
    day = timedelta(days=1)
    return start.day <= window.last + day and last >= window.first - day


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
