"""Titles in the form that is compared: without what providers add to a name.

A title is read into parts (at colons, dashes, brackets), each part into words that mean the same in
every language, and beside them the numbers and the terms that two titles must agree on.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from location_context.sections.events.deduplication.normalise import (
    EXCLUSIVE_GROUPS,
    GENERIC_TERMS,
    canonical_tokens,
    fold,
    has_cjk,
    is_non_latin,
    ngrams,
)

_MIN_NAME_DIGITS = 3  # 1975, Blink-182
_BRACKETS = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]|【([^】]*)】|（([^）]*)）|<([^<>]*)>")
_BRACKET = re.compile(r"[(\[【（<]")
_PARTS = re.compile(
    r"\s+[-–—|/•·~+]+\s+|:(?!\d\d)|[|•/;,‚„“”«»「」『』〈〉《》\"]|\s@\s|\.\s+(?=\w{4})"
    r"|\b(?:with|feat|ft|featuring|avec|mit|con|plays?|performs?|at|by|par|presents?)\b"
    r"|(?:\b(?:and|und)|&) (?:his|her|their|seine?|ihre?|band)\b|\bet (?:son|sa|ses)\b"
    # whose it is: "Handel's Messiah", but not "New Year's Eve"
    r"|(?<!year)(?<!night)(?<!day)(?<!valentine)(?<!mother)(?<!father)(?<!patrick)['’]s\s",
    re.IGNORECASE,
)
_INCIDENTAL = re.compile(
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

    Attributes:
        words: what it holds, in order; never empty where the text has any word.
        parts: the same words as the writer set them apart.
        numbers: numbers it holds, also those that are no part of a name.
        distinguishing: terms such as `#women` or `#tribute` that both of two must have.
        unique: the words as a set; `naming`: those of them that are not generic.
        exclusive: of each group of words that exclude each other, those it holds.
        non_latin: whether it is written in other than Latin letters.
    """

    text: str
    words: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    numbers: frozenset[str]
    distinguishing: frozenset[str]
    unique: frozenset[str]
    naming: frozenset[str]
    exclusive: dict[int, frozenset[str]]
    non_latin: bool
    cjk: bool

    @cached_property
    def trigrams(self) -> frozenset[str]:
        """The runs of three letters of its words, written as one."""
        return ngrams("".join(self.words), 3)

    @cached_property
    def bigrams(self) -> frozenset[str]:
        """The runs of two, for titles in different scripts: few romanisations share three."""
        return ngrams("".join(self.words), 2)

    @cached_property
    def characters(self) -> frozenset[str]:
        """The runs of two characters as it is written, for two titles in Chinese characters."""
        return ngrams("".join(self.text.split()), 2)

    def contradicts(self, other: "Title") -> bool:
        """Whether something in them says that they are two: numbers, women, halves of a day."""
        if self.distinguishing != other.distinguishing or _differ(self.numbers, other.numbers):
            return True
        return any(
            n in other.exclusive and _differ(words, other.exclusive[n])
            for n, words in self.exclusive.items()
        )


def _differ(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether each holds one that the other lacks, both having some."""
    return bool(one and other and not one <= other and not other <= one)


def read_title(text: str) -> Title:
    """The title in the form that is compared."""
    bare, bracketed = _split_brackets(text)
    parts = [canonical_tokens(part) for part in _PARTS.split(_without_incidental(bare) or bare)]
    named = [tuple(word for word in part if _is_name(word)) for part in parts]
    words = tuple(word for part in named for word in part)
    if not words:
        words = fold(text)
        named = [words]
    tokens = [word for part in parts for word in part]
    tokens += canonical_tokens(_without_incidental(bracketed))
    unique = frozenset(words)
    return Title(
        text=text,
        words=words,
        parts=tuple(part for part in named if part),
        numbers=frozenset(word for word in tokens if word.isdigit()),
        distinguishing=frozenset(word for word in tokens if word.startswith("#")),
        unique=unique,
        naming=unique - GENERIC_TERMS,
        exclusive={n: held for n, group in enumerate(EXCLUSIVE_GROUPS) if (held := group & unique)},
        non_latin=is_non_latin(text),
        cjk=has_cjk(text),
    )


def _is_name(word: str) -> bool:
    return not word.startswith("#") and not (word.isdigit() and len(word) < _MIN_NAME_DIGITS)


def _split_brackets(text: str) -> tuple[str, str]:
    """What stands outside of brackets, and inside; all of it where nothing stands outside."""
    if not _BRACKET.search(text):
        return text, ""
    inside = " ".join(part for match in _BRACKETS.findall(text) for part in match)
    outside = _BRACKETS.sub(" ", text)
    return (outside, inside) if fold(outside) else (text, "")


def _without_incidental(text: str) -> str:
    """Without years, dates, times, ages and editions; empty where no word is left."""
    if not _DIGIT.search(text):
        return text
    left = _INCIDENTAL.sub(" ", text)
    return left if fold(left) else ""
