"""Commonness: what a word says, in an answer where others may hold it too.

A word weighs by its length, less where many titles of the answer hold it (the orchestra of the
town, a series of candlelight concerts), and little where any event may say it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from location_context.sections.events.merging.vocabulary import ENSEMBLES, KINDS, VAGUE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from location_context.sections.events.merging.titles import Title

_VAGUE_WEIGHT, _KIND_OF_RIVALS = 0.1, 0.6
_VENUES_OF_A_TOWN = 3
_COMMON = 4  # titles that may hold a word before it counts for less


def _length(word: str) -> int:
    return min(max(len(word), 3), 8)


@dataclass(frozen=True)
class Common:
    """What an answer has in common: how many different titles hold each word, and its towns."""

    titles: Mapping[str, int] = field(default_factory=dict)
    towns: frozenset[str] = frozenset()

    @classmethod
    def to(cls, titles: Iterable[Title], towns: Iterable[frozenset[str]]) -> Common:
        """Of the titles, and of the town of each venue: a word of three addresses is a town's."""
        different = {title.named for title in titles}
        named = Counter(word for town in towns for word in town)
        return cls(
            Counter(word for words in different for word in words),
            frozenset(word for word, venues in named.items() if venues >= _VENUES_OF_A_TOWN),
        )

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
