"""The tools that agents call at /mcp; each answers with a short text and its licence notices.

A place is given by a name in the gazetteer, or by coordinates. A section's text is the text that
`location-context read` prints. If a stay crosses the forecast horizon (the last day with a
forecast), a section such as weather is read twice: for the days up to the horizon, and for the days
after it. Each of the two texts states whether it is a forecast.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, timedelta
from importlib import resources
from typing import Any
from urllib.parse import urlencode

import msgspec
from babel import Locale

from location_context import errors
from location_context.exchange import Exchange
from location_context.gazetteer.cities import search_key
from location_context.gazetteer.gazetteer import City, Gazetteer
from location_context.parameters import PULSE, parse, shown
from location_context.sections.cached_section import CachedSection
from location_context.sections.contract import Applicable, Attribution, Query
from location_context.service import Pulse, Service, chosen, read_pulse
from location_context.stay import Stay, horizon
from location_context.upstream.deadline import Deadline
from location_context.web import pulse

MAX_PLACES = 5  # in one call of `year`
SHOWN_PLACES = 8  # in an answer of `places`
SHOWN_OTHERS = 4  # other places with the same name that an answer mentions
MANY = 500  # limit of a search; fewer places share any name
# The sections share so many bytes of text; four sections of a week take below 2,500 tokens.
BYTES, DAY_BYTES = 2_500, 300
YEAR_DAYS = 12  # rows of the section `year`: its months, counted like days
YEAR = "year"
_COORDINATES = re.compile(r"\s*-?[\d.]+\s*,\s*-?[\d.]+\s*", re.ASCII)
_ALIASES = {"usa": "us", "uk": "gb"}
_EXPLAINED = {"climatology": "climatology: past years, not a forecast"}


def offered(service: Service) -> dict[str, Any]:
    """Return the tools by name, as MCP describes tools; `year` only if this section exists."""
    text = (resources.files("location_context.web") / "tools.json").read_bytes()
    tools = {tool["name"]: tool for tool in msgspec.json.decode(text)}
    if YEAR not in {section.name for section in service.sections}:
        del tools[YEAR]
    return tools


async def answer(
    service: Service, request: Exchange, name: str, arguments: Mapping[str, Any]
) -> str:
    """Return the answer of the tool `name`; each section of each place counts as one request.

    Raises:
        PublicError: the arguments are invalid, the quota is used up, or there are no data.
    """
    tools = offered(service)
    if name not in tools:
        raise errors.NotFound(f"tool is {shown(name)}; accepted: {', '.join(tools)}.")
    given = {key: value for key, value in arguments.items() if value not in (None, "", [])}
    schema = tools[name]["inputSchema"]
    for key in given.keys() - schema["properties"].keys():
        accepted = ", ".join(schema["properties"])
        raise errors.UnknownParameter(f"{shown(key)} is unknown; accepted: {accepted}.")
    for key in schema["required"]:
        if key not in given:
            raise errors.MissingParameter(f"{key} is missing or empty; it is required.")
    if name == "places":
        await _count(service, request, 1)
        return _table_of_places(matching(service.gazetteer, str(given["name"]), beginning=True))
    names = _listed(given.pop("places", None) or given.pop("place", None))
    if len(names) > MAX_PLACES:
        raise errors.InvalidPlace(f"places has {len(names)} names; accepted: at most {MAX_PLACES}.")
    if name == YEAR:
        given["sections"] = YEAR
    return await _read(service, request, names, given)


async def _read(
    service: Service, request: Exchange, names: list[str], given: Mapping[str, Any]
) -> str:
    """Return the text of all sections of each place, followed by the licence notices."""
    places = [locate(service.gazetteer, name) for name in names]
    values = {key: ",".join(_listed(value)) for key, value in given.items()}
    values["points"] = ";".join(point for point, _ in places)
    checked = parse(urlencode(values).encode(), PULSE, service.languages, service.choices)
    sections = chosen(service.sections, checked.sections)
    await _count(service, request, pulse.cost(service, checked))
    deadline = Deadline(request.arrived_at + service.settings.json_deadline)
    queries = pulse.queries(service, checked)
    request.near = f"{queries[0].point.lat:.1f},{queries[0].point.lng:.1f}"
    today = [query.point.today(service.clock()) for query in queries]
    parts = [
        (place, section, part)
        for place, query in enumerate(queries)
        for section in sections
        for part in _parts(section, query, horizon(today[place]))
    ]
    reads = [read_pulse([section], part, deadline) for _, section, part in parts]
    pulses = await asyncio.gather(*reads)
    if not any(one.results for one in pulses):
        raise pulse.without_answer(pulses)
    lines = list[str]()
    for number, ((_, cities), query) in enumerate(zip(places, queries, strict=True)):
        lines += _heading(query, cities, today[number])
        for (place, section, _), read in zip(parts, pulses, strict=True):
            if place == number:
                lines += _section_text(section, read, query, len(sections))
    bodies = [body for one in pulses for body in one.bodies.values()]
    return "\n".join([*lines, *_notices(one for body in bodies for one in body.attribution)])


async def _count(service: Service, request: Exchange, cost: int) -> None:
    """Count the call as `cost` requests against the key's quota; admission counted none."""
    if (counted := request.counted) is not None:
        request.counted = None  # so that nothing is refunded if this raises a 429
        request.counted = await service.authenticator.count_further(counted, cost)


