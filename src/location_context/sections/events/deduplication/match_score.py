"""Match score: how surely two providers describe one event.

What says that they are two (another day, another place, another number, other teams) decides
first; then a logistic score weighs some twenty features. `scripts/train_deduplication.py` has
trained its weights, which stand in `weights.json` with what they were trained on.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import permutations
from pathlib import Path

import msgspec

from location_context.sections.events.deduplication.matchup import (
    Matchup,
    matchup_similarity,
    read_matchup,
)
from location_context.sections.events.deduplication.normalise import HOMAGE_TERMS, STOP_WORDS, fold
from location_context.sections.events.deduplication.proximity import (
    Proximity,
    VenueKey,
    read_venue,
    time_proximity,
    venue_proximity,
)
from location_context.sections.events.deduplication.title_similarity import (
    TokenWeights,
    shared_letters,
    title_features,
)
from location_context.sections.events.deduplication.titles import Title, read_title
from location_context.sections.events.records import LocalEvent, Place

_HOLIDAYS = frozenset({"public_holiday", "school_holiday"})
# categories that providers draw differently: a festival of music, a community's theatre
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
_WIDESPREAD = frozenset({"sport", "festival", "exhibition", "conference", "community"})
_MIN_TEAM_SIMILARITY = 0.5
_MIN_LETTERS_IN_COMMON = 0.2
_HOLIDAY_SCORE = 0.9  # of two on one day; of several, those of the likest names are joined first


class Model(msgspec.Struct, frozen=True):
    """The trained score, as `weights.json` holds it.

    Attributes:
        trained_on: what pairs it was trained on.
        threshold: the score from which two are one event.
        bias: the logit of two that have no feature.
        weights: what each feature adds to the logit.
    """

    trained_on: str
    threshold: float
    bias: float
    weights: dict[str, float]


MODEL = msgspec.json.decode(Path(__file__).with_name("weights.json").read_bytes(), type=Model)


@dataclass(frozen=True, eq=False)
class MatchRecord:
    """One provider's event, read for comparing.

    Attributes:
        origin: the provider; of the operator's calendars, also which.
        repeated: its provider lists it more than once that day.
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
    """The event, read for comparing by what reads its title and its place."""
    details = event.details
    calendar = details.id.partition(":")[0] if details.source == "calendars" else ""
    origin = (details.source, calendar)
    return MatchRecord(event, origin, details.category, title(details.title), venue(details.place))


def is_duplicate(one: LocalEvent, other: LocalEvent) -> bool:
    """Whether two providers describe the same event; two of one provider never are."""
    return match_score(read_record(one), read_record(other)) >= MODEL.threshold


def match_score(
    one: MatchRecord,
    other: MatchRecord,
    weights: TokenWeights | None = None,
    proximity: Callable[[VenueKey | None, VenueKey | None], Proximity] = venue_proximity,
) -> float:
    """How surely two records are of one event, 0 to 1; the same for (other, one)."""
    if one.origin == other.origin:
        return 0.0
    if one.category in _HOLIDAYS:
        same = _same_holiday(one.event, other.event)
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
    """What the score weighs, each from 0 to 1; None where something says that they are two."""
    if not _may_match(one, other):
        return None
    place = proximity(one.venue, other.venue)
    time = time_proximity(one.event, other.event, repeated=one.repeated or other.repeated)
    if Proximity.APART in (place, time) or _needs_nearer(one, other, place, time):
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
    return found | {
        "homage": float(acts and homage),
        "same_teams": teams,
        "same_time": float(time is Proximity.SAME),
        "unknown_time": float(time is Proximity.UNKNOWN),
        "same_area": float(place is Proximity.SAME_AREA),
        "unknown_place": float(place is Proximity.UNKNOWN),
        "same_run": float(_runs_on(one) and _days(one) == _days(other)),
    }


def _may_match(one: MatchRecord, other: MatchRecord) -> bool:
    """Whether categories and titles leave it open, wherever and whenever they are."""
    if not _categories_agree(one.category, other.category):
        return False
    if not (one.matchup and other.matchup) and _have_nothing_in_common(one.title, other.title):
        return False
    # an evening of a festival is not the festival
    part_of_run = _runs_on(one) != _runs_on(other) and one.title.naming != other.title.naming
    return not part_of_run and not one.title.contradicts(other.title)


def _days(record: MatchRecord) -> tuple[date, date]:
    return record.event.first, record.event.last


def _runs_on(record: MatchRecord) -> bool:
    return record.event.last > record.event.first


def _is_part_of_other_name(
    one: MatchRecord, other: MatchRecord, found: Mapping[str, float]
) -> bool:
    """Whether an act's name only begins another's, or stands in it: Queen, Queen Machine."""
    if "concert" not in {one.category, other.category}:
        return False
    return bool(found["inside"]) or (
        bool(found["beginning"]) and _is_one_word(one.title, other.title)
    )


def _categories_agree(a: str, b: str) -> bool:
    if a == b or (a, b) in _SIMILAR_CATEGORIES:
        return True
    return "other" in {a, b} and not _HOLIDAYS & {a, b}


def _same_holiday(one: LocalEvent, other: LocalEvent) -> bool:
    """The same days observed by the same regions are one holiday, whatever its name."""
    a, b = one.details, other.details
    same_days = one.first == other.first and (
        a.category == "public_holiday" or one.last == other.last
    )
    return same_days and a.category == b.category and a.regions == b.regions


def _needs_nearer(one: MatchRecord, other: MatchRecord, place: Proximity, time: Proximity) -> bool:
    """Whether such titles or categories are one event only at one door."""
    if not (one.title.naming and other.title.naming):  # "Pub quiz"
        return place is not Proximity.SAME or time is Proximity.NEARBY
    categories = {one.category, other.category} - {"other"}
    return place is Proximity.SAME_AREA and not categories <= _WIDESPREAD


def _have_nothing_in_common(one: Title, other: Title) -> bool:
    """Whether no word and few letters are shared, which no score makes up for."""
    if one.unique & other.unique or (one.cjk and other.cjk):
        return False
    return shared_letters(one, other) < _MIN_LETTERS_IN_COMMON


def _is_homage(title: Title) -> bool:
    return not HOMAGE_TERMS.isdisjoint(fold(title.text))


def _is_one_word(*titles: Title) -> bool:
    """Whether one of them is a single word, as it is written; characters are no words."""
    return any(len(set(fold(t.text)) - STOP_WORDS) == 1 for t in titles if not t.cjk)


def _is_other_match(one: Matchup, other: Matchup, place: Proximity) -> bool:
    """Whether reserves meet, or another sport is played; at one venue it need not be said."""
    if sorted(team.is_reserve for team in one) != sorted(team.is_reserve for team in other):
        return True
    played = [{team.discipline for team in matchup} - {None} for matchup in (one, other)]
    return played[0] != played[1] and (all(played) or place is not Proximity.SAME)
