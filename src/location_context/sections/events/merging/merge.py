"""Merge: the same event told by several providers becomes one, with all of them in `sources`.

Pairs are joined from the surest on. Two groups become one only when every account of the one is
the same as every account of the other (complete linkage), so that no chain joins the ends of a row
whose neighbours are alike. Every merge starts from the accounts themselves: the order in which they
come does not matter, and merging what is merged changes nothing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from itertools import combinations
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
    from datetime import date

    from location_context.sections.events.relevance import LocalEvent


def merge(seen: Iterable[LocalEvent]) -> list[LocalEvent]:
    """One for each event, in the order of trust."""
    told = sorted((one for event in seen for one in event.merged_from or (event,)), key=trust)
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
        ((a, b), sameness(accounts[a], accounts[b], common, nearness)) for a, b in _pairs(accounts)
    )
    return {pair: degree for pair, degree in found if degree > 0}


def _pairs(accounts: Sequence[Account]) -> Iterator[tuple[int, int]]:
    """Every two of different origin that may meet: they begin together, or go on for days."""
    days: defaultdict[date, defaultdict[tuple[str, str], list[int]]]
    days = defaultdict(lambda: defaultdict(list))
    running = []
    for n, account in enumerate(accounts):
        days[account.seen.first][account.origin].append(n)
        if (account.seen.last - account.seen.first).days >= LONG:
            running.append(n)
    for day in days.values():
        for one, other in combinations(day.values(), 2):
            yield from _between(one, other, accounts)
    for a, b in combinations(running, 2):
        if (
            accounts[a].seen.first != accounts[b].seen.first
            and accounts[a].origin != accounts[b].origin
        ):
            yield a, b


def _between(
    one: Sequence[int], other: Sequence[int], accounts: Sequence[Account]
) -> Iterator[tuple[int, int]]:
    """Of one day of two origins, those that begin near each other or at an unknown time."""
    starts = {n: accounts[n].seen.details.start.at for n in (*one, *other)}
    timed = sorted((at, m) for m in other if (at := starts[m]) is not None)
    moments = [at for at, _ in timed]
    untimed = [m for m in other if starts[m] is None]
    for n in one:
        at = starts[n]
        if at is None:
            near = list(other)
        else:
            first, last = bisect_left(moments, at - APART), bisect_right(moments, at + APART)
            near = [m for _, m in timed[first:last]] + untimed
        yield from ((min(n, m), max(n, m)) for m in near)


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