def locate(gazetteer: Gazetteer, text: str) -> tuple[str, list[City]]:
    """Return coordinates as `lat,lng`, and all cities of the name `text`, the chosen one first.

    Raises:
        InvalidPlace: the name is unknown.
    """
    if _COORDINATES.fullmatch(text):
        return "".join(text.split()), []
    first, *others = matching(gazetteer, text)
    names = {search_key(first.name), search_key(text.partition(",")[0])}  # both Rome and Roma
    same = [one for one in others if search_key(one.name) in names]
    return f"{first.lat:.4f},{first.lng:.4f}", [first, *same]


def matching(gazetteer: Gazetteer, text: str, *, beginning: bool = False) -> list[City]:
    """Return the cities that match a text such as `Springfield, Illinois`, largest first.

    The part after the comma is a country or region. Cities whose name only begins with the text
    are added if `beginning` is True or if no city has exactly this name.

    Raises:
        InvalidPlace: there is no such city.
    """
    name, *within = (part.strip() for part in text.split(","))
    found = gazetteer.search(name, MANY, whole=True)
    if beginning or not found:
        found += [one for one in gazetteer.search(name, MANY) if one not in found]
    fitting = [one for one in found if all(_lies_in(one, part) for part in within if part)]
    if fitting:
        return fitting
    known = f"; places of this name: {_called(found)}" if found else ""
    raise errors.InvalidPlace(
        f"No place of over 1,000 people is named {shown(text)}{known}. Accepted: the name of a "
        "town, if needed with its country or region code after a comma, or else lat,lng."
    )


def _lies_in(city: City, area: str) -> bool:
    """Return True if `area` is the city's country (code or English name) or region (code)."""
    key = search_key(area)
    country = str(Locale("en").territories.get(city.country, ""))
    region = city.region or ""
    codes = (city.country, country, region, region.partition("-")[2])
    return _ALIASES.get(key, key) in {search_key(one) for one in codes if one}


def _called(cities: list[City]) -> str:
    named = (f"{one.name}, {one.region or one.country} ({one.population} people)" for one in cities)
    return "; ".join(list(named)[:SHOWN_OTHERS])


def _table_of_places(cities: list[City]) -> str:
    rows = [
        f"{one.name} | {one.country} | {one.region or '–'} | {one.population} | "
        f"{one.lat:.4f},{one.lng:.4f} | {one.timezone}"
        for one in cities[:SHOWN_PLACES]
    ]
    head = "name | country | region | people | lat,lng | time zone"
    return "\n".join([head, *rows, "Source: GeoNames, CC BY 4.0, https://www.geonames.org/"])


