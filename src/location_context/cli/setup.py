"""`setup`: prepares a first start.

The command creates the data directory, the database, the sample guide, the fallback grid and a
first API key. The key is printed once, with a `curl` command that works as soon as `serve` runs.
Existing data are not changed.
"""

import asyncio
import sys
from datetime import timedelta
from functools import partial
from typing import Annotated

import typer

from location_context.cli import console
from location_context.cli.serve import Host, Port, Workers, local_address
from location_context.errors import OperatorError
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.sections.guide.imports.importer import Importer, import_sample
from location_context.sections.guide.imports.reading import read
from location_context.sections.weather import fallback_grid
from location_context.sections.weather.fallback_grid import FallbackGrid
from location_context.settings import Settings
from location_context.stay import system_clock
from location_context.storage.access import open_api_keys
from location_context.storage.database import Database
from location_context.storage.datasets import SqlGuideStore

FIRST_KEY = "first key"  # its name also tells that `setup` has run before
WithoutFallback = Annotated[
    bool, typer.Option("--without-fallback", help="Skip building the fallback climate grid.")
]


def setup(  # noqa: PLR0913  each is an option of the command
    *,
    without_fallback: WithoutFallback = False,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Workers = 1,  # noqa: ARG001  accepted so that setup and serve share their options
    new: console.New = False,
    json: console.Json = False,
) -> None:
    """Prepare everything for a first start; existing data are not changed."""
    settings = console.settings(new=new)
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OperatorError(
            f"The data directory {settings.data_dir} cannot be created: {error.strerror}"
        ) from None
    imported, key = asyncio.run(_store(settings))
    fallback_made = not without_fallback and _make_fallback(settings)
    address = local_address(host, port)
    curl = _curl(address, key, settings) if key else None
    result = {
        "data_dir": str(settings.data_dir.absolute()),
        "guide_imported": imported,
        "fallback_made": fallback_made,
        "key": key,
        "curl": curl,
        "page": f"{address}/",
    }
    if json:
        console.emit(result, json=True)
        return
    if curl:  # written directly to stdout, so that lines are not wrapped
        sys.stdout.write(
            f"Your first API key, shown only this once:\n\n  {key}\n\n"
            f"Try it when the server runs:\n\n  {curl}\n\n"
        )
    sys.stdout.write(f"The page that builds a widget: {address}/\n")
    sys.stdout.flush()


async def _store(settings: Settings) -> tuple[bool, str | None]:
    """Fill the database; return (True if the sample guide was imported, a new API key or None)."""
    async with await Database.open(settings) as database:
        keys = await open_api_keys(settings, database, system_clock)
        is_first = all(key.name != FIRST_KEY for key in await keys.list())
        guides = SqlGuideStore(database)
        # later a sample guide is missing because it was removed
        imports = is_first and not await guides.active()
        if imports:
            console.step("Importing the sample guide …")
            read_here = partial(read, country_at=Gazetteer.load().country)  # our own file
            await import_sample(Importer(guides, system_clock, read_here))
        key = (await keys.create(FIRST_KEY)).secret if is_first else None
        return imports, key


def _make_fallback(settings: Settings) -> bool:
    """Build the fallback grid if it is missing; return True if built, warn if that fails."""
    if FallbackGrid(settings.data_dir).exists:
        return False
    try:
        fallback_grid.make(settings.data_dir, console.step)
    except OperatorError as error:
        warning = (
            "Warning: the fallback grid was not built, so weather needs a provider: "
            f"{error.message} Try again with: location-context climate fallback"
        )
        console.warn(console.hint(warning))
        return False
    return True


def _curl(address: str, key: str, settings: Settings) -> str:
    """Return a `curl` command for weather, or for astronomy if the fallback grid is missing."""
    section = "weather" if FallbackGrid(settings.data_dir).exists else "astronomy"
    start = system_clock().date() + timedelta(days=7)
    stay = f"start={start}&end={start + timedelta(days=3)}"
    query = f"lat=48.8566&lng=2.3522&{stay}"
    return f'curl -H "Authorization: Bearer {key}" "{address}/v1/pulse/{section}?{query}"'
