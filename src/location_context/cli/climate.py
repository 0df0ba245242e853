"""`climate fallback` builds the fallback grid; `climate build` fills the archive for places."""

from __future__ import annotations

import asyncio
import csv
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import typer

from location_context.app import open_redis, slots_maker
from location_context.cli import console
from location_context.cli.console import Json
from location_context.errors import OperatorError
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.point import Point
from location_context.sections.section import SectionContext
from location_context.sections.weather.climatology import fallback_grid_builder
from location_context.sections.weather.climatology.fallback_grid import FallbackGrid
from location_context.sections.weather.providers.open_meteo_archive import OpenMeteoArchive
from location_context.sections.weather.retrieval.archive_builder import ArchiveBuilder, BuildReport
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.stay import system_clock
from location_context.storage.database import Database
from location_context.storage.provider_data import SqlClimateStore
from location_context.upstream.host import Hosts
from location_context.upstream.http import http_client

commands = typer.Typer(
    add_completion=False, help="Climate data: the fallback grid, and the archive for many places."
)


@commands.command()
def fallback(
    *,
    again: Annotated[bool, typer.Option("--again", help="Rebuild an existing one.")] = False,
    json: Json = False,
) -> None:
    """Build the grid of monthly means that answers when no provider does."""
    settings = console.settings()
    grid_file = FallbackGrid(settings.data_dir)
    made = again or not grid_file.exists
    if made:
        fallback_grid_builder.make(settings.data_dir, _say)
    if json:
        size = grid_file.path.stat().st_size
        console.emit_json({"path": str(grid_file.path), "bytes": size, "made": made})
    elif not made:
        console.out().print(f"The fallback grid already exists: {grid_file.path}", markup=False)


@commands.command()
def build(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV with the columns lat,lng.")],
    *,
    json: Json = False,
) -> None:
    """Fetch ten years for the cell of every place in a file; resumes after an interruption."""
    built = console.run(_build(_places(file)))
    if json:
        console.emit_json(built)
    else:
        console.out().print(
            f"{built.cells} cells: {built.held} already stored, {built.fetched} fetched, "
            f"{built.failed} failed"
        )
    if built.failed:
        raise typer.Exit(1)


def _say(line: str) -> None:
    console.err().print(line, markup=False)


def _places(file: Path) -> list[tuple[float, float]]:
    """The coordinates in a file, all validated before the first request.

    Raises:
        OperatorError: the file cannot be read, or a line has no coordinates.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise OperatorError(f"{file} cannot be read: {reason}") from None
    places = []
    for number, row in enumerate(rows, 2):
        try:
            lat, lng = float(row["lat"]), float(row["lng"])
        except (KeyError, TypeError, ValueError):
            raise OperatorError(f"{file}, line {number}: lat and lng must be numbers") from None
        if not (abs(lat) <= 90 and abs(lng) <= 180):
            raise OperatorError(f"{file}, line {number}: accepted: lat -90..90, lng -180..180")
        places.append((lat, lng))
    return places


async def _build(places: list[tuple[float, float]]) -> BuildReport:
    settings = console.settings()
    gazetteer = Gazetteer.load()
    points: list[Point] = [gazetteer.point(lat, lng) for lat, lng in places]
    database = await Database.open(settings)
    try:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(http_client(settings.user_agent))
            hosts = Hosts(slots_maker(settings, open_redis(settings, stack)))
            context = SectionContext(settings, system_clock, client, hosts=hosts)
            archive = OpenMeteoArchive(context)
            if not archive.client.configured:
                raise OperatorError("Open-Meteo's archive is switched off by its empty address.")
            repository = ArchiveRepository(SqlClimateStore(database), system_clock)
            builder = ArchiveBuilder(archive, repository, system_clock, _say, asyncio.sleep)
            return await builder.build(points)
    finally:
        await database.close()
