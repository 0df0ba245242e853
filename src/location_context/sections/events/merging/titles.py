"""Titles: what a title holds, once what providers add to a name is taken away.

A title is read into parts (at colons, dashes, brackets), each part into words that mean the same in
every language, and beside them the numbers and the markers that two titles must agree on.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from location_context.sections.events.merging.meanings import meant
from location_context.sections.events.merging.spelling import (
    bones,
    has_signs,
    is_foreign,
    plain,
    words,
)
from location_context.sections.events.merging.vocabulary import (
    GROUPS,
    PARTICLES,
    VAGUE,
)

_DIGITS_OF_A_NAME = 3
_BRACKETS = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]|【([^】]*)】|（([^）]*)）|<([^<>]*)>")
_BRACKET = re.compile(r"[(\[【（<]")
_PARTS = re.compile(
    r"\s+[-–—|/•·~+]+\s+|:(?!\d\d)|[|•/;,‚„“”«»「」『』〈〉《》\"]|\s@\s|\.\s+(?=\w{4})"
    r"|\b(?:with|feat|ft|featuring|avec|mit|con|plays?|performs?|at|by|par|presents?)\b"
    r"|\b(?:(?:and|&) (?:his|her|their)|und (?:sein|seine|ihr|ihre)|et (?:son|sa|ses))\b"
    # whose it is: "Handel's Messiah", but not "New Year's Eve"
    r"|(?<!year)(?<!night)(?<!day)(?<!valentine)(?<!mother)(?<!father)(?<!patrick)['’]s\s",
    re.IGNORECASE,
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
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, eq=False)
class Title:
    """A title as it is compared.

    `words` in order; `parts` are the same words as the writer set them apart; `markers` hold kinds
    of event (women, tribute, half) that both must have; `foreign`: in other than Latin letters.
    `named`: the words as a set; `core`: those that name something; `grouped`: of each group of
    words that exclude each other, those it holds.
    """

    text: str
    words: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    numbers: frozenset[str]
    markers: frozenset[str]
    foreign: bool
    named: frozenset[str]
    core: frozenset[str]
    grouped: dict[int, frozenset[str]]

    @cached_property
    def bones(self) -> dict[str, str]:
        """The consonants of each word, and of each two side by side; none where signs stand."""
        if has_signs(self.text):
            return defaultdict(str)
        pairs = zip(self.words, self.words[1:], strict=False)
        return {word: bones(word) for word in (*self.words, *(a + b for a, b in pairs))}

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
    parts = [meant(part) for part in _PARTS.split(_without_passing(bare) or bare)]
    found = [tuple(word for word in part if _is_name(word)) for part in parts]
    named = tuple(word for part in found for word in part)
    if not named:
        named = tuple(words(plain(text)))
        found = [named]
    beside = [word for part in parts for word in part] + meant(_without_passing(added))
    whole = frozenset(named)
    return Title(
        text=text,
        words=named,
        parts=tuple(part for part in found if part),
        numbers=frozenset(word for word in beside if word.isdigit()),
        markers=frozenset(word for word in beside if word.startswith("#")),
        foreign=is_foreign(text),
        named=whole,
        core=whole - VAGUE,
        grouped={n: held for n, group in enumerate(GROUPS) if (held := group & whole)},
    )


def _is_name(word: str) -> bool:
    """Whether it is no marker and no number but one as long as a name's (1975, Blink-182)."""
    return not word.startswith("#") and not (word.isdigit() and len(word) < _DIGITS_OF_A_NAME)


def _without_brackets(text: str) -> tuple[str, str]:
    """What stands outside of brackets, and inside; all of it where nothing stands outside."""
    if not _BRACKET.search(text):
        return text, ""
    inside = " ".join(part for match in _BRACKETS.findall(text) for part in match)
    outside = _BRACKETS.sub(" ", text)
    return (outside, inside) if words(plain(outside)) else (text, "")


def _without_passing(text: str) -> str:
    """Without years, dates, times, ages and editions; empty where no word is left."""
    if not _DIGIT.search(text):
        return text
    left = _PASSING.sub(" ", text)
    return left if words(plain(left)) else ""
