"""Validation: turns a row of a dataset into a restaurant, or raises an error that says why not.

A row is rejected for wrong data (no name, an unknown tier, impossible coordinates), never for a
missing optional field. Coordinates count as swapped if they lie outside the country that the row
names, but inside it once latitude and longitude are exchanged.
"""

import re
import unicodedata
from collections.abc import Callable

from babel import Locale

from location_context.sections.addresses import web_address
from location_context.sections.guide.imports.formats import Row, RowError
from location_context.sections.guide.records import MAX_NOTE_LENGTH, TIERS, Restaurant, Tier

CountryAt = Callable[[float, float], str | None]  # latitude and longitude to ISO 3166-1 alpha-2

_MAX_NAME_LENGTH = 199
_MAX_TEXT_LENGTH = 400
_NUMBER = re.compile(r"[+-]?\d{1,3}(?:[.,]\d+)?(?:[eE][+-]?\d{1,2})?")
_PHONE = re.compile(r"\+?[\d\s().\-/]{5,30}(?:(?:ext\.?|x)\s*\d{1,6})?")
_DOUBLE_ENCODED = re.compile(r"[ÂÃÅÄÐÑâãäåæçèé][\u0080-\u00bf\u0152-\u2122]")


class RowValidator:
    """A converter of rows to restaurants; `country_at` returns the country at a point."""

    def __init__(self, country_at: CountryAt) -> None:
        self._country_at = country_at
        self._countries = Countries()

    def restaurant(self, row: Row) -> Restaurant:
        """Return the restaurant of a row; its id is the dataset's own, or "" without one.

        Raises:
            RowError: the row is invalid; the message says why.
        """
        if row.broken:
            raise RowError(row.broken)
        name = _name(row)
        tier = tier_of(row.get("award"), row.get("tier"), row.get("stars"))
        lat, lng = _degrees(row, "lat", "latitude", 90), _degrees(row, "lng", "longitude", 180)
        if abs(lat) < 0.001 and abs(lng) < 0.001:
            raise RowError("the coordinates are 0, 0")
        address = _text(row.get("address"))
        city, country = self._place(row, address or "", lat, lng)
        _text(row.get("price"))  # rejects the row if a wrong encoding has damaged currency signs
        price, level = price_of(row)
        return Restaurant(
            id=row.get("id"),
            name=name,
            tier=tier,
            lat=lat,
            lng=lng,
            cuisine=_cuisine(row.get("cuisine")),
            price_level=level,
            price=price,
            address=address,
            city=city,
            country=country,
            url=_web_address(row.get("url")),
            website=_web_address(row.get("website")),
            phone=_phone(row.get("phone")),
            award_year=_year(row.get("award_year")),
            note=_note(row.get("note")),
        )

    def _place(
        self, row: Row, address: str, lat: float, lng: float
    ) -> tuple[str | None, str | None]:
        """Return city and country code of a row, each None if unknown.

        If neither the row's fields nor its address name a country, return the one at `lat`, `lng`.

        Raises:
            RowError: latitude and longitude are swapped.
        """
        location = _text(row.get("location")) or ""
        city, country = self._countries.city_and_country(location, address)
        city = _text(row.get("city")) or city
        country = self._countries.code(row.get("country")) or country
        country_there = self._country_at(lat, lng)
        suspicious = country is not None and country_there != country and abs(lng) <= 90
        if suspicious and self._country_at(lng, lat) == country:
            raise RowError("latitude and longitude are swapped")
        return city, country or country_there


def _name(row: Row) -> str:
    name = _text(row.get("name"))
    if not name:
        raise RowError("the name is missing")
    if len(name) > _MAX_NAME_LENGTH:
        raise RowError(f"the name is longer than {_MAX_NAME_LENGTH} characters")
    return name


def _note(raw: str) -> str | None:
    """Return the operator's note on one line, None if it is empty.

    Raises:
        RowError: the note is too long; shortening it could change its meaning.
    """
    if (length := len(" ".join(raw.split()))) > MAX_NOTE_LENGTH:
        raise RowError(f"the note has {length} characters; accepted: at most {MAX_NOTE_LENGTH}")
    return _text(raw)


