"""Accounts: one event of several; the most trusted one's words, the others' where it is silent."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import msgspec

from location_context.sections.events.records import Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.sections.events.records import When
    from location_context.sections.events.relevance import LocalEvent

_TRUSTED = ("calendars", "ticketmaster", "holidays", "open_holidays", "predicthq")


def trust(seen: LocalEvent) -> tuple[int, str, str]:
    """The order in which accounts are believed: the operator first, and one order for all."""
    source = seen.details.source
    rank = _TRUSTED.index(source) if source in _TRUSTED else len(_TRUSTED)
    return rank, source, seen.details.id


def joined(accounts: Sequence[LocalEvent]) -> LocalEvent:
    """One event of accounts of the same; it remembers them, so that it can be joined anew."""
    ordered = sorted(accounts, key=trust)
    if len(ordered) == 1:
        return ordered[0]
    whole = reduce(_completed, ordered)
    sources = tuple(dict.fromkeys(seen.details.source for seen in ordered))
    return replace(whole, sources=sources, merged_from=tuple(ordered))


def _completed(one: LocalEvent, other: LocalEvent) -> LocalEvent:
    """The first's account, completed by the second's."""
    a, b = one.details, other.details
    told = msgspec.structs.replace(
        a,
        category=b.category if a.category == "other" else a.category,
        start=b.start if a.start.at is None and b.start.at and not a.all_day else a.start,
        status="postponed" if "postponed" in {a.status, b.status} else a.status,
        place=_place(a.place, b.place),
        rank=b.rank if a.rank is None else a.rank,
        url=a.url or b.url,
        image=a.image or b.image,
        price=a.price or b.price,
    )
    told = msgspec.structs.replace(told, end=a.end or _end(told.start, b.end))
    distance = other.distance if one.distance is None else one.distance
    last = max(one.last, other.last) if a.end is None and told.end else one.last
    return replace(one, details=told, distance=distance, last=last)


def _place(one: Place | None, other: Place | None) -> Place | None:
    """The first place, where it lies by the other's coordinates if it has none of its own."""
    if one is None or other is None:
        return one or other
    missing = one.lat is None or one.lng is None
    return Place(
        name=one.name or other.name,
        address=one.address or other.address,
        lat=other.lat if missing else one.lat,
        lng=other.lng if missing else one.lng,
    )


def _end(start: When, end: When | None) -> When | None:
    """Another's end, unless the event would be over before it starts."""
    if end and end.at and start.at and end.at <= start.at:
        return None
    return end
