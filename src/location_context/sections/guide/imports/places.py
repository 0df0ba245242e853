"""Places: the city and country of a row, from the words that datasets use for them."""

from __future__ import annotations

from babel import Locale

_ALSO = {
    "abu dhabi": "AE",
    "bosnia and herzegovina": "BA",
    "china mainland": "CN",
    "czech republic": "CZ",
    "dubai": "AE",
    "england": "GB",
    "great britain": "GB",
    "holland": "NL",
    "hong kong": "HK",
    "hong kong sar china": "HK",
    "ireland": "IE",
    "korea": "KR",
    "macao": "MO",
    "macau": "MO",
    "mainland china": "CN",
    "northern ireland": "GB",
    "republic of ireland": "IE",
    "scotland": "GB",
    "south korea": "KR",
    "taiwan": "TW",
    "the netherlands": "NL",
    "turkey": "TR",
    "türkiye": "TR",
    "u.s.a.": "US",
    "uae": "AE",
    "uk": "GB",
    "united states of america": "US",
    "usa": "US",
    "viet nam": "VN",
    "wales": "GB",
}


class Countries:
    """Country codes (ISO 3166-1 alpha-2) by English name, common other names, or the code."""

    def __init__(self) -> None:
        names = Locale("en").territories
        codes = {code: name for code, name in names.items() if len(code) == 2 and code.isalpha()}
        self._codes = {name.casefold(): code for code, name in codes.items()}
        self._codes |= {code.casefold(): code for code in codes} | _ALSO

    def code(self, name: str) -> str | None:
        return self._codes.get(name.strip().casefold())

    def city_and_country(self, location: str, address: str) -> tuple[str | None, str | None]:
        """From "City, Country", a city alone, or a city that is its own country."""
        city, comma, last = location.rpartition(",")
        if comma and (code := self.code(last)):
            return city.strip() or None, code
        if not location:
            return None, self.code(address.rpartition(",")[2])
        return location, self.code(location) or self.code(address.rpartition(",")[2])
