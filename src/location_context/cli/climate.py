"""`climate fallback` builds the fallback grid; `climate build` fills the archive for places."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import typer

from location_context.app import open_redis, slots_maker
from location_context.cli import console
from location_context.cli.database import open_database
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
    json: console.Json = False,
) -> None:
    """Build the grid of monthly means that answers when no provider does."""
    settings = console.settings()
    grid_file = FallbackGrid(settings.data_dir)
    made = again or not grid_file.exists
    if made:
        fallback_grid_builder.make(settings.data_dir, console.step)
    size = grid_file.path.stat().st_size
    text = [] if made else [f"The fallback grid already exists: {grid_file.path}"]
    console.emit({"path": str(grid_file.path), "bytes": size, "made": made}, *text, json=json)


@commands.command()
def build(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV with the columns lat,lng.")],
    *,
    json: console.Json = False,
) -> None:
    """Fetch ten years for the cell of every place in a file; resumes after an interruption."""
    report = console.run(_build(_places(file)))
    text = (
        f"{report.cells} cells: {report.held} already stored, {report.fetched} fetched, "
        f"{report.failed} failed"
    )
    console.emit(report, text, json=json)
    if report.failed:
        raise typer.Exit(1)


def _places(file: Path) -> list[tuple[float, float]]:
    """The coordinates in a file, all validated before the first request.

    Raises:
        OperatorError: the file cannot be read, or a line has no coordinates.
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
    points: list[Point] = [gazetteer.point(lat, lng) for lat, lng in places]
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_database(settings))
        client = await stack.enter_async_context(http_client(settings.user_agent))
        hosts = Hosts(slots_maker(settings, open_redis(settings, stack)))
        archive = OpenMeteoArchive(SectionContext(settings, system_clock, client, hosts=hosts))
        if not archive.client.configured:
            raise OperatorError("Open-Meteo's archive is switched off by its empty address.")
        repository = ArchiveRepository(SqlClimateStore(database), system_clock)
        builder = ArchiveBuilder(archive, repository, system_clock, console.step, asyncio.sleep)
        return await builder.build(points)
