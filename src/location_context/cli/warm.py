"""`warm`: fills the caches for the places in a file.

The file is CSV with the columns `lat,lng` and optionally `start,end`; without dates, the stay is
the next seven days. Invalid lines are reported and skipped. When the budget of a provider is spent,
`warm` says so and tries again each minute. Fetched data are stored, so a second run continues where
the first stopped. The exit code is 1 if answers are still incomplete.

With `--climate-only`, `warm` only fetches ten years of climate data for each place. These
data serve stays on any dates.
"""

import asyncio
from asyncio import sleep
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from location_context.app import open_hosts, open_service
from location_context.cli import console
from location_context.cli.read import checked_query
from location_context.errors import InvalidRequest, OperatorError
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.parameters import DATED_SECTION
from location_context.sections.contract import Query, SectionResult
from location_context.sections.section import SectionContext
from location_context.sections.weather.providers.open_meteo import OpenMeteoArchive
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.sections.weather.retrieval.archives import ArchiveBuilder, BuildReport
from location_context.service import Service, chosen, read_all
from location_context.stay import system_clock
from location_context.storage.database import Database
from location_context.storage.datasets import SqlClimateStore
from location_context.upstream.deadline import Deadline
from location_context.upstream.http import HttpClient

MAX_CONCURRENT = 4
READ_TIMEOUT = 60.0  # seconds for one place
DEFAULT_DAYS = 7
_SPENT_PAUSE = 60.0  # seconds before a call whose budget is spent; a minute is the usual window
_MAX_LISTED = 20
_INCOMPLETE = frozenset({"incomplete", "nothing"})
File = Annotated[Path, typer.Argument(metavar="FILE", help="CSV with lat,lng[,start,end].")]
Wait = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Wait while the provider's call budget is spent.")
]
ClimateOnly = Annotated[
    bool,
    typer.Option("--climate-only", help="Fetch only ten years of climate for each place."),
]


@dataclass
class _Summary:
    """The number of answers by section and kind, and what went wrong.

    `invalid` has a message for each invalid line, `incomplete` the numbers of the lines with
    incomplete answers, `failures` the last error of each provider.
    """

    read: dict[str, Counter[str]] = field(default_factory=dict)
    invalid: list[str] = field(default_factory=list)
    incomplete: list[int] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def warm(
    file: File,
    *,
    climate_only: ClimateOnly = False,
    wait: Wait = True,
    json: console.Json = False,
) -> None:
    """Fill the caches for places and stays in a file; a second run continues the first."""
    if climate_only:
        _warm_climate(file, json=json)
    else:
        _warm_sections(file, wait=wait, json=json)


def _warm_climate(file: Path, *, json: bool) -> None:
    report = asyncio.run(_build(read_places(file)))
    text = (
        f"{report.cells} cells: {report.held} already stored, {report.fetched} fetched, "
        f"{report.failed} failed"
    )
    console.emit(report, text, json=json)
    if report.failed:
        raise typer.Exit(1)


def _warm_sections(file: Path, *, wait: bool, json: bool) -> None:
    rows = console.csv_rows(file, ("lat", "lng"))
    with console.ProgressReporter("places", len(rows)) as progress:
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
    # the terms of these two providers forbid storing answers, so there is nothing to warm
    settings = msgspec.structs.replace(console.settings(), ticketmaster_url="", predicthq_url="")
    async with open_service(settings) as service:
        summary = _Summary({section.name: Counter() for section in chosen(service.sections, ())})
        slots = asyncio.Semaphore(MAX_CONCURRENT)
        tomorrow = service.clock().date() + timedelta(days=1)
        queries: dict[int, Query] = {}
        for number, row in rows:
            try:
                queries[number] = checked_query(service, _values(row, tomorrow), DATED_SECTION)
            except InvalidRequest as error:
                summary.invalid.append(f"Line {number}: {error.message}")
                progress.advance()
        read: dict[int, Mapping[str, str]] = {}

        async def read_lines(numbers: Iterable[int], advance: Callable[[], None]) -> list[int]:
            """Query all sections for each of these lines; return those with incomplete answers."""

            async def read_line(number: int) -> None:
                async with slots:
                    read[number] = await _complete(service, queries[number], progress, wait=wait)
                advance()

            await asyncio.gather(*map(read_line, numbers))
            return [line for line in numbers if not _INCOMPLETE.isdisjoint(read[line].values())]

        incomplete = await read_lines(list(queries), progress.advance)
        # retry once at the end, since failures may be short
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
    """Return the query parameters in a CSV row; without dates, they are a week from `first` on."""
    known = {name: (text or "").strip() for name, text in row.items() if name in DATED_SECTION}
    values = {name: text for name, text in known.items() if text}
    if not values.keys() & {"start", "end"}:
        values |= {"start": f"{first}", "end": f"{first + timedelta(days=DEFAULT_DAYS - 1)}"}
    return values


