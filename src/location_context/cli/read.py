"""`read`: sections without a server; `warm`: the same for a file of places, which fills the caches.

The file is CSV with a header line: `lat,lng` and, for dated sections, `start,end`; without dates
the stay is the next seven days. Invalid lines are reported and skipped. When the call budget is
spent, `warm` waits and prints how long that will take. What was fetched is stored, so that a second
run continues where the first stopped. The exit code is 1 if answers are still incomplete.
"""

import asyncio
import math
from asyncio import sleep
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec
import typer
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Column, Table

from location_context.app import open_service
from location_context.cli import console
from location_context.errors import InvalidRequest, OperatorError
from location_context.parameters import DATED_SECTION, UNDATED_SECTION, UNIT_SYSTEMS, parse
from location_context.sections import registry
from location_context.sections.contract import Applicable, NotApplicable, Query, SectionResult
from location_context.sections.section import Section, TextTable
from location_context.service import Service, read_all
from location_context.upstream.deadline import Deadline

ALL = "all"
COLUMNS_WITHOUT_TERMINAL = 140
MAX_CONCURRENT = 4
READ_TIMEOUT = 60.0  # seconds for one place
DEFAULT_DAYS = 7
_COLD_UNITS = 200.0  # what a cold stay of four months costs at Open-Meteo; a week costs 66
_MAX_PAUSE = 60.0  # seconds, after which the budget is checked again
_MIN_PAUSE = 1.0
_MAX_LISTED = 20
_INCOMPLETE = frozenset({"incomplete", "nothing"})


