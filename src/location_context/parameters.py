"""Query parameters: each is declared once, with its check and its documentation.

`decode` splits a query string; `parse` returns checked `Parameters` or raises the first error. The
order of checks is: duplicates, misspelt names, lat and lng or points, days, start, end, the range,
units, lang, place, theme, accent, sections, layout, background, font, radius, title, guide. A
message names the parameter, what was received and what is accepted. It never repeats an API key.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast, get_args
from urllib.parse import unquote_to_bytes

from location_context import errors
from location_context.localisation.language import Language, Languages
from location_context.point import canonical
from location_context.sections.contract import UnitSystem
from location_context.sections.section import Choices, Section
from location_context.stay import FIRST_DATE, HORIZON_DAYS, LAST_DATE, LONGEST_DAYS, Stay

T = TypeVar("T")
Theme: TypeAlias = Literal["light", "dark", "auto"]
Layout: TypeAlias = Literal["full", "compact"]
Background: TypeAlias = Literal["surface", "none"]
Font: TypeAlias = Literal["system", "serif", "rounded"]
Shown: TypeAlias = Literal["show", "none"]

UNIT_SYSTEMS: tuple[UnitSystem, ...] = get_args(UnitSystem)
DEFAULT_ACCENT = "#0f766e"
DEFAULT_RADIUS, MAX_RADIUS = 14, 24
MAX_PLACE_LENGTH = 120
MAX_POINTS = 25
_MAX_LISTED = 20  # names of guides in a message; there may be a thousand
_SHORT_NAME = 3  # letters of lat, lng and end
_SYNONYMS = {  # other services' names of a parameter
    "latitude": "lat", "longitude": "lng", "lon": "lng", "long": "lng", "language": "lang",
}  # fmt: skip
_MAX_MISSPELT_LENGTH = 20  # longer names cannot be misspellings; known names are shorter

_ESCAPES = re.compile(r"%(?![0-9A-Fa-f]{2})|%00")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_SCHEMA = "^(19[0-9]{2}|20[0-4][0-9]|2050)-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
_PAIR = (
    "-?([1-8]?[0-9]([.][0-9]+)?|90([.]0+)?),-?(([1-9]?[0-9]|1[0-7][0-9])([.][0-9]+)?|180([.]0+)?)"
)
_ACCENT = re.compile(r"#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})")
_KEY = re.compile(r"lc_\S*")
_DIRECTION_OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_UNSHOWN = frozenset({"Cc", "Cs", "Co", "Cn", "Zl", "Zp"})


@dataclass(frozen=True, kw_only=True)
class Parameter(Generic[T]):
    """A query parameter: its check and its text in the API reference.

    Attributes:
        check: receives the name and a text that is not empty; returns the value or raises
            `InvalidRequest`.
        schema: the JSON Schema of the parameter.
        example: a value that every installation accepts; None if no such value exists.
        default: the value of an absent or empty parameter, if it is not required.
    """

    name: str
    check: Callable[[str, str], T]
    schema: Mapping[str, Any]
    description: str
    example: object
    required: bool = False
    default: T | None = None

    def read(self, given: Mapping[str, str]) -> T:
        """Return this parameter's checked value; `given` are the received texts by parameter name.

        Raises:
            InvalidRequest: the value is invalid, or required and missing.
        """
        if text := given.get(self.name):
            return self.check(self.name, text)
        if self.required:
            raise errors.MissingParameter(f"{self.name} is missing or empty; it is required.")
        return cast("T", self.default)

    def documented(self) -> dict[str, Any]:
        """Return the parameter as an OpenAPI Parameter Object."""
        return {
            "name": self.name,
            "in": "query",
            "required": self.required,
            **({} if self.required else {"allowEmptyValue": True}),
            "description": self.description,
            "schema": self.schema,
            **({} if self.example is None else {"example": self.example}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The checked parameters of a request; coordinates are in canonical form.

    Attributes:
        stay: the dates; None if `days` is set, or if the endpoint or the sections need no dates.
        language: the requested language; None if `lang` is absent.
        points: the points of the parameter `points`; if set, `lat` and `lng` are the first point.
        days: the number of dates from today on; None if absent.
        sections: names of the requested sections in order; empty for the default sections.
        layout: the layout of the widget; None if absent, which means `full`.
        guide: the name of a restaurant guide; empty for the unnamed guide.
    """

    lat: float
    lng: float
    stay: Stay | None
    units: UnitSystem
    language: Language | None
    place: str | None
    theme: Theme
    accent: str
    points: tuple[tuple[float, float], ...] = ()
    days: int | None = None
    sections: tuple[str, ...] = ()
    layout: Layout | None = None
    background: Background = "surface"
    font: Font = "system"
    radius: int = DEFAULT_RADIUS
    title: Shown = "show"
    guide: str = ""

    def stay_from(self, today: date) -> Stay | None:
        """Return the stay, if any; with `days`, it begins at `today`, the date at the point."""
        if self.days is None:
            return self.stay
        return Stay(today, today + timedelta(days=self.days - 1))


