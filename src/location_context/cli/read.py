"""`read`: one section, or all of them, without a server."""

from __future__ import annotations

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
from location_context.parameters import (
    DATED_SECTION,
    UNDATED_SECTION,
    UNIT_SYSTEMS,
    Parameters,
    parse,
)
from location_context.sections import registry
from location_context.sections.cached_section import CachedSection
from location_context.sections.contract import Applicable, NotApplicable, Query
from location_context.sections.section import Section, TextTable
from location_context.service import Service, read_all
from location_context.upstream.deadline import Deadline

commands = typer.Typer(add_completion=False)

ALL = "all"
PIPED = 140  # columns where there is no terminal


def _completing(words: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """What the shell offers of these words, which are looked up when it asks."""

    def complete(incomplete: str) -> list[str]:  # Typer goes by the name of the argument
        return [word for word in words() if word.startswith(incomplete)]

    return complete


Name = Annotated[
    str,
    typer.Argument(
        metavar="SECTION",
        help="A section's name, or `all`.",
        autocompletion=_completing(lambda: (*registry.names(), ALL)),
    ),
]
Lat = Annotated[str, typer.Option(help="Latitude in decimal degrees.")]
Lng = Annotated[str, typer.Option(help="Longitude in decimal degrees.")]
Day = Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="Date of the stay.")]
Units = Annotated[
    str, typer.Option(help="metric or imperial.", autocompletion=_completing(lambda: UNIT_SYSTEMS))
]
Lang = Annotated[str, typer.Option(help="BCP 47 tag.")]


@commands.command()
def read(  # noqa: PLR0913  the parameters of the endpoints
    section: Name,
    *,
    lat: Lat,
    lng: Lng,
    start: Day = "",
    end: Day = "",
    units: Units = "metric",
    lang: Lang = "en",
    json: console.Json = False,
) -> None:
    """Read a section for a point and a stay, as the server would answer it."""
    given = {"lat": lat, "lng": lng, "start": start, "end": end, "units": units, "lang": lang}
    answers = console.run(_read(section, given))
    if json:
        bodies = {one.name: body for one, body in answers}
        console.emit_json(bodies if section == ALL else bodies[section])
        return
    out = console.out()
    if not out.is_terminal:
        out.width = PIPED
    for number, (one, body) in enumerate(answers):
        out.print(*([""] if number else []), *_printable(one, body), sep="\n")


async def _read(
    name: str, given: Mapping[str, str]
) -> list[tuple[Section[Any], Applicable | NotApplicable | None]]:
    async with open_service(console.settings()) as service:
        sections = _chosen(service, name)
        dated = any(section.dated for section in sections)
        names = DATED_SECTION if dated else UNDATED_SECTION
        checked = parse(urlencode(given).encode(), names, service.languages)
        query = query_for(service, checked)
        deadline = Deadline.after(service.settings.json_deadline)
        if name != ALL:
            return [(sections[0].section, (await sections[0].read(query, deadline)).body)]
        results = await read_all(sections, query, deadline)
        return [
            (one.section, result.body if (result := results[one.name]) else None)
            for one in sections
        ]


def query_for(service: Service, checked: Parameters) -> Query:
    """What the sections are asked."""
    point = service.gazetteer.point(checked.lat, checked.lng)
    language = checked.language or service.languages.english
    return Query(point, checked.stay, checked.units, language)


def _chosen(service: Service, name: str) -> list[CachedSection]:
    chosen = [s for s in service.sections if name in (s.name, ALL)]
    if not chosen:
        names = ", ".join(section.name for section in service.sections)
        raise OperatorError(f"There is no section {name[:40]!r}; accepted: {names}, {ALL}.")
    return chosen


def _printable(
    section: Section[Any], body: Applicable | NotApplicable | None
) -> Iterator[RenderableType]:
    """One section's answer for a person: what is read first of it; `--json` has all of it."""
    yield f"[bold]{section.name}[/bold]"
    if body is None:
        yield "The section could not be read in time and holds nothing."
    elif isinstance(body, NotApplicable):
        yield escape(body.message)
    else:
        point = body.point
        where = [f"{point.lat}, {point.lng}", point.timezone, point.region or point.country]
        yield " · ".join(escape(part) for part in where if part)
        for part in section.text(body):
            yield escape(part) if isinstance(part, str) else _table(part)
        if body.degraded_reason:
            yield f"Less than was due: {body.degraded_reason}"
        for notice in body.attribution:
            yield f"[dim]{escape(notice.text)}[/dim]"


def _table(content: TextTable) -> Table:
    columns = (Column(name, overflow="fold") for name in content.columns)
    table = Table(*columns, box=None, pad_edge=False)
    for row in content.rows:
        table.add_row(*map(escape, row))
    return table
