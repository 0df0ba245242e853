"""Merge: the same event told by several providers becomes one, with all of them in `sources`.

Pairs are joined from the surest on. Two groups become one only when every account of the one is
the same as every account of the other (complete linkage), so that no chain joins the ends of a row
whose neighbours are alike. Every merge starts from the accounts themselves: the order in which they
come does not matter, and merging what is merged changes nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from itertools import combinations, islice
from typing import TYPE_CHECKING

from location_context.sections.events.merging.accounts import joined, trust
from location_context.sections.events.merging.commonness import Common
from location_context.sections.events.merging.nearness import (
    APART,
    LONG,
    place_nearness,
    read_spot,
)
from location_context.sections.events.merging.sameness import Account, read_account, sameness
from location_context.sections.events.merging.titles import read_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date, datetime

    from location_context.sections.events.visible import Seen


def merge(seen: Iterable[Seen]) -> list[Seen]:
    """One for each event, in the order of trust."""
    told = sorted((one for event in seen for one in event.accounts or (event,)), key=trust)
    title, spot = cache(read_title), cache(read_spot)  # both come again and again in an answer
    accounts = _with_repeats([read_account(one, title, spot) for one in told])
    groups = _groups(len(accounts), _alike(accounts))
    return [joined([told[n] for n in group]) for group in groups]


def _with_repeats(accounts: Sequence[Account]) -> list[Account]:
    """Marks what its provider tells of more than once a day: there, times must agree closely."""
    often = Counter((a.origin, a.seen.first, a.title.named) for a in accounts)
    return [
        replace(a, repeated=True) if often[a.origin, a.seen.first, a.title.named] > 1 else a
        for a in accounts
    ]


def _alike(accounts: Sequence[Account]) -> dict[tuple[int, int], float]:
    """How surely two accounts are the same, for every two that are."""
    spots = {account.spot for account in accounts if account.spot}
    common = Common.to((a.title for a in accounts), (spot.town for spot in spots))
    nearness = cache(place_nearness)
    found = (
        ((a, b), sameness(accounts[a], accounts[b], common, nearness))
        for a, b in _pairs(accounts)
        if accounts[a].origin != accounts[b].origin
    )
    return {pair: degree for pair, degree in found if degree > 0}


def _pairs(accounts: Sequence[Account]) -> Iterator[tuple[int, int]]:
    """Every two that may meet: those that begin together, and those that go on for days."""
    days: defaultdict[date, list[int]] = defaultdict(list)
    running = []
    for n, account in enumerate(accounts):
        days[account.seen.first].append(n)
        if (account.seen.last - account.seen.first).days >= LONG:
            running.append(n)
    for day in days.values():
        yield from _of_a_day(day, [accounts[n].seen.told.start.at for n in day])
    for a, b in combinations(running, 2):
        if accounts[a].seen.first != accounts[b].seen.first:
            yield a, b


def _of_a_day(day: Sequence[int], starts: Sequence[datetime | None]) -> Iterator[tuple[int, int]]:
    timed = sorted((at, n) for at, n in zip(starts, day, strict=True) if at is not None)
    for place, (at, n) in enumerate(timed):
        for later, other in islice(timed, place + 1, None):
            if later - at > APART:
                break
            yield min(n, other), max(n, other)
    untimed = {n for at, n in zip(starts, day, strict=True) if at is None}
    for n in untimed:
        yield from ((min(n, m), max(n, m)) for m in day if m > n or (m < n and m not in untimed))


def _groups(count: int, alike: dict[tuple[int, int], float]) -> list[list[int]]:
    """Groups in which every two are the same, the surest pairs first."""
    group = {n: [n] for n in range(count)}
    for a, b in sorted(alike, key=lambda pair: (-alike[pair], pair)):
        one, other = group[a], group[b]
        if one is not other and all((min(x, y), max(x, y)) in alike for x in one for y in other):
            one += other
            for n in other:
                group[n] = one
    return [sorted(members) for n, members in group.items() if n == min(members)]
