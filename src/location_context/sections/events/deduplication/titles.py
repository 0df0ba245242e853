"""Titles: prepares titles for comparison, without the words that providers add to a name.

A title is split into parts (at colons, dashes, "with"), and each part into words, which are
translated to one common vocabulary. Numbers and certain terms, on which two titles must agree, are
stored separately. The overlap of two titles is described by features from 0 to 1, which
`match_score` weighs. The title of a sports event also names two teams: "Lakers v Kings" means the
same as "Kings at Los Angeles Lakers".
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from location_context.sections.events.deduplication import normalise

_MIN_NAME_DIGITS = 3  # 1975, Blink-182
_BRACKETS = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]|【([^】]*)】|（([^）]*)）|<([^<>]*)>")
_BRACKET = re.compile(r"[(\[【（<]")
_PARTS = re.compile(
    r"\s+[-–—|/•·~+]+\s+|:(?!\d\d)|[|•/;,‚„“”«»「」『』〈〉《》\"]|\s@\s|\bw/|\.\s+(?=\w{4})"
    r"|\b(?:with|feat|ft|featuring|avec|mit|con|plays?|performs?|at|by|par|presents?)\b"
    r"|(?:\b(?:and|und)|&) (?:his|her|their|seine?|ihre?|band)\b|\bet (?:son|sa|ses)\b"
    # a possessive name: "Handel's Messiah", but not "New Year's Eve"
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
_VOWELS = re.compile(r"[aeiouywh]|(.)(?=\1)")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]+")
_DIGIT = re.compile(r"\d")
_KINDS = (
    "equal", "first_part", "later_part", "beginning", "inside", "part_of_differing", "series",
)  # fmt: skip
_GENERIC_WEIGHT = 0.1
_MIN_VENUES_OF_A_TOWN = 3
_COMMON_TITLES = 4  # a word in at least this many titles counts for less
_NEGLIGIBLE = 1.0  # below the weight of any word that names something
_MANY_NAMES = 4
_MIN_RUNS = 8  # runs of letters; fewer would make short titles without a shared word look alike

_ROUND_OR_SQUARE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_VERSUS = re.compile(
    r"\s+(?:vs?\.?|versus|@|at|contre|gegen|contra|contro|против|ضد|x|×)\s+|\s*[対对]\s*",
    re.IGNORECASE,
)
_DASH = re.compile(r"\s+[-–—]\s+|\s+:\s+")
_RESERVES = {("ii",), ("2",), ("b",)}
_MAX_PHRASE = 4
_LONGER_NAME, _PART_OF_WORD, _OTHER_NAME = 0.95, 0.75, 0.3
_MIN_LETTERS_OF_A_PART = 4

_Words = tuple[frozenset[str], frozenset[str]]  # of two titles
_NONE: frozenset[str] = frozenset()


@dataclass(eq=False)  # not frozen, which would add a fifth to the time to read a title
class Title:
    """A title prepared for comparison.

    Attributes:
        words: its words, in order; not empty if the text has any word.
        parts: the words of each part; parts are separated by colons, dashes or words like "with".
        numbers: its numbers; unlike `words`, they include those of one or two digits.
        distinguishing: terms such as `#women` or `#tribute`; titles match only if these are equal.
        unique, naming: the words as a set; `naming` is without generic words such as "live".
        exclusive: its words that belong to exclusive groups; see `normalise.exclusive_words`.
        aliases: other names: words in brackets, or in Latin letters next to another script.
        non_latin: True if it has letters that are not Latin.
        cjk: True if it has Chinese characters.
    """

    text: str
    words: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    numbers: frozenset[str]
    distinguishing: frozenset[str]
    unique: frozenset[str]
    naming: frozenset[str]
    exclusive: dict[int, frozenset[str]]
    aliases: frozenset[str]
    non_latin: bool
    cjk: bool

    @cached_property
    def trigrams(self) -> frozenset[str]:
        """All substrings of three letters of the title's words, which are joined without spaces."""
        return normalise.ngrams("".join(self.words), 3)

    @cached_property
    def bigrams(self) -> frozenset[str]:
        """All substrings of two letters of the title's words, which are joined without spaces.

        They serve to compare titles in two scripts: a name and its romanisation rarely share three
        letters in a row.
        """
        return normalise.ngrams("".join(self.words), 2)

    @cached_property
    def skeleton(self) -> frozenset[str]:
        """All pairs of adjacent letters of the title's words once their vowels are removed.

        They serve to compare two titles if one is in Arabic or Hebrew, which omit most vowels.
        """
        return normalise.ngrams(_VOWELS.sub("", "".join(self.words)), 2)

    @cached_property
    def characters(self) -> frozenset[str]:
        """All pairs of adjacent characters of the title, for titles in Chinese characters."""
        return normalise.ngrams("".join(self.text.split()), 2)

    def is_alias(self, other: "Title") -> bool:
        """Return True if one title contains the other as an alias.

        An alias stands in brackets, or in Latin letters beside another script: "Fête des Lumières
        (Festival of Lights)" beside "Festival of Lights".
        """
        if not self.aliases and not other.aliases:
            return False
        return any(
            not b.naming.isdisjoint(a.aliases) and b.naming <= a.aliases | a.unique
            for a, b in ((self, other), (other, self))
        )

    def contradicts(self, other: "Title") -> bool:
        """Return True if numbers or words show that two titles are of different events.

        These words are distinguishing terms (`#women`) and exclusive words (names of countries).
        """
        if self.distinguishing != other.distinguishing or _differ(self.numbers, other.numbers):
            return True
        return self.excludes(other)

    def excludes(self, other: "Title") -> bool:
        """Return True if the titles have different words of one exclusive group.

        Such a group is, for example, the names of countries.
        """
        return any(
            n in other.exclusive and _differ(words, other.exclusive[n])
            for n, words in self.exclusive.items()
        )


