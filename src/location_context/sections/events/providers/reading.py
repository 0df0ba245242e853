"""Reading: fields of a provider's JSON as they should be, where they may be anything.

A field that is not what it should be is not known (None); a row that lacks what an event needs
raises ValueError and is passed over by `each`, so that it does not take the others with it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from location_context.sections.events.records import Place, degrees
from location_context.sections.events.words import LONGEST_TITLE, clipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from location_context.sections.events.records import Told

_YEARS = 1900, 2100
_LONGEST_LINK = 2000
_NO_SENSE = (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError)


def each(rows: Iterable[Any], told: Callable[[Any], Told | None]) -> Iterator[Told]:
    """What `told` makes of each row that makes sense; None leaves a row out."""
    for row in rows:
        try:
            event = told(row)
        except _NO_SENSE:
            continue
        if event is not None and _is_of_our_time(event):
            yield event


def _is_of_our_time(event: Told) -> bool:
    """Not the year 1 or 9999 of a field left open, which no zone can be applied to."""
    last = event.end or event.start
    return _YEARS[0] <= event.start.day.year and last.day.year <= _YEARS[1]


def needed(value: object) -> str:
    """A title or an id.

    Raises:
        ValueError: there is none.
    """
    words = clipped(value, LONGEST_TITLE) if isinstance(value, str | int) else None
    if words is None:
        raise ValueError("a needed text is missing")
    return words


def text(value: object, longest: int = 500) -> str | None:
    """Words on one line, or None."""
    return clipped(value, longest) if isinstance(value, str) else None


def link(value: object) -> str | None:
    """An address as it came, which the answer checks, or None; a clipped one would lead nowhere."""
    return value if isinstance(value, str) and len(value) <= _LONGEST_LINK else None


def number(value: object) -> float | None:
    """A finite number as JSON writes one, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # a whole number of hundreds of digits
        return None


def zone(name: object) -> ZoneInfo | None:
    """The zone of a name, or None where it names none."""
    try:
        return ZoneInfo(name) if isinstance(name, str) and name else None
    except (KeyError, ValueError, OSError):
        return None


def place(name: object, address: object, lat: object, lng: object) -> Place:
    """A venue; coordinates may be numbers or strings, and count only where both make sense."""
    pair = degrees(lat, lng)
    return Place(
        name=text(name),
        address=text(address),
        lat=pair[0] if pair else None,
        lng=pair[1] if pair else None,
    )