def shown(value: str) -> str:
    """Return a received value for a message: quoted, at most 40 characters, API keys masked."""
    value = _KEY.sub("***", value)
    return repr(value[:40] + "…" if len(value) > 40 else value)


def _points(_: str, text: str) -> tuple[tuple[float, float], ...]:
    """Return the points (lat, lng) in a text such as `48.9,2.4;43.3,-2`, in canonical form."""
    pairs = text.split(";")
    if len(pairs) > MAX_POINTS:
        raise errors.InvalidPoints(
            f"points has {len(pairs)} points; accepted: at most {MAX_POINTS}."
        )
    found = []
    for number, pair in enumerate(pairs, 1):
        lat, _, lng = pair.partition(",")
        if not re.fullmatch(_PAIR, pair):
            raise errors.InvalidPoints(
                f"points has {shown(pair)} as point {number}; accepted: lat,lng in decimal "
                "degrees, -90 to 90 and -180 to 180, with a semicolon between points."
            )
        found.append(canonical(float(lat), float(lng)))
    return tuple(found)


def _date(name: str, text: str) -> date:
    try:
        value = date.fromisoformat(text) if _DATE.fullmatch(text) else date.max
    except ValueError:
        value = date.max
    if FIRST_DATE <= value <= LAST_DATE:
        return value
    raise errors.InvalidDate(
        f"{name} is {shown(text)}; accepted: a date YYYY-MM-DD from {FIRST_DATE} to {LAST_DATE}."
    )


def _place(_: str, text: str) -> str | None:
    """Return the text without control and direction-override characters; None if it is empty."""
    if len(text) > MAX_PLACE_LENGTH:
        raise errors.InvalidPlace(
            f"place has {len(text)} characters; accepted: at most {MAX_PLACE_LENGTH} characters."
        )
    visible = (c for c in text if c not in _DIRECTION_OVERRIDES)
    return "".join(c for c in visible if unicodedata.category(c) not in _UNSHOWN).strip() or None


def _accent(_: str, text: str) -> str:
    if _ACCENT.fullmatch(text):
        return text
    raise errors.InvalidAccent(
        f"accent is {shown(text)}; accepted: a colour #rgb or #rrggbb, its # sent as %23."
    )


def _whole(low: int, high: int, error: type[errors.InvalidRequest]) -> Callable[[str, str], int]:
    def check(name: str, text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) <= 2 and low <= int(text) <= high:
            return int(text)
        raise error(f"{name} is {shown(text)}; accepted: a whole number from {low} to {high}.")

    return check


def _coordinate(
    name: str, word: str, bound: int, error: type[errors.InvalidRequest], example: float
) -> Parameter[float]:
    def check(name: str, text: str) -> float:
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
        if -bound <= value <= bound:
            return value
        raise error(
            f"{name} is {shown(text)}; accepted: a decimal number from -{bound} to {bound}."
        )

    return Parameter(
        name=name,
        check=check,
        schema={"type": "number", "minimum": -bound, "maximum": bound},
        description=f"{word} in decimal degrees; rounded to four decimals.",
        example=example,
        required=True,
    )


def _choice(
    name: str, accepted: tuple[T, ...], error: type[errors.InvalidRequest], description: str
) -> Parameter[T]:
    """Return a parameter that accepts only these values; the first is the default."""

    def check(name: str, text: str) -> T:
        for one in accepted:
            if text == one:
                return one
        raise error(f"{name} is {shown(text)}; accepted: {', '.join(map(str, accepted))}.")

    return Parameter(
        name=name,
        check=check,
        schema={"type": "string", "enum": list(accepted), "default": accepted[0]},
        description=description,
        example=accepted[0],
        default=accepted[0],
    )