def _differ(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return True if each set has a word that the other lacks."""
    return bool(one and other and not one <= other and not other <= one)


def read_title(text: str) -> Title:
    """Return a title prepared for comparison."""
    bare, bracketed = _split_brackets(text)
    parts = [
        normalise.canonical_tokens(part) for part in _PARTS.split(_without_incidental(bare) or bare)
    ]
    named = [tuple([word for word in part if _is_name(word)]) for part in parts]
    words = tuple(chain.from_iterable(named))
    if not words:
        words = normalise.fold(text)
        named = [words]
    tokens = list(chain.from_iterable(parts))
    aside = normalise.canonical_tokens(_without_incidental(bracketed)) if bracketed else []
    tokens += aside
    unique = frozenset(words)
    non_latin, cjk = normalise.is_non_latin(text), normalise.has_cjk(text)
    if non_latin or cjk:
        aside += normalise.canonical_tokens(" ".join(_LATIN.findall(text)))
    return Title(
        text=text,
        words=words,
        parts=tuple([part for part in named if part]),
        numbers=frozenset([word for word in tokens if word.isdigit()]),
        distinguishing=frozenset([word for word in tokens if word[0] == "#"]),
        unique=unique,
        naming=unique - normalise.GENERIC_TERMS,
        exclusive=normalise.exclusive_words(tokens),
        aliases=frozenset(filter(_is_name, aside)) - normalise.GENERIC_TERMS if aside else _NONE,
        non_latin=non_latin,
        cjk=cjk,
    )


def _is_name(word: str) -> bool:
    return word[0] != "#" and (len(word) >= _MIN_NAME_DIGITS or not word.isdigit())


def _split_brackets(text: str) -> tuple[str, str]:
    """Return the text outside brackets and the text inside; (text, "") if no word is outside."""
    if not _BRACKET.search(text):
        return text, ""
    inside = " ".join(part for match in _BRACKETS.findall(text) for part in match)
    outside = _BRACKETS.sub(" ", text)
    return (outside, inside) if normalise.fold(outside) else (text, "")


def _without_incidental(text: str) -> str:
    """Return the text without years, dates, times, ages and editions; empty if no word is left."""
    if not _DIGIT.search(text):
        return text
    left = _INCIDENTAL.sub(" ", text)
    return left if normalise.fold(left) else ""


@dataclass(frozen=True)
class TokenWeights:
    """The weights of words when the titles of one response are compared.

    A longer word weighs more. A word in many titles (the town's orchestra, a series of candlelight
    concerts) weighs less, and a generic word such as "live" weighs little.

    Attributes:
        titles: for each word, the number of different titles that have it.
        towns: words in the names of the events' towns, which do not identify an event.
    """

    titles: Mapping[str, int] = field(default_factory=dict)
    towns: frozenset[str] = frozenset()

    @classmethod
    def from_titles(
        cls, titles: Iterable[Title], towns: Iterable[frozenset[str]]
    ) -> "TokenWeights":
        """Return the weights of words for these titles.

        For each venue, `towns` has the words of the address that may name the town. A word that at
        least three venues have counts as the name of a town.
        """
        named = Counter(word for town in towns for word in town)
        return cls(
            Counter(word for words in {title.unique for title in titles} for word in words),
            frozenset(word for word, venues in named.items() if venues >= _MIN_VENUES_OF_A_TOWN),
        )

    def weight(self, word: str) -> float:
        if word in normalise.GENERIC_TERMS and word not in normalise.ENSEMBLE_TERMS:
            return _GENERIC_WEIGHT
        length = min(max(len(word), 3), 8)
        return length * min(1.0, _COMMON_TITLES / self.titles.get(word, 1))

    def rarity(self, words: Iterable[str]) -> float:
        """Return the sum of the rarities of the words, each of which is from 0 to 1.

        The rarity is 0 for a generic word ("live"), 4/n for a word in n > 4 titles, otherwise 1.
        """
        naming = (word for word in words if word not in normalise.GENERIC_TERMS)
        return sum(min(1.0, _COMMON_TITLES / self.titles.get(word, 1)) for word in naming)

    def total(self, words: Iterable[str]) -> float:
        return sum(map(self.weight, words))


def _align(one: Title, other: Title, local: frozenset[str]) -> tuple[_Words, _Words]:
    """Return each title's words that the other title shares, and each title's remaining words.

    Misspelt words count as shared. Words of the venue (`local`) are ignored, unless this would
    leave only generic words of a title.
    """
    mine, theirs = one.unique - local, other.unique - local
    if mine <= normalise.GENERIC_TERMS or theirs <= normalise.GENERIC_TERMS:
        mine, theirs = one.unique, other.unique
    same = mine & theirs
    left, right = mine - same, theirs - same
    if one.cjk and other.cjk:
        return (same, same), (left, right)
    alike = (
        normalise.token_similarity if one.non_latin != other.non_latin else normalise.is_same_word
    )
    pairs = [(a, b) for a in left for b in right if alike(a, b)]
    a, b = frozenset(a for a, _ in pairs), frozenset(b for _, b in pairs)
    return (same | a, same | b), (left - a, right - b)


def title_features(
    one: Title, other: Title, local: frozenset[str], weights: TokenWeights
) -> dict[str, float]:
    """Return the features of the overlap of two titles, each from 0 to 1.

    Of the first seven features, at most one is 1, and the others are 0. `equal`: both titles have
    the same words. `first_part`, `later_part`, `beginning`, `inside`: the place of the shorter
    title in the longer one ("Coldplay" is the `first_part` of "Coldplay: Live"). The last two are
    for titles that share words, but each also name something else; then `both_differ` is 1 too.
    `series`: both titles have a part of shared words only ("Candlelight: Vivaldi", "Candlelight:
    Coldplay"). `part_of_differing`: only one title has such parts, and its first part is one of
    them ("Candlelight: Vivaldi", "Candlelight Coldplay").

    `local` has the words of the venues, which are ignored. The order of the titles does not matter.
    """
    local |= weights.towns
    titles = one, other
    shared, rest = _align(one, other, local)
    left, right = rest
    named = not shared[0] <= normalise.GENERIC_TERMS
    differ = named and not left <= normalise.GENERIC_TERMS and not right <= normalise.GENERIC_TERMS
    parts = [
        _shared_parts(title, core, local, weights)
        for title, core in zip(titles, shared, strict=True)
    ]
    kind = None
    if shared[0] == shared[1] and not left and not right:
        kind = "equal"
    elif differ and all(parts):
        kind = "series"
    elif differ and 0 in (*parts[0], *parts[1]):
        kind = "part_of_differing"
    elif (
        named
        and not differ
        and not (left - normalise.FILLER_TERMS and right - normalise.FILLER_TERMS)
    ):
        longer = int((weights.total(right), other.text) > (weights.total(left), one.text))
        kind = _containment(titles[longer], shared[longer], parts[longer], local)
    letters = shared_letters(one, other)
    return {name: float(name == kind) for name in _KINDS} | {
        "both_differ": float(differ),
        "alias": float(kind != "equal" and one.is_alias(other)),
        "shared_names": min(*(weights.rarity(core) for core in shared), _MANY_NAMES) / _MANY_NAMES,
        "letters": letters,
        "letters_across_scripts": letters * (one.non_latin != other.non_latin),
    }


def shared_letters(one: Title, other: Title) -> float:
    """Return the share of the shorter title's letter sequences that the other title also has.

    The share is from 0 to 1. The sequences have two or three letters, depending on the scripts.
    """
    least = 1 if one.unique & other.unique else _MIN_RUNS
    if one.cjk and other.cjk:
        mine, theirs = one.characters, other.characters
    elif one.non_latin != other.non_latin:
        if normalise.is_abjad(one.text) or normalise.is_abjad(other.text):
            mine, theirs = one.skeleton, other.skeleton
        else:
            mine, theirs = one.bigrams, other.bigrams
    else:
        mine, theirs = one.trigrams, other.trigrams
    return len(mine & theirs) / max(min(len(mine), len(theirs)), least)


def _containment(
    title: Title, core: frozenset[str], parts: list[int], local: frozenset[str]
) -> str:
    """Return the position of the shared words `core` in `title`, the longer of two titles.

    The position is "first_part" or "later_part" if the words fill a part of the title, otherwise
    "beginning" or "inside". `parts` is the result of `_shared_parts`. Words of the venues
    (`local`) are ignored.
    """
    covered = frozenset(word for n in parts for word in title.parts[n])
    if parts and core - normalise.GENERIC_TERMS <= covered:
        if all(set(part) <= normalise.GENERIC_TERMS for part in title.parts[: parts[0]]):
            return "first_part"
        if any(set(title.parts[n]) <= core for n in parts):
            return "later_part"
    naming = [w for w in title.words if w in core or w not in local | normalise.GENERIC_TERMS]
    return "beginning" if naming and naming[0] in core else "inside"


def _shared_parts(
    title: Title, core: frozenset[str], local: frozenset[str], weights: TokenWeights
) -> list[int]:
    """Return the indexes of the title's parts that consist only of the shared words `core`.

    Generic words and words of the venues (`local`) are ignored. A part that names a tour of the
    shared act ("Queen Tour 2026") is included.
    """
    return [
        n
        for n, part in enumerate(title.parts)
        if core & set(part) - normalise.GENERIC_TERMS
        and (
            weights.total(set(part) - core - local) < _NEGLIGIBLE
            or ("tour" in part and part[0] in core)
        )
    ]


@dataclass(frozen=True)
class Team:
    """A team or player.

    Attributes:
        words: the words of its name.
        discipline: its sport; None if the title does not name it.
        is_reserve: True if it is a reserve team, such as "Bayern II".
    """

    words: frozenset[str]
    discipline: str | None
    is_reserve: bool


Matchup = tuple[Team, Team]


def read_matchup(title: str) -> Matchup | None:
    """Return the two teams that a sports event's title names; None if it does not name two."""
    played = next(
        (
            normalise.DISCIPLINES[word]
            for word in normalise.fold(title)
            if word in normalise.DISCIPLINES
        ),
        None,
    )
    bare = _ROUND_OR_SQUARE.sub(" ", title)
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
    given = normalise.fold(text)
    return Team(_name(given), discipline, given[-1:] in _RESERVES)


def _name(given: tuple[str, ...]) -> frozenset[str]:
    """Return the words of a team's name; for a known team they are the same in every language."""
    words = tuple(
        w
        for w in given
        if w not in normalise.DISCIPLINES and (w,) not in normalise.DISTINGUISHING_TERMS
    )
    if words in normalise.COUNTRIES:
        return frozenset(normalise.COUNTRIES[words])
    found: list[str] = []
    at = 0
    while at < len(words):
        for length in range(min(_MAX_PHRASE, len(words) - at), 0, -1):
            phrase = words[at : at + length]
            if known := normalise.TEAMS.get(phrase) or normalise.SYNONYMS.get(phrase):
                found += known
                at += length
                break
        else:
            found.append(words[at])
            at += 1
    own = [
        w
        for w in found
        if w not in normalise.TEAM_AFFIXES | normalise.STOP_WORDS and not w.isdigit()
    ]
    return frozenset(own or given)


def matchup_similarity(one: Matchup, other: Matchup) -> float:
    """Return the certainty, from 0 to 1, that two titles name the same two teams, in any order."""
    straight = min(_team_similarity(one[0], other[0]), _team_similarity(one[1], other[1]))
    crossed = min(_team_similarity(one[0], other[1]), _team_similarity(one[1], other[0]))
    return max(straight, crossed)


def _team_similarity(one: Team, other: Team) -> float:
    mine = one.words - normalise.COMMON_TEAM_NAMES or one.words
    theirs = other.words - normalise.COMMON_TEAM_NAMES or other.words
    best, first, second = max((_name_similarity(a, b), a, b) for a in mine for b in theirs)
    rest = [(a, b) for a in mine - theirs - {first} for b in theirs - mine - {second}]
    if rest and not any(normalise.token_similarity(a, b) for a, b in rest):
        return _OTHER_NAME  # Dallas Stars, Dallas Mavericks
    return best if best < 1 or mine == theirs else _LONGER_NAME


def _name_similarity(one: str, other: str) -> float:
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) >= _MIN_LETTERS_OF_A_PART and shorter in longer:
        return 1.0 if one == other else max(_PART_OF_WORD, normalise.token_similarity(one, other))
    return normalise.token_similarity(one, other)
