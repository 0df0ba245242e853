"""Form: the fields of the builder's page, read from the query, and its search `/v1/places`.

The query is the page's whole state, so the page can be bookmarked, shared and used without
JavaScript. The hidden field `was` holds the name and coordinates with which the page was rendered.
If only the name was changed since then, the form searches for the new name. If the field for the
name has coordinates or a map link, the point is taken from there. A colour swatch takes precedence
over the hex field. Without fields for dates (as at the first visit), the stay is the next seven
days; if the fields are there but empty, it starts in a week. Each ticked section is a field
`sections`; a field `up` names a section to move up by one place.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from urllib.parse import urlencode

import msgspec
from anyio import to_thread
from starlette.responses import Response

from location_context.errors import InvalidRequest
from location_context.exchange import Exchange, Route
from location_context.gazetteer.gazetteer import City
from location_context.localisation.formatter import Formatter
from location_context.localisation.language import SOURCE
from location_context.parameters import (
    DATES,
    DEFAULT_ACCENT,
    MAX_PLACE_LENGTH,
    POINT,
    WIDGET,
    Parameters,
    Theme,
    decode,
    parse,
)
from location_context.service import Service, chosen
from location_context.widget.builder import pasted_point
from location_context.widget.colour import ACCENT_RATIO, Scheme, contrast, palette
from location_context.widget.embedding import degrees

SWATCHES = ("#0f766e", "#1d4ed8", "#7c3aed", "#be123c", "#b45309", "#1e3a5f")
EXAMPLE_PLACE = {"place": "San Sebastián", "lat": "43.3183", "lng": "-1.9812"}
FIELDS = (
    "place", "lat", "lng", "days", "start", "end", "theme", "accent", "units", "lang", "sections",
    "layout", "background", "font", "radius", "title", "guide",
)  # fmt: skip
CODES = frozenset({"mail", "address", "calendar"})  # kinds of code besides that of a web page
DEFAULT_DAYS = "7"  # from today, so that a page without booking dates never shows past dates
WEEK = timedelta(days=7)
MAX_PLACES = 6  # on the page
MAX_MATCHES = 7  # of `/v1/places`
COUNTRIES_WITH_REGION_CODES = frozenset({"US", "CA", "AU", "BR"})  # "Austin, TX"
PLACES_HEADERS = {
    "Cache-Control": "private, max-age=3600",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}


@dataclass(frozen=True, kw_only=True)
class PlaceSearch:
    """The places that a search for a name found, and the form's coordinates before the search."""

    name: str = ""
    places: Sequence[City] = ()
    previous_point: tuple[str, str] | None = None
    no_match: bool = False


@dataclass(frozen=True, kw_only=True)
class Form:
    """The fields as text, with their `parameters` if all are valid, else with the first `error`.

    `code` is the kind of code to copy: empty for the code of a web page, `mail` for that of an
    e-mail, `address` or `calendar` for the widget's or the calendar's URL. `plain` requests an
    iframe without a script. `pasted` is the text of the field `place` if it had coordinates.
    """

    fields: dict[str, str]
    search: PlaceSearch
    today: date
    timezone: str = ""
    plain: bool = False
    code: str = ""
    pasted: str = ""
    parameters: Parameters | None = None
    error_field: str = ""
    error: str = ""


async def read(service: Service, query: bytes, fmt: Formatter) -> Form:
    """Return the form for a query string; unknown fields are ignored."""
    pairs = decode(query)
    raw = dict(pairs)
    fields = {name: raw.get(name, "").strip() for name in FIELDS}
    fields["sections"] = _sections(service, pairs)
    fields["accent"] = fields["accent"] or raw.get("hex", "").strip() or DEFAULT_ACCENT
    if not raw.keys() & {"place", "lat", "lng"}:
        fields |= EXAMPLE_PLACE
    if not raw.keys() & set(DATES):
        fields["days"] = DEFAULT_DAYS
    pasted = fields["place"]
    if point := pasted_point.read(pasted):
        lat, lng = degrees(point.lat), degrees(point.lng)
        fields |= {"place": point.name[:MAX_PLACE_LENGTH], "lat": lat, "lng": lng}
    elif pasted_point.is_link(pasted):
        form = Form(fields=fields, search=PlaceSearch(), today=service.clock().date())
        sentence = fmt.gettext(
            "This link contains no coordinates: open it and copy the full address."
        )
        return replace(form, error_field="place", error=sentence)
    search = await _search(service, fields, raw.get("was", ""))
    if search.places:
        fields |= place_fields(search.places[0])
    form = _validate(service, fields, search, fmt)
    form = replace(form, pasted=pasted if point else "")
    code = raw.get("code", "")
    return replace(form, plain="plain" in raw, code=code if code in CODES else "")


