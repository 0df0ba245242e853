"""`events`: imports the operator's own events, and manages feeds that the server refreshes."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

import typer

from location_context.cli import console
from location_context.errors import OperatorError
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.gazetteer.zones import main_zone
from location_context.point import canonical
from location_context.sections.events.imports import importer
from location_context.sections.events.imports.reading import RejectedEntry
from location_context.sections.events.imports.tables import FIELDS
from location_context.sections.events.records import Calendar
from location_context.sections.events.response import Category
from location_context.stay import system_clock
from location_context.storage.database import Database
from location_context.storage.datasets import SqlGuideStore
from location_context.storage.events import SqlEventStore
from location_context.upstream.http import HttpClient

events = typer.Typer(
    add_completion=False, help="Import your own events and manage feeds.", no_args_is_help=True
)
T = TypeVar("T")

feed = typer.Typer(help="Manage calendars that the server refreshes.", no_args_is_help=True)
events.add_typer(feed, name="feed")

Name = Annotated[
    str | None, typer.Option(help="Any name; a later import with the same name replaces this one.")
]
Lat = Annotated[float | None, typer.Option(help="Latitude for events without coordinates.")]
Lng = Annotated[float | None, typer.Option(help="Longitude for events without coordinates.")]
Country = Annotated[
    str | None, typer.Option(help="Country of events without coordinates (ISO 3166-1 alpha-2).")
]
Region = Annotated[
    str | None,
    typer.Option(help="Region of events without coordinates (ISO 3166-2, such as DE-BY)."),
]
Guide = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Show these events only with this named guide."),
]
CategoryOption = Annotated[str | None, typer.Option(help="Category of events without a category.")]
ListPath = Annotated[
    str | None,
    typer.Option("--list", metavar="PATH", help="Path to the list in JSON: results, or '.'."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="FIELD=COLUMN", help="Column for a field; repeatable."),
]


@events.command("import", help="Import events once; replaces earlier ones of the same source.")
@feed.command("add", help="Read a feed now and have the server refresh it every hour.")
def import_(  # noqa: PLR0913  each is an option of both commands
    context: typer.Context,
    source: Annotated[
        str, typer.Argument(help="A web address or a file: ICS, JSON-LD, HTML, CSV or JSON.")
    ],
    *,
    name: Name = None,
    lat: Lat = None,
    lng: Lng = None,
    country: Country = None,
    region: Region = None,
    category: CategoryOption = None,
    guide: Guide = None,
    attribution: console.Attribution = "",
    attribution_url: console.AttributionUrl = None,
    license_: console.License = None,
    list_path: ListPath = None,
    columns: Columns = None,
    allow_empty: Annotated[
        bool,
        typer.Option("--allow-empty", help="Let an empty calendar delete its stored events."),
    ] = False,
    json: console.Json = False,
) -> None:
    """Import events once (`events import`), or add a feed (`events feed add`)."""
    given = _place(lat, lng, country, region) | _table(list_path, columns or ())
    given |= _notice(attribution, attribution_url, license_) | _guide(guide)
    kind: Literal["feed", "import"] = "feed" if context.command.name == "add" else "import"
    calendar = _calendar(importer.canonical_source(source), kind, name, category, **given)
    _import(calendar, allow_empty=allow_empty, json=json)


@events.command("list")
def list_(json: console.Json = False) -> None:
    """List feeds and imports."""
    calendars = _run(lambda feeds: feeds.calendars())
    columns = (
        "id", "kind", "name", "guide", "events", "imported", "source", "attribution", "failed with",
    )  # fmt: skip
    rows = [
        (
            calendar.id,
            calendar.kind,
            calendar.name or "",
            calendar.guide or "",
            f"{calendar.rows:,}",
            calendar.imported_at.isoformat(timespec="minutes") if calendar.imported_at else "",
            calendar.source,
            ", ".join(filter(None, (calendar.attribution, calendar.license))),
            calendar.failed_with or "",
        )
        for calendar in calendars
    ]
    console.emit(calendars, console.table(columns, rows), json=json)


@feed.command("remove")
def remove(
    name: Annotated[str, typer.Argument(help="The name, id or address of a feed or import.")],
    json: console.Json = False,
) -> None:
    """Remove a feed or an import with its events."""
    if not _run(lambda feeds: feeds.remove(name)):
        raise OperatorError(
            f"There is no feed or import {name}; the command `events list` shows all."
        )
    console.emit({"removed": name}, f"Removed {name}.", json=json)


def _run(work: Callable[[importer.Feeds], Awaitable[T]]) -> T:
    """Open the database, run `work` on the stored feeds and imports, and return its result."""

    async def run() -> T:
        settings = console.settings()
        async with (
            await Database.open(settings) as database,
            HttpClient(settings.user_agent) as client,
        ):
            feeds = importer.Feeds(settings, system_clock, client, SqlEventStore(database))
            return await work(feeds)

    return asyncio.run(run())


def _import(calendar: Calendar, *, allow_empty: bool, json: bool) -> None:
    try:
        with console.ProgressReporter("events read") as progress:
            imported = _run(
                lambda feeds: feeds.import_calendar(
                    calendar, allow_empty=allow_empty, progress=progress.update
                )
            )
    except importer.ImportRejected as error:
        _report(None, error.rejected, json=json)
        raise
    _report(imported.calendar, imported.rejected, json=json)
    if imported.former and imported.former.source != calendar.source:
        console.step(f"Replaced {calendar.name}, until now {imported.former.source}.")
    _warn_of_venues(imported)


def _warn_of_venues(imported: importer.ImportedCalendar) -> None:
    """Warn about events whose venue has no coordinates: they are shown in the whole country."""
    number = sum(
        event.scope == "country" and event.start.at is not None and event.place is not None
        for event in imported.events
    )
    if number:
        console.warn(
            f"Events with a time and a venue but without coordinates: {number:,}. They are shown "
            f"everywhere in {imported.calendar.country}. If they take place at one point, import "
            "again with --lat and --lng."
        )


def _place(
    lat: float | None, lng: float | None, country: str | None, region: str | None
) -> dict[str, Any]:
    """Return the location and time zone of events without coordinates, as `Calendar` fields."""
    if (lat is None) != (lng is None):
        raise OperatorError("--lat and --lng must be used together")
    if region and not re.fullmatch("[A-Za-z]{2}-[A-Za-z0-9]{1,3}", region):
        raise OperatorError(f"--region is {region!r}; accepted: codes such as DE-BY (ISO 3166-2)")
    if region and not country:
        country = region.partition("-")[0]
    if country and not (len(country) == 2 and country.isalpha()):
        raise OperatorError(f"--country is {country!r}; accepted: two letters such as DE")
    country, region = country and country.upper(), region and region.upper()
    timezone = main_zone(country) if country else None
    if lat is not None and lng is not None:
        if not (-90 <= lat <= 90 and -180 <= lng <= 180):
            raise OperatorError(f"--lat is {lat:g}, --lng {lng:g}; accepted: -90..90 and -180..180")
        lat, lng = canonical(lat, lng)
        timezone = Gazetteer.load().point(lat, lng).timezone
    values = {"lat": lat, "lng": lng, "country": country or None, "region": region or None}
    return {**values, "timezone": timezone}


def _notice(attribution: str, url: str | None, license_: str | None) -> dict[str, Any]:
    """Return the source's notice to show with the events, as fields of `Calendar`."""
    console.check_notice(attribution, url, license_)
    if not attribution.strip() and (url or license_):
        raise OperatorError(
            "--license and --attribution-url also need --attribution, the text of the notice"
        )
    return {"attribution": attribution.strip(), "attribution_url": url, "license": license_}


