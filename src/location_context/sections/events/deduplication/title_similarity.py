"""Title similarity: what two titles have in common, as numbers from 0 to 1 that a score weighs."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from location_context.sections.events.deduplication.normalise import (
    ENSEMBLE_TERMS,
    FILLER_TERMS,
    GENERIC_TERMS,
    is_same_word,
    token_similarity,
)
from location_context.sections.events.deduplication.titles import Title

_GENERIC_WEIGHT = 0.1
_MIN_VENUES_OF_A_TOWN = 3
_COMMON_TITLES = 4  # titles that may hold a word before it counts for less
_NEGLIGIBLE = 1.0  # less than any word that names something weighs
_MIN_SIMILARITY, _MIN_LETTERS, _MIN_LETTERS_ALONE = 0.6, 5, 8  # of words that may be translations
_MANY_NAMES = 4
_MIN_RUNS = 8  # of letters; without a word in common, few of them are much of a short title


@dataclass(frozen=True)
class TokenWeights:
    """What a word tells, in a response where others may hold it too.

    A word weighs by its length, less where many titles hold it (the orchestra of the town, a series
    of candlelight concerts), and little where any event may say it.

    Attributes:
        titles: how many different titles hold each word.
        towns: words of the towns where the events are, which name no event.
    """

    titles: Mapping[str, int] = field(default_factory=dict)
    towns: frozenset[str] = frozenset()

    @classmethod
    def from_titles(
        cls, titles: Iterable[Title], towns: Iterable[frozenset[str]]
    ) -> "TokenWeights":
        """Of all titles, and of the town of each venue: a word of three addresses is a town's."""
        named = Counter(word for town in towns for word in town)
        return cls(
            Counter(word for words in {title.unique for title in titles} for word in words),
            frozenset(word for word, venues in named.items() if venues >= _MIN_VENUES_OF_A_TOWN),
        )

    def weight(self, word: str) -> float:
        if word in GENERIC_TERMS and word not in ENSEMBLE_TERMS:
            return _GENERIC_WEIGHT
        length = min(max(len(word), 3), 8)
        return length * min(1.0, _COMMON_TITLES / self.titles.get(word, 1))

    def rarity(self, words: Iterable[str]) -> float:
        """How many words name something, those of many titles in part."""
        naming = (word for word in words if word not in GENERIC_TERMS)
        return sum(min(1.0, _COMMON_TITLES / self.titles.get(word, 1)) for word in naming)

    def total(self, words: Iterable[str]) -> float:
        return sum(map(self.weight, words))


@dataclass(frozen=True)
class Alignment:
    """Two titles word by word.

    Attributes:
        shared: of each title, the words that stand in the other too, also misspelt.
        rest: of each, the others; words of the place are in neither, where it has others that name.
    """

    shared: tuple[frozenset[str], frozenset[str]]
    rest: tuple[frozenset[str], frozenset[str]]


def align(one: Title, other: Title, local: frozenset[str]) -> Alignment:
    """The words of two titles side by side; `local` are words of the place, which name neither."""
    mine, theirs = one.unique - local, other.unique - local
    if mine <= GENERIC_TERMS or theirs <= GENERIC_TERMS:
        mine, theirs = one.unique, other.unique
    same = mine & theirs
    left, right = mine - same, theirs - same
    similar = (
        [] if one.cjk and other.cjk else _similar(left, right, one.non_latin != other.non_latin)
    )
    a, b = frozenset(a for a, _ in similar), frozenset(b for _, b in similar)
    return Alignment((same | a, same | b), (left - a, right - b))


def _similar(
    left: frozenset[str], right: frozenset[str], scripts_differ: bool
) -> list[tuple[str, str]]:
    """Words that are misspelt or romanised otherwise."""
    alike = token_similarity if scripts_differ else is_same_word
    return [(a, b) for a in left for b in right if alike(a, b)]


