"""Validation: a row becomes a restaurant, or an error that says why not.

A row is rejected for what makes it wrong (no name, no tier, impossible coordinates), never for what
is merely missing. Coordinates count as swapped when the other way round lies in the row's own
country and this way does not.
"""

import re
import unicodedata
from collections.abc import Callable
from urllib.parse import urlsplit

from location_context.sections.guide.imports.fields import Countries, price_of, tier_of
from location_context.sections.guide.imports.formats import Row, RowError
from location_context.sections.guide.records import Restaurant

CountryAt = Callable[[float, float], str | None]  # latitude and longitude to ISO 3166-1 alpha-2

_MAX_NAME_LENGTH = 199
_MAX_TEXT_LENGTH = 400
_NUMBER = re.compile(r"[+-]?\d{1,3}(?:[.,]\d+)?(?:[eE][+-]?\d{1,2})?")
_DOUBLE_ENCODED = re.compile(r"[ÂÃÅÄÐÑâãäåæçèé][\u0080-\u00bf\u0152-\u2122]")


class RowValidator:
    """Turns rows into restaurants; `country_at` gives the country at a point."""

    def __init__(self, country_at: CountryAt) -> None:
        self._country_at = country_at
        self._countries = Countries.load()

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