def _text(raw: str) -> str | None:
    """Return the text as one line of at most 400 visible characters; None if that is empty.

    Raises:
        RowError: the text contains control characters or is wrongly encoded.
    """
    clean = "".join(" " if c.isspace() else c for c in raw if unicodedata.category(c) != "Cf")
    if any(unicodedata.category(c) == "Cc" for c in clean):
        raise RowError("the text contains control characters")
    if "\ufffd" in clean or _is_double_encoded(clean):
        raise RowError(f"the text is wrongly encoded: {clean[:40]!r}")
    return unicodedata.normalize("NFC", " ".join(clean.split()))[:_MAX_TEXT_LENGTH] or None


def _is_double_encoded(text: str) -> bool:
    """Return True if UTF-8 was wrongly read as Windows-1252, as in 'FrantzÃ©n' for 'Frantzén'."""
    if not _DOUBLE_ENCODED.search(text):
        return False
    try:
        return text.encode("cp1252").decode("utf-8") != text
    except UnicodeError:
        return False


def _degrees(row: Row, field: str, name: str, most: int) -> float:
    text = row.get(field)
    if not text:
        if pair := row.get("coordinates"):
            raise RowError(
                f"the coordinates are {pair[:40]!r}; accepted: lat, lng such as 43.3215, -1.9510"
            )
        raise RowError(f"the {name} is missing")
    if not _NUMBER.fullmatch(text):
        raise RowError(f"the {name} {text[:20]!r} is not a number of degrees")
    value = float(text.replace(",", "."))
    if abs(value) <= most:
        return value + 0.0
    hint = "; latitude and longitude seem swapped" if name == "latitude" else ""
    raise RowError(f"the {name} {text[:20]} is out of range{hint}")


def _cuisine(raw: str) -> tuple[str, ...]:
    parts = (_text(part) for part in raw.split(","))
    return tuple(dict.fromkeys(part[:60] for part in parts if part))[:8]


def _web_address(raw: str) -> str | None:
    """Return the text if it is an http or https URL, else None."""
    address = (_text(raw) or "").replace(" ", "%20")
    return address if web_address(address) else None


def _phone(raw: str) -> str | None:
    """Return the text unchanged if it looks like a phone number, else None."""
    written = raw.strip()
    sound = _PHONE.fullmatch(written) and sum(c.isdigit() for c in written) >= 5
    return written if sound else None


def _year(raw: str) -> int | None:
    match = re.match(r"(19|20)\d\d(?!\d)", raw)
    return int(match[0]) if match else None


_STAR_NUMBERS = {"one": 1, "two": 2, "three": 3}
_STARS = re.compile(r"(\d|one|two|three)[\s-]+(?:[^\W\d]+\s+){0,2}stars?", re.IGNORECASE)
_STAR_SIGNS = re.compile(r"([1-3])\s*[★⭐*]|([★⭐✩*]{1,3})")
_GOOD_VALUE = re.compile(r"\bgourmand\b|\bgood[\s_-]*value\b", re.IGNORECASE)
_SELECTED = re.compile(
    r"selected(\s+restaurants?)?|(the\s+)?plate(\s+\w+)?|(\w+\s+)?plate|recommended", re.IGNORECASE
)
_RETIRED = re.compile(r"\bgreen\s+star\b|\bclover\b", re.IGNORECASE)
_TIER_OF_STARS: dict[int, Tier] = {3: "three_star", 2: "two_star", 1: "one_star"}


def tier_of(award: str, tier: str, stars: str) -> Tier:
    """Return the tier named by the first text of `tier`, `award` and `stars` that is not empty.

    An award is recognised by its words: a number of stars ("3 Stars", "One Acme Star", "★★"), good
    value, or a listing without award. If all three texts are empty, as in a hotel's own list, the
    tier is `selected`.

    Raises:
        RowError: the texts do not name a tier.
    """
    if tier:
        if known := _tier_named(tier):
            return known
        raise RowError(f"the tier {tier[:40]!r} is not one of {', '.join(TIERS)}")
    if award:
        return _tier_of_awards(award)
    if not stars:
        return "selected"
    number = stars.removesuffix(".0")
    if number.isdigit() and int(number) in _TIER_OF_STARS:
        return _TIER_OF_STARS[int(number)]
    raise RowError(f"{stars[:40]!r} is not a number of stars from 1 to 3")


def _tier_named(tier: str) -> Tier | None:
    wanted = re.sub(r"[\s-]+", "_", tier.casefold()).removesuffix("s")
    return next((known for known in TIERS if known == wanted), None)


