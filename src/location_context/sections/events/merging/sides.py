"""Sides: who meets whom in a match, so that "Lakers v Kings" is "Kings at Los Angeles Lakers"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from location_context.sections.events.merging.clubs import (
    CLUB,
    CLUB_KINDS,
    CLUBS,
    COUNTRIES,
    DISCIPLINES,
)
from location_context.sections.events.merging.spelling import (
    is_foreign,
    is_slip,
    plain,
    sounds_like,
    words,
)
from location_context.sections.events.merging.vocabulary import MARKERS, MEANINGS, PARTICLES

_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_VERSUS = re.compile(
    r"\s+(?:vs?\.?|versus|contre|gegen|contra|contro|против|ضد|x|×)\s+|\s*[対对]\s*", re.IGNORECASE
)
_DASH = re.compile(r"\s+[-–—]\s+|\s+:\s+")
_AT = re.compile(r"\s+(?:@|at)\s+")
_SURE, _PARTLY, _OTHERWISE = 1.0, 0.85, 0.7
_LONGEST = 4
_RESERVES = (["ii"], ["2"], ["b"], ["iii"])


@dataclass(frozen=True)
class Side:
    """One that plays: the words of its name, its initials, and what it plays where that is said."""

    words: frozenset[str]
    initials: str
    discipline: str | None
    reserve: bool
    foreign: bool


def read_sides(title: str) -> tuple[Side, Side] | None:
    """The two that meet, if the title tells of two."""
    bare = _BRACKETS.sub(" ", title)
    for between in (_VERSUS, _DASH, _AT):
        found = between.split(bare)
        if len(found) == 2:
            first = re.split(r":\s+", found[0])[-1]
            second = found[1] if between is not _VERSUS else _DASH.split(found[1])[0]
            second = re.split(r":\s+|,\s", second)[0]
            one, other = _side(first), _side(second)
            return (one, other) if one.words and other.words else None
    return None


def alike(one: tuple[Side, Side], other: tuple[Side, Side]) -> float:
    """How surely the same two meet, whichever is named first; 0 to 1."""
    straight = min(_same(one[0], other[0]), _same(one[1], other[1]))
    crossed = min(_same(one[0], other[1]), _same(one[1], other[0]))
    return max(straight, crossed)


def _side(text: str) -> Side:
    given = words(plain(text))
    kinds = [DISCIPLINES[word] for word in given if word in DISCIPLINES]
    return Side(
        words=_named(given),
        initials="".join(
            word if word in CLUB and len(word) > 1 else word[0]
            for word in given
            if word not in PARTICLES
        ),
        discipline=kinds[0] if kinds else None,
        reserve=given[-1:] in _RESERVES,
        foreign=is_foreign(text),
    )


def _named(given: list[str]) -> frozenset[str]:
    """The words that name it, a known club or country by one name for all languages."""
    plainly = [word for word in given if word not in DISCIPLINES and (word,) not in MARKERS]
    if (whole := tuple(plainly)) in COUNTRIES:
        return frozenset(COUNTRIES[whole])
    found: list[str] = []
    at = 0
    while at < len(plainly):
        for length in range(min(_LONGEST, len(plainly) - at), 0, -1):
            phrase = tuple(plainly[at : at + length])
            if known := CLUBS.get(phrase) or MEANINGS.get(phrase):
                found += known
                at += length
                break
        else:
            found.append(plainly[at])
            at += 1
    own = [w for w in found if w not in CLUB and w not in PARTICLES and not w.isdigit()]
    return frozenset(own or given)


def _same(one: Side, other: Side) -> float:
    if one.reserve != other.reserve:
        return 0.0
    if one.discipline and other.discipline and one.discipline != other.discipline:
        return 0.0
    sure = _SURE if one.discipline == other.discipline else _OTHERWISE
    shared = {(a, b) for a in one.words for b in other.words if _same_word(a, b, one, other)}
    mine, theirs = {a for a, _ in shared}, {b for _, b in shared}
    if mine == one.words and theirs == other.words:
        return sure
    if mine - CLUB_KINDS and (mine == one.words or theirs == other.words):
        return min(sure, _PARTLY)
    return _PARTLY if _is_short(one, other) or _is_short(other, one) else 0.0


def _same_word(a: str, b: str, one: Side, other: Side) -> bool:
    if a == b or is_slip(a, b):
        return True
    return one.foreign != other.foreign and sounds_like(a, b)


def _is_short(one: Side, other: Side) -> bool:
    """Whether one is the other's initials: PSG, HSV."""
    return (
        len(one.words) == 1
        and len(short := next(iter(one.words))) >= 2
        and (short == other.initials)
    )
