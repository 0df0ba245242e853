"""Sameness: whether two accounts tell of one event, and how surely.

The nearer they are in place and time, the less alike their titles need be; what says that they are
two (other markers, numbers, sides of a match) always wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING

from location_context.sections.events.merging.commonness import Common
from location_context.sections.events.merging.likeness import Likeness, likeness
from location_context.sections.events.merging.nearness import (
    Near,
    Spot,
    place_nearness,
    read_spot,
    time_nearness,
)
from location_context.sections.events.merging.sides import Side, alike, read_sides
from location_context.sections.events.merging.titles import Title, read_title

if TYPE_CHECKING:
    from collections.abc import Callable

    from location_context.sections.events.records import Place
    from location_context.sections.events.relevance import LocalEvent

_HOLIDAYS = frozenset({"public_holiday", "school_holiday"})
# categories that providers draw differently: a festival of music, a community's theatre
_BLURRED = {
    (a, b)
    for kinds in (
        ("concert", "festival", "performing_arts", "community"),
        ("exhibition", "conference", "community", "festival"),
        ("observance", "community", "festival"),
        ("sport", "community", "festival"),
    )
    for a, b in permutations(kinds, 2)
}
_ACTS = frozenset({"concert", "performing_arts", "sport", "other"})
_WIDE_KINDS = frozenset({"sport", "festival", "exhibition", "conference", "community"})
_AT_ONE_SPOT, _ENOUGH, _FAR_AT_ONCE, _SURELY, _NEVER = 0.55, 0.6, 0.7, 0.8, 2.0
_STEP = 0.01


@dataclass(frozen=True, eq=False)
class Account:
    """What one provider tells, read for comparing.

    `origin`: the provider, of calendars the one; `kind`: the category.
    """

    seen: LocalEvent
    origin: tuple[str, str]
    kind: str
    title: Title
    spot: Spot | None
    repeated: bool = False

    @cached_property
    def sides(self) -> tuple[Side, Side] | None:
        return read_sides(self.seen.details.title)


def read_account(
    seen: LocalEvent,
    title: Callable[[str], Title] = read_title,
    spot: Callable[[Place | None], Spot | None] = read_spot,
) -> Account:
    """What one provider tells, read for comparing, by what reads its title and its place."""
    told = seen.details
    calendar = told.id.partition(":")[0] if told.source == "calendars" else ""
    return Account(
        seen, (told.source, calendar), told.category, title(told.title), spot(told.place)
    )


def is_same(one: LocalEvent, other: LocalEvent) -> bool:
    """Whether two providers tell of the same event; two of one provider never are."""
    return sameness(read_account(one), read_account(other), Common()) > 0


def sameness(
    one: Account,
    other: Account,
    common: Common,
    nearness: Callable[[Spot | None, Spot | None], Near] = place_nearness,
) -> float:
    """How surely two accounts tell of one event; 0 where they do not."""
    if one.origin == other.origin or not _kinds_agree(one.kind, other.kind):
        return 0.0
    time = time_nearness(one.seen, other.seen, repeated=one.repeated or other.repeated)
    if one.kind in _HOLIDAYS:
        return _same_holiday(one, other)
    place = Near.NO if time is Near.NO else nearness(one.spot, other.spot)
    if place is Near.NO or not one.title.agrees(other.title):
        return 0.0
    found = _likeness(one, other, common)
    if found.degree < _needed({one.kind, other.kind} - {"other"}, found, place, time):
        return 0.0
    return found.degree + _STEP * (place + time + (one.title.text == other.title.text))


def _kinds_agree(a: str, b: str) -> bool:
    if a == b or (a, b) in _BLURRED:
        return True
    return "other" in {a, b} and not _HOLIDAYS & {a, b}


def _same_holiday(one: Account, other: Account) -> float:
    """The same days kept by the same parts are one holiday, whatever its name is in a language."""
    a, b = one.seen, other.seen
    same_days = a.first == b.first and (a.details.category == "public_holiday" or a.last == b.last)
    if not same_days or a.details.regions != b.details.regions:
        return 0.0
    return 1.0 + likeness(one.title, other.title, frozenset(), Common()).degree


def _likeness(one: Account, other: Account, common: Common) -> Likeness:
    """By the sides where both tell of a match, else by the words."""
    sport = "sport" in {one.kind, other.kind}
    if sport and one.sides and other.sides:
        return Likeness(alike(one.sides, other.sides), named=True)
    local = (one.spot.words if one.spot else frozenset()) | (
        other.spot.words if other.spot else frozenset()
    )
    acts = {one.kind, other.kind} <= _ACTS
    return likeness(one.title, other.title, local, common, acts=acts)


def _needed(kinds: set[str], found: Likeness, place: Near, time: Near) -> float:
    """How alike the titles have to be, given how near the events are."""
    if not found.named:  # "Pub quiz": only at one door and at one time
        return 1.0 if place is Near.SPOT and time is not Near.NEAR else _NEVER
    if place is Near.WIDE and not kinds <= _WIDE_KINDS:
        return _NEVER
    if place is Near.WIDE and time is Near.SPOT and len(kinds) == 1:
        return _FAR_AT_ONCE
    if place in {Near.WIDE, Near.UNKNOWN} or len(kinds) > 1:
        return _SURELY
    return _AT_ONE_SPOT if place is Near.SPOT and time is Near.SPOT else _ENOUGH
