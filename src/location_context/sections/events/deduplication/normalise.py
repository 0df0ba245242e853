"""Normalise: converts text to lower-case Latin words, and synonyms to one common word.

`anyascii` converts other scripts; `vocabulary.toml` has the synonyms in many languages.
"""

import re
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from anyascii import anyascii

Phrase = tuple[str, ...]

_WORDS = re.compile(r"[a-z0-9]+")
_DOTS = re.compile(r"(?<=\b[a-z])\.(?=[a-z]\b)|(?<=\.[a-z])\.")
_KANA, _HAN = "\u3041-\u30ff\uff66-\uff9f", "\u3400-\u9fff\u3005"
# in text without spaces, a word ends where the script changes
_SCRIPT_CHANGE = re.compile(
    rf"(?<=[{_KANA}])(?=[^{_KANA}])|(?<=[^{_KANA}])(?=[{_KANA}])"
    rf"|(?<=[{_HAN}])(?=[^{_HAN}])|(?<=[^{_HAN}])(?=[{_HAN}])"
)
_NON_LATIN = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff\u2100-\u214f\u3005\u3400-\u9fff]")
_ABJAD = re.compile(r"[\u0590-\u06ff]")
_CJK = re.compile(rf"[{_HAN}]")
_ORDINAL = re.compile(r"(\d{1,3})(?:st|nd|rd|th|er|ere|eme|e|a|o)$")
_YOUTH_TEAM = re.compile(r"u\d\d$")
# signs that names use for letters: P!nk, A$AP
_SIGNS = ((re.compile(r"(?<=\w)!(?=\w)"), "i"), (re.compile(r"\$(?=[^\W\d])"), "s"))
_LAST_ROMAN = {"i": "1", "v": "5"}

_SAME_WORD = 0.75  # similarity above which one word is a misspelling of the other
_MIN_SIMILARITY = 0.6


def to_ascii(text: str) -> str:
    """Return the text in lower-case Latin letters, without accents; punctuation stays."""
    if "!" in text or "$" in text:
        for sign, letter in _SIGNS:
            text = sign.sub(letter, text)
    if text.isascii():
        return text.casefold()
    whole = _SCRIPT_CHANGE.sub(" ", unicodedata.normalize("NFKC", text))
    return anyascii(whole).replace("`", "").casefold()


def tokenize(text: str) -> list[str]:
    """Return the words of an ASCII text; punctuation separates words, but "F.C." is one word."""
    return _WORDS.findall(_DOTS.sub("", text) if "." in text else text)


def is_non_latin(text: str) -> bool:
    """Return True if a text has letters that are not Latin."""
    return not text.isascii() and _NON_LATIN.search(text) is not None


def has_cjk(text: str) -> bool:
    """Return True if a text has Chinese characters, which can be romanised in several ways."""
    return not text.isascii() and _CJK.search(text) is not None


def is_abjad(text: str) -> bool:
    """Return True if a text has letters of a script that omits most vowels (Arabic, Hebrew)."""
    return not text.isascii() and _ABJAD.search(text) is not None


def fold(text: str) -> Phrase:
    return tuple(tokenize(to_ascii(text)))


def word_set(words: str) -> frozenset[str]:
    return frozenset(word for one in words.split() for word in fold(one))


def _by_phrase(table: Mapping[str, Iterable[str]]) -> dict[Phrase, Phrase]:
    return {fold(way): tuple(key.split()) for key, ways in table.items() for way in ways}


_TABLES = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text(encoding="utf-8"))
STOP_WORDS = word_set(_TABLES["stop_words"])
FILLER_TERMS = word_set(_TABLES["filler_terms"])
EVENT_TYPE_TERMS = word_set(_TABLES["event_type_terms"])
ENSEMBLE_TERMS = word_set(_TABLES["ensemble_terms"])
GENERIC_TERMS = FILLER_TERMS | EVENT_TYPE_TERMS
HOMAGE_TERMS = word_set(_TABLES["homage_terms"])
TEAM_AFFIXES = word_set(_TABLES["team_affixes"])
COMMON_TEAM_NAMES = word_set(_TABLES["common_team_names"])
SYNONYMS = _by_phrase(_TABLES["synonyms"])
DISTINGUISHING_TERMS = _by_phrase(_TABLES["distinguishing_terms"])
TEAMS = _by_phrase(_TABLES["teams"])
COUNTRIES = _by_phrase(_TABLES["countries"])
DISCIPLINES = {word: key for key, names in _TABLES["disciplines"].items() for word in names}
# words with known meanings, which are never misspellings: Austria is not Australia
_KNOWN_WORDS = GENERIC_TERMS | {
    word
    for table in (SYNONYMS, COUNTRIES)
    for phrase, meaning in table.items()
    for word in (*meaning, *(phrase if len(phrase) == 1 else ()))
}


