"""`read`: prints answers of sections; reads them in its own process, so no server has to run."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

import typer
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Column, Table

from location_context.app import open_service
from location_context.cli import console
from location_context.errors import OperatorError
from location_context.parameters import UNIT_SYSTEMS, names_of, parse
from location_context.sections import registry
from location_context.sections.contract import Applicable, NotApplicable, Query
from location_context.sections.section import Section, TextTable
from location_context.service import Service, read_all
from location_context.upstream.deadline import Deadline

ALL = "all"
COLUMNS_WITHOUT_TERMINAL = 140


def _completion(words: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return a shell completion for words that are computed when the user presses Tab."""

    def complete(incomplete: str) -> list[str]:  # Typer requires this argument's name
        return [word for word in words() if word.startswith(incomplete)]

    return complete


Name = Annotated[
    str,
    typer.Argument(
        metavar="SECTION",
        help="A section's name, or `all`.",
        autocompletion=_completion(lambda: (*registry.names(), ALL)),
    ),
]
Lat = Annotated[str, typer.Option(help="Latitude in decimal degrees.")]
Lng = Annotated[str, typer.Option(help="Longitude in decimal degrees.")]
Day = Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="First or last date of the stay.")]
Units = Annotated[
    str, typer.Option(help="metric or imperial.", autocompletion=_completion(lambda: UNIT_SYSTEMS))
]
Lang = Annotated[str, typer.Option(help="Language, a BCP 47 tag such as de.")]
Guide = Annotated[str, typer.Option(metavar="NAME", help="Name of a restaurant guide.")]


def read(  # noqa: PLR0913  the parameters of the endpoints
    name: Name,
    *,
    lat: Lat,
    lng: Lng,
    start: Day = "",
    end: Day = "",
    units: Units = "metric",
    lang: Lang = "en",
    guide: Guide = "",
    json: console.Json = False,
) -> None:
    """Print a section's answer for a point and a stay; no server has to run."""
    values = {"lat": lat, "lng": lng, "start": start, "end": end, "units": units, "lang": lang}
    values |= {"guide": guide}
    answers = asyncio.run(_read(name, values))
    if json:
        bodies = {section.name: body for section, body in answers}
        console.emit(bodies if name == ALL else bodies[name], json=True)
        return
    out = console.out()
    if not out.is_terminal:
        out.width = COLUMNS_WITHOUT_TERMINAL
    for number, (section, body) in enumerate(answers):
        out.print(*([""] if number else []), *_printable(section, body), sep="\n")


async def _read(
    name: str, values: Mapping[str, str]
) -> list[tuple[Section[Any], Applicable | NotApplicable | None]]:
    async with open_service(console.settings()) as service:
        sections = [section for section in service.sections if name in (section.name, ALL)]
        if not sections:
            names = ", ".join(section.name for section in service.sections)
            raise OperatorError(f"There is no section {name[:40]!r}; accepted: {names}, {ALL}.")
        for one in service.sections if values["guide"] else ():
            await one.section.prepare()  # loads the names that --guide accepts
        taken = dict.fromkeys(one for cached in sections for one in names_of(cached.section))
        query = checked_query(service, values, tuple(taken))
        deadline = Deadline.after(service.settings.json_deadline)
        if name != ALL:
            return [(sections[0].section, (await sections[0].read(query, deadline)).body)]
        results = await read_all(sections, query, deadline)
        return [
            (cached.section, result.body if (result := results[cached.name]) else None)
            for cached in sections
        ]


def checked_query(service: Service, values: Mapping[str, str], names: tuple[str, ...]) -> Query:
    """Return the query for the parameters in `names`, checked as the HTTP API checks them."""
    checked = parse(urlencode(values).encode(), names, service.languages, service.choices)
    point = service.gazetteer.point(checked.lat, checked.lng)
    language = checked.language or service.languages.english
    return Query(point, checked.stay, checked.units, language, checked.guide)


def _printable(
    section: Section[Any], body: Applicable | NotApplicable | None
) -> Iterator[RenderableType]:
    """Yield the main parts of a section's answer as text; `body` is None if there is no answer."""
    yield f"[bold]{section.name}[/bold]"
    if body is None:
        yield "The section could not be read in time and has no stored answer."
    elif isinstance(body, NotApplicable):
        yield escape(body.message)
    else:
        point = body.point
        where = [f"{point.lat}, {point.lng}", point.timezone, point.region or point.country]
        yield " · ".join(escape(part) for part in where if part)
        for part in section.text(body):
            yield escape(part) if isinstance(part, str) else _table(part)
        if body.degraded_reason:
            yield f"Degraded: {body.degraded_reason}"
        for notice in body.attribution:
            yield f"[dim]{escape(notice.text)}[/dim]"


def _table(content: TextTable) -> Table:
    columns = (Column(name, overflow="fold") for name in content.columns)
    table = Table(*columns, box=None, pad_edge=False)
    for row in content.rows:
        table.add_row(*map(escape, row))
    return table
