"""Matchups: who meets whom, so that "Lakers v Kings" is "Kings at Los Angeles Lakers"."""

import re
from dataclasses import dataclass

from location_context.sections.events.deduplication.normalise import (
    COMMON_TEAM_NAMES,
    COUNTRIES,
    DISCIPLINES,
    DISTINGUISHING_TERMS,
    STOP_WORDS,
    SYNONYMS,
    TEAM_AFFIXES,
    TEAMS,
    fold,
    token_similarity,
)

_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_VERSUS = re.compile(
    r"\s+(?:vs?\.?|versus|@|at|contre|gegen|contra|contro|против|ضد|x|×)\s+|\s*[対对]\s*",
    re.IGNORECASE,
)
_DASH = re.compile(r"\s+[-–—]\s+|\s+:\s+")
_RESERVES = {("ii",), ("2",), ("b",)}
_MAX_PHRASE = 4
_LONGER_NAME, _PART_OF_WORD, _OTHER_NAME = 0.95, 0.75, 0.3
_MIN_LETTERS_OF_A_PART = 4


@dataclass(frozen=True)
class Team:
    """One that plays: the words of its name, and what it plays where that is said."""

    words: frozenset[str]
    discipline: str | None
    is_reserve: bool


Matchup = tuple[Team, Team]


def read_matchup(title: str) -> Matchup | None:
    """The two that meet, if the title names two."""
    played = next((DISCIPLINES[word] for word in fold(title) if word in DISCIPLINES), None)
    bare = _BRACKETS.sub(" ", title)
    for separator in (_VERSUS, _DASH):
        found = separator.split(bare)
        if len(found) == 2:
            first = re.split(r":\s+", found[0])[-1]
            second = found[1] if separator is not _VERSUS else _DASH.split(found[1])[0]
            one = _team(first, played)
            other = _team(re.split(r":\s+|,\s", second)[0], played)
            return (one, other) if one.words and other.words else None
    return None


def _team(text: str, discipline: str | None) -> Team:
    given = fold(text)
    return Team(_name(given), discipline, given[-1:] in _RESERVES)


def _name(given: tuple[str, ...]) -> frozenset[str]:
    """The words that name it, a known team or country by one name for all languages."""
    words = tuple(w for w in given if w not in DISCIPLINES and (w,) not in DISTINGUISHING_TERMS)
    if words in COUNTRIES:
        return frozenset(COUNTRIES[words])
    found: list[str] = []
    at = 0
    while at < len(words):
        for length in range(min(_MAX_PHRASE, len(words) - at), 0, -1):
            phrase = words[at : at + length]
            if known := TEAMS.get(phrase) or SYNONYMS.get(phrase):
                found += known
                at += length
                break
        else:
            found.append(words[at])
            at += 1
    own = [w for w in found if w not in TEAM_AFFIXES | STOP_WORDS and not w.isdigit()]
    return frozenset(own or given)


def matchup_similarity(one: Matchup, other: Matchup) -> float:
    """How surely the same two meet, whichever is named first; 0 to 1, symmetric."""
    straight = min(_team_similarity(one[0], other[0]), _team_similarity(one[1], other[1]))
    crossed = min(_team_similarity(one[0], other[1]), _team_similarity(one[1], other[0]))
    return max(straight, crossed)


def _team_similarity(one: Team, other: Team) -> float:
    mine = one.words - COMMON_TEAM_NAMES or one.words
    theirs = other.words - COMMON_TEAM_NAMES or other.words
    best, first, second = max((_name_similarity(a, b), a, b) for a in mine for b in theirs)
    rest = [(a, b) for a in mine - theirs - {first} for b in theirs - mine - {second}]
    if rest and not any(token_similarity(a, b) for a, b in rest):
        return _OTHER_NAME  # Dallas Stars, Dallas Mavericks
    return best if best < 1 or mine == theirs else _LONGER_NAME


def _name_similarity(one: str, other: str) -> float:
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) >= _MIN_LETTERS_OF_A_PART and shorter in longer:
        return 1.0 if one == other else max(_PART_OF_WORD, token_similarity(one, other))
    return token_similarity(one, other)
