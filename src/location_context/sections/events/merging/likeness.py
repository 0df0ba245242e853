"""Likeness: how alike two titles are, 0 to 1, by the words that name something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from location_context.sections.events.merging.counterparts import counterparts
from location_context.sections.events.merging.vocabulary import DECOR, ENSEMBLES, KINDS, VAGUE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from location_context.sections.events.merging.commonness import Common
    from location_context.sections.events.merging.titles import Title

_NOTHING = 1.0  # less than any word that names something weighs
_PART_NAMED, _CONTAINED, _SHORTENED = 0.9, 0.72, 0.8
_SHORTEST_INITIALS, _LONGEST_INITIALS, _WORDS_WITH_INITIALS = 3, 5, 2


@dataclass(frozen=True)
class Likeness:
    """How alike, and whether a word that names something says so."""

    degree: float
    named: bool


UNLIKE = Likeness(0.0, named=False)


def likeness(
    one: Title, other: Title, local: frozenset[str], common: Common, *, acts: bool = False
) -> Likeness:
    """How alike two titles are.

    `local` are words of the venue, which name neither; `acts`: one's name may begin another's.
    """
    local |= common.towns
    mine, theirs = _own(one.named, other.named, local)
    if mine == theirs:
        return Likeness(1.0, named=_names(mine))
    nearly = counterparts(one, other, mine - theirs, theirs - mine)
    shared = mine & theirs
    left, right = mine - shared - nearly[0], theirs - shared - nearly[1]
    if not _names(shared | nearly[0]):
        return _without_names(one, other, shared, left | right)
    weigh = common.weights_of_rivals if left - DECOR and right - DECOR else common.weights
    weight, less, more = weigh(shared | nearly[0]), weigh(left), weigh(right)
    degree = weight / (weight + less + more)
    if min(less, more) < _NOTHING:  # all of one that names something stands in the other
        longer, core = (one, shared | nearly[0]) if less > more else (other, shared | nearly[1])
        if core <= shared or len(core - VAGUE) > 1:  # one word that is nearly there is another
            degree = max(degree, _contained(longer, core, local, common, acts=acts))
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
    longer: Title, core: frozenset[str], local: frozenset[str], common: Common, *, acts: bool
) -> float:
    """How much it says that all of one title stands in the other, by where it stands there.

    As a whole part it is a name with an addition; at the beginning or the end it may be. One word
    alone is often of another name: "Queen" of "Christine and the Queens", "Pink" of "Pink Floyd".
    What is no act has few such names: "Sziget" begins "Sziget Budapest".
    """
    if _is_part(longer, core, local, common):
        return _PART_NAMED
    if (longer.named - core - local) & ENSEMBLES:
        return 0.0
    naming = [w for w in longer.words if w not in VAGUE and (w in core or w not in local)]
    at_an_end = bool(naming) and (naming[0] in core or naming[-1] in core)
    alone = len(core - DECOR) == 1
    if alone and not acts:
        return _CONTAINED if naming[:1] == [*core - VAGUE] else 0.0
    return 0.0 if alone or not at_an_end else _CONTAINED


def _is_part(longer: Title, core: frozenset[str], local: frozenset[str], common: Common) -> bool:
    """Whether the words are a whole part of a title: "Phoenix" of "Phoenix: Alpha Zulu Tour"."""
    for part in longer.parts:
        rest = frozenset(part) - core - local
        if _names(core & set(part)) and not rest & ENSEMBLES and common.weights(rest) < _NOTHING:
            return True
        if "tour" in rest and _names(core & {part[0]}):
            return True  # the tour has a name
    return False


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