def _sections(service: Service, pairs: Sequence[tuple[str, str]]) -> str:
    """Return the names of the chosen sections, joined by commas; empty for the default ones."""
    text = ",".join(value for name, value in pairs if name == "sections" and value)
    names = text.split(",") if text else []
    for up in (value for name, value in pairs if name == "up"):
        if (place := names.index(up) if up in names else 0) > 0:
            names[place - 1 : place + 1] = [up, names[place - 1]]
    every = [cached.name for cached in chosen(service.sections, ())]
    return "" if names == every else ",".join(names)


def place_fields(city: City) -> dict[str, str]:
    return {"place": city.name, "lat": degrees(city.lat), "lng": degrees(city.lng)}


def encode_place(fields: dict[str, str]) -> str:
    """Return the form's point and name as one text, the value of the hidden field `was`."""
    return f"{fields['lat']},{fields['lng']},{fields['place']}"


async def _search(service: Service, fields: dict[str, str], was: str) -> PlaceSearch:
    """Search for the place by name if the form lacks coordinates, or if only the name was changed.

    `was` is the text of the former name and coordinates. Without a search, the result is empty.
    """
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
    service: Service, fields: dict[str, str], search: PlaceSearch, fmt: Formatter
) -> Form:
    """Fill in empty dates, check the fields, and return a form with the parameters or an error."""
    form = Form(fields=fields, search=search, today=service.clock().date())
    try:
        parameters = parse(_query(fields), POINT, service.languages)
        point = service.gazetteer.point(parameters.lat, parameters.lng)
        form = replace(form, timezone=point.timezone, today=point.today(service.clock()))
    except InvalidRequest:
        pass  # reported below, in the order of the fields
    if not (fields["start"] or fields["end"]):
        fields |= {"start": str(form.today + WEEK), "end": str(form.today + 2 * WEEK)}
    try:
        checked = parse(_query(fields), WIDGET, service.languages, service.choices)
        return replace(form, parameters=checked)
    except InvalidRequest as error:
        field = _field(error)
        sentence = _error_sentence(error.code, field, error.message, fmt)
        return replace(form, error_field=field, error=sentence)


def _query(fields: dict[str, str]) -> bytes:
    """Return the fields as a query string; `days` takes precedence over start and end."""
    left_out = {"start", "end"} if fields["days"] else set()
    return urlencode({name: text for name, text in fields.items() if name not in left_out}).encode()


def _field(error: InvalidRequest) -> str:
    """Return the name of the field with the error: usually the first word of the message."""
    if error.code == "date_range_too_long":
        return "end"
    return error.message.partition(" ")[0]


