"""Match score: the certainty that two providers describe the same event.

Contradictions (different days, places, numbers or teams) exclude a match. Otherwise a logistic
model computes the score from about fifteen features. `research.train_deduplication` trains its
weights and stores them in `weights.json` with a description of the training data.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from functools import cached_property
from itertools import permutations
from pathlib import Path

import msgspec

from location_context.point import distance_km
from location_context.sections.events.deduplication import normalise
from location_context.sections.events.deduplication.titles import (
    Matchup,
    Title,
    TokenWeights,
    matchup_similarity,
    read_matchup,
    read_title,
    shared_letters,
    title_features,
)
from location_context.sections.events.records import LocalEvent, Place

_HOLIDAYS = frozenset({"public_holiday", "school_holiday"})
# pairs of categories that providers use for the same event: a music festival, amateur theatre
_SIMILAR_CATEGORIES = {
    (a, b)
    for categories in (
        ("concert", "festival", "performing_arts", "community"),
        ("exhibition", "conference", "community", "festival"),
        ("observance", "community", "festival"),
        ("sport", "community", "festival"),
    )
    for a, b in permutations(categories, 2)
}
_ACTS = frozenset({"concert", "performing_arts", "other"})
_WIDESPREAD = frozenset(
    {"sport", "festival", "exhibition", "conference", "community", "observance"}
)
_MIN_TEAM_SIMILARITY = 0.5
_MIN_LETTERS_IN_COMMON = 0.2
_HOLIDAY_SCORE = 0.9  # least score of two on one day; similar names score more and are joined first
_SAME_VENUE_KM, _NEARBY_KM, _SAME_AREA_KM, _SAME_NAME_KM = 0.15, 0.5, 2.5, 5.0
MAX_TIME_APART = timedelta(minutes=90)  # between the doors' opening and the start of a show
_SAME_TIME = timedelta(minutes=20)
MIN_DAYS_OF_A_RUN = 2  # days from first to last date, from which an event counts as a run
_MIN_COMMON_DAYS = 0.8


class Model(msgspec.Struct, frozen=True):
    """The trained logistic model in `weights.json`.

    Attributes:
        trained_on: a description of the pairs of events on which it was trained.
        threshold: the lowest score at which two records count as one event.
        bias: the logit (log-odds of a match) of a pair whose features are all 0.
        weights: the amount that each feature adds to the logit if its value is 1.
    """

    trained_on: str
    threshold: float
    bias: float
    weights: dict[str, float]


MODEL = msgspec.json.decode(Path(__file__).with_name("weights.json").read_bytes(), type=Model)


class Proximity(IntEnum):
    """How likely two events have the same place, or the same time: from APART (never) to SAME."""

    APART = 0
    UNKNOWN = 1  # the place or time of one event is unknown
    SAME_AREA = 2  # places at most 2.5 km apart, as in a town's festival
    NEARBY = 3
    SAME = 4


@dataclass(eq=False)  # not frozen, like `Title`
class VenueKey:
    """A venue prepared for comparison: name, words of its town's name, and coordinates."""

    text: str | None
    town: frozenset[str]
    lat: float | None
    lng: float | None

    @cached_property
    def name(self) -> Title | None:
        """The venue's name prepared for comparison; None if it has no name.

        It is prepared on first use, since most venues are too far apart to compare their names.
        """
        return read_title(self.text) if self.text else None

    @property
    def words(self) -> frozenset[str]:
        """The words of the venue's name and town, which are ignored in the titles of its events."""
        return self.name.unique | self.town if self.name else self.town


def read_venue(place: Place | None) -> VenueKey | None:
    """Return the venue prepared for comparison; None if the event has no venue."""
    if place is None:
        return None
    known = place.lat is not None and place.lng is not None
    # the part after the last comma usually has the town or country; numbers are dropped below
    town = normalise.fold((place.address or "").rpartition(",")[2])
    return VenueKey(
        place.name,
        frozenset(word for word in town if word.isalpha()),
        place.lat if known else None,
        place.lng if known else None,
    )


def venue_proximity(one: VenueKey | None, other: VenueKey | None) -> Proximity:
    """Return how certain it is that two venues are the same, by their names and distance."""
    if one is None and other is None:
        return Proximity.NEARBY
    if one is None or other is None:
        return Proximity.UNKNOWN
    if one.lat is None or one.lng is None or other.lat is None or other.lng is None:
        same = _same_name(one.name, other.name)
        if same is None:
            return Proximity.UNKNOWN
        return Proximity.SAME if same else Proximity.APART
    km = distance_km(one.lat, one.lng, other.lat, other.lng)
    if km > _SAME_NAME_KM:  # true of most pairs, whose names then need not be read
        return Proximity.APART
    return _by_distance(km, _same_name(one.name, other.name))


def _by_distance(km: float, same: bool | None) -> Proximity:
    if km <= _SAME_VENUE_KM:
        return Proximity.NEARBY if same is False else Proximity.SAME
    if km <= _NEARBY_KM:
        by_name = {True: Proximity.SAME, False: Proximity.UNKNOWN, None: Proximity.NEARBY}
        return by_name[same]
    if same:
        return Proximity.NEARBY
    return Proximity.SAME_AREA if km <= _SAME_AREA_KM else Proximity.APART


