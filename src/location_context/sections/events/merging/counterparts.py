"""Counterparts: words of two titles that are one: misspelt, romanised or written together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.sections.events.merging.spelling import CONSONANTS_OF_A_NAME, is_slip

if TYPE_CHECKING:
    from location_context.sections.events.merging.titles import Title


def counterparts(
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