def _error_sentence(code: str, field: str, message: str, fmt: Formatter) -> str:
    """Return a translated sentence that says what the field accepts, else the English `message`."""
    gettext = fmt.gettext
    sentences = {
        "invalid_latitude": gettext("A number from -90 to 90."),
        "invalid_longitude": gettext("A number from -180 to 180."),
        "invalid_date": gettext("A date from 1900 to 2050."),
        "invalid_date_range": gettext("Depart on the day of arrival or later."),
        "date_range_too_long": gettext("At most 92 days."),
        "invalid_accent": gettext("A colour such as #0f766e."),
        "invalid_place": gettext("At most 120 characters."),
    }
    if code == "missing_parameter":
        code = {"lat": "invalid_latitude", "lng": "invalid_longitude"}.get(field, "invalid_date")
    return sentences.get(code, message)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A place found by name; `detail` distinguishes it from others with the same name."""

    name: str
    detail: str
    lat: float
    lng: float


def places_routes(service: Service) -> list[Route]:
    """Return the route of `/v1/places`, which needs no key; only pages of this origin can read it.

    The answer has the places whose name begins with the parameter `q`, most populous first, or the
    point if `q` has coordinates. `lang` is the language of the countries' names.
    """

    async def respond(request: Exchange) -> Response:
        query = dict(decode(request.query))
        fmt = Formatter(service.languages.choose(query.get("lang") or SOURCE))
        text = query.get("q", "").strip()
        if point := pasted_point.read(text):
            detail = f"{degrees(point.lat)}, {degrees(point.lng)}"
            pasted = [Place(name=point.name, detail=detail, lat=point.lat, lng=point.lng)]
            body = msgspec.json.encode({"places": pasted, "summary": detail})
            return Response(body, headers=PLACES_HEADERS, media_type="application/json")
        text = text[:MAX_PLACE_LENGTH]
        search = service.gazetteer.search
        cities = await to_thread.run_sync(search, text, MAX_MATCHES) if text else []
        found = fmt.ngettext("{count} place found.", "{count} places found.", len(cities))
        summary = str(found.format(count=fmt.number(len(cities))))  # for screen readers
        body = msgspec.json.encode({"places": describe(cities, fmt), "summary": summary})
        return Response(body, headers=PLACES_HEADERS, media_type="application/json")

    return [Route("/v1/places", respond)]


def describe(cities: Sequence[City], fmt: Formatter) -> list[Place]:
    """Return the cities, each with its country, region or coordinates to distinguish it."""
    described = [(city, _detail(city, fmt)) for city in cities]
    counts = Counter((city.name, detail) for city, detail in described)
    return [
        Place(
            name=city.name,
            detail=detail if counts[city.name, detail] == 1 else f"{detail} · {_coordinates(city)}",
            lat=city.lat,
            lng=city.lng,
        )
        for city, detail in described
    ]


def _coordinates(city: City) -> str:
    return f"{degrees(round(city.lat, 1))}, {degrees(round(city.lng, 1))}"


def _detail(city: City, fmt: Formatter) -> str:
    country = fmt.country(city.country)
    if city.country in COUNTRIES_WITH_REGION_CODES and city.region:
        return f"{city.region.partition('-')[2]}, {country}"
    return country


@dataclass(frozen=True)
class AccentContrast:
    """The accent's contrast in the light or dark scheme; `readable` if text can use the accent."""

    readable: bool
    sentence: str


def contrasts(accent: str, theme: Theme, fmt: Formatter) -> list[AccentContrast]:
    """Return the accent's contrast in each scheme (light, dark) that the theme can show."""
    schemes: tuple[Scheme, ...] = ("light", "dark") if theme == "auto" else (theme,)
    return [_contrast(accent, scheme, fmt) for scheme in schemes]


def _contrast(accent: str, scheme: Scheme, fmt: Formatter) -> AccentContrast:
    colours = palette(accent, scheme)
    used, surface = colours["accent"], colours["surface"]
    if scheme == "light":
        as_is = fmt.gettext("Contrast on white: {ratio}:1, readable.")
        adjusted = fmt.gettext("Contrast on white: {ratio}:1, so text uses {colour} ({better}:1).")
    else:
        as_is = fmt.gettext("Contrast on dark: {ratio}:1, readable.")
        adjusted = fmt.gettext("Contrast on dark: {ratio}:1, so text uses {colour} ({better}:1).")
    readable = contrast(accent, surface) >= ACCENT_RATIO
    sentence = (as_is if readable else adjusted).format(
        ratio=_ratio(accent, surface, fmt),
        better=_ratio(used, surface, fmt),
        colour=f"\u2066{used}\u2069" if fmt.language.direction == "rtl" else used,
    )
    return AccentContrast(readable, sentence)


def _ratio(colour: str, ground: str, fmt: Formatter) -> str:
    """Return the contrast of two colours with one decimal, rounded down to never overstate it."""
    return fmt.number(int(contrast(colour, ground) * 10) / 10, 1)