def _date_parameter(name: str, which: str, example: str) -> Parameter[date]:
    return Parameter(
        name=name,
        check=_date,
        schema={"type": "string", "format": "date", "pattern": _DATE_SCHEMA},
        description=f"{which} date of the stay, local to the point, included; {FIRST_DATE} to "
        f"{LAST_DATE}. A stay has at most {LONGEST_DAYS} dates.",
        example=example,
        required=True,
    )


LAT = _coordinate("lat", "Latitude", 90, errors.InvalidLatitude, 48.8566)
LNG = _coordinate("lng", "Longitude", 180, errors.InvalidLongitude, 2.3522)
POINTS = Parameter(
    name="points",
    check=_points,
    schema={
        "type": "string",
        "pattern": f"^({_PAIR}(;{_PAIR}){{0,{MAX_POINTS - 1}}})?$",
    },
    description=(
        f"Instead of `lat` and `lng`: 1 to {MAX_POINTS} points as `lat,lng`, separated by "
        "semicolons. The answer is then a list in the same order. Each section of each point "
        "counts as one request; a repeated point counts once."
    ),
    example=None,  # it excludes `lat` and `lng`, which have examples
)
START = _date_parameter("start", "First", "2026-11-28")
END = _date_parameter("end", "Last", "2026-12-01")
DAYS = Parameter(
    name="days",
    check=_whole(1, HORIZON_DAYS, errors.InvalidDays),
    schema={"type": "integer", "minimum": 1, "maximum": HORIZON_DAYS},
    description=(
        "Number of dates, beginning today at the point. Use it instead of `start` and `end` on "
        "pages without booking dates."
    ),
    example=7,
)
UNITS = _choice(
    "units",
    UNIT_SYSTEMS,
    errors.InvalidUnits,
    "Units of every number in the answer; `units` in the answer names them.",
)
LANG = Parameter(
    name="lang",
    check=lambda _, text: text,  # `Languages` checks it
    schema={
        "type": "string",
        "pattern": "^([A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*)?$",
        "maxLength": 64,
        "default": "en",
    },
    description=(
        "Language of the answer, a BCP 47 tag. An unknown language falls back (`de-AT` to `de`, "
        "else English); Content-Language names the language used. Without `lang`, the widget "
        "follows Accept-Language."
    ),
    example="en",
    default="",
)
PLACE = Parameter(
    name="place",
    check=_place,
    schema={"type": "string", "maxLength": MAX_PLACE_LENGTH},
    description=f"Display name of the place, at most {MAX_PLACE_LENGTH} characters.",
    example="Paris",
)
THEME = _choice(
    "theme",
    get_args(Theme),
    errors.InvalidTheme,
    "`auto` follows the light or dark setting of the visitor's system.",
)
ACCENT = Parameter(
    name="accent",
    check=_accent,
    schema={
        "type": "string",
        "pattern": "^(#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6}))?$",
        "default": DEFAULT_ACCENT,
    },
    description="Accent colour; the leading # is sent as %23.",
    example=DEFAULT_ACCENT,
    default=DEFAULT_ACCENT,
)
SECTIONS = Parameter(
    name="sections",
    # `_sections` checks it: the names depend on the installed packages
    check=lambda _, text: text,
    schema={"type": "string"},
    description=(
        "Names of the sections to show, in this order, separated by commas; duplicates count "
        "once. Without `sections`, the default sections are used."
    ),
    example="weather,guide",
    default="",
)
LAYOUT = replace(
    _choice(
        "layout",
        get_args(Layout),
        errors.InvalidLayout,
        "`compact` is a card of at most 720 px at a width of 500 px.",
    ),
    default=None,  # which is distinguished from `full`
)
BACKGROUND = _choice(
    "background",
    get_args(Background),
    errors.InvalidBackground,
    "`none` lets the page behind the widget show between its cards.",
)
FONT = _choice(
    "font",
    get_args(Font),
    errors.InvalidFont,
    "The style of font; the widget uses fonts of the visitor's system.",
)
RADIUS = Parameter(
    name="radius",
    check=_whole(0, MAX_RADIUS, errors.InvalidRadius),
    schema={"type": "integer", "minimum": 0, "maximum": MAX_RADIUS, "default": DEFAULT_RADIUS},
    description="Corner radius of the cards, in px.",
    example=DEFAULT_RADIUS,
    default=DEFAULT_RADIUS,
)
TITLE = _choice(
    "title",
    get_args(Shown),
    errors.InvalidTitle,
    "`none` leaves out place and dates, for pages that show them already.",
)
GUIDE = Parameter(
    name="guide",
    check=lambda _, text: text,  # `_guide` checks it: the names depend on what was imported
    schema={"type": "string"},
    description=(
        "Name of a restaurant guide, if the operator imported several. Without `guide`, the "
        "unnamed guide is used. Events that the operator assigned to a guide are shown only with "
        "that guide. The error for an unknown name lists the names that exist."
    ),
    example=None,  # no name exists everywhere
    default="",
)
PARAMETERS: tuple[Parameter[Any], ...] = (
    LAT, LNG, POINTS, START, END, DAYS, UNITS, LANG, PLACE, THEME, ACCENT, SECTIONS, LAYOUT,
    BACKGROUND, FONT, RADIUS, TITLE, GUIDE,
)  # fmt: skip
POINT = ("lat", "lng")
DATES = ("start", "end", "days")
UNDATED_SECTION = (*POINT, "units", "lang")
DATED_SECTION = (*POINT, "start", "end", "units", "lang")
WIDGET = tuple(one.name for one in PARAMETERS if one is not POINTS)
_KNOWN = frozenset(one.name for one in PARAMETERS)
CALENDAR = (*POINT, *DATES, "lang", "place", "sections", "guide")
PULSE = (*POINT, "points", *DATES, "units", "lang", "sections", "guide")