def _listed(value: Any) -> list[str]:
    """Return an argument as a list of texts, whether it is a list or a single value."""
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def _parts(section: CachedSection, query: Query, last: date) -> list[Query]:
    """Return the query, or two queries if the section must be read twice for this stay.

    That is so if the stay crosses the forecast horizon (the day `last`), and the section has
    different data for the days up to the horizon and for the days after it.
    """
    stay = query.stay
    if not section.section.splits_at_horizon or not stay or not stay.start <= last < stay.end:
        return [query]
    stays = Stay(stay.start, last), Stay(last + timedelta(days=1), stay.end)
    return [replace(query, stay=one) for one in stays]


def _heading(query: Query, cities: list[City], today: date) -> Iterator[str]:
    point = query.point
    name = cities[0].name if cities else point.place
    parts = [name, point.region or point.country, f"{point.lat:g},{point.lng:g}", point.timezone]
    yield f"# {' · '.join(filter(None, parts))} · today is {today} there"
    if others := _called(cities[1:]):
        yield f"This is the largest town of this name; also: {others}. Add the country to choose."


def _section_text(
    section: CachedSection, read: Pulse, whole: Query, sections: int
) -> Iterator[str]:
    """Yield a section's heading, and the first lines of its text, up to a limit in bytes.

    `read` has the section's result for the whole stay, or for its part before or after the forecast
    horizon. `whole` is the query for the whole stay. `sections` is the number of sections that are
    requested; each may use an equal part of the limit.
    """
    heading, stay = f"## {section.name}", read.query.stay
    if stay and stay != whole.stay:
        heading += f" {stay.start} to {stay.end}"
    if missing := read.missing.get(section.name):
        advice = "call again in some seconds" if missing == "late" else "no data now"
        yield f"{heading}: {missing}, {advice}"
        return
    result = read.results[section.name]
    body, reason = result.body, result.reason and f"incomplete: {result.reason}"
    if not isinstance(body, Applicable):
        yield f"{heading}: {'; '.join(filter(None, [body.message, reason]))}"
        return
    mode, updated = getattr(body, "mode", None), section.section.updated_at(body)
    about = [
        _EXPLAINED.get(str(mode), mode),
        f"as of {updated.astimezone(UTC):%Y-%m-%dT%H:%MZ}" if updated else None,
        "stale" if body.stale else None,
        reason,
    ]
    yield ": ".join(filter(None, [heading, "; ".join(filter(None, about))]))
    left = (BYTES + DAY_BYTES * (stay.days if stay else YEAR_DAYS)) // sections
    lines = list(_lines(section.section.text(body)))
    for number, line in enumerate(lines):
        left -= len(line.encode()) + 1
        if left < 0:
            yield f"… {len(lines) - number} more lines: /v1/pulse/{section.name}"
            return
        yield line


def _lines(parts: Iterable[Any]) -> Iterator[str]:
    """Yield the lines of a section's text. A table has a line of headings, and one for each row."""
    for part in parts:
        if isinstance(part, str):
            yield part
        else:
            rows = [[" ".join(cell.split()) for cell in row] for row in (part.columns, *part.rows)]
            yield from (" | ".join(row).rstrip(" |") for row in rows)


def _notices(notices: Iterable[Attribution]) -> Iterator[str]:
    """Yield each notice once with its licence's name, then the URL of each licence once."""
    unique = {notice.text: notice for notice in notices}
    if unique:
        yield "## Sources: show these notices"
    for text, one in unique.items():
        yield text if not one.license or one.license in text else f"{text} ({one.license})"
    terms = {one.license: one.license_url for one in unique.values() if one.license_url}
    if terms:
        yield "Licences: " + "; ".join(f"{name} {url}" for name, url in terms.items())
