"""Form: what the builder's fields hold, read from its address, and what is wrong with it.

The address is the whole state, so that it can be kept, sent on, and used without JavaScript. A
name typed over the one shown, with the coordinates left alone, is looked up; `was` tells the two
apart. A swatch goes before the hex field; without dates the stay is a week that begins in a week.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from urllib.parse import urlencode

from anyio import to_thread
from babel.numbers import format_decimal

from location_context.errors import InvalidRequest
from location_context.gazetteer.gazetteer import City
from location_context.localisation.language import Language
from location_context.parameters import (
    DEFAULT_ACCENT,
    MAX_PLACE_LENGTH,
    POINT,
    WIDGET,
    Parameters,
    Theme,
    decode,
    parse,
)
from location_context.service import Service
from location_context.widget.builder import text
from location_context.widget.colour import ACCENT_RATIO, Scheme, contrast, palette
from location_context.widget.embedding import degrees

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


FIRST_SEEN = {"place": "San Sebastián", "lat": "43.3183", "lng": "-1.9812"}
FIELDS = ("place", "lat", "lng", "start", "end", "theme", "accent", "units", "lang")
MOST_PLACES = 6
WEEK = timedelta(days=7)


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a name led to: places, and the coordinates that were there before."""

    name: str = ""
    places: Sequence[City] = ()
    before: tuple[str, str] | None = None
    nothing: bool = False


@dataclass(frozen=True, kw_only=True)
class Form:
    """The fields as text; `given` when all are right, else what is wrong with one of them."""

    fields: dict[str, str]
    found: Found
    today: date
    timezone: str = ""
    given: Parameters | None = None
    wrong_field: str = ""
    wrong: str = ""


async def read(service: Service, query: bytes, language: Language) -> Form:
    """The form for a query string; what the page does not know in it is passed over."""
    came = dict(decode(query))
    fields = {name: came.get(name, "").strip() for name in FIELDS}
    fields["accent"] = fields["accent"] or came.get("hex", "").strip() or DEFAULT_ACCENT
    if not came.keys() & {"place", "lat", "lng"}:
        fields |= FIRST_SEEN
    found = await _find(service, fields, came.get("was", ""))
    if found.places:
        fields |= place_fields(found.places[0])
    return _checked(service, fields, found, language)


def place_fields(city: City) -> dict[str, str]:
    return {"place": city.name, "lat": degrees(city.lat), "lng": degrees(city.lng)}


def shown_before(fields: dict[str, str]) -> str:
    """What the field `was` remembers: the point and name that the page was made for."""
    return f"{fields['lat']},{fields['lng']},{fields['place']}"


async def _find(service: Service, fields: dict[str, str], was: str) -> Found:
    """Appearance the name up when it came without coordinates, or in the place of another name."""
    name, before = fields["place"], (fields["lat"], fields["lng"])
    renamed = was.startswith(f"{before[0]},{before[1]},") and was != shown_before(fields)
    if not 0 < len(name) <= MAX_PLACE_LENGTH or (any(before) and not renamed):
        return Found()
    places = await to_thread.run_sync(service.gazetteer.search, name, MOST_PLACES)
    return Found(
        name=name,
        places=places,
        before=before if all(before) and places else None,
        nothing=not places and not any(before),
    )


def _checked(service: Service, fields: dict[str, str], found: Found, language: Language) -> Form:
    """The form with its parameters checked, or with the first thing that is wrong."""
    form = Form(fields=fields, found=found, today=service.clock().date())
    try:
        at = parse(_query(fields), POINT, service.languages)
        point = service.gazetteer.point(at.lat, at.lng)
        form = replace(form, timezone=point.timezone, today=point.today(service.clock()))
    except InvalidRequest:
        pass  # said below, in its turn
    if not fields["start"] and not fields["end"]:
        fields |= {"start": str(form.today + WEEK), "end": str(form.today + 2 * WEEK)}
    try:
        return replace(form, given=parse(_query(fields), WIDGET, service.languages))
    except InvalidRequest as error:
        field = _field(error)
        return replace(
            form, wrong_field=field, wrong=text.wrong(error.code, field, error.message, language)
        )


def _query(fields: dict[str, str]) -> bytes:
    return urlencode(fields).encode()


def _field(error: InvalidRequest) -> str:
    """The field an error is about: its message begins with the parameter's name."""
    if error.code == "date_range_too_long":
        return "end"
    return error.message.partition(" ")[0]
