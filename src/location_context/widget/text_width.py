"""Text width: how wide a text may become in a font that is not known here, and what fits.

Widths are those of the widest sans-serif that systems have by default (DejaVu Sans and Verdana), so
that in any other one a line ends earlier. Chinese and Japanese break between any two letters, but
not before a mark that closes; other scripts break at blanks, and a word that is too long anywhere.
"""

import re
import unicodedata
from dataclasses import replace
from functools import lru_cache

from location_context.sections.card import Brief, BriefItem

DOT = "\u00a0· "
# of a compact page of 500 px: what a section's items may take, and sizes in px
MAX_HALF_LINES, MAX_WHOLE_LINES = 7, 2
HALF_WIDTH, WHOLE_WIDTH, NAME_SIZE, DETAIL_SIZE = 214, 458, 14, 12
_BOLD = 1.13  # as wide as regular letters
_NARROW, _MEDIUM, _WIDE = "iIjl.,:;'|!·’‘ ", 'ftr()[]-/"“”*', "mwWM%@—…ŒÆ"
_ARABIC = 0.6  # letters are joined; the wide ones are balanced by narrow ones
_JOINED = ("\u0600", "\u06ff")
_CLOSING = "、。，．！？）」』】・ー〜ぁぃぅぇぉっゃゅょァィゥェォッャュョ々％°%)]}:;,.!?"
_OPENING = "（「『【([{"
_PIECE = re.compile(r"[^ \u200b]+|[ \u200b]+")


@lru_cache(maxsize=4096)
def _em(letter: str) -> float:
    """The width of a letter in parts of the font's size."""
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
    """The most that a text takes on one line, in px; `size` is the font's."""
    return sum(map(_em, text)) * size * (_BOLD if bold else 1)


def lines(text: str, size: float, most: float, *, bold: bool = False) -> list[str]:
    """The text in lines of at most `most` px."""
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
    """What must not be broken, in turn: words, blanks, and letters that stand alone."""
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


def fitting(brief: Brief) -> Brief:
    """The brief with as many items and details as a compact page of 500 px has room for."""
    chosen, used = list[int](), 0
    half = brief.is_list
    items = [_within_a_line(item) if half else item for item in brief.items]
    for place in sorted(range(len(items)), key=lambda place: -items[place].weight):
        used += _lines(items[place], half=half)
        if chosen and used > (MAX_HALF_LINES if half else MAX_WHOLE_LINES):
            break
        chosen.append(place)
    return replace(brief, items=[items[place] for place in sorted(chosen)])


def _within_a_line(item: BriefItem) -> BriefItem:
    """The item with the first of its details, and those that stand beside it."""
    room = HALF_WIDTH - item.icons * NAME_SIZE
    fits = [
        count
        for count in range(len(item.details), 1, -1)
        if len(lines(DOT.join(item.details[:count]), DETAIL_SIZE, room)) == 1
    ]
    return replace(item, details=item.details[: fits[0] if fits else 1])


def _lines(item: BriefItem, *, half: bool) -> int:
    """How many lines an item takes: its details below its name, or after it."""
    details = DOT.join(item.details)
    if half:
        name = lines(item.name, NAME_SIZE, HALF_WIDTH, bold=True)
        room = HALF_WIDTH - item.icons * NAME_SIZE
        return len(name) + len(lines(details, DETAIL_SIZE, room))
    return len(lines(f"{item.name} {details}", NAME_SIZE, WHOLE_WIDTH - NAME_SIZE))
