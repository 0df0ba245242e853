"""Titles: what a title holds, once what providers add to a name is taken away.

A title is read into parts (at colons, dashes, brackets), each part into words that mean the same in
every language, and beside them the numbers and the markers that two titles must agree on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from location_context.sections.events.merging.spelling import bones, is_foreign, plain, words
from location_context.sections.events.merging.vocabulary import (
    DROPPED,
    GROUPS,
    MARKERS,
    MEANINGS,
    NUMBERS,
    PARTICLES,
    VAGUE,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LONGEST_PHRASE = 5
_DIGITS_OF_A_NAME = 3
_BRACKETS = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]|【([^】]*)】|（([^）]*)）|<([^<>]*)>")
_PARTS = re.compile(
    r"\s+[-–—|/•·~+]+\s+|:\s+|\s:\s*|[|•/;,‚„“”«»「」『』〈〉《》\"]|\s@\s|\.\s+(?=\w{4})"
)
_PASSING = re.compile(
    r"(?<!^)(?<!^the )\b(?:19|20)\d\d(?:\s*[/–-]\s*\d{2,4})?\b"  # years and seasons
    r"|['’]\d\d\b"
    r"|\b\d{1,2}[./]\d{1,2}[./](?:\d{2,4})?"  # dates
    r"|\b\d{1,2}[:.]\d\d\s*(?:h|uhr|am|pm)?\b|\b\d{1,2}\s?(?:h|uhr|am|pm|hrs)\d{0,2}\b"  # times
    r"|\b\d{1,2}\s?\+|\+\d{1,2}\b|\b(?:ab|from|age|ages)\s\d{1,2}\b(?:\sjahren?)?"  # ages
    r"|\b\d{1,3}(?:st|nd|rd|th|\.|ª|º|e|ème)?\s?(?:[eé]dition|ausgabe|auflage|edici[oó]n|edizione)\b"
    r"|\b\d{1,2}[- ]?(?:day|days|jours?|tages?|tage|dias?|días?|giorn[io])\b",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(\d{1,3})(?:st|nd|rd|th|er|ere|eme|e|a|o)$")
_YOUTH = re.compile(r"u\d\d$")


@dataclass(frozen=True)
class Title:
    """A title as it is compared.

    `words` in order; `parts` are the same words as the writer set them apart; `markers` hold kinds
    of event (women, tribute, half) that both must have; `foreign`: in other than Latin letters.
    """

    text: str
    words: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    numbers: frozenset[str]
    markers: frozenset[str]
    foreign: bool

    @cached_property
    def named(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def core(self) -> frozenset[str]:
        """The words that name something."""
        return self.named - VAGUE

    @cached_property
    def bones(self) -> dict[str, str]:
        """The consonants of each word, and of each two that stand side by side."""
        pairs = zip(self.words, self.words[1:], strict=False)
        return {word: bones(word) for word in (*self.words, *(a + b for a, b in pairs))}

    @cached_property
    def grouped(self) -> dict[int, frozenset[str]]:
        """Of each group of words that exclude each other, those it holds."""
        return {n: held for n, group in enumerate(GROUPS) if (held := group & self.named)}

    @cached_property
    def initials(self) -> str:
        """The first letter of every word that is written, as a name is shortened."""
        return "".join(word[0] for word in words(plain(self.text)) if word not in PARTICLES)

    def agrees(self, other: Title) -> bool:
        """Whether nothing in them says that they are two: markers, numbers, halves of a day."""
        if self.markers != other.markers or _differ(self.numbers, other.numbers):
            return False
        return not any(
            n in other.grouped and _differ(held, other.grouped[n])
            for n, held in self.grouped.items()
        )


def _differ(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether each holds one that the other lacks, both having some."""
    return bool(one and other and not one <= other and not other <= one)


def read_title(text: str) -> Title:
    """The title in the form that is compared; never empty of words where it has any."""
    bare, added = _without_brackets(text)
    left = _without_passing(bare)
    parts = [_read(part) for part in _PARTS.split(left if words(plain(left)) else bare)]
    found = [tuple(word for word in part if _is_name(word)) for part in parts]
    named = tuple(word for part in found for word in part)
    if not named:
        whole = words(plain(text))
        named, found = tuple(whole), [tuple(whole)]
    beside = [word for part in parts for word in part] + _read(_without_passing(added))
    return Title(
        text=text,
        words=named,
        parts=tuple(part for part in found if part),
        numbers=frozenset(word for word in beside if word.isdigit()),
        markers=frozenset(word for word in beside if word.startswith("#")),
        foreign=is_foreign(text),
    )


def _is_name(word: str) -> bool:
    """Whether it is no marker and no number but one as long as a name's (1975, Blink-182)."""
    return not word.startswith("#") and not (word.isdigit() and len(word) < _DIGITS_OF_A_NAME)


def _without_brackets(text: str) -> tuple[str, str]:
    """What stands outside of brackets, and inside; all of it where nothing stands outside."""
    inside = " ".join(part for match in _BRACKETS.findall(text) for part in match)
    outside = _BRACKETS.sub(" ", text)
    return (outside, inside) if words(plain(outside)) else (text, "")


def _without_passing(text: str) -> str:
    """Without years, dates, times, ages and editions."""
    return _PASSING.sub(" ", text)


def _read(part: str) -> list[str]:
    """The words of a part in their common meaning; markers begin with `#`."""
    return [word for word in _meant(words(plain(part))) if word not in PARTICLES]


def _meant(given: list[str]) -> Iterator[str]:
    """Each longest phrase that means something by what it means, every other word as it is."""
    at = 0
    while at < len(given):
        for length in range(min(_LONGEST_PHRASE, len(given) - at), 0, -1):
            phrase = tuple(given[at : at + length])
            known = next((table[phrase] for table in _TABLES if phrase in table), None)
            if known is not None:
                yield from known
                at += length
                break
        else:
            yield _number_or_word(given[at])
            at += 1


def _number_or_word(word: str) -> str:
    if ordinal := _ORDINAL.match(word):
        return ordinal[1]
    return "#youth" if _YOUTH.match(word) else word.lstrip("0") or word


_TABLES: tuple[Mapping[tuple[str, ...], tuple[str, ...]], ...] = (
    MARKERS, DROPPED, NUMBERS, MEANINGS,
)  # fmt: skip