async def _complete(
    service: Service, query: Query, progress: console.ProgressReporter, *, wait: bool
) -> Mapping[str, str]:
    """Read all sections; return the kind of each answer (see `_kind`) by the section's name.

    If `wait`, read again each minute while answers are incomplete because a budget is spent.
    """
    sections = [cached.section for cached in chosen(service.sections, ())]
    while True:
        refused = _budget_refusals(service)
        results = await read_all(sections, query, Deadline.after(READ_TIMEOUT))
        kinds = {name: _kind(result) for name, result in results.items()}
        is_spent = _budget_refusals(service) > refused  # by this place or a concurrent one
        if not (wait and is_spent) or _INCOMPLETE.isdisjoint(kinds.values()):
            return kinds
        progress.message(
            "The call budget is spent; the next attempt is in a minute. Everything fetched so far "
            "is stored, so you can stop this command and run it again later to continue."
        )
        await sleep(_SPENT_PAUSE)


def _budget_refusals(service: Service) -> int:
    """Return the number of calls that were not made because a provider's budget was spent."""
    return sum(calls.refused.get("budget", 0) for calls in service.measured.calls.values())


def _kind(result: SectionResult | None) -> str:
    """Return `complete`, `incomplete` or `not applicable`; `nothing` if there is no answer."""
    if result is None:
        return "nothing"
    if not result.complete:
        return "incomplete"
    return "complete" if result.body.applicable else "not applicable"


def read_places(file: Path) -> list[tuple[float, float]]:
    """Return the coordinates (lat, lng) in a CSV file.

    Raises:
        OperatorError: the file cannot be read, or a line has no valid coordinates.
    """
    places = []
    for number, row in console.csv_rows(file, ("lat", "lng")):
        try:
            lat, lng = float(row["lat"]), float(row["lng"])
        except (TypeError, ValueError):
            raise OperatorError(f"{file}, line {number}: lat and lng must be numbers") from None
        if not (abs(lat) <= 90 and abs(lng) <= 180):
            raise OperatorError(f"{file}, line {number}: accepted: lat -90..90, lng -180..180")
        places.append((lat, lng))
    return places


async def _build(places: list[tuple[float, float]]) -> BuildReport:
    settings = console.settings()
    gazetteer = Gazetteer.load()
    points = [gazetteer.point(lat, lng) for lat, lng in places]
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(await Database.open(settings))
        client = await stack.enter_async_context(HttpClient(settings.user_agent))
        hosts = open_hosts(database)
        archive = OpenMeteoArchive(SectionContext(settings, system_clock, client, hosts=hosts))
        if not archive.client.configured:
            raise OperatorError(
                "Open-Meteo's archive is switched off, because its address is set to an empty "
                "value. Instead, build a climate store of your area: location-context climate build"
            )
        repository = ArchiveRepository(SqlClimateStore(database), system_clock)
        builder = ArchiveBuilder(archive, repository, system_clock, console.step, asyncio.sleep)
        return await builder.build(points)
