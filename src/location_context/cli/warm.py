"""`warm`: read every section for a list of places and stays, which fills the caches.

The file is CSV with a header line: `lat,lng` and, for dated sections, `start,end`; without dates
the stay is the next seven days. Invalid lines are reported and skipped. When the call budget is
spent, the command waits and prints how long that will take. What was fetched is stored, so that a
second run continues where the first stopped. The exit code is 1 if answers are still incomplete.
"""

import asyncio
import math
from asyncio import sleep
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import msgspec
import typer

from location_context.app import open_service
from location_context.cli import console
from location_context.cli.console import ProgressReporter
from location_context.cli.read import query_for
from location_context.errors import InvalidRequest
from location_context.parameters import DATED_SECTION, parse
from location_context.sections.contract import Query, SectionResult
from location_context.service import Service, read_all
from location_context.upstream.deadline import Deadline

commands = typer.Typer(add_completion=False)

MAX_CONCURRENT = 4
READ_TIMEOUT = 60.0  # seconds for one place
DEFAULT_DAYS = 7

_COLD_UNITS = 200.0  # what a cold stay of four months costs at Open-Meteo; a week costs 66
_MAX_PAUSE = 60.0  # seconds, after which the budget is checked again
_MIN_PAUSE = 1.0
_MAX_LISTED = 20
_INCOMPLETE = frozenset({"incomplete", "nothing"})

File = Annotated[Path, typer.Argument(metavar="FILE", help="CSV with lat,lng[,start,end].")]
Wait = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Wait while the call budget is spent.")
]

Row = tuple[int, dict[str, str]]  # a line number and its columns by name


@dataclass(frozen=True)
class Line:
    """One line of the file: its number, and the query or the error."""

    number: int
    query: Query | None
    error: str | None = None


@dataclass
class Summary:
    """Answers by kind for each section, invalid lines, and line numbers with incomplete answers."""

    read: dict[str, Counter[str]] = field(default_factory=dict)
    invalid: list[str] = field(default_factory=list)
    incomplete: list[int] = field(default_factory=list)
    done: int = 0


@commands.command()
def warm(file: File, *, wait: Wait = True, json: console.Json = False) -> None:
    """Fill the caches for the places and stays in a file."""
    rows = console.csv_rows(file, ("lat", "lng"))
    with ProgressReporter("Reading", len(rows), "places") as progress:
        summary = console.run(_warm(rows, progress, wait=wait))
    summary.invalid.sort()
    incomplete = sorted(summary.incomplete)
    result = {"read": summary.read, "wrong": summary.invalid, "incomplete": incomplete}
    lines = [
        f"{name}: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}"
        for name, kinds in summary.read.items()
    ]
    if not json:
        for sentence in summary.invalid:
            console.warn(sentence)
    console.emit(result, *lines, json=json)
    if not incomplete:
        return
    if not json:
        listed = ", ".join(map(str, incomplete[:_MAX_LISTED]))
        more = " …" if len(incomplete) > _MAX_LISTED else ""
        count = len(incomplete)
        console.warn(f"{count} places are incomplete (lines {listed}{more}). Run this again later.")
    raise typer.Exit(1)


async def _warm(rows: list[Row], progress: ProgressReporter, *, wait: bool) -> Summary:
    # the terms of these two do not allow storing answers, so there is nothing to warm
    settings = msgspec.structs.replace(console.settings(), ticketmaster_url="", predicthq_url="")
    async with open_service(settings) as service:
        summary = Summary({section.name: Counter() for section in service.sections})
        slots = asyncio.Semaphore(MAX_CONCURRENT)

        async def read_line(line: Line) -> None:
            if line.query is None:
                summary.invalid.append(f"Line {line.number}: {line.error}")
            else:
                async with slots:
                    kinds = await _complete(service, line.query, summary, progress, wait=wait)
                for name, kind in kinds.items():
                    summary.read[name][kind] += 1
                if not _INCOMPLETE.isdisjoint(kinds.values()):
                    summary.incomplete.append(line.number)
            summary.done += 1
            progress.advance()

        await asyncio.gather(*(read_line(line) for line in _lines(service, rows)))
        return summary


async def _complete(
    service: Service, query: Query, summary: Summary, progress: ProgressReporter, *, wait: bool
) -> Mapping[str, str]:
    """How each section answered; retried while the budget is spent, otherwise once."""
    again = True
    while True:
        refused = service.hosts.refused
        kinds = await _read(service, query)
        if _INCOMPLETE.isdisjoint(kinds.values()):
            return kinds
        is_spent = service.hosts.refused > refused  # by this place, or by one beside it
        if wait and is_spent:
            pause = max(_MIN_PAUSE, service.hosts.wait(_COLD_UNITS))
            left = (progress.total - summary.done) / max(1, summary.done)
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


def _lines(service: Service, rows: list[Row]) -> Iterator[Line]:
    first = service.clock().date() + timedelta(days=1)
    last = first + timedelta(days=DEFAULT_DAYS - 1)
    default = {"start": first.isoformat(), "end": last.isoformat()}
    for number, row in rows:
        known = {k: v for k, v in row.items() if k in DATED_SECTION and isinstance(v, str)}
        values = {name: value.strip() for name, value in known.items() if value.strip()}
        dates: Mapping[str, str] = {} if {"start", "end"} & set(values) else default
        try:
            encoded = urlencode({**values, **dates}).encode()
            parameters = parse(encoded, DATED_SECTION, service.languages)
        except InvalidRequest as error:
            yield Line(number, None, error.message)
        else:
            yield Line(number, query_for(service, parameters))


async def _read(service: Service, query: Query) -> dict[str, str]:
    """How each section answered: `complete`, `incomplete`, `not applicable` or `nothing`."""
    sections = [cached.section for cached in service.sections]
    results = await read_all(sections, query, Deadline.after(READ_TIMEOUT))
    return {name: _kind(result) for name, result in results.items()}


def _kind(result: SectionResult | None) -> str:
    if result is None:
        return "nothing"
    if not result.complete:
        return "incomplete"
    return "complete" if result.body.applicable else "not applicable"