def _completion(words: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """A shell completion of these words, which are looked up when the shell asks."""

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
Day = Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="Date of the stay.")]
Units = Annotated[
    str, typer.Option(help="metric or imperial.", autocompletion=_completion(lambda: UNIT_SYSTEMS))
]
Lang = Annotated[str, typer.Option(help="BCP 47 tag.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="CSV with lat,lng[,start,end].")]
Wait = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Wait while the call budget is spent.")
]


def read(  # noqa: PLR0913  the parameters of the endpoints
    name: Name,
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
    values = {"lat": lat, "lng": lng, "start": start, "end": end, "units": units, "lang": lang}
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
        dated = any(section.dated for section in sections)
        query = _query(service, values, DATED_SECTION if dated else UNDATED_SECTION)
        deadline = Deadline.after(service.settings.json_deadline)
        if name != ALL:
            return [(sections[0].section, (await sections[0].read(query, deadline)).body)]
        results = await read_all(sections, query, deadline)
        return [
            (cached.section, result.body if (result := results[cached.name]) else None)
            for cached in sections
        ]


def _query(service: Service, values: Mapping[str, str], names: tuple[str, ...]) -> Query:
    """The query of the sections for these parameters, which are checked as a server's are."""
    checked = parse(urlencode(values).encode(), names, service.languages)
    point = service.gazetteer.point(checked.lat, checked.lng)
    language = checked.language or service.languages.english
    return Query(point, checked.stay, checked.units, language)


def _printable(
    section: Section[Any], body: Applicable | NotApplicable | None
) -> Iterator[RenderableType]:
    """A section's answer for people: its most important parts; `--json` has all of it."""
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


@dataclass
class _Summary:
    """Answers by kind for each section, invalid lines, and line numbers with incomplete answers."""

    read: dict[str, Counter[str]] = field(default_factory=dict)
    invalid: list[str] = field(default_factory=list)
    incomplete: list[int] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)  # of providers, the newest of each


def warm(file: File, *, wait: Wait = True, json: console.Json = False) -> None:
    """Fill the caches for the places and stays in a file."""
    rows = console.csv_rows(file, ("lat", "lng"))
    with console.ProgressReporter("Reading", len(rows), "places") as progress:
        summary = asyncio.run(_warm(rows, progress, wait=wait))
    wrong, incomplete = sorted(summary.invalid), sorted(summary.incomplete)
    lines = [
        f"{name}: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}"
        for name, kinds in summary.read.items()
    ]
    for sentence in wrong if not json else ():
        console.warn(sentence)
    result = {"read": summary.read, "wrong": wrong, "incomplete": incomplete}
    console.emit(result, *lines, json=json)
    if not incomplete:
        return
    if not json:
        listed = ", ".join(map(str, incomplete[:_MAX_LISTED]))
        more = " …" if len(incomplete) > _MAX_LISTED else ""
        count = len(incomplete)
        for failure in summary.failures:
            console.warn(failure)
        console.warn(f"{count} places are incomplete (lines {listed}{more}). Run this again later.")
    raise typer.Exit(1)


async def _warm(
    rows: list[tuple[int, dict[str, str]]], progress: console.ProgressReporter, *, wait: bool
) -> _Summary:
    # the terms of these two do not allow storing answers, so there is nothing to warm
    settings = msgspec.structs.replace(console.settings(), ticketmaster_url="", predicthq_url="")
    async with open_service(settings) as service:
        summary = _Summary({section.name: Counter() for section in service.sections})
        slots = asyncio.Semaphore(MAX_CONCURRENT)
        tomorrow = service.clock().date() + timedelta(days=1)
        queries: dict[int, Query] = {}
        for number, row in rows:
            try:
                queries[number] = _query(service, _values(row, tomorrow), DATED_SECTION)
            except InvalidRequest as error:
                summary.invalid.append(f"Line {number}: {error.message}")
                progress.advance()
        read: dict[int, Mapping[str, str]] = {}

        async def read_lines(numbers: Iterable[int], advance: Callable[[], None]) -> list[int]:
            """The lines that are incomplete still."""

            async def read_line(number: int) -> None:
                async with slots:
                    read[number] = await _complete(service, queries[number], progress, wait=wait)
                advance()

            await asyncio.gather(*map(read_line, numbers))
            return [line for line in numbers if not _INCOMPLETE.isdisjoint(read[line].values())]

        incomplete = await read_lines(list(queries), progress.advance)
        # once more at the end: what failed for a moment, such as calls of a command just killed
        summary.incomplete = await read_lines(incomplete, lambda: None)
        summary.failures = [
            state.last_error
            for cached in service.sections
            for state in cached.section.providers()
            if state.last_error is not None
        ]
        for kinds in read.values():
            for name, kind in kinds.items():
                summary.read[name][kind] += 1
        return summary


def _values(row: Mapping[str, str | None], first: date) -> dict[str, str]:
    """The parameters of a line of the file; a stay from `first` on where it has no dates."""
    known = {name: (text or "").strip() for name, text in row.items() if name in DATED_SECTION}
    values = {name: text for name, text in known.items() if text}
    if not values.keys() & {"start", "end"}:
        values |= {"start": f"{first}", "end": f"{first + timedelta(days=DEFAULT_DAYS - 1)}"}
    return values


async def _complete(
    service: Service, query: Query, progress: console.ProgressReporter, *, wait: bool
) -> Mapping[str, str]:
    """How each section answered; retried while the budget is spent, otherwise once."""
    sections = [cached.section for cached in service.sections]
    again = True
    while True:
        refused = service.hosts.refused
        results = await read_all(sections, query, Deadline.after(READ_TIMEOUT))
        kinds = {name: _kind(result) for name, result in results.items()}
        if _INCOMPLETE.isdisjoint(kinds.values()):
            return kinds
        is_spent = service.hosts.refused > refused  # by this place, or by one beside it
        if wait and is_spent:
            pause = max(_MIN_PAUSE, service.hosts.wait(_COLD_UNITS))
            left = (progress.total - progress.done) / max(1, progress.done)
            about = _duration(max(pause, service.hosts.span(left)))
            progress.message(
                f"The call budget is spent; the rest will take about {about}. What was fetched is "
                "stored: you can stop this command and run it again later to continue."
            )
            await sleep(min(pause, _MAX_PAUSE))
        elif again and not is_spent:
            again = False
            await sleep(_MIN_PAUSE)
        else:
            return kinds


def _duration(seconds: float) -> str:
    """In a fitting unit: `40 seconds`, `7 minutes`, `3 hours`, `2 days`."""
    for length, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * length:
            return f"{round(seconds / length)} {unit}"
    return f"{math.ceil(seconds)} seconds"


def _kind(result: SectionResult | None) -> str:
    """`complete`, `incomplete`, `not applicable` or `nothing`."""
    if result is None:
        return "nothing"
    if not result.complete:
        return "incomplete"
    return "complete" if result.body.applicable else "not applicable"
