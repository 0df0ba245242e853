"""Accent: the swatches offered, and how readable an accent is, measured as the widget uses it."""

from __future__ import annotations

from dataclasses import dataclass

from babel.numbers import format_decimal

from location_context.localisation.language import Language
from location_context.parameters import Theme
from location_context.widget.colour import ACCENT_RATIO, Scheme, contrast, palette

SWATCHES = ("#0f766e", "#1d4ed8", "#7c3aed", "#be123c", "#b45309", "#1e3a5f")


@dataclass(frozen=True)
class Measured:
    """One sentence on the accent in one scheme; `fine` when text in it can be read."""

    fine: bool
    sentence: str


def measured(accent: str, theme: Theme, language: Language) -> list[Measured]:
    """What is said of the accent: once for each scheme that the theme can show."""
    schemes: tuple[Scheme, ...] = ("light", "dark") if theme == "auto" else (theme,)
    return [_measure(long_form(accent), scheme, language) for scheme in schemes]


def _measure(accent: str, scheme: Scheme, language: Language) -> Measured:
    colours = palette(accent, scheme)
    used, surface = colours["accent"], colours["surface"]
    gettext = language.gettext
    if scheme == "light":
        plain = gettext("{ratio}:1 on white, readable as it is.")
        mended = gettext("{ratio}:1 on white, so text takes {colour}, {better}:1.")
    else:
        plain = gettext("{ratio}:1 on dark, readable as it is.")
        mended = gettext("{ratio}:1 on dark, so text takes {colour}, {better}:1.")
    fine = contrast(accent, surface) >= ACCENT_RATIO
    sentence = plain if fine else mended
    values = {
        "{ratio}": _ratio(accent, surface, language),
        "{better}": _ratio(used, surface, language),
        "{colour}": f"\u2066{used}\u2069" if language.direction == "rtl" else used,
    }
    for mark, value in values.items():
        sentence = sentence.replace(mark, value)
    return Measured(fine, sentence)


def _ratio(one: str, other: str, language: Language) -> str:
    """A contrast with one digit, rounded down, so that it never promises too much."""
    tenths = int(contrast(one, other) * 10)
    return str(format_decimal(tenths / 10, "0.0", locale=language.locale))


def long_form(accent: str) -> str:
    """`#abc` as `#aabbcc`, in lower case."""
    digits = accent.lower().lstrip("#")
    return "#" + (digits if len(digits) == 6 else "".join(2 * digit for digit in digits))
