"""`warm`: read every section for a list of places and stays, so that what they keep is there.

The file is CSV with a header line: `lat,lng` and, for dated sections, `start,end`; without dates
the stay is the next seven days. Lines that are wrong are named, the rest is read.
"""

from __future__ import annotations

import asyncio
import csv
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

import typer
from rich.progress import Progress

from location_context.app import open_service
from location_context.cli import console
from location_context.cli.read import query_for
from location_context.errors import InvalidRequest, OperatorError
from location_context.parameters import DATED_SECTION, parse
from location_context.pulse import read_all
from location_context.upstream.deadline import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from location_context.sections.contract import Query
    from location_context.service import Service

commands = typer.Typer(add_completion=False)

AT_ONCE = 4
SECONDS_EACH = 60.0
DEFAULT_DAYS = 7

File = Annotated[Path, typer.Argument(metavar="FILE", help="CSV with lat,lng[,start,end].")]


@dataclass(frozen=True)
class Line:
    """One line of the file: its number, and what is asked or what is wrong with it."""

    number: int
    query: Query | None
    wrong: str | None = None


@commands.command()
def warm(file: File, *, json: console.Json = False) -> None:
    """Fill what the sections keep for the places and stays of a file."""
    rows = _rows(file)
    with Progress(console=console.err(), transient=True) as progress:
        task = progress.add_task("Reading", total=len(rows))
        counts, wrong = console.run(_warm(rows, lambda: progress.advance(task)))
    if json:
        console.emit_json({"read": counts, "wrong": wrong})
        return
    for sentence in wrong:
        console.err().print(sentence, style="yellow", markup=False)
    for name, kinds in counts.items():
        told = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        console.out().print(f"{name}: {told}", markup=False)


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


async def _warm(
    rows: list[tuple[int, dict[str, str]]], advance: Callable[[], object]
) -> tuple[dict[str, Counter[str]], list[str]]:
    async with open_service(console.settings()) as service:
        counts: dict[str, Counter[str]] = {s.name: Counter() for s in service.sections}
        wrong: list[str] = []
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(line: Line) -> None:
            if line.query is None:
                wrong.append(f"Line {line.number}: {line.wrong}")
            else:
                async with slots:
                    for name, kind in await _read(service, line.query):
                        counts[name][kind] += 1
            advance()

        await asyncio.gather(*(one(line) for line in _lines(service, rows)))
        return counts, sorted(wrong)


def _lines(service: Service, rows: list[tuple[int, dict[str, str]]]) -> Iterator[Line]:
    first = service.clock().date() + timedelta(days=1)
    last = first + timedelta(days=DEFAULT_DAYS - 1)
    default = {"start": first.isoformat(), "end": last.isoformat()}
    for number, row in rows:
        given = {k: v.strip() for k, v in row.items() if k and isinstance(v, str) and v.strip()}
        dates: Mapping[str, str] = {} if {"start", "end"} & set(given) else default
        try:
            encoded = urlencode({**given, **dates}).encode()
            checked = parse(encoded, DATED_SECTION, service.languages)
        except InvalidRequest as error:
            yield Line(number, None, error.message)
        else:
            yield Line(number, query_for(service, checked))


async def _read(service: Service, query: Query) -> list[tuple[str, str]]:
    """How each section answered: `complete`, `incomplete`, `not applicable` or `nothing`."""
    readings = await read_all(service.sections, query, Deadline.after(SECONDS_EACH))
    told = []
    for name, reading in readings.items():
        kind = "nothing"
        if reading is not None:
            kind = "complete" if reading.complete else "incomplete"
            kind = kind if reading.body.applicable else "not applicable"
        told.append((name, kind))
    return told