def title_features(
    one: Title, other: Title, local: frozenset[str], weights: TokenWeights
) -> dict[str, float]:
    """What two titles have in common; the same for (other, one).

    At most one of these is 1: `equal`; `first_part`, `later_part`, `beginning` or `inside` of one
    title is all that the other names; `part_of_differing`, `series`: each names something that the
    other does not (`both_differ`), and a whole part of one of them, or of both, is shared.
    """
    local |= weights.towns
    aligned = align(one, other, local)
    shared, (left, right) = aligned.shared, aligned.rest
    titles = one, other
    named = not shared[0] <= GENERIC_TERMS
    equal = shared[0] == shared[1] and not left and not right
    differ = named and not left <= GENERIC_TERMS and not right <= GENERIC_TERMS
    parts = [
        _shared_parts(title, core, local, weights)
        for title, core in zip(titles, shared, strict=True)
    ]
    as_part = _is_whole_part(one, other) or _is_whole_part(other, one)
    found = dict.fromkeys(
        (
            "equal",
            "first_part",
            "later_part",
            "beginning",
            "inside",
            "part_of_differing",
            "series",
        ),
        0.0,
    )
    if equal:
        found["equal"] = 1.0
    elif differ and all(parts):
        found["series"] = 1.0
    elif differ and 0 in (*parts[0], *parts[1]):
        found["part_of_differing"] = 1.0
    elif named and not differ and not (left - FILLER_TERMS and right - FILLER_TERMS):
        found[_containment(titles, aligned, parts, local, weights)] = 1.0
    letters = shared_letters(one, other)
    letters_needed = _MIN_LETTERS if named else _MIN_LETTERS_ALONE
    scripts = one.non_latin != other.non_latin
    return found | {
        "whole_part": float(as_part and not found["later_part"]),
        "both_differ": float(differ),
        "shared_names": min(*(weights.rarity(core) for core in shared), _MANY_NAMES) / _MANY_NAMES,
        "letters": letters,
        "similar_rest": 0.0
        if one.cjk and other.cjk
        else _similar_rest(left, right, letters_needed),
        "letters_across_scripts": letters * scripts,
    }


def shared_letters(one: Title, other: Title) -> float:
    """How much of the shorter title's runs of letters stands in the other, 0 to 1."""
    if one.cjk and other.cjk:
        mine, theirs = one.characters, other.characters
    elif one.non_latin != other.non_latin:
        mine, theirs = one.bigrams, other.bigrams
    else:
        mine, theirs = one.trigrams, other.trigrams
    least = 1 if one.unique & other.unique else _MIN_RUNS
    return len(mine & theirs) / max(min(len(mine), len(theirs)), least)


def _containment(
    titles: tuple[Title, Title], aligned: Alignment, parts: list[list[int]],
    local: frozenset[str], weights: TokenWeights,
) -> str:  # fmt: skip
    """Where the name that both share stands in the title that says more."""
    rest = [(weights.total(w), t.text) for w, t in zip(aligned.rest, titles, strict=True)]
    longer = rest.index(max(rest))
    title, core = titles[longer], aligned.shared[longer]
    covered = frozenset(word for n in parts[longer] for word in title.parts[n])
    if parts[longer] and core - GENERIC_TERMS <= covered:
        before = (title.parts[n] for n in range(parts[longer][0]))
        if all(set(part) <= GENERIC_TERMS for part in before):
            return "first_part"
        if any(set(title.parts[n]) <= core for n in parts[longer]):
            return "later_part"
    naming = [w for w in title.words if w in core or w not in local | GENERIC_TERMS]
    return "beginning" if naming and naming[0] in core else "inside"


def _shared_parts(
    title: Title, core: frozenset[str], local: frozenset[str], weights: TokenWeights
) -> list[int]:
    """The parts of a title that hold nothing but the shared name, or the name of its tour."""
    return [
        n
        for n, part in enumerate(title.parts)
        if core & set(part) - GENERIC_TERMS
        and (
            weights.total(set(part) - core - local) < _NEGLIGIBLE
            or ("tour" in part and part[0] in core)
        )
    ]


def _is_whole_part(one: Title, other: Title) -> bool:
    """Whether a title of several words, generic ones too, stands in the other as a part of it."""
    return len(one.words) > 1 and any(
        one.unique <= set(part) and set(part) - one.unique <= FILLER_TERMS for part in other.parts
    )


def _similar_rest(left: frozenset[str], right: frozenset[str], letters: int) -> float:
    """How alike the two words are that are most alike, of those that the other title lacks."""
    best = max(
        (
            token_similarity(a, b)
            for a in left - GENERIC_TERMS
            for b in right - GENERIC_TERMS
            if min(len(a), len(b)) >= letters
        ),
        default=0.0,
    )
    return max(0.0, (best - _MIN_SIMILARITY) / (1 - _MIN_SIMILARITY))
