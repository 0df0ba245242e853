"""`setup`: prepare a first start; steps that are already done are skipped.

The data directory and database, the sample guide, the fallback climate grid and a first API key,
which is printed once with a `curl` line that works as soon as `serve` runs.
"""

import sys
from datetime import timedelta
from typing import Annotated

import msgspec
import typer

from location_context.access.keys import ApiKeys
from location_context.cli import console
from location_context.cli.database import open_database
from location_context.cli.serve import Host, Port, Workers, local_address
from location_context.errors import OperatorError
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.sections.guide.imports.importer import Importer, import_sample
from location_context.sections.weather.climatology import fallback_grid_builder as grid
from location_context.sections.weather.climatology.fallback_grid import FallbackGrid
from location_context.settings import Settings
from location_context.stay import system_clock
from location_context.storage.access import open_api_keys
from location_context.storage.guide import SqlGuideStore

commands = typer.Typer(add_completion=False)

FIRST_KEY = "first key"
WithoutFallback = Annotated[
    bool, typer.Option("--without-fallback", help="Skip building the fallback climate grid.")
]


class SetupResult(msgspec.Struct):
    """What a setup did. `key` is null unless it was just created."""

    data_dir: str
    guide_imported: bool
    fallback_made: bool
    key: str | None
    curl: str | None
    page: str


@commands.command()
def setup(  # noqa: PLR0913  each is an option of the command
    *,
    without_fallback: WithoutFallback = False,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Workers = 1,  # noqa: ARG001  accepted so that setup and serve share their options
    new: console.New = False,
    json: console.Json = False,
) -> None:
    """Prepare everything for a first start; what already exists is left as it is."""
    settings = console.settings(new=new)
    _make_data_dir(settings)
    imported, key = console.run(_store(settings))
    fallback = False if without_fallback else _fallback(settings)
    address = local_address(host, port)
    result = SetupResult(
        data_dir=str(settings.data_dir.absolute()),
        guide_imported=imported,
        fallback_made=fallback,
        key=key,
        curl=_curl(address, key, settings) if key else None,
        page=f"{address}/",
    )
    if json:
        console.emit(result, json=True)
    else:
        _print(result)


def _make_data_dir(settings: Settings) -> None:
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OperatorError(
            f"The data directory {settings.data_dir} cannot be created: {error.strerror}"
        ) from None


async def _store(settings: Settings) -> tuple[bool, str | None]:
    """Fill the database; whether the sample was imported, and a new key if one was created."""
    async with open_database(settings) as database:
        imported = await _sample_guide(SqlGuideStore(database))
        return imported, await _first_key(await open_api_keys(settings, database, system_clock))


async def _sample_guide(guides: SqlGuideStore) -> bool:
    if await guides.active() is not None:
        return False
    console.step("Importing the sample guide …")
    gazetteer = Gazetteer.load()
    importer = Importer(guides, system_clock, lambda lat, lng: gazetteer.point(lat, lng).country)
    await import_sample(importer)
    return True


async def _first_key(keys: ApiKeys) -> str | None:
    if await keys.list():
        return None
    return (await keys.create(FIRST_KEY)).secret


def _fallback(settings: Settings) -> bool:
    """Build the grid if it is missing; the service runs without it too."""
    if FallbackGrid(settings.data_dir).exists:
        return False
    try:
        grid.make(settings.data_dir, console.step)
    except OperatorError as error:
        warning = (
            f"Warning: the fallback climate grid was not made, so weather needs a provider: "
            f"{error.message} Try again with: location-context climate fallback"
        )
        console.warn(console.hint(warning))
        return False
    return True


def _curl(address: str, key: str, settings: Settings) -> str:
    """A line that works offline: weather if the fallback grid exists, otherwise astronomy."""
    section = "weather" if FallbackGrid(settings.data_dir).exists else "astronomy"
    start = system_clock().date() + timedelta(days=7)
    stay = f"start={start}&end={start + timedelta(days=3)}"
    query = f"lat=48.8566&lng=2.3522&{stay}"
    return f'curl -H "Authorization: Bearer {key}" "{address}/v1/pulse/{section}?{query}"'


def _print(result: SetupResult) -> None:
    """Output for people, on stdout; the curl line is written raw so that it is never wrapped."""
    if result.curl:
        sys.stdout.write(
            f"A first API key, shown only this once:\n\n  {result.key}\n\n"
            f"Try it once the server runs:\n\n  {result.curl}\n\n"
        )
    sys.stdout.write(f"The page that builds widgets: {result.page}\n")
    sys.stdout.flush()
