"""Likeness: how alike two titles are, 0 to 1, by the words that name something.

A word weighs by its length, less where many titles of the answer hold it (the orchestra of the
town, a series of candlelight concerts), and little where any event may say it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from location_context.sections.events.merging.spelling import CONSONANTS_OF_A_NAME, is_slip
from location_context.sections.events.merging.vocabulary import DECOR, ENSEMBLES, KINDS, VAGUE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from location_context.sections.events.merging.titles import Title

_VAGUE_WEIGHT, _KIND_OF_RIVALS = 0.1, 0.6
_NOTHING = 1.0  # less than any word that names something weighs
_COMMON = 4  # titles that may hold a word before it counts for less
_PART_NAMED, _CONTAINED, _SHORTENED = 0.9, 0.72, 0.8
_SHORTEST_INITIALS, _LONGEST_INITIALS, _WORDS_WITH_INITIALS = 3, 5, 2


def _length(word: str) -> int:
    return min(max(len(word), 3), 8)


@dataclass(frozen=True)
class Rarity:
    """In how many different titles of an answer each word stands."""

    titles: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, titles: Iterable[Title]) -> Rarity:
        different = {title.named for title in titles}
        return cls(Counter(word for named in different for word in named))

    def weight(self, word: str) -> float:
        if word in VAGUE:
            return _length(word) if word in ENSEMBLES else _VAGUE_WEIGHT
        return _length(word) * min(1.0, _COMMON / self.titles.get(word, 1))

    def weights_of_rivals(self, words: Iterable[str]) -> float:
        """Where each has words of its own, the kind of event tells them apart as well."""
        return sum(
            _KIND_OF_RIVALS * _length(word)
            if word in KINDS and word not in ENSEMBLES
            else self.weight(word)
            for word in words
        )

    def weights(self, words: Iterable[str]) -> float:
        return sum(map(self.weight, words))


@dataclass(frozen=True)
class Likeness:
    """How alike, and whether a word that names something says so."""

    degree: float
    named: bool


UNLIKE = Likeness(0.0, named=False)


def likeness(one: Title, other: Title, local: frozenset[str], rarity: Rarity) -> Likeness:
    """How alike two titles are; `local` are words of the venue and its town, which name neither."""
    mine, theirs = _own(one.named, other.named, local)
    if mine == theirs:
        return Likeness(1.0, named=_names(mine))
    nearly = _nearly(one, other, mine - theirs, theirs - mine)
    shared = mine & theirs
    left, right = mine - shared - nearly[0], theirs - shared - nearly[1]
    if not _names(shared | nearly[0]):
        return _without_names(one, other, shared, left | right)
    weigh = rarity.weights_of_rivals if left - DECOR and right - DECOR else rarity.weights
    weight, less, more = weigh(shared | nearly[0]), weigh(left), weigh(right)
    degree = weight / (weight + less + more)
    if min(less, more) < _NOTHING:  # all of one that names something stands in the other
        longer, core = (one, shared | nearly[0]) if less > more else (other, shared | nearly[1])
        degree = max(degree, _contained(longer, core, shared, local, rarity))
    return Likeness(degree, named=True)


def _without_names(
    one: Title, other: Title, shared: frozenset[str], rest: frozenset[str]
) -> Likeness:
    """Titles that share no name: one may be the other's initials, or both may have no name."""
    if _is_short(one, other) or _is_short(other, one):
        return Likeness(_SHORTENED, named=True)
    return UNLIKE if _names(rest) else Likeness(len(shared) / len(shared | rest), named=False)


def _own(
    one: frozenset[str], other: frozenset[str], local: frozenset[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """The words but those of the place, where both have others that name something."""
    mine, theirs = one - local, other - local
    return (mine, theirs) if _names(mine) and _names(theirs) else (one, other)


def _names(words: Iterable[str]) -> bool:
    return any(word not in VAGUE for word in words)


def _contained(
    longer: Title, core: frozenset[str], shared: frozenset[str], local: frozenset[str],
    rarity: Rarity,
) -> float:  # fmt: skip
    """How much it says that all of one title stands in the other, by where it stands there.

    As a whole part it is a name with an addition; at the beginning or the end it may be. One word
    alone may be of another name: "Queen" of "Christine and the Queens", "Pink" of "Pink Floyd".
    """
    if len(core - VAGUE) == 1 and not core <= shared:
        return 0.0
    if _is_part(longer, core, local, rarity):
        return _PART_NAMED
    naming = [w for w in longer.words if w not in VAGUE and (w in core or w not in local)]
    at_an_end = bool(naming) and (naming[0] in core or naming[-1] in core)
    return _CONTAINED if at_an_end and len(core - DECOR) > 1 else 0.0


def _is_part(longer: Title, core: frozenset[str], local: frozenset[str], rarity: Rarity) -> bool:
    """Whether the words are a whole part of a title: "Phoenix" of "Phoenix: Alpha Zulu Tour"."""
    for part in longer.parts:
        rest = frozenset(part) - core - local
        if _names(core & set(part)) and not rest & ENSEMBLES and rarity.weights(rest) < _NOTHING:
            return True
        if "tour" in rest and _names(core & {part[0]}):
            return True  # the tour has a name
    return False


def _nearly(
    one: Title, other: Title, left: frozenset[str], right: frozenset[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """The words that have their like in the other title: misspelt, written together, romanised."""
    if not left or not right:
        return frozenset(), frozenset()
    scripts = one.foreign != other.foreign
    alike = [
        (a, b)
        for a in left
        for b in right
        if is_slip(a, b) or (scripts and _sounds(one.bones[a], other.bones[b]))
    ]
    mine, theirs = {a for a, _ in alike}, {b for _, b in alike}
    _add_joined(one, other, right, (mine, theirs), scripts=scripts)
    _add_joined(other, one, left, (theirs, mine), scripts=scripts)
    return frozenset(mine & left), frozenset(theirs & right)


def _add_joined(
    apart: Title, together: Title, single: frozenset[str], found: tuple[set[str], set[str]],
    *, scripts: bool,
) -> None:  # fmt: skip
    """Two words of one title that are one word of the other: "blue max" and "bluemax"."""
    for a, b in zip(apart.words, apart.words[1:], strict=False):
        for word in single:
            if word == a + b or (scripts and _sounds(apart.bones[a + b], together.bones[word])):
                found[0].update((a, b))
                found[1].add(word)


def _sounds(one: str, other: str) -> bool:
    return one == other and len(one) >= CONSONANTS_OF_A_NAME


def _is_short(one: Title, other: Title) -> bool:
    """Whether one is how the other's name begins when shortened: MWC, ESC; a town may follow."""
    beside = one.named - other.named - DECOR
    return (
        len(beside) <= _WORDS_WITH_INITIALS
        and not beside & KINDS
        and any(
            _SHORTEST_INITIALS <= len(word) <= _LONGEST_INITIALS and other.initials.startswith(word)
            for word in beside
        )
    )
