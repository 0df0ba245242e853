"""`events`: import the operator's own events, keep feeds of them, list both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from location_context.cli import console
from location_context.cli.database import open_database
from location_context.errors import OperatorError
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.gazetteer.zones import main_zone
from location_context.point import canonical
from location_context.sections.events.imports.entries import RejectedEntry
from location_context.sections.events.imports.feeds import Feeds
from location_context.sections.events.imports.importer import (
    ImportedCalendar,
    ImportRejected,
    calendar_id,
    canonical_source,
)
from location_context.sections.events.records import Calendar
from location_context.sections.events.response import Category
from location_context.stay import system_clock
from location_context.storage.events import SqlEventStore
from location_context.upstream.http import http_client

commands = typer.Typer(
    add_completion=False, help="Import your own events and manage feeds.", no_args_is_help=True
)
_PRINT_INTERVAL = 5000  # events, where no terminal shows a changing count
_MAX_COLUMNS = 10_000  # the terminal wraps longer lines, and nothing is cut off

feed = typer.Typer(help="Calendars at an address that the server refreshes.", no_args_is_help=True)
commands.add_typer(feed, name="feed")

Name = Annotated[str | None, typer.Option(help="A name of your choice.")]
Lat = Annotated[float | None, typer.Option(help="Latitude for events without coordinates.")]
Lng = Annotated[float | None, typer.Option(help="Longitude for events without coordinates.")]
Country = Annotated[str | None, typer.Option(help="Or their country (ISO 3166-1 alpha-2).")]
Region = Annotated[str | None, typer.Option(help="Or their region (ISO 3166-2, such as DE-BY).")]
CategoryOption = Annotated[str | None, typer.Option(help="Category for events without one.")]


@commands.command("import")
def import_(  # noqa: PLR0913  each is an option of the command
    source: Annotated[str, typer.Argument(help="A file or address: ICS, JSON-LD, HTML or CSV.")],
    *,
    name: Name = None,
    lat: Lat = None,
    lng: Lng = None,
    country: Country = None,
    region: Region = None,
    category: CategoryOption = None,
    allow_empty: Annotated[
        bool,
        typer.Option("--allow-empty", help="Let an empty calendar delete what is stored."),
    ] = False,
    json: console.Json = False,
) -> None:
    """Import events once, replacing what the same source gave before."""
    calendar = _calendar(
        "import", source, name=name, place=(lat, lng), country=country, region=region,
        category=category,
    )  # fmt: skip
    _import(calendar, allow_empty=allow_empty, json=json)


@feed.command("add")
def add(  # noqa: PLR0913  each is an option of the command
    address: Annotated[str, typer.Argument(help="An http or https address.")],
    *,
    name: Name = None,
    lat: Lat = None,
    lng: Lng = None,
    country: Country = None,
    region: Region = None,
    category: CategoryOption = None,
    json: console.Json = False,
) -> None:
    """Read a feed now and have the server refresh it every hour."""
    calendar = _calendar(
        "feed", address, name=name, place=(lat, lng), country=country, region=region,
        category=category,
    )  # fmt: skip
    _import(calendar, allow_empty=False, json=json)


@commands.command("list")
@feed.command("list")
def list_(json: console.Json = False) -> None:
    """List feeds and imports."""
    calendars = console.run(_list())
    if json:
        console.emit_json(calendars)
        return
    table = Table("id", "kind", "name", "events", "imported", "source", "failed with", box=None)
    for calendar in calendars:
        imported = (
            calendar.imported_at.isoformat(timespec="minutes") if calendar.imported_at else ""
        )
        table.add_row(
            calendar.id, calendar.kind, escape(calendar.name or ""), f"{calendar.rows:,}", imported,
            escape(calendar.source), escape(calendar.failed_with or ""),
        )  # fmt: skip
    out = console.out()
    out.width = _MAX_COLUMNS
    out.print(table)


@feed.command("remove")
def remove(
    name: Annotated[str, typer.Argument(help="The id or the address of a feed or import.")],
    json: console.Json = False,
) -> None:
    """Remove a feed or an import with its events."""
    if not console.run(_remove(name)):
        raise OperatorError(f"There is no feed or import {name}; see: events list")
    if json:
        console.emit_json({"removed": name})
    else:
        console.out().print(f"Removed {name}.", markup=False)


@asynccontextmanager
async def _feeds() -> AsyncIterator[Feeds]:
    async with (
        open_database() as (settings, database),
        http_client(settings.user_agent) as client,
    ):
        yield Feeds(settings, system_clock, client, SqlEventStore(database))


def _import(calendar: Calendar, *, allow_empty: bool, json: bool) -> None:
    try:
        with _progress() as progress:
            imported = console.run(_fetch(calendar, allow_empty=allow_empty, progress=progress))
    except ImportRejected as error:
        _report(None, error.rejected, json=json)
        raise
    _report(imported.calendar, imported.rejected, json=json)


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """A callback that shows the number of events read: in place on a terminal, else as lines."""
    err = console.err()
    if err.is_terminal:
        with err.status("Reading") as status:
            yield lambda read: status.update(f"{read:,} events read")
        return

    def print_count(read: int) -> None:
        if read % _PRINT_INTERVAL == 0:
            err.print(f"{read:,} events read")

    yield print_count


async def _fetch(
    calendar: Calendar, *, allow_empty: bool, progress: Callable[[int], None]
) -> ImportedCalendar:
    async with _feeds() as feeds:
        return await feeds.import_calendar(calendar, allow_empty=allow_empty, progress=progress)


async def _list() -> list[Calendar]:
    async with _feeds() as feeds:
        return await feeds.calendars()


async def _remove(name: str) -> bool:
    async with _feeds() as feeds:
        return await feeds.remove(name)


def _calendar(  # noqa: PLR0913  each is an option of the command
    kind: str,
    source: str,
    *,
    name: str | None,
    place: tuple[float | None, float | None],
    country: str | None,
    region: str | None,
    category: str | None,
) -> Calendar:
    if (place[0] is None) != (place[1] is None):
        raise OperatorError("--lat and --lng go together")
    if category is not None and category not in Category.__args__:  # type: ignore[attr-defined]  # the words of the Literal
        raise OperatorError(
            f"--category is {category!r}; accepted: {', '.join(Category.__args__)}"  # type: ignore[attr-defined]  # likewise
        )
    if region and not country:
        country = region.partition("-")[0]
    if country and not (len(country) == 2 and country.isalpha()):
        raise OperatorError(f"--country is {country!r}; accepted: two letters such as DE")
    lat, lng = place
    timezone = main_zone(country.upper()) if country else None
    if lat is not None and lng is not None:
        if not (-90 <= lat <= 90 and -180 <= lng <= 180):
            raise OperatorError("--lat or --lng is out of bounds: -90..90 and -180..180")
        lat, lng = canonical(lat, lng)
        timezone = Gazetteer.load().point(lat, lng).timezone
    source = source if kind == "feed" else canonical_source(source)
    return Calendar(
        id=calendar_id(source),
        kind="feed" if kind == "feed" else "import",
        source=source,
        name=name,
        lat=lat,
        lng=lng,
        country=country.upper() if country else None,
        region=region.upper() if region else None,
        timezone=timezone,
        category=category,  # type: ignore[arg-type]  # one of the words, checked above
    )


def _report(calendar: Calendar | None, rejected: Sequence[RejectedEntry], *, json: bool) -> None:
    """Print the result of an import; without a calendar nothing was imported."""
    if json:
        console.emit_json({"calendar": calendar, "refused": rejected})
        return
    if calendar:
        console.out().print(
            f"{calendar.rows:,} event{'s' * (calendar.rows != 1)} from a month back to three years "
            f"ahead imported, {len(rejected):,} refused."
        )
    for one in rejected:
        console.err().print(f"- {one.location}: {one.reason}", markup=False)