def _guide(name: str | None) -> dict[str, Any]:
    """Return the field `guide` for a `Calendar`; reject a name that no stored guide has."""

    async def names() -> set[str]:
        async with await Database.open(console.settings()) as database:
            return (await SqlGuideStore(database).active()).keys() - {""}

    if name is not None and name not in (known := asyncio.run(names())):
        accepted = ", ".join(sorted(known)) or "none, because no guide has a name"
        raise OperatorError(f"--guide is {name!r}; accepted: {accepted}")
    return {"guide": name}


def _table(list_path: str | None, columns: Sequence[str]) -> dict[str, Any]:
    """Return the options `--list` and `--column` as fields of `Calendar`."""
    chosen: dict[str, list[str]] = {}
    for text in columns:
        field, _, column = (part.strip() for part in text.partition("="))
        if not column:
            raise OperatorError(f"--column is {text!r}; accepted: FIELD=COLUMN such as title=nom")
        if field not in FIELDS:
            fields = ", ".join(FIELDS)
            raise OperatorError(f"--column names the field {field!r}; accepted: {fields}")
        chosen.setdefault(field, []).append(column)
    return {"list_path": list_path, "columns": chosen}


def _calendar(
    source: str,
    kind: Literal["feed", "import"],
    name: str | None,
    category: str | None,
    **given: Any,
) -> Calendar:
    categories = get_args(Category)
    if category is not None and category not in categories:
        raise OperatorError(f"--category is {category!r}; accepted: {', '.join(categories)}")
    return Calendar(
        id=importer.calendar_id(name or source),
        kind=kind,
        source=source,
        name=name,
        category=cast("Category | None", category),
        **given,
    )


def _report(calendar: Calendar | None, rejected: Sequence[RejectedEntry], *, json: bool) -> None:
    """Print the result of an import; `calendar` is None if nothing was imported."""
    text = []
    if calendar:
        number = f"{calendar.rows:,} event{'s' * (calendar.rows != 1)}"
        refused = sum(entry.entries for entry in rejected)
        period = "Events from a month back to three years ahead are imported."
        text = [f"{number} imported, {refused:,} refused. {period}"]
    console.emit({"calendar": calendar, "refused": rejected}, *text, json=json)
    for entry in rejected if not json else ():
        console.step(f"- {entry.location}: {entry.reason}")