def _same_name(one: Title | None, other: Title | None) -> bool | None:
    """Return True if two names denote the same venue, False if not, None if uncertain."""
    if one is None or other is None:
        return None
    if one.contradicts(other):
        return False
    shared = one.naming & other.naming
    if one.unique == other.unique or (shared and shared in (one.naming, other.naming)):
        return True
    scripts = one.non_latin != other.non_latin
    alike = normalise.token_similarity if scripts else normalise.is_same_word
    if any(alike(a, b) for a in one.naming for b in other.naming):
        return True
    return None if scripts else False


def time_proximity(one: LocalEvent, other: LocalEvent, *, repeated: bool) -> Proximity:
    """Return how certain it is that two events start at the same time.

    Starts more than 90 minutes apart do not match. If `repeated` (a provider lists the event
    several times that day), the limit is 20 minutes, since later starts are other performances.
    """
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
    """Return True if an event has only dates: all-day, or several days without a known time."""
    details = event.details
    return details.all_day or (details.start.at is None and event.last > event.first)


def _run_together(one: LocalEvent, other: LocalEvent) -> bool:
    """Return True if both events last at least three days and have nearly the same dates.

    At least 80 % of the days on which either event takes place must be days of both. The limit is
    not 100 %, since providers often disagree on the first day of a long event.
    """
    if min((event.last - event.first).days for event in (one, other)) < MIN_DAYS_OF_A_RUN:
        return False
    both = (min(one.last, other.last) - max(one.first, other.first)).days + 1
    either = (max(one.last, other.last) - min(one.first, other.first)).days + 1
    return both / either >= _MIN_COMMON_DAYS


@dataclass(eq=False)
class MatchRecord:
    """One provider's event, prepared for comparison.

    Attributes:
        origin: the provider's name and, for the operator's own calendars, the calendar's id.
        repeated: True if the provider lists the same title several times that day.
    """

    event: LocalEvent
    origin: tuple[str, str]
    category: str
    title: Title
    venue: VenueKey | None
    repeated: bool = False

    @cached_property
    def matchup(self) -> Matchup | None:
        return read_matchup(self.event.details.title) if self.category == "sport" else None


def read_record(
    event: LocalEvent,
    title: Callable[[str], Title] = read_title,
    venue: Callable[[Place | None], VenueKey | None] = read_venue,
) -> MatchRecord:
    """Return the event prepared for comparison.

    The functions `title` and `venue` prepare its title and place; a caller may pass cached ones.
    """
    details = event.details
    read = title(details.title), venue(details.place)
    return MatchRecord(event, origin_of(event), details.category, *read)


def origin_of(event: LocalEvent) -> tuple[str, str]:
    """Return the provider's name, and the calendar's id for the operator's calendars (else "")."""
    details = event.details
    calendar = details.id.partition(":")[0] if details.source == "calendars" else ""
    return details.source, calendar


def match_score(
    one: MatchRecord,
    other: MatchRecord,
    weights: TokenWeights | None = None,
    proximity: Callable[[VenueKey | None, VenueKey | None], Proximity] = venue_proximity,
) -> float:
    """Return the certainty, from 0 to 1, that two records describe the same event.

    Records of the same origin score 0. The order of the two records does not matter. Without
    `weights`, no word counts as frequent. `proximity` compares the venues; a caller may pass a
    cached function.
    """
    if one.origin == other.origin:
        return 0.0
    if one.category in _HOLIDAYS:
        same = _same_holiday(one.event, other.event) and not one.title.excludes(other.title)
        return (
            _HOLIDAY_SCORE + (1 - _HOLIDAY_SCORE) * shared_letters(one.title, other.title)
            if same
            else 0.0
        )
    found = features(one, other, weights or TokenWeights(), proximity)
    if found is None:
        return 0.0
    logit = MODEL.bias + sum(MODEL.weights[name] * value for name, value in found.items() if value)
    return 1 / (1 + math.exp(-logit))


def features(
    one: MatchRecord, other: MatchRecord, weights: TokenWeights,
    proximity: Callable[[VenueKey | None, VenueKey | None], Proximity] = venue_proximity,
) -> dict[str, float] | None:  # fmt: skip
    """Return the features of two records that the model weighs, by name, each from 0 to 1.

    Return None if the records contradict each other, and so describe different events. `proximity`
    compares their venues.
    """
    place = proximity(one.venue, other.venue)
    if place is Proximity.APART or not _may_match(one, other):
        return None
    time = time_proximity(one.event, other.event, repeated=one.repeated or other.repeated)
    if time is Proximity.APART or _needs_nearer(one, other, place, time):
        return None
    teams = 0.0
    if one.matchup and other.matchup:
        teams = matchup_similarity(one.matchup, other.matchup)
        scripts = one.title.non_latin != other.title.non_latin
        if _is_other_match(one.matchup, other.matchup, place) or (
            teams < _MIN_TEAM_SIMILARITY and not scripts
        ):
            return None
    local = frozenset[str]().union(*(r.venue.words for r in (one, other) if r.venue))
    found = title_features(one.title, other.title, local, weights)
    acts = {one.category, other.category} <= _ACTS
    if acts and _is_part_of_other_name(one, other, found):
        return None
    homage = not found["first_part"] and _is_homage(one.title) != _is_homage(other.title)
    homage |= "#tribute" in one.title.distinguishing and not found["equal"]
    return found | {
        "homage": float(acts and homage),
        "same_teams": teams,
        "same_time": float(time is Proximity.SAME),
        "unknown_time": float(time is Proximity.UNKNOWN),
        "same_area": float(place is Proximity.SAME_AREA),
        "unknown_place": float(place is Proximity.UNKNOWN),
    }


