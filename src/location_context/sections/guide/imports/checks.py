"""Checks: a row becomes a restaurant, or a reason why not.

A row is refused for what makes it wrong (no name, no tier, coordinates that cannot be), never for
what is merely missing. Coordinates count as swapped when the other way round lies in the row's own
country and this way does not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from location_context.sections.guide.imports.awards import tier_of
from location_context.sections.guide.imports.phones import Phones
from location_context.sections.guide.imports.places import Countries
from location_context.sections.guide.imports.prices import price_of
from location_context.sections.guide.records import TIERS, Restaurant, Tier

if TYPE_CHECKING:
    from location_context.sections.guide.imports.rows import Row

CountryAt = Callable[[float, float], str | None]

_LONGEST_NAME = 200
_LONGEST_TEXT = 400
_NUMBER = re.compile(r"[+-]?\d{1,3}(?:[.,]\d+)?(?:[eE][+-]?\d{1,2})?")
_DOUBLE_ENCODED = re.compile(r"[ÂÃÅÄÐÑâãäåæçèé][\u0080-\u00bf\u0152-\u2122]")


class Wrong(Exception):
    """Why a row is not taken."""


class Checks:
    """Turns rows into restaurants; `country_at` tells the country at a latitude and longitude."""

    def __init__(self, country_at: CountryAt) -> None:
        self._country_at = country_at
        self._countries = Countries()
        self._phones = Phones.load()

    def restaurant(self, row: Row) -> Restaurant | str:
        """The restaurant, its id still empty, or the reason why there is none."""
        try:
            return self._restaurant(row)
        except Wrong as reason:
            return str(reason)

    def _restaurant(self, row: Row) -> Restaurant:
        if row.broken:
            raise Wrong(row.broken)
        name, tier = _name(row), _tier(row)
        lat, lng = _degrees(row, "lat", "latitude", 90), _degrees(row, "lng", "longitude", 180)
        if abs(lat) < 0.001 and abs(lng) < 0.001:
            raise Wrong("its coordinates are 0, 0")
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
            url=_web(row.get("url")),
            website=_web(row.get("website")),
            phone=self._phones.repaired(row.get("phone"), country),
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
        at = self._country_at(lat, lng)
        swapped = country is not None and at != country and abs(lng) <= 90
        if swapped and self._country_at(lng, lat) == country:
            raise Wrong("latitude and longitude are swapped")
        return city, country or at


def _tier(row: Row) -> Tier:
    tier = tier_of(row.get("award"), row.get("tier"), row.get("stars"))
    known = next((one for one in TIERS if one == tier), None)
    if known is None:
        raise Wrong(tier)
    return known


def _name(row: Row) -> str:
    name = _text(row.get("name"))
    if not name:
        raise Wrong("it has no name")
    if len(name) >= _LONGEST_NAME:
        raise Wrong(f"its name is longer than {_LONGEST_NAME - 1} characters")
    return name


def _text(raw: str) -> str | None:
    """Text in one line without control or direction characters; None when empty."""
    clean = "".join(" " if c.isspace() else c for c in raw if unicodedata.category(c) != "Cf")
    if any(unicodedata.category(c) == "Cc" for c in clean):
        raise Wrong("it holds control characters")
    if "\ufffd" in clean or _is_double_encoded(clean):
        raise Wrong(f"its text is wrongly encoded: {clean[:40]!r}")
    return unicodedata.normalize("NFC", " ".join(clean.split()))[:_LONGEST_TEXT] or None


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
        raise Wrong(f"it has no {name}")
    if not _NUMBER.fullmatch(text):
        raise Wrong(f"its {name} {text[:20]!r} is not a number of degrees")
    value = float(text.replace(",", "."))
    if abs(value) <= most:
        return value + 0.0
    hint = "; latitude and longitude seem swapped" if name == "latitude" else ""
    raise Wrong(f"its {name} {text[:20]} is out of range{hint}")


def _cuisine(raw: str) -> tuple[str, ...]:
    parts = (_text(part) for part in raw.split(","))
    return tuple(dict.fromkeys(part[:60] for part in parts if part))[:8]


def _web(raw: str) -> str | None:
    """An http or https address; anything else is not taken over."""
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
