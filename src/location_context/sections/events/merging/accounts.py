"""Accounts: one event of several; the most trusted one's words, the others' where it is silent."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.sections.events.visible import Seen

_TRUSTED = ("calendars", "ticketmaster", "holidays", "open_holidays", "predicthq")


def trust(seen: Seen) -> tuple[int, str, str]:
    """The order in which accounts are believed: the operator first, and one order for all."""
    source = seen.told.source
    rank = _TRUSTED.index(source) if source in _TRUSTED else len(_TRUSTED)
    return rank, source, seen.told.id


def joined(accounts: Sequence[Seen]) -> Seen:
    """One event of accounts of the same; it remembers them, so that it can be joined anew."""
    ordered = sorted(accounts, key=trust)
    if len(ordered) == 1:
        return ordered[0]
    whole = reduce(_completed, ordered)
    sources = tuple(dict.fromkeys(seen.told.source for seen in ordered))
    return replace(whole, sources=sources, accounts=tuple(ordered))


def _completed(one: Seen, other: Seen) -> Seen:
    """The first's account, completed by the second's."""
    a, b = one.told, other.told
    told = msgspec.structs.replace(
        a,
        category=b.category if a.category == "other" else a.category,
        start=b.start if a.start.at is None and b.start.at and not a.all_day else a.start,
        end=a.end or b.end,
        status="postponed" if "postponed" in {a.status, b.status} else a.status,
        place=a.place or b.place,
        rank=b.rank if a.rank is None else a.rank,
        url=a.url or b.url,
        image=a.image or b.image,
        price=a.price or b.price,
    )
    distance = other.distance if one.distance is None else one.distance
    last = max(one.last, other.last) if a.end is None else one.last
    return replace(one, told=told, distance=distance, last=last)