def _may_match(one: MatchRecord, other: MatchRecord) -> bool:
    """Return False if categories or titles alone show that two records are different events."""
    if not categories_agree(one.category, other.category):
        return False
    if not (one.matchup and other.matchup) and _have_nothing_in_common(one.title, other.title):
        return False
    # one evening of a festival is not the whole festival
    part_of_run = _runs_on(one) != _runs_on(other) and one.title.naming != other.title.naming
    return not part_of_run and not one.title.contradicts(other.title)


def _runs_on(record: MatchRecord) -> bool:
    return record.event.last > record.event.first


def _is_part_of_other_name(
    one: MatchRecord, other: MatchRecord, found: Mapping[str, float]
) -> bool:
    """Return True if one act's name is only a part of the other act's longer name.

    Example: "Queen" and "Queen Machine" are different acts. `found` has the titles' features.
    """
    if "concert" not in {one.category, other.category} or found["alias"]:
        return False
    if found["part_of_differing"]:
        return _begins_like_one_word(one.title, other.title)
    return bool(found["inside"]) or (
        bool(found["beginning"]) and _is_one_word(one.title, other.title)
    )


def categories_agree(a: str, b: str) -> bool:
    """Return True if two providers may give the same event the categories `a` and `b`."""
    if a == b or (a, b) in _SIMILAR_CATEGORIES:
        return True
    return "other" in {a, b} and not _HOLIDAYS & {a, b}


def _same_holiday(one: LocalEvent, other: LocalEvent) -> bool:
    """Return True if two holidays have the same dates and regions, whatever their names."""
    a, b = one.details, other.details
    same_days = one.first == other.first and (
        a.category == "public_holiday" or one.last == other.last
    )
    return same_days and a.category == b.category and a.regions == b.regions


def _needs_nearer(one: MatchRecord, other: MatchRecord, place: Proximity, time: Proximity) -> bool:
    """Return True if two records cannot match because they are too far apart in place or time.

    Titles of only generic words ("Pub quiz") match only at the same venue and if the times are the
    same or unknown. Venues 0.5 to 2.5 km apart match only for events that spread over a town, such
    as festivals and sports.
    """
    if not (one.title.naming and other.title.naming):  # "Pub quiz"
        return place is not Proximity.SAME or time is Proximity.NEARBY
    categories = {one.category, other.category} - {"other"}
    return place is Proximity.SAME_AREA and not categories <= _WIDESPREAD


def _have_nothing_in_common(one: Title, other: Title) -> bool:
    """Return True if two titles share no word and few letters, so that they cannot match."""
    if one.unique & other.unique or (one.cjk and other.cjk) or one.is_alias(other):
        return False
    return shared_letters(one, other) < _MIN_LETTERS_IN_COMMON


def _is_homage(title: Title) -> bool:
    return not normalise.HOMAGE_TERMS.isdisjoint(normalise.fold(title.text))


def _is_one_word(*titles: Title) -> bool:
    """Return True if any of the titles is a single word, not counting words such as "the".

    Titles in Chinese characters are ignored, since they have no spaces between words.
    """
    return any(
        len(set(normalise.fold(t.text)) - normalise.STOP_WORDS) == 1 for t in titles if not t.cjk
    )


def _begins_like_one_word(one: Title, other: Title) -> bool:
    """Return True if one title's first part is one word that resembles the other's first word.

    The two words are not equal. Example: the first part of "Queen + Adam Lambert" is "Queen", which
    resembles the first word of "Queens of the Stone Age". These are different acts.
    """
    short, long = sorted((one.parts[0], other.parts[0]), key=len)
    a, b = short[0], long[0]
    return len(short) == 1 < len(long) and a != b and normalise.is_same_word(a, b)


def _is_other_match(one: Matchup, other: Matchup, place: Proximity) -> bool:
    """Return True if two titles name different sports matches, even if the teams' names agree.

    Matches differ if only one is between reserve teams, or if the sports differ. If only one title
    names its sport, the sports count as different unless the venues are near each other.
    """
    if sorted(team.is_reserve for team in one) != sorted(team.is_reserve for team in other):
        return True
    played = [{team.discipline for team in matchup} - {None} for matchup in (one, other)]
    return played[0] != played[1] and (all(played) or place < Proximity.NEARBY)
