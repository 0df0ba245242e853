"""Prices: a level from 1 to 4 for any currency, and the price as it was given.

Signs are counted ("€€€" is 3). Amounts are turned to euros of a meal: up to 25 is level 1, up to
60 level 2, up to 120 level 3, above it 4; a range counts with the middle of it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from babel.numbers import get_territory_currencies

from location_context.sections.guide.imports.currencies import PER_EURO, SIGNS

_LEVELS = ((25.0, 1), (60.0, 2), (120.0, 3))
_AMOUNT = re.compile(
    r"\d{1,3}(?:[.,'’\u00a0\u202f ]\d{3})+(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,]\d{1,2})?(?!\d)"
)
_UNITS = sorted({*SIGNS, *PER_EURO}, key=len, reverse=True)
_LONGEST = 60


def price_of(row: Any, country: str | None) -> tuple[str | None, int | None]:
    """(the price as given, its level) of a row; None where the row does not tell."""
    text, currency = row.get("price"), row.get("currency")
    if not text:
        bounds = [row.get(name) for name in ("min_price", "max_price") if row.get(name)]
        text = "–".join(dict.fromkeys(bounds))
        text = f"{text} {currency}" if text and currency else text
    level = _given(row.get("price_level")) or level_of(text, currency, country)
    return (text[:_LONGEST] or None), level


def _given(level: str) -> int | None:
    number = level.removesuffix(".0")
    return int(number) if number in {"1", "2", "3", "4"} else None


def level_of(text: str, currency: str = "", country: str | None = None) -> int | None:
    """The level of a price text such as "€€", "45–90 EUR" or "from ¥12,000"."""
    amounts = [_number(match) for match in _AMOUNT.findall(text)]
    if not amounts:
        return _counted(text)
    rate = PER_EURO.get(_currency(text, currency, country) or "")
    if rate is None:
        return None
    euros = sum(amounts[:2]) / len(amounts[:2]) / rate
    return next((level for most, level in _LEVELS if euros <= most), 4)


def _counted(text: str) -> int | None:
    """How often a sign is repeated; of a range ("€€–€€€") the higher end."""
    parts = [text] if _repeated("".join(text.split())) else re.split(r"[-–—~/]|\bto\b", text)
    counts = [_repeated("".join(part.split())) for part in parts]
    known = [count for count in counts if count]
    return min(max(known), 4) if known and len(known) == len(counts) else None


def _repeated(text: str) -> int | None:
    if text and all(unicodedata.category(c) == "Sc" for c in text):
        return len(text) if len(set(text)) == 1 else None
    for unit in _UNITS:
        if text and len(text) % len(unit) == 0 and unit * (len(text) // len(unit)) == text:
            return len(text) // len(unit)
    return None


def _number(text: str) -> float:
    """An amount whose separators group thousands, but for one before the last one or two digits."""
    whole, decimals = text, "0"
    if match := re.fullmatch(r"(.*)[.,](\d{1,2})", text):
        whole, decimals = match.groups()
    return float(f"{re.sub(r'[^0-9]', '', whole)}.{decimals}")


def _currency(text: str, given: str, country: str | None) -> str | None:
    """The code: written out, by sign, else the one used in the country."""
    local = get_territory_currencies(country) if country else []
    for words in (given, text):
        for word in re.findall(r"[A-Z]{3}", words.upper()):
            if word in PER_EURO:
                return str(word)
        signs = [sign for sign in SIGNS if sign in words and not sign.isascii()] + [
            sign
            for sign in SIGNS
            if sign.isascii() and re.search(rf"(?<![A-Za-z]){re.escape(sign)}(?![A-Za-z])", words)
        ]
        if signs:
            codes = SIGNS[max(signs, key=len)]
            return next((code for code in codes if code in local), codes[0] if codes else None)
    return str(local[0]) if local else None
