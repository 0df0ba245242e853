"""`warm`: read every section for a list of places and stays, so that what they keep is there.

The file is CSV with a header line: `lat,lng` and, for dated sections, `start,end`; without dates
the stay is the next seven days. Lines that are wrong are named, the rest is read. Where the
budget of calls is spent it waits, and says how long that will take; what was fetched is kept, so
that the same command goes on where it was stopped. Exit code 1 when something is missing then.
"""

from __future__ import annotations

import asyncio
import csv
import math
from asyncio import sleep
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

import msgspec
import typer

from location_context.app import open_service
from location_context.cli import console
from location_context.cli.read import query_for
from location_context.errors import InvalidRequest, OperatorError
from location_context.parameters import DATED_SECTION, parse
from location_context.service import read_all
from location_context.upstream.deadline import Deadline

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from location_context.cli.console import Steps
    from location_context.sections.contract import Query, SectionResult
    from location_context.service import Service

commands = typer.Typer(add_completion=False)

AT_ONCE = 4
SECONDS_EACH = 60.0
DEFAULT_DAYS = 7

_COLD_UNITS = 200.0  # what a cold stay of four months costs at Open-Meteo; a week costs 66
_LONGEST_PAUSE = 60.0  # seconds, after which it is looked again
_PAUSE = 1.0
_SHOWN = 20
_LACKING = frozenset({"incomplete", "nothing"})

File = Annotated[Path, typer.Argument(metavar="FILE", help="CSV with lat,lng[,start,end].")]
Wait = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Wait for the budget of calls when it is spent.")
]


@dataclass(frozen=True)
class Line:
    """One line of the file: its number, and what is asked or what is wrong with it."""

    number: int
    query: Query | None
    wrong: str | None = None


@dataclass
class Warmed:
    """How far it came: per section how its answers were, wrong lines, lines that lack something."""

    read: dict[str, Counter[str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    incomplete: list[int] = field(default_factory=list)
    done: int = 0


@commands.command()
def warm(file: File, *, wait: Wait = True, json: console.Json = False) -> None:
    """Fill what the sections keep for the places and stays of a file."""
    rows = _rows(file)
    with console.Steps("Reading", len(rows), "places") as steps:
        warmed = console.run(_warm(rows, steps, wait=wait))
    warmed.wrong.sort()
    if json:
        told = {"read": warmed.read, "wrong": warmed.wrong, "incomplete": sorted(warmed.incomplete)}
        console.emit_json(told)
    else:
        _print(warmed)
    if warmed.incomplete:
        raise typer.Exit(1)


def _print(warmed: Warmed) -> None:
    for sentence in warmed.wrong:
        console.err().print(sentence, style="yellow", markup=False)
    for name, kinds in warmed.read.items():
        told = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        console.out().print(f"{name}: {told}", markup=False)
    if lacking := sorted(warmed.incomplete):
        shown = ", ".join(map(str, lacking[:_SHOWN])) + (" …" if len(lacking) > _SHOWN else "")
        sentence = f"{len(lacking)} places are incomplete (lines {shown}). Run this again later."
        console.err().print(sentence, style="yellow", markup=False)


def _rows(file: Path) -> list[tuple[int, dict[str, str]]]:
    """The rows of the file, each with its line number."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            reader = csv.DictReader(lines)
            if not {"lat", "lng"} <= set(reader.fieldnames or ()):
                raise OperatorError(f"{file} has no columns lat and lng in its first line.")
            return [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise OperatorError(f"{file} cannot be read: {error}") from None


async def _warm(rows: list[tuple[int, dict[str, str]]], steps: Steps, *, wait: bool) -> Warmed:
    # what these two answer may not be kept, so that nothing would be left of it
    settings = msgspec.structs.replace(console.settings(), ticketmaster_url="", predicthq_url="")
    async with open_service(settings) as service:
        warmed = Warmed({section.name: Counter() for section in service.sections})
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(line: Line) -> None:
            if line.query is None:
                warmed.wrong.append(f"Line {line.number}: {line.wrong}")
            else:
                async with slots:
                    kinds = await _complete(service, line.query, warmed, steps, wait=wait)
                for name, kind in kinds.items():
                    warmed.read[name][kind] += 1
                if not _LACKING.isdisjoint(kinds.values()):
                    warmed.incomplete.append(line.number)
            warmed.done += 1
            steps.advance()

        await asyncio.gather(*(one(line) for line in _lines(service, rows)))
        return warmed


async def _complete(
    service: Service, query: Query, warmed: Warmed, steps: Steps, *, wait: bool
) -> Mapping[str, str]:
    """How each section answered, read again while a budget is waited for, and once more else."""
    again = True
    while True:
        refused = service.hosts.refused
        kinds = await _read(service, query)
        if _LACKING.isdisjoint(kinds.values()):
            return kinds
        is_spent = service.hosts.refused > refused  # by this place, or by one beside it
        if wait and is_spent:
            pause = max(_PAUSE, service.hosts.wait(_COLD_UNITS))
            left = (steps.total - warmed.done) / max(1, warmed.done)
            about = _duration(max(pause, service.hosts.span(left)))
            steps.say(
                f"The budget of calls is spent; the rest will take about {about}. What was fetched "
                "is kept: this can be stopped, and the same command goes on from there."
            )
            await sleep(min(pause, _LONGEST_PAUSE))
        elif again and not is_spent:
            again = False
            await sleep(_PAUSE)
        else:
            return kinds


def _duration(seconds: float) -> str:
    """In the unit that fits: `40 seconds`, `7 minutes`, `3 hours`, `2 days`."""
    for length, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * length:
            return f"{round(seconds / length)} {unit}"
    return f"{math.ceil(seconds)} seconds"


def _lines(service: Service, rows: list[tuple[int, dict[str, str]]]) -> Iterator[Line]:
    first = service.clock().date() + timedelta(days=1)
    last = first + timedelta(days=DEFAULT_DAYS - 1)
    default = {"start": first.isoformat(), "end": last.isoformat()}
    for number, row in rows:
        named = {k: v for k, v in row.items() if k in DATED_SECTION and isinstance(v, str)}
        given = {name: value.strip() for name, value in named.items() if value.strip()}
        dates: Mapping[str, str] = {} if {"start", "end"} & set(given) else default
        try:
            encoded = urlencode({**given, **dates}).encode()
            checked = parse(encoded, DATED_SECTION, service.languages)
        except InvalidRequest as error:
            yield Line(number, None, error.message)
        else:
            yield Line(number, query_for(service, checked))


async def _read(service: Service, query: Query) -> dict[str, str]:
    """How each section answered: `complete`, `incomplete`, `not applicable` or `nothing`."""
    sections = [cached.section for cached in service.sections]
    readings = await read_all(sections, query, Deadline.after(SECONDS_EACH))
    return {name: _kind(reading) for name, reading in readings.items()}


def _kind(reading: SectionResult | None) -> str:
    if reading is None:
        return "nothing"
    if not reading.complete:
        return "incomplete"
    return "complete" if reading.body.applicable else "not applicable"
