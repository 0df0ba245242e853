"""Meanings: the words of a text as every language means them, without those that join others."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from location_context.sections.events.merging.spelling import plain, words
from location_context.sections.events.merging.vocabulary import (
    DROPPED,
    MARKERS,
    MEANINGS,
    NUMBERS,
    PARTICLES,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_Phrases = dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]]
_ORDINAL = re.compile(r"(\d{1,3})(?:st|nd|rd|th|er|ere|eme|e|a|o)$")
_LAST = {"i": "1", "v": "5"}
_KINDS_OF_COMPOUNDS = ("konzert", "fuhrung", "ausstellung", "markt", "lesung", "konsato")
_LETTERS_OF_A_PART = 3
_YOUTH = re.compile(r"u\d\d$")


def meant(text: str) -> list[str]:
    """The words in their common meaning; a marker begins with `#`."""
    given = words(plain(text))
    if len(given) > 1 and given[-1] in _LAST:  # nobody follows: Henry V, not Arsenal v Chelsea
        given[-1] = _LAST[given[-1]]
    return [word for word in _meant(given) if word not in PARTICLES]


def _meant(given: list[str]) -> Iterator[str]:
    """Each longest phrase that means something by what it means, every other word as it is."""
    at = 0
    while at < len(given):
        for phrase, meaning in _PHRASES.get(given[at], ()):
            if len(phrase) == 1 or tuple(given[at : at + len(phrase)]) == phrase:
                yield from meaning
                at += len(phrase)
                break
        else:
            yield from _compound(given[at]) or (_number_or_word(given[at]),)
            at += 1


def _compound(word: str) -> tuple[str, ...]:
    """What a German compound of a kind means: Klavierkonzert is a concert of the piano."""
    for kind in _KINDS_OF_COMPOUNDS:
        own = word.removesuffix(kind)
        if own != word and len(own) >= _LETTERS_OF_A_PART:
            parts = (own, own.removesuffix("s"), kind)
            first, bare, last = (_ALONE.get(part, (part,)) for part in parts)
            return (bare if first == (own,) else first) + last
    return ()


def _number_or_word(word: str) -> str:
    if word.isalpha():
        return word
    if ordinal := _ORDINAL.match(word):
        return ordinal[1]
    return "#youth" if _YOUTH.match(word) else word.lstrip("0") or word


def _by_first_word() -> _Phrases:
    """Every phrase under its first word, the longest first; of two tables the first decides."""
    found: _Phrases = defaultdict(list)
    for phrase, meaning in (MEANINGS | NUMBERS | DROPPED | MARKERS).items():
        found[phrase[0]].append((phrase, meaning))
    return {word: sorted(phrases, key=lambda p: -len(p[0])) for word, phrases in found.items()}


_PHRASES = _by_first_word()
_ALONE = {phrase[0]: meaning for phrase, meaning in MEANINGS.items() if len(phrase) == 1}
