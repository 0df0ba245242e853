"""Query parameters: decoded, then checked one after another in the contract's order.

`decode` refuses what is no well-formed query string; `parse` gives checked `Parameters` or raises
the one error that comes first: duplicates, misspelt names, then lat, lng, start, end, the range,
units, lang, place, theme, accent. A message names the parameter, what came and what is accepted; a
key given by mistake is never repeated.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Literal, TypeAlias, cast
from urllib.parse import unquote_to_bytes

from location_context.errors import (
    DateRangeTooLong,
    DuplicateParameter,
    InvalidAccent,
    InvalidDate,
    InvalidDateRange,
    InvalidLanguage,
    InvalidLatitude,
    InvalidLongitude,
    InvalidPlace,
    InvalidRequest,
    InvalidTheme,
    InvalidUnits,
    MalformedRequest,
    MissingParameter,
    UnknownParameter,
)
from location_context.point import canonical
from location_context.stay import FIRST_DATE, LAST_DATE, LONGEST_DAYS, Stay

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from location_context.localisation.language import Language, Languages
    from location_context.sections.contract import UnitSystem

Theme: TypeAlias = Literal["light", "dark", "auto"]

POINT = ("lat", "lng")
DATES = ("start", "end")
COMMON = ("units", "lang")
LOOKS = ("place", "theme", "accent")
REQUIRED = (*POINT, *DATES)
UNDATED_SECTION = (*POINT, *COMMON)
DATED_SECTION = (*POINT, *DATES, *COMMON)
WIDGET = (*DATED_SECTION, *LOOKS)

UNIT_SYSTEMS = ("metric", "imperial")
DEFAULT_ACCENT = "#0f766e"
LONGEST_PLACE = 120
_SHORT = 3  # letters of lat, lng and end
_LONGEST_MISSPELT = 20  # no known name is longer than that by one letter

_ESCAPES = re.compile(r"%(?![0-9A-Fa-f]{2})|%00")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ACCENT = re.compile(r"#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})")
_KEY = re.compile(r"lc_\S*")
_DIRECTION_OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_UNSHOWN = frozenset({"Cc", "Cs", "Co", "Cn", "Zl", "Zp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Checked parameters; `lat` and `lng` in canonical form, `language` None when not asked for."""

    lat: float
    lng: float
    stay: Stay | None
    units: UnitSystem
    language: Language | None
    place: str | None
    theme: Theme
    accent: str


def decode(query: bytes) -> list[tuple[str, str]]:
    """The names and values of a query string, as a form writes them (`+` is a blank).

    Raises:
        MalformedRequest: a broken escape, a NUL, or bytes that are not UTF-8.
    """
    try:
        text = query.decode("utf-8")
        if _ESCAPES.search(text) or "\x00" in text:
            raise MalformedRequest("The query string holds a broken or forbidden %-escape.")
        parts = (part.partition("=") for part in text.split("&") if part)
        return [(_unquote(name), _unquote(value)) for name, _, value in parts]
    except UnicodeDecodeError:
        raise MalformedRequest("The query string is not percent-encoded UTF-8.") from None


def _unquote(text: str) -> str:
    if "%" not in text and "+" not in text:
        return text
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8")


def parse(query: bytes, names: tuple[str, ...], languages: Languages) -> Parameters:
    """The checked parameters among `names`; every other one is ignored, unless it is misspelt.

    Raises:
        InvalidRequest: one of the 400 errors of the contract, the first in its order.
    """
    pairs = decode(query)
    given = _single(pairs, names)
    refuse_misspelt((name for name, _ in pairs), names)
    lat = _number(given, "lat", 90, InvalidLatitude)
    lng = _number(given, "lng", 180, InvalidLongitude)
    stay = _stay(given) if "start" in names else None
    units = _choice(given, "units", UNIT_SYSTEMS, InvalidUnits)
    language = _language(given, languages)
    place = _place(given)
    theme = _choice(given, "theme", ("light", "dark", "auto"), InvalidTheme)
    lat, lng = canonical(lat, lng)
    return Parameters(
        lat=lat,
        lng=lng,
        stay=stay,
        units=cast("UnitSystem", units),
        language=language,
        place=place,
        theme=cast("Theme", theme),
        accent=_accent(given),
    )


def _single(pairs: list[tuple[str, str]], names: tuple[str, ...]) -> dict[str, str]:
    """Values by name; an empty one is absent, and one given twice is refused."""
    given: dict[str, str] = {}
    for name, value in pairs:
        if name in given:
            raise DuplicateParameter(
                f"{name} was given more than once; accepted: each parameter once."
            )
        if name in names:
            given[name] = value
    for name in REQUIRED:
        if name in names:
            given.setdefault(name, "")
    return {name: value for name, value in given.items() if value or name in REQUIRED}