def _groups_by_word() -> dict[str, list[int]]:
    """Return a mapping of each word to the indexes of the exclusive groups that contain it.

    The words of an exclusive group, such as the names of countries, exclude each other: events with
    different words of the group are different events.
    """
    found: defaultdict[str, list[int]] = defaultdict(list)
    for n, group in enumerate((*_TABLES["exclusive_groups"], _TABLES["countries"])):
        for word in group:
            found[word].append(n)
    return found


_GROUPS = _groups_by_word()


def exclusive_words(tokens: Iterable[str]) -> dict[int, frozenset[str]]:
    """Return those of the `tokens` that belong to exclusive groups, by the index of the group.

    If two titles have different words of one group, such as "France" and "Spain", they are titles
    of different events.
    """
    found: dict[int, frozenset[str]] = {}
    for word in _GROUPS.keys() & tokens:
        for n in _GROUPS[word]:
            found[n] = found.get(n, frozenset()) | {word}
    return found


def _by_first_word() -> dict[str, list[tuple[Phrase, Phrase]]]:
    """Return the vocabulary's phrases with their replacements, by the phrase's first word.

    Longer phrases come first. A phrase that is in several tables has the meaning of the first of
    these: distinguishing terms, noise phrases, numbers, synonyms, countries.
    """
    found: defaultdict[str, list[tuple[Phrase, Phrase]]] = defaultdict(list)
    noise = dict.fromkeys(map(fold, _TABLES["noise_phrases"]), ())
    phrases = COUNTRIES | SYNONYMS | _by_phrase(_TABLES["numbers"]) | noise | DISTINGUISHING_TERMS
    for phrase, meaning in phrases.items():
        found[phrase[0]].append((phrase, meaning))
    return {word: sorted(some, key=lambda p: -len(p[0])) for word, some in found.items()}


_PHRASES = _by_first_word()


def canonical_tokens(text: str) -> list[str]:
    """Return the words of a text, with synonyms replaced and stop words ("the") removed.

    Terms that distinguish events begin with `#`, such as `#women` or `#tribute`.
    """
    given = tokenize(to_ascii(text))
    if len(given) > 1 and given[-1] in _LAST_ROMAN:  # "Henry V"; inside, "v" may mean "versus"
        given[-1] = _LAST_ROMAN[given[-1]]
    return [word for word in _canonical(given) if word not in STOP_WORDS]


def _canonical(given: list[str]) -> list[str]:
    """Return the words; each phrase in the vocabulary is replaced by its common words or `#` term.

    Noise phrases ("sold out") are removed. If several phrases begin at a word, the longest counts.
    """
    found: list[str] = []
    at = 0
    while at < len(given):
        word = given[at]
        for phrase, meaning in _PHRASES.get(word, ()):
            if len(phrase) == 1 or tuple(given[at : at + len(phrase)]) == phrase:
                found += meaning
                at += len(phrase)
                break
        else:
            found.append(word if word.isalpha() else _number_or_word(word))
            at += 1
    return found


def _number_or_word(word: str) -> str:
    if ordinal := _ORDINAL.match(word):
        return ordinal[1]
    return "#youth" if _YOUTH_TEAM.match(word) else word.lstrip("0") or word


def token_similarity(one: str, other: str) -> float:
    """Return the similarity of two words, from 0.6 to 1, or 0 if it is less than 0.6.

    It is the share of letter pairs (also with `^` and `$`) that both words have: Dice coefficient.
    It is 0 for different words if their first letters differ, if one is a number, or if both are in
    the vocabulary of known words.
    """
    if one == other:
        return 1.0
    if one.isdigit() or other.isdigit() or (one in _KNOWN_WORDS and other in _KNOWN_WORDS):
        return 0.0
    if one[0] != other[0]:
        return 0.0
    mine, theirs = ngrams(one, 2), ngrams(other, 2)
    dice = 2 * len(mine & theirs) / (len(mine) + len(theirs))
    return dice if dice >= _MIN_SIMILARITY else 0.0


def is_same_word(one: str, other: str) -> bool:
    """Return True if two words are equal, or one looks like a misspelling of the other."""
    return token_similarity(one, other) > _SAME_WORD


def ngrams(text: str, size: int) -> frozenset[str]:
    """Return all substrings of `size` characters of a text, after adding `^` before and `$` after.

    The two marks give the first and last letters more weight. Example: `^a`, `ab`, `b$` for `ab`.
    """
    marked = f"^{text}$"
    return frozenset(marked[n : n + size] for n in range(len(marked) - size + 1)) or frozenset(
        [marked]
    )