def _tier_of_awards(award: str) -> Tier:
    """Return the highest tier among several awards in one text, such as "1 Star, Green Star".

    Awards that are no longer given are ignored.
    """
    parts = [part.strip() for part in re.split(r"[,;/|+&•]", award) if part.strip()]
    current = [part for part in parts if not _RETIRED.search(part)]
    if parts and not current:
        raise RowError(f"the award {award[:60]!r} is no longer given and does not name a tier")
    tiers = [tier for part in current if (tier := _tier_of_award(part))]
    if not tiers:
        raise RowError(f"the award {award[:60]!r} is not known")
    return min(tiers, key=TIERS.index)


def _tier_of_award(award: str) -> Tier | None:
    if match := _STARS.fullmatch(award):
        number = match[1].lower()
        return _TIER_OF_STARS.get(int(number) if number.isdigit() else _STAR_NUMBERS[number])
    if match := _STAR_SIGNS.fullmatch(award):
        return _TIER_OF_STARS[int(match[1]) if match[1] else len(match[2])]
    if _GOOD_VALUE.search(award):
        return "good_value"
    if _SELECTED.fullmatch(award):
        return "selected"
    return _tier_named(award)


_MAX_PRICE_LENGTH = 60


def price_of(row: Row) -> tuple[str | None, int | None]:
    """Return a row's price as text, and as a level from 1 (cheap) to 4; each None if unknown."""
    text, currency = row.get("price"), row.get("currency")
    if not text:
        bounds = [row.get(name) for name in ("min_price", "max_price") if row.get(name)]
        text = "–".join(dict.fromkeys(bounds))
        text = f"{text} {currency}" if text and currency else text
    given = row.get("price_level").removesuffix(".0")
    level = int(given) if given in {"1", "2", "3", "4"} else price_level(text)
    return (text[:_MAX_PRICE_LENGTH] or None), level


def price_level(text: str) -> int | None:
    """Return a price level from a text of currency signs: 2 for "€€", 3 for "€€–€€€"; at most 4.

    Return None for any other text, also for an amount in numbers, since what counts as expensive
    differs by country and by year.
    """
    parts = ["".join(part.split()) for part in re.split(r"[-–—~/]|\bto\b", text)]
    is_repeated = (part and len(set(part)) == 1 for part in parts)
    if not all(is_repeated) or any(unicodedata.category(part[0]) != "Sc" for part in parts):
        return None
    return min(max(map(len, parts)), 4)


_COUNTRY_ALIASES = {
    "abu dhabi": "AE", "dubai": "AE", "uae": "AE", "bosnia and herzegovina": "BA",
    "china mainland": "CN", "mainland china": "CN", "czech republic": "CZ", "england": "GB",
    "great britain": "GB", "northern ireland": "GB", "scotland": "GB", "uk": "GB", "wales": "GB",
    "holland": "NL", "the netherlands": "NL", "hong kong": "HK", "hong kong sar china": "HK",
    "ireland": "IE", "republic of ireland": "IE", "korea": "KR", "south korea": "KR",
    "macao": "MO", "macau": "MO", "taiwan": "TW", "turkey": "TR", "türkiye": "TR",
    "u.s.a.": "US", "united states of america": "US", "usa": "US", "viet nam": "VN",
}  # fmt: skip


class Countries:
    """A lookup of country codes (ISO 3166-1 alpha-2) by English name, other names or codes."""

    def __init__(self) -> None:
        territories = Locale("en").territories.items()
        names = {code: name for code, name in territories if len(code) == 2 and code.isalpha()}
        self._codes = {name.casefold(): code for code, name in names.items()}
        self._codes |= {code.casefold(): code for code in names} | _COUNTRY_ALIASES

    def code(self, name: str) -> str | None:
        return self._codes.get(name.strip().casefold())

    def city_and_country(self, location: str, address: str) -> tuple[str | None, str | None]:
        """Return city and country code, each None if unknown.

        `location` is "City, Country", "City" or empty. If it names no country, the country is read
        from the end of `address`.
        """
        city, comma, last = location.rpartition(",")
        if comma and (code := self.code(last)):
            return city.strip() or None, code
        from_address = self.code(address.rpartition(",")[2])
        if not location:
            return None, from_address
        return location, self.code(location) or from_address
