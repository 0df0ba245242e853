"""Text width: the largest width of a text in any common font, and line breaking by it.

Widths are those of the widest default sans-serif fonts (DejaVu Sans and Verdana); in other fonts,
lines are shorter. Chinese and Japanese break between any two characters, but not before closing
punctuation. Other scripts break at spaces; a word that is too long for a line breaks anywhere.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from location_context.sections.card import BriefItem

DOT = "\u00a0· "
SMALL = 13  # px, the font size of a moment on a compact page
# on a compact page of 500 px: font size and width of a name in px, and the lines of all items
NAME, NAME_ROOM, ITEM_LINES = 14, 300, 5
_BOLD = 1.13  # width of bold letters relative to regular ones
_NARROW, _MEDIUM, _WIDE = "iIjl.,:;'|!·’‘ ", 'ftr()[]-/"“”*', "mwWM%@—…ŒÆ"
_ARABIC = 0.6  # an average, since wide and narrow letters are joined
_JOINED = ("\u0600", "\u06ff")
_CLOSING = "、。，．！？）」』】・ー〜ぁぃぅぇぉっゃゅょァィゥェォッャュョ々％°%)]}:;,.!?"
_OPENING = "（「『【([{"
_PIECE = re.compile(r"[^ \u200b]+|[ \u200b]+")


@lru_cache(maxsize=4096)
def _em(letter: str) -> float:
    """Return the width of a letter as a multiple of the font size."""
    kind = unicodedata.category(letter)
    if kind in {"Mn", "Me", "Cf", "Cc"}:
        return 0.0
    if unicodedata.east_asian_width(letter) in {"W", "F"}:
        return 1.4 if letter > "\U0001f000" else 1.02
    base = unicodedata.normalize("NFD", letter)[0]
    for letters, width in ((_NARROW, 0.35), (_MEDIUM, 0.42), (_WIDE, 1.0)):
        if base in letters:
            return width
    if _JOINED[0] <= letter <= _JOINED[1]:
        return _ARABIC
    if letter < "\u0250":
        return 0.8 if kind == "Lu" else 0.645
    return 1.4 if kind == "So" else 0.8


def width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width in px of a text on one line in the widest font, at a font size in px."""
    return sum(map(_em, text)) * size * (_BOLD if bold else 1)


def lines(text: str, size: float, most: float, *, bold: bool = False) -> list[str]:
    """Return the text broken into lines of at most `most` px."""
    found = [""]
    for piece in _pieces(text):
        joined = found[-1] + piece
        if width(joined.rstrip(" "), size, bold=bold) <= most:
            found[-1] = joined
        elif width(piece, size, bold=bold) <= most:
            found.append(piece)
        else:
            _break_anywhere(found, piece, size, most, bold=bold)
    stripped = (line.strip(" ") for line in found)
    return [line for line in stripped if line]


def _break_anywhere(found: list[str], piece: str, size: float, most: float, *, bold: bool) -> None:
    for letter in piece:
        if found[-1] and width(found[-1] + letter, size, bold=bold) > most:
            found.append("")
        found[-1] += letter


def _pieces(text: str) -> list[str]:
    """Return the unbreakable pieces of a text: words, runs of spaces, and single ideographs."""
    pieces: list[str] = []
    for run in _PIECE.findall(text):
        start = len(pieces)
        for letter in run:
            alone = unicodedata.east_asian_width(letter) in {"W", "F"}
            before = pieces[-1] if len(pieces) > start else ""
            ideograph = before and unicodedata.east_asian_width(before[-1]) in {"W", "F"}
            breaks = not before or (
                (alone or ideograph) and letter not in _CLOSING and before[-1] not in _OPENING
            )
            if breaks and letter != "\u2060" and not before.endswith("\u2060"):
                pieces.append(letter)
            else:
                pieces[-1] += letter
    return pieces


def fitting(items: Sequence[BriefItem]) -> list[BriefItem]:
    """Return the first items that fit on a compact page, without notes that need another line."""
    chosen, used = list[BriefItem](), 0
    for item in items:
        name = lines(item.name, NAME, NAME_ROOM, bold=True)
        whole = lines(f"{item.name} {item.note}", NAME, NAME_ROOM, bold=True)
        used += len(name)
        if chosen and used > ITEM_LINES:
            break
        chosen.append(item if len(whole) == len(name) else replace(item, note=""))
    return chosen
