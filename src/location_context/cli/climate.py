"""`climate`: manages the climate stores and the fallback grid in the data directory."""

import math
import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from location_context.cli import console
from location_context.cli.warm import read_places
from location_context.errors import OperatorError
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.sections.weather import climatology, fallback_grid
from location_context.sections.weather.climate import build as builder
from location_context.sections.weather.climate import layout, terrain
from location_context.sections.weather.climate import map as climate_map
from location_context.sections.weather.climate.layout import StoreDamaged
from location_context.sections.weather.climate.sources import ClimateSource
from location_context.sections.weather.climate.store import ClimateStore
from location_context.sections.weather.climate.verify import findings
from location_context.sections.weather.fallback_grid import FallbackGrid
from location_context.stay import system_clock

climate = typer.Typer(
    add_completion=False, help="Build, check and remove climate data in the data directory."
)
MAX_LISTED = 10
_YEARS = re.compile(r"(\d{4})-(\d{4})")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A name that `climate list` shows.")]
Source = Annotated[
    str | None, typer.Option("--source", help="Source data: an address (s3://, https://) or path.")
]


class StoreState(msgspec.Struct, frozen=True):
    """A climate store as `climate list` shows it; `why` says why it is unusable, else None."""

    name: str
    source: str | None = None
    years: tuple[int, int] | None = None
    region: str | None = None
    cells: int | None = None
    degrees: tuple[float, float] | None = None
    bytes: int = 0
    why: str | None = None


@climate.command()
def build(  # noqa: PLR0913  each is an option of the command
    *,
    source_name: Annotated[str, typer.Option("--from", help="The source: power or era5.")],
    places: Annotated[
        Path | None, typer.Option("--places", help="CSV with lat,lng: build the cells around them.")
    ] = None,
    region: Annotated[
        str | None, typer.Option("--region", help="Build cells in west,south,east,north (degrees).")
    ] = None,
    world: Annotated[bool, typer.Option("--world", help="Build every cell with land.")] = False,
    years: Annotated[str | None, typer.Option("--years", help="Ten years like 2016-2025.")] = None,
    source: Source = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Use a Dask scheduler: tcp://host:8786.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Local processes; default: one per processor."),
    ] = None,
    json: console.Json = False,
) -> None:
    """Build a climate store; after an interruption, run the command again to continue."""
    if (places is not None) + (region is not None) + world != 1:
        raise OperatorError("Use exactly one of --places FILE, --region W,S,E,N and --world.")
    settings, clock = console.settings(), system_clock
    latest = climatology.latest(climatology.last_year(clock().date()))
    chosen = _years(years) if years else range(latest[0], latest[-1] + 1)
    opened = builder.open_source(source_name, source)
    for native in opened.lacking:
        console.warn(f"The source has no field {native}; the values from it will be missing.")
    described = terrain.read(settings.data_dir)
    if described is None:
        console.warn(
            console.hint(
                "The terrain file is missing, so elevations and land will be unknown. "
                "Create it with: location-context climate fallback --again"
            )
        )
    if places is not None:
        gazetteer = Gazetteer.load()
        points = [gazetteer.point(lat, lng) for lat, lng in read_places(places)]
        wanted = builder.around(opened, points)
    elif region is not None:
        wanted = builder.rectangle(opened, *_region(region))
    else:
        wanted = builder.world(terrain.describe(described, opened.grid))
    job = builder.Job(source_name, source, chosen)
    made = builder.Build(settings.data_dir, job, opened, wanted)
    with (
        builder.cluster(scheduler, workers or os.cpu_count() or 1) as client,
        console.ProgressReporter("tiles") as shown,
    ):
        progress = made.run(client, lambda now: shown.update(now.done, now.tiles, _rate(now)))
    if progress.failed:
        _give_up(progress, json=json)
    folder = made.publish(clock())
    state = _state(folder)
    console.emit(state, f"The store is ready: {folder} ({_summary(state)})", json=json)


def _give_up(progress: builder.Progress, *, json: bool) -> None:
    """Print the tiles that failed, and exit with code 1."""
    failed = {tile.key: why for tile, why in progress.failed.items()}
    for key, why in list(failed.items())[:MAX_LISTED]:
        console.warn(f"Tile {key}: {why}"[:300])
    text = (
        f"{len(failed)} of {progress.tiles} tiles failed; the others are kept. "
        "Run this command again to retry the failed ones."
    )
    console.emit(
        {"failed": failed, "tiles": progress.tiles, "done": progress.done}, text, json=json
    )
    raise typer.Exit(1)


def _rate(progress: builder.Progress) -> str:
    left = progress.seconds_left
    ending = "" if left is None else f", {timedelta(seconds=math.ceil(left))} left"
    failed = f", {len(progress.failed)} failed" if progress.failed else ""
    return f"{progress.cells_a_second:,.0f} cells/s{ending}{failed}"


def _years(text: str) -> range:
    found = _YEARS.fullmatch(text)
    years = range(int(found[1]), int(found[2]) + 1) if found else range(0)
    if len(years) != climatology.YEARS:
        raise OperatorError(f"--years is {text!r}; accepted: ten years such as 2016-2025.")
    return years


