"""Zones: what a calendar's names of time zones mean.

In this order: the name itself where IANA has it, the calendar's own VTIMEZONE, names of Windows,
an IANA name behind a vendor's prefix, an offset, and a list of cities as Outlook shows it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING
from uuid import uuid4
from zoneinfo import ZoneInfo, available_timezones

from icalendar import Timezone
from icalendar.timezone import tzp
from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from location_context.sections.events.imports.ics.lines import Line, Part

_OFFSET = re.compile(r"\(?(?:UTC|GMT|Z)?([+-]\d{1,2}):?(\d{2})?\)?", re.IGNORECASE)
_CITIES = re.compile(r"\((?:UTC|GMT)([+-]\d{2}):?(\d{2})\)\s*(.+)", re.IGNORECASE)
_TZID = re.compile(r';\s*TZID\s*=\s*("[^"]*"|[^;]*)', re.IGNORECASE)
_VALUE = re.compile(r";\s*VALUE\s*=\s*\"?DATE(?:-TIME)?\"?(?=;|$)", re.IGNORECASE)
_LONG_AGO = re.compile(r"(:)1[0-8]\d\d((?!0229)\d{4}T)")
_MOST_BYTES = 50_000


class Zones:
    """The zones of one calendar, its own definitions kept apart from other calendars'."""

    def __init__(self, parts: list[Part]) -> None:
        self._parts = {part.value("TZID").strip('"'): part for part in parts}
        self._names: dict[str, str | None] = {}

    def forget(self) -> None:
        """Define its zones anew: an alarm that rang within one may have left its lock closed."""
        self._names.clear()

    def rewritten(self, line: str) -> str:
        """A line of times with its TZID as the parser knows it; none where no clock is known.

        The shape of a value tells a date from a time, so a VALUE that says otherwise is dropped.
        """
        head, _, value = line.rpartition(":")  # Outlook's names hold colons, and no time does
        given = _TZID.search(head)
        name = self._name(given[1].strip().strip('"')) if given else None
        head = _VALUE.sub("", _TZID.sub("", head))
        return f"{head};TZID={name}:{value}" if name else f"{head}:{value}"

    def _name(self, tzid: str) -> str | None:
        if tzid not in self._names:
            self._names[tzid] = self._found(tzid)
        return self._names[tzid]

    def _found(self, tzid: str) -> str | None:
        if (part := self._parts.get(tzid)) and not _exists(tzid):
            return self._defined(tzid, part)
        zone = zone_of(tzid)
        return zone.key if zone else None

    def _defined(self, tzid: str, part: Part) -> str | None:
        """Have the parser know the calendar's own zone, by a name that no other calendar has."""
        name = f"zone-{uuid4().hex}"
        lines = [f"TZID:{name}"] + [_recent(line) for line in part.lines if line.name != "TZID"]
        try:
            if part.size() <= _MOST_BYTES:
                Timezone.from_ical("\r\n".join(["BEGIN:VTIMEZONE", *lines, "END:VTIMEZONE", ""]))
            new_year = datetime(2026, 1, 1)  # noqa: DTZ001  on the clock that is tried
            if tzp.localize(new_year, name).utcoffset() is not None:
                return name
        except (ValueError, KeyError, IndexError, AttributeError, TypeError):
            pass  # it is defined in a way that nobody understands
        known = zone_of(tzid)
        return known.key if known else None


def _recent(line: Line) -> str:
    """A line of a definition; one that begins in 1601, as Outlook's do, costs 425 years to walk."""
    return _LONG_AGO.sub(r"\g<1>1970\g<2>", line.text) if line.name == "DTSTART" else line.text


@cache
def zone_of(name: str) -> ZoneInfo | None:
    """The zone that a name means; None where none is known."""
    cleaned = name.strip().strip('"').strip("/")
    tails = [cleaned.split("/", cut)[-1] for cut in range(cleaned.count("/") + 1)]
    for one in (cleaned, WINDOWS_TO_OLSON.get(cleaned, ""), *tails):
        if (key := _iana().get(one.lower())) is not None:
            return ZoneInfo(key)
    return _of_offset(cleaned) or _of_cities(cleaned)


def _of_offset(name: str) -> ZoneInfo | None:
    """Whole hours only, as IANA has them: Etc/GMT with the sign the other way round."""
    given = _OFFSET.fullmatch(name)
    if given is None or (given[2] or "00") != "00":
        return None
    hours = int(given[1])
    return ZoneInfo(_iana().get(f"etc/gmt{-hours:+d}", "UTC")) if hours else ZoneInfo("UTC")


def _of_cities(name: str) -> ZoneInfo | None:
    """What Outlook shows: the first of its places that has a zone of that standard offset."""
    if not (given := _CITIES.fullmatch(name)):
        return None
    sign = -1 if given[1].startswith("-") else 1
    offset = timedelta(hours=int(given[1]), minutes=sign * int(given[2]))
    candidates = (key for place in given[3].split(",") for key in _keys_of(place.strip()))
    return next((z for key in candidates if _standard(z := ZoneInfo(key)) == offset), None)


def _keys_of(place: str) -> Iterator[str]:
    """The zones of a city, or of "Eastern Time (US & Canada)"."""
    ending = "/" + place.lower().replace(" ", "_")
    yield from (key for lowered, key in _iana().items() if lowered.endswith(ending))
    windows = place.partition(" (")[0].replace(" Time", " Standard Time")
    if windows in WINDOWS_TO_OLSON:
        yield WINDOWS_TO_OLSON[windows]


def _standard(zone: ZoneInfo) -> timedelta | None:
    """Its offset without daylight saving, which is the lesser of January's and July's."""
    both = [datetime(2026, month, 1, tzinfo=UTC).astimezone(zone).utcoffset() for month in (1, 7)]
    return min((one for one in both if one is not None), default=None)


def _exists(name: str) -> bool:
    return _iana().get(name.lower()) == name


@cache
def _iana() -> dict[str, str]:
    """Every IANA name by its lower case."""
    return {name.lower(): name for name in sorted(available_timezones())}
