"""Nearness: whether two accounts of an event can be of one place and of one time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from typing import TYPE_CHECKING

from location_context.point import distance_km
from location_context.sections.events.merging.spelling import is_slip, plain, sounds_like, words
from location_context.sections.events.merging.titles import read_title

if TYPE_CHECKING:
    from location_context.sections.events.merging.titles import Title
    from location_context.sections.events.records import Place
    from location_context.sections.events.relevance import LocalEvent

_KM_PER_DEGREE = 111.0
_SPOT_KM, _NEAR_KM, _WIDE_KM, _NAMED_KM = 0.15, 0.5, 2.5, 5.0
APART, _SLOT = timedelta(minutes=90), timedelta(minutes=20)
LONG = 2  # days after the first from which an event is one that runs on
_COMMON_DAYS = 0.8


class Near(IntEnum):
    """How surely two things are together."""

    NO = 0
    UNKNOWN = 1  # one of them does not say
    WIDE = 2  # as far apart as the ends of a town's festival
    NEAR = 3
    SPOT = 4  # one door, one minute


@dataclass(frozen=True, eq=False)
class Spot:
    """A place as it is compared: its name's words, and where it lies. Equal to itself alone."""

    name: Title | None
    town: frozenset[str]
    lat: float | None
    lng: float | None

    @property
    def words(self) -> frozenset[str]:
        """The words of its name and its town, which name no event."""
        return self.name.named | self.town if self.name else self.town


def read_spot(place: Place | None) -> Spot | None:
    """The place as it is compared."""
    if place is None:
        return None
    name = read_title(place.name) if place.name else None
    known = place.lat is not None and place.lng is not None
    return Spot(
        name, _town(place.address), place.lat if known else None, place.lng if known else None
    )


def _town(address: str | None) -> frozenset[str]:
    """The words after the last comma that are no numbers: of the town, or of the country."""
    last = (address or "").rpartition(",")[2]
    return frozenset(word for word in words(plain(last)) if word.isalpha())


def place_nearness(one: Spot | None, other: Spot | None) -> Near:
    """How near two places are, by their names and by their coordinates."""
    if one is None and other is None:
        return Near.NEAR
    if one is None or other is None:
        return Near.UNKNOWN
    if one.lat is None or one.lng is None or other.lat is None or other.lng is None:
        return _by_name(one.name, other.name)
    if abs(one.lat - other.lat) * _KM_PER_DEGREE > _NAMED_KM:
        return Near.NO
    km = distance_km(one.lat, one.lng, other.lat, other.lng)
    return Near.NO if km > _NAMED_KM else _by_distance(km, one.name, other.name)


def _by_name(one: Title | None, other: Title | None) -> Near:
    same = _same_name(one, other)
    if same is None:
        return Near.UNKNOWN
    return Near.SPOT if same else Near.NO


def _by_distance(km: float, one: Title | None, other: Title | None) -> Near:
    same = _same_name(one, other)
    if same is False and _other_hall(one, other):
        return Near.NO
    if km <= _SPOT_KM:
        return Near.NEAR if same is False else Near.SPOT
    if km <= _NEAR_KM:
        return Near.SPOT if same else Near.UNKNOWN if same is False else Near.NEAR
    if same:
        return Near.NEAR
    return Near.WIDE if km <= _WIDE_KM else Near.NO


def _same_name(one: Title | None, other: Title | None) -> bool | None:
    """Whether two names are of one venue; None where that cannot be told."""
    if one is None or other is None:
        return None
    if not one.agrees(other):
        return False
    shared = one.core & other.core
    if one.named == other.named or (shared and shared in (one.core, other.core)):
        return True
    if any(_same_word(a, b, one, other) for a in one.core for b in other.core):
        return True
    return None if one.foreign != other.foreign else False


def _same_word(a: str, b: str, one: Title, other: Title) -> bool:
    return is_slip(a, b) or (one.foreign != other.foreign and sounds_like(a, b))


def _other_hall(one: Title | None, other: Title | None) -> bool:
    """Whether two halls of one house are named."""
    return (
        one is not None
        and other is not None
        and bool(one.named & other.named)
        and (not one.agrees(other))
    )


def time_nearness(one: LocalEvent, other: LocalEvent, *, repeated: bool) -> Near:
    """How near two starts are; where a provider tells of several a day, they must agree closely."""
    if one.first != other.first:
        return Near.NEAR if _run_together(one, other) else Near.NO
    a, b = one.details, other.details
    if a.start.at is None or b.start.at is None:
        return _by_day(one, other)
    apart = abs(a.start.at - b.start.at)
    if apart > (_SLOT if repeated else APART):
        return Near.NO
    return Near.SPOT if apart <= _SLOT else Near.NEAR


def _by_day(one: LocalEvent, other: LocalEvent) -> Near:
    if not (_is_dated(one) and _is_dated(other)):
        return Near.UNKNOWN
    return Near.SPOT if one.last == other.last else Near.NEAR


def _is_dated(event: LocalEvent) -> bool:
    """Whether dates are all there is to know: whole days, or days without times."""
    told = event.details
    return told.all_day or (told.start.at is None and event.last > event.first)


def _run_together(one: LocalEvent, other: LocalEvent) -> bool:
    """Whether both go on for days, and mostly for the same: providers differ on the opening."""
    if min((seen.last - seen.first).days for seen in (one, other)) < LONG:
        return False
    both = (min(one.last, other.last) - max(one.first, other.first)).days + 1
    either = (max(one.last, other.last) - min(one.first, other.first)).days + 1
    return both / either >= _COMMON_DAYS