def names_of(section: Section[Any] | type[Section[Any]]) -> tuple[str, ...]:
    """Return the names of the query parameters that a section accepts."""
    return (*(DATED_SECTION if section.dated else UNDATED_SECTION), *section.parameters)


def decode(query: bytes) -> list[tuple[str, str]]:
    """Return the decoded names and values of a query string; `+` stands for a space.

    Raises:
        MalformedRequest: the query has an invalid escape, a NUL, or bytes that are not UTF-8.
    """
    try:
        text = query.decode("utf-8")
        if _ESCAPES.search(text) or "\x00" in text:
            raise errors.MalformedRequest("The query string has an invalid or forbidden %-escape.")
        parts = (part.partition("=") for part in text.split("&") if part)
        return [(_unquote(name), _unquote(value)) for name, _, value in parts]
    except UnicodeDecodeError:
        raise errors.MalformedRequest("The query string is not percent-encoded UTF-8.") from None


def _unquote(text: str) -> str:
    if "%" not in text and "+" not in text:
        return text
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8")


def parse(
    query: bytes,
    names: tuple[str, ...],
    languages: Languages,
    choices: Choices = MappingProxyType({}),
) -> Parameters:
    """Return the checked parameters; ignore those not in `names`, but reject misspelt names.

    `choices` are the accepted values by parameter, such as the names of sections.

    Raises:
        InvalidRequest: the first error, in the order that the module describes.
    """
    given = values(query, names)
    points = _places(given, names)
    days = _days_from_today(given) if DAYS.name in names else None
    undated = days or START.name not in names or _needs_no_dates(given, choices)
    stay = None if undated else _dates(given, names)
    (lat, lng), several = points[0], bool(given.get(POINTS.name))
    return Parameters(
        lat=lat,
        lng=lng,
        points=points if several else (),
        stay=stay,
        units=UNITS.read(given),
        language=_language(LANG.read(given), languages),
        place=PLACE.read(given),
        theme=THEME.read(given),
        accent=ACCENT.read(given),
        days=days,
        sections=_sections(SECTIONS.read(given), choices.get(SECTIONS.name, ())),
        layout=LAYOUT.read(given),
        background=BACKGROUND.read(given),
        font=FONT.read(given),
        radius=RADIUS.read(given),
        title=TITLE.read(given),
        guide=_guide(GUIDE.read(given), choices.get(GUIDE.name)),
    )


def values(query: bytes, names: tuple[str, ...]) -> dict[str, str]:
    """Return the texts of the parameters in `names`; reject repeated and misspelt names.

    Raises:
        InvalidRequest: the first error.
    """
    pairs, given = decode(query), dict[str, str]()
    for name, value in pairs:
        if name in given:
            raise errors.DuplicateParameter(
                f"{name} was given more than once; accepted: each parameter once."
            )
        if name in names:
            given[name] = value
    _reject_misspelt((name for name, _ in pairs), names)
    return given


