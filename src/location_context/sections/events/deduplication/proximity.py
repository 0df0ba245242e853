"""Proximity: whether two descriptions of an event can be of one place and of one time."""

from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum

from location_context.point import distance_km
from location_context.sections.events.deduplication.normalise import (
    fold,
    is_same_word,
    token_similarity,
)
from location_context.sections.events.deduplication.titles import Title, read_title
from location_context.sections.events.records import LocalEvent, Place

_KM_PER_DEGREE = 111.0
_SAME_VENUE_KM, _NEARBY_KM, _SAME_AREA_KM, _SAME_NAME_KM = 0.15, 0.5, 2.5, 5.0
MAX_TIME_APART = timedelta(minutes=90)  # doors and the beginning of a show
_SAME_TIME = timedelta(minutes=20)
MIN_DAYS_OF_A_RUN = 2  # days after the first from which an event is one that runs on
_MIN_COMMON_DAYS = 0.8


class Proximity(IntEnum):
    """How surely two events are together, in place or in time."""

    APART = 0
    UNKNOWN = 1  # one of them does not say
    SAME_AREA = 2  # as far apart as the ends of a town's festival
    NEARBY = 3
    SAME = 4  # one door, one minute


@dataclass(frozen=True, eq=False)
class VenueKey:
    """A place as it is compared: its name, the words of its town, its coordinates."""

    name: Title | None
    town: frozenset[str]
    lat: float | None
    lng: float | None

    @property
    def words(self) -> frozenset[str]:
        """The words of its name and its town, which name no event."""
        return self.name.unique | self.town if self.name else self.town


def read_venue(place: Place | None) -> VenueKey | None:
    """The place as it is compared."""
    if place is None:
        return None
    name = read_title(place.name) if place.name else None
    known = place.lat is not None and place.lng is not None
    # the words after the last comma that are no numbers: of the town, or of the country
    town = fold((place.address or "").rpartition(",")[2])
    return VenueKey(
        name,
        frozenset(word for word in town if word.isalpha()),
        place.lat if known else None,
        place.lng if known else None,
    )


def venue_proximity(one: VenueKey | None, other: VenueKey | None) -> Proximity:
    """How near two places are, by their names and by their coordinates."""
    if one is None and other is None:
        return Proximity.NEARBY
    if one is None or other is None:
        return Proximity.UNKNOWN
    same = _same_name(one.name, other.name)
    if one.lat is None or one.lng is None or other.lat is None or other.lng is None:
        if same is None:
            return Proximity.UNKNOWN
        return Proximity.SAME if same else Proximity.APART
    if abs(one.lat - other.lat) * _KM_PER_DEGREE > _SAME_NAME_KM:
        return Proximity.APART
    km = distance_km(one.lat, one.lng, other.lat, other.lng)
    return _by_distance(km, same)


def _by_distance(km: float, same: bool | None) -> Proximity:
    if km <= _SAME_VENUE_KM:
        return Proximity.NEARBY if same is False else Proximity.SAME
    if km <= _NEARBY_KM:
        by_name = {True: Proximity.SAME, False: Proximity.UNKNOWN, None: Proximity.NEARBY}
        return by_name[same]
    if same and km <= _SAME_NAME_KM:
        return Proximity.NEARBY
    return Proximity.SAME_AREA if km <= _SAME_AREA_KM else Proximity.APART


def _same_name(one: Title | None, other: Title | None) -> bool | None:
    """Whether two names are of one venue; None where that cannot be told."""
    if one is None or other is None:
        return None
    if one.contradicts(other):
        return False
    shared = one.naming & other.naming
    if one.unique == other.unique or (shared and shared in (one.naming, other.naming)):
        return True
    scripts = one.non_latin != other.non_latin
    alike = token_similarity if scripts else is_same_word
    if any(alike(a, b) for a in one.naming for b in other.naming):
        return True
    return None if scripts else False


def time_proximity(one: LocalEvent, other: LocalEvent, *, repeated: bool) -> Proximity:
    """How near two starts are; where a provider lists several a day, they must agree closely."""
    if one.first != other.first:
        return Proximity.NEARBY if _run_together(one, other) else Proximity.APART
    a, b = one.details.start.at, other.details.start.at
    if a is None or b is None:
        if not (_is_dated(one) and _is_dated(other)):
            return Proximity.UNKNOWN
        return Proximity.SAME if one.last == other.last else Proximity.NEARBY
    apart = abs(a - b)
    if apart > (_SAME_TIME if repeated else MAX_TIME_APART):
        return Proximity.APART
    return Proximity.SAME if apart <= _SAME_TIME else Proximity.NEARBY


def _is_dated(event: LocalEvent) -> bool:
    """Whether dates are all there is to know: whole days, or days without times."""
    details = event.details
    return details.all_day or (details.start.at is None and event.last > event.first)


def _run_together(one: LocalEvent, other: LocalEvent) -> bool:
    """Whether both go on for days, and mostly the same: providers differ on the opening."""
    if min((event.last - event.first).days for event in (one, other)) < MIN_DAYS_OF_A_RUN:
        return False
    both = (min(one.last, other.last) - max(one.first, other.first)).days + 1
    either = (max(one.last, other.last) - min(one.first, other.first)).days + 1
    return both / either >= _MIN_COMMON_DAYS