def _region(text: str) -> tuple[float, float, float, float]:
    try:
        west, south, east, north = map(float, text.split(","))
    except ValueError:
        west = south = east = north = math.nan
    if not (abs(west) <= 180 and abs(east) <= 180 and -90 <= south <= north <= 90):
        raise OperatorError(
            f"--region is {text!r}; accepted: west,south,east,north in degrees, such as "
            "-10,36,4,44. A region across the date line has west greater than east."
        )
    return west, south, east, north


@climate.command("list")
def list_stores(*, json: console.Json = False) -> None:
    """List the climate stores of the data directory."""
    states = [_state(folder) for folder in layout.folders(console.settings().data_dir)]
    columns = ("name", "years", "grid", "cells", "region", "size")
    rows = [
        (
            one.name, f"{one.years[0]}-{one.years[1]}", "{:g} x {:g}°".format(*one.degrees),
            f"{one.cells:,}", one.region or "", f"{one.bytes / 1e6:,.0f} MB",
        )
        if one.years and one.degrees
        else (one.name, "damaged", one.why or "", "", "", f"{one.bytes / 1e6:,.0f} MB")
        for one in states
    ]  # fmt: skip
    text = console.table(columns, rows) if states else "There is no climate store."
    console.emit(states, text, json=json)


@climate.command()
def verify(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Default: all.")] = None,
    *,
    source: Source = None,
    json: console.Json = False,
) -> None:
    """Check stores' checksums, shapes and values; with --source, compare days with the source."""
    data_dir = console.settings().data_dir
    folders = layout.folders(data_dir) if name is None else [_folder(data_dir, name)]
    found: dict[str, list[str]] = {}
    for folder in folders:
        try:
            store = ClimateStore.open(folder)
        except StoreDamaged as damage:
            found[folder.name] = [str(damage)]
            continue
        opened: ClimateSource | None = None
        if source is not None:
            opened = builder.open_source(store.manifest.source, source)
        with console.ProgressReporter("tiles", len(store.manifest.tiles)) as progress:
            found[folder.name] = list(findings(store, opened, progress.advance))
    lines = [f"{folder}: {line}" for folder, ones in found.items() for line in ones or ("intact",)]
    console.emit(found, *(lines or ["There is no climate store."]), json=json)
    if any(found.values()):
        raise typer.Exit(1)


@climate.command("map")
def draw_map(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Default: the only store.")]
    = None,
    *,
    month: Annotated[int, typer.Option("--month", min=1, max=12)] = 8,
    field: Annotated[
        Literal["temperature_max", "wet_days", "range"],
        typer.Option("--field", help="The field to draw."),
    ] = "temperature_max",
    output: Annotated[
        Path, typer.Option("--output", help="A .png or .svg file.")
    ] = Path("climate.png"),
    json: console.Json = False,
) -> None:  # fmt: skip
    """Draw a climate store as a map of the world."""
    data_dir = console.settings().data_dir
    folders = layout.folders(data_dir)
    if name is None and len(folders) != 1:
        names = ", ".join(one.name for one in folders) or "none; create one with climate build"
        raise OperatorError(f"The command needs the name of a climate store; there are: {names}.")
    folder = folders[0] if name is None else _folder(data_dir, name)
    try:
        store = ClimateStore.open(folder)
    except StoreDamaged as damage:
        raise OperatorError(f"The climate store {folder.name} cannot be used: {damage}.") from None
    climate_map.draw(store, month, field, output)
    console.emit({"path": str(output)}, f"The map is ready: {output}", json=json)


@climate.command()
def remove(name: Name, *, json: console.Json = False) -> None:
    """Remove a climate store; running servers continue without it."""
    folder = _folder(console.settings().data_dir, name)
    layout.remove(folder)
    console.emit({"removed": name}, f"Removed: {folder}", json=json)


@climate.command()
def fallback(
    *,
    again: Annotated[bool, typer.Option("--again", help="Rebuild an existing grid.")] = False,
    json: console.Json = False,
) -> None:
    """Build the fallback grid: monthly means of the weather, used when no provider answers."""
    settings = console.settings()
    grid_file = FallbackGrid(settings.data_dir)
    made = again or not grid_file.exists
    if made:
        fallback_grid.make(settings.data_dir, console.step)
    size = grid_file.path.stat().st_size
    text = [] if made else [f"The fallback grid already exists: {grid_file.path}"]
    console.emit({"path": str(grid_file.path), "bytes": size, "made": made}, *text, json=json)


def _folder(data_dir: Path, name: str) -> Path:
    """Return the folder of the store with this name.

    Raises:
        OperatorError: there is no store with this name.
    """
    folders = {one.name: one for one in layout.folders(data_dir)}
    if name not in folders:
        names = ", ".join(folders) or "none"
        raise OperatorError(f"There is no climate store {name!r}; there are: {names}.")
    return folders[name]


def _state(folder: Path) -> StoreState:
    size = sum(path.stat().st_blocks * 512 for path in folder.iterdir())
    try:
        manifest = ClimateStore.open(folder).manifest
    except StoreDamaged as damage:
        return StoreState(folder.name, bytes=size, why=str(damage))
    degrees = (manifest.grid.lat_step, manifest.grid.lng_step)
    return StoreState(
        folder.name, manifest.source, manifest.years, manifest.region, manifest.slots, degrees, size
    )


def _summary(state: StoreState) -> str:
    return f"{state.cells:,} cells, {state.bytes / 1e6:,.0f} MB"