def _places(given: Mapping[str, str], names: tuple[str, ...]) -> tuple[tuple[float, float], ...]:
    """Return the canonical points in the parameter `points`, else the one in `lat` and `lng`."""
    single = [name for name in POINT if given.get(name)]
    if not given.get(POINTS.name):
        if not single and POINTS.name in names:
            raise errors.MissingParameter(
                "lat is missing or empty; accepted: lat and lng, or points."
            )
        return (canonical(LAT.read(given), LNG.read(given)),)
    if single:
        raise errors.ConflictingParameters(
            f"points was given together with {' and '.join(single)}; accepted: either points, or "
            "lat and lng."
        )
    return POINTS.read(given)


def _needs_no_dates(given: Mapping[str, str], choices: Choices) -> bool:
    """Return True if the request has no dates and names only sections that need none."""
    if given.get(START.name) or given.get(END.name) or not given.get(SECTIONS.name):
        return False
    return set(given[SECTIONS.name].split(",")) <= set(choices.get("undated", ()))


def _days_from_today(given: Mapping[str, str]) -> int | None:
    """Return the value of `days`; None if it is absent. Reject it together with start or end."""
    dates = [name for name in (START.name, END.name) if given.get(name)]
    if dates and given.get(DAYS.name):
        raise errors.ConflictingParameters(
            f"days was given together with {' and '.join(dates)}; accepted: either days, or start "
            "and end."
        )
    return DAYS.read(given)


def _dates(given: Mapping[str, str], names: tuple[str, ...]) -> Stay:
    """Return the stay from `start` to `end`; if both are missing, the error may suggest `days`."""
    if DAYS.name in names and not given.get(START.name) and not given.get(END.name):
        raise errors.MissingParameter(
            "start is missing or empty; accepted: start and end, or days."
        )
    start, end = START.read(given), END.read(given)
    if end < start:
        raise errors.InvalidDateRange(
            f"end is {end}, before start {start}; accepted: the same or later."
        )
    stay = Stay(start, end)
    if stay.days > LONGEST_DAYS:
        raise errors.DateRangeTooLong(
            f"start {start} to end {end} is {stay.days} days; accepted: at most {LONGEST_DAYS}."
        )
    return stay


def _language(tag: str, languages: Languages) -> Language | None:
    if not tag:
        return None
    try:
        return languages.choose(tag)
    except errors.InvalidLanguage:
        accepted = "a BCP 47 tag such as en or de-AT"
        raise errors.InvalidLanguage(f"lang is {shown(tag)}; accepted: {accepted}.") from None


def _sections(text: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the requested sections in order, or () for the default ones; reject unknown names."""
    chosen = tuple(dict.fromkeys(text.split(","))) if text else ()
    if set(chosen) <= set(known):
        return chosen
    raise errors.InvalidSections(
        f"sections is {shown(text)}; accepted: {', '.join(known)}, separated by commas without "
        "blanks."
    )


def _guide(text: str, known: Collection[str] | None) -> str:
    """Return the name of a guide; accept any name while `known` is None (guides not loaded)."""
    if not text or known is None or text in known:
        return text
    names = sorted(known)
    listed = ", ".join(names[:_MAX_LISTED]) or "none, because no guide has a name"
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    raise errors.InvalidGuide(f"guide is {shown(text)}; accepted: {listed}{more}.")


def _reject_misspelt(given: Iterable[str], known: tuple[str, ...]) -> None:
    """Reject names that are aliases of known names, or differ from them by case or one edit.

    A name counts as a misspelling of `lat`, `lng` or `end` only if its first letter is the same.
    So `rnd` (used to bypass caches) and `alt` are not rejected as misspellings of `end` and `lat`.

    Raises:
        UnknownParameter: a name is misspelt; the message suggests the right one.
    """
    for name in given:
        if name in known or name in _KNOWN or len(name) > _MAX_MISSPELT_LENGTH:
            continue
        meant = [one for one in known if one == _SYNONYMS.get(name.casefold())]
        if meant := meant or [one for one in known if _resembles(name.casefold(), one)]:
            raise errors.UnknownParameter(
                f"{shown(name)} is not a parameter; did you mean {' or '.join(meant)}?"
            )


def _resembles(name: str, known: str) -> bool:
    if len(known) <= _SHORT_NAME and (len(name) < _SHORT_NAME or name[0] != known[0]):
        return False
    return _is_within_one_edit(name, known)


def _is_within_one_edit(one: str, other: str) -> bool:
    """Return True if the texts differ by at most one letter, or by two swapped neighbours."""
    while one and other and one[0] == other[0]:
        one, other = one[1:], other[1:]
    return (
        one[1:] == other[1:]
        or one[1:] == other
        or one == other[1:]
        or (one[:2] == other[1::-1] and one[2:] == other[2:])
    )