def refuse_misspelt(given: Iterable[str], known: tuple[str, ...]) -> None:
    """See that no name is a known one with another case or one edit away from it.

    A known name of three letters is meant only by one that begins with the same letter, so that
    `rnd` against caches and `alt` are not taken for `end` and `lat`.

    Raises:
        UnknownParameter: one is; the sentence has the hint.
    """
    for name in given:
        if name in known or name in WIDGET or len(name) > _LONGEST_MISSPELT:
            continue
        if meant := [one for one in known if _resembles(name.casefold(), one)]:
            raise UnknownParameter(
                f"{shown(name)} is not a parameter; did you mean {' or '.join(meant)}?"
            )


def _resembles(name: str, known: str) -> bool:
    if len(known) <= _SHORT and (len(name) < _SHORT or name[0] != known[0]):
        return False
    return _is_within_one_edit(name, known)


def _is_within_one_edit(one: str, other: str) -> bool:
    """Equal but for a letter put in, left out, replaced, or two neighbours exchanged."""
    while one and other and one[0] == other[0]:
        one, other = one[1:], other[1:]
    return (
        one[1:] == other[1:]
        or one[1:] == other
        or one == other[1:]
        or (one[:2] == other[1::-1] and one[2:] == other[2:])
    )


def shown(value: str) -> str:
    """What came, fit for a message: short, quoted, and without an API key."""
    value = _KEY.sub("***", value)
    return repr(value[:40] + "…" if len(value) > 40 else value)


def _required(given: Mapping[str, str], name: str) -> str:
    if value := given[name]:
        return value
    raise MissingParameter(f"{name} is missing or empty; it is required.")


def _number(
    given: Mapping[str, str], name: str, bound: float, error: type[InvalidRequest]
) -> float:
    text = _required(given, name)
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if -bound <= value <= bound:
        return value
    raise error(
        f"{name} is {shown(text)}; accepted: a decimal number from -{bound:g} to {bound:g}."
    )


def _stay(given: Mapping[str, str]) -> Stay:
    start, end = (_date(given, name) for name in DATES)
    if end < start:
        raise InvalidDateRange(f"end is {end}, before start {start}; accepted: the same or later.")
    stay = Stay(start, end)
    if stay.days > LONGEST_DAYS:
        raise DateRangeTooLong(
            f"start {start} to end {end} is {stay.days} days; accepted: at most {LONGEST_DAYS}."
        )
    return stay


def _date(given: Mapping[str, str], name: str) -> date:
    text = _required(given, name)
    try:
        value = date.fromisoformat(text) if _DATE.fullmatch(text) else date.max
    except ValueError:
        value = date.max
    if FIRST_DATE <= value <= LAST_DATE:
        return value
    raise InvalidDate(
        f"{name} is {shown(text)}; accepted: a date YYYY-MM-DD from {FIRST_DATE} to {LAST_DATE}."
    )


def _choice(
    given: Mapping[str, str], name: str, accepted: tuple[str, ...], error: type[InvalidRequest]
) -> str:
    """One of the accepted words; the first of them by default."""
    value = given.get(name, accepted[0])
    if value in accepted:
        return value
    raise error(f"{name} is {shown(value)}; accepted: {', '.join(accepted)}.")


def _language(given: Mapping[str, str], languages: Languages) -> Language | None:
    if (tag := given.get("lang")) is None:
        return None
    try:
        return languages.choose(tag)
    except InvalidLanguage:
        accepted = "a BCP 47 tag such as en or de-AT"
        raise InvalidLanguage(f"lang is {shown(tag)}; accepted: {accepted}.") from None


def _place(given: Mapping[str, str]) -> str | None:
    """The name to show, without control and direction-override characters."""
    text = given.get("place", "")
    if len(text) > LONGEST_PLACE:
        raise InvalidPlace(
            f"place has {len(text)} characters; accepted: at most {LONGEST_PLACE} characters."
        )
    return "".join(c for c in text if not _is_unshown(c)).strip() or None


def _is_unshown(character: str) -> bool:
    return character in _DIRECTION_OVERRIDES or unicodedata.category(character) in _UNSHOWN


def _accent(given: Mapping[str, str]) -> str:
    value = given.get("accent", DEFAULT_ACCENT)
    if _ACCENT.fullmatch(value):
        return value
    raise InvalidAccent(
        f"accent is {shown(value)}; accepted: a colour #rgb or #rrggbb, its # sent as %23."
    )
