"""Form: the builder's fields, read from the page's address, and the first error in them.

The address is the whole state, so that it can be bookmarked, shared and used without JavaScript. A
name that was changed while the coordinates were not is searched for; the field `was` remembers the
previous ones. A swatch goes before the hex field; without dates the stay is one week, a week from
now.
"""

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
from location_context.widget.colour import ACCENT_RATIO, Scheme, contrast, palette
from location_context.widget.embedding import degrees

SWATCHES = ("#0f766e", "#1d4ed8", "#7c3aed", "#be123c", "#b45309", "#1e3a5f")


@dataclass(frozen=True)
class AccentContrast:
    """The accent's contrast in one scheme; `readable` if text can take the accent as it is."""

    readable: bool
    sentence: str


def contrasts(accent: str, theme: Theme, language: Language) -> list[AccentContrast]:
    """The accent's contrast in each scheme that the theme can show."""
    schemes: tuple[Scheme, ...] = ("light", "dark") if theme == "auto" else (theme,)
    return [_contrast(long_form(accent), scheme, language) for scheme in schemes]


def _contrast(accent: str, scheme: Scheme, language: Language) -> AccentContrast:
    colours = palette(accent, scheme)
    used, surface = colours["accent"], colours["surface"]
    gettext = language.gettext
    if scheme == "light":
        as_is = gettext("{ratio}:1 on white, readable as it is.")
        adjusted = gettext("{ratio}:1 on white, so text takes {colour}, {better}:1.")
    else:
        as_is = gettext("{ratio}:1 on dark, readable as it is.")
        adjusted = gettext("{ratio}:1 on dark, so text takes {colour}, {better}:1.")
    readable = contrast(accent, surface) >= ACCENT_RATIO
    sentence = as_is if readable else adjusted
    values = {
        "{ratio}": _ratio(accent, surface, language),
        "{better}": _ratio(used, surface, language),
        "{colour}": f"\u2066{used}\u2069" if language.direction == "rtl" else used,
    }
    for field, value in values.items():
        sentence = sentence.replace(field, value)
    return AccentContrast(readable, sentence)


def _ratio(colour: str, ground: str, language: Language) -> str:
    """A contrast with one decimal, rounded down, so that it is never overstated."""
    tenths = int(contrast(colour, ground) * 10)
    return str(format_decimal(tenths / 10, "0.0", locale=language.locale))


def long_form(accent: str) -> str:
    """`#abc` as `#aabbcc`, in lower case."""
    digits = accent.lower().lstrip("#")
    return "#" + (digits if len(digits) == 6 else "".join(2 * digit for digit in digits))


EXAMPLE_PLACE = {"place": "San Sebastián", "lat": "43.3183", "lng": "-1.9812"}
FIELDS = ("place", "lat", "lng", "start", "end", "theme", "accent", "units", "lang")
MAX_PLACES = 6
WEEK = timedelta(days=7)


@dataclass(frozen=True, kw_only=True)
class PlaceSearch:
    """The places of a name that was searched for, and the coordinates before the search."""

    name: str = ""
    places: Sequence[City] = ()
    previous_point: tuple[str, str] | None = None
    no_match: bool = False


@dataclass(frozen=True, kw_only=True)
class Form:
    """The fields as text; `parameters` if all are valid, else the first error and its field."""

    fields: dict[str, str]
    search: PlaceSearch
    today: date
    timezone: str = ""
    parameters: Parameters | None = None
    error_field: str = ""
    error: str = ""


async def read(service: Service, query: bytes, language: Language) -> Form:
    """The form for a query string; unknown fields are ignored."""
    raw = dict(decode(query))
    fields = {name: raw.get(name, "").strip() for name in FIELDS}
    fields["accent"] = fields["accent"] or raw.get("hex", "").strip() or DEFAULT_ACCENT
    if not raw.keys() & {"place", "lat", "lng"}:
        fields |= EXAMPLE_PLACE
    search = await _search(service, fields, raw.get("was", ""))
    if search.places:
        fields |= place_fields(search.places[0])
    return _validate(service, fields, search, language)


def place_fields(city: City) -> dict[str, str]:
    return {"place": city.name, "lat": degrees(city.lat), "lng": degrees(city.lng)}


def encode_place(fields: dict[str, str]) -> str:
    """The value of the field `was`: the point and name that the page was made for."""
    return f"{fields['lat']},{fields['lng']},{fields['place']}"


async def _search(service: Service, fields: dict[str, str], was: str) -> PlaceSearch:
    """Search for the name if there are no coordinates, or if it alone was changed."""
    name, point = fields["place"], (fields["lat"], fields["lng"])
    renamed = was.startswith(f"{point[0]},{point[1]},") and was != encode_place(fields)
    if not 0 < len(name) <= MAX_PLACE_LENGTH or (any(point) and not renamed):
        return PlaceSearch()
    places = await to_thread.run_sync(service.gazetteer.search, name, MAX_PLACES)
    return PlaceSearch(
        name=name,
        places=places,
        previous_point=point if all(point) and places else None,
        no_match=not places and not any(point),
    )


def _validate(
    service: Service, fields: dict[str, str], search: PlaceSearch, language: Language
) -> Form:
    """The form with its parameters, or with the first error in them."""
    form = Form(fields=fields, search=search, today=service.clock().date())
    try:
        parameters = parse(_query(fields), POINT, service.languages)
        point = service.gazetteer.point(parameters.lat, parameters.lng)
        form = replace(form, timezone=point.timezone, today=point.today(service.clock()))
    except InvalidRequest:
        pass  # reported below, in the order of the fields
    if not fields["start"] and not fields["end"]:
        fields |= {"start": str(form.today + WEEK), "end": str(form.today + 2 * WEEK)}
    try:
        return replace(form, parameters=parse(_query(fields), WIDGET, service.languages))
    except InvalidRequest as error:
        field = _field(error)
        sentence = _error_sentence(error.code, field, error.message, language)
        return replace(form, error_field=field, error=sentence)


def _query(fields: dict[str, str]) -> bytes:
    return urlencode(fields).encode()


def _field(error: InvalidRequest) -> str:
    """The field an error is about: its message begins with the parameter's name."""
    if error.code == "date_range_too_long":
        return "end"
    return error.message.partition(" ")[0]


def _error_sentence(code: str, field: str, message: str, language: Language) -> str:
    """What a field accepts, by the code of its error; `message` for a code without a sentence."""
    gettext = language.gettext
    sentences = {
        "invalid_latitude": gettext("A number from -90 to 90."),
        "invalid_longitude": gettext("A number from -180 to 180."),
        "invalid_date": gettext("A date from 1900 to 2050."),
        "invalid_date_range": gettext("Leave on the day of arrival or later."),
        "date_range_too_long": gettext("At most 92 days."),
        "invalid_accent": gettext("A colour such as #0f766e."),
        "invalid_place": gettext("At most 120 characters."),
    }
    if code == "missing_parameter":
        code = {"lat": "invalid_latitude", "lng": "invalid_longitude"}.get(field, "invalid_date")
    return sentences.get(code, message)
