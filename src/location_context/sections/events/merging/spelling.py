"""Spelling: a text of any script as plain Latin words, and words that differ by a slip or a script.

Scripts are brought to Latin letters by `anyascii`. Two romanisations of a name agree in their
consonants, so that is how a word is compared with one from another script.
"""

from __future__ import annotations

import re
import unicodedata

from anyascii import anyascii

_TOWN_S, _LETTERS_OF_A_TOWN = "er", 5  # Salzburger: of Salzburg
_SHORTEST_SLIP, _LETTERS_FOR_TWO, _LONGEST_SLIP = 6, 11, 30
CONSONANTS_OF_A_NAME = 4
_WORDS = re.compile(r"[a-z0-9]+")
_DOTS = re.compile(r"(?<=\b[a-z])\.(?=[a-z]\b)|(?<=\.[a-z])\.")
_KANA, _HAN = "\u3041-\u30ff\uff66-\uff9f", "\u3400-\u9fff\u3005"
# where writing without blanks turns from one script to another, a word ends
_TURNS = re.compile(
    rf"(?<=[{_KANA}])(?=[^{_KANA}])|(?<=[^{_KANA}])(?=[{_KANA}])"
    rf"|(?<=[{_HAN}])(?=[^{_HAN}])|(?<=[^{_HAN}])(?=[{_HAN}])"
)
_OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff\u2100-\u214f\u3005\u3400-\u9fff]")
_SIGNS = re.compile(rf"[{_HAN}]")
_ARTICLE = re.compile(r"\bال(?=\w{2})")  # Arabic writes it with its word
_DOUBLED = re.compile(r"(.)\1+")
_SILENT = str.maketrans("", "", "`")
_ROMANISED = str.maketrans("bpvlczqgxj", "bbbrkskkks", "aeiouyhw")


def plain(text: str) -> str:
    """The text in lower case Latin letters, without accents; its other signs stay."""
    if text.isascii():
        return text.casefold()
    whole = _TURNS.sub(" ", unicodedata.normalize("NFKC", text))
    return anyascii(_ARTICLE.sub("", whole)).translate(_SILENT).casefold()


def words(text: str) -> list[str]:
    """The words of a plain text; signs end one, but for the dots of F.C. and the like."""
    return _WORDS.findall(_DOTS.sub("", text) if "." in text else text)


def is_foreign(text: str) -> bool:
    """Whether some of it is written in letters, but not in Latin ones."""
    return not text.isascii() and _OTHER_SCRIPT.search(text) is not None


def has_signs(text: str) -> bool:
    """Whether some of it is written in signs, whose romanisation tells no sound for sure."""
    return not text.isascii() and _SIGNS.search(text) is not None


def is_slip(one: str, other: str) -> bool:
    """Whether two words differ by one letter of six, by two of eleven, or by a town's "-er"."""
    if one[0] != other[0] or abs(len(one) - len(other)) > 2:
        return False
    longer = max(len(one), len(other))
    if not (one.isalpha() and other.isalpha()) or not _SHORTEST_SLIP <= longer <= _LONGEST_SLIP:
        return False
    if longer - len(_TOWN_S) >= _LETTERS_OF_A_TOWN and _TOWN_S in {
        one.removeprefix(other),
        other.removeprefix(one),
    }:
        return True
    return _slips(one, other) <= (2 if longer >= _LETTERS_FOR_TWO else 1)


def _slips(one: str, other: str) -> int:
    """Letters changed, added, left out, or neighbours changed about, on the way to the other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for n, a in enumerate(one, 1):
        before, last, row = row, before, [n]
        for m, b in enumerate(other, 1):
            steps = min(before[m] + 1, row[m - 1] + 1, before[m - 1] + (a != b))
            if n > 1 and m > 1 and a == other[m - 2] and one[n - 2] == b:
                steps = min(steps, last[m - 2] + 1)
            row.append(steps)
    return row[-1]


def sounds_like(one: str, other: str) -> bool:
    """Whether two romanisations agree in their consonants, however the rest is written."""
    mine = bones(one)
    return len(mine) >= CONSONANTS_OF_A_NAME and mine == bones(other)


def bones(word: str) -> str:
    """The consonants of a romanised word, those that scripts confuse as one, none doubled."""
    bare = word.replace("tch", "s").replace("ch", "s").replace("ph", "f").translate(_ROMANISED)
    return _DOUBLED.sub(r"\1", bare)
