"""`guide`: import a restaurant guide, list its versions, roll back to the previous one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from location_context.cli import console
from location_context.cli.database import open_database
from location_context.errors import OperatorError
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.sections.guide.imports.importer import (
    Importer,
    ImportMetadata,
    ImportRejected,
    ImportReport,
    import_sample,
)
from location_context.sections.guide.imports.sources import fetch, fetch_wikidata
from location_context.sections.guide.labels import read_labels
from location_context.sections.guide.records import GuideVersion
from location_context.sections.licences import CC0
from location_context.stay import system_clock
from location_context.storage.guide import SqlGuideStore
from location_context.upstream.http import http_client

commands = typer.Typer(
    add_completion=False,
    help="Import a restaurant guide, list its versions, roll back to the previous one.",
    no_args_is_help=True,
)

_MAX_LISTED = 20  # rejected rows printed for people; --json lists all
Source = Annotated[str | None, typer.Argument(metavar="FILE|URL", help="CSV, GeoJSON, SPARQL.")]


@dataclass(frozen=True, kw_only=True)
class _ImportOptions:
    """The options of an import."""

    source: str | None
    sample: bool
    wikidata: bool
    strict: bool
    labels: Path | None
    dated: str | None
    attribution: str
    attribution_url: str | None
    license: str | None


@commands.command("import")
def import_(  # noqa: PLR0913  each option is an argument
    source: Source = None,
    *,
    sample: Annotated[bool, typer.Option("--sample", help="The sample of this package.")] = False,
    wikidata: Annotated[bool, typer.Option("--wikidata", help="Query Wikidata (CC0).")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Reject a file with an invalid row.")
    ] = False,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your own labels for the tiers.")
    ] = None,
    dated: Annotated[
        str | None, typer.Option(metavar="DATE", help="The date the data describes.")
    ] = None,
    attribution: Annotated[str, typer.Option(help="The attribution its licence requires.")] = "",
    attribution_url: Annotated[str | None, typer.Option(help="Address of the source.")] = None,
    license_: Annotated[str | None, typer.Option("--license", help="Name of the licence.")] = None,
    json: console.Json = False,
) -> None:
    """Import a dataset and serve it; running servers switch to it within seconds."""
    if [source is not None, sample, wikidata].count(True) != 1:
        raise OperatorError("Give one of: a file or address, --sample, --wikidata.")
    options = _ImportOptions(
        source=source,
        sample=sample,
        wikidata=wikidata,
        strict=strict,
        labels=labels,
        dated=dated,
        attribution=attribution,
        attribution_url=attribution_url,
        license=license_,
    )
    try:
        report = console.run(_import(options))
    except ImportRejected as rejected:
        _print_report(rejected.report, json=json)
        raise
    _print_report(report, json=json)


@commands.command("list")
def list_(*, json: console.Json = False) -> None:
    """List the stored versions, newest first."""

    async def work() -> list[GuideVersion]:
        async with _guides() as guides:
            return await guides.versions()

    versions = console.run(work())
    if json:
        console.emit_json([_as_json(version) for version in versions])
        return
    table = Table("version", "serves", "of", "restaurants", "kind", "source", "imported", box=None)
    for version in versions:
        provenance = version.provenance
        serves = "yes" if version.active else ""
        rows, when = f"{version.rows:,}", f"{version.imported_at:%Y-%m-%d %H:%M}"
        table.add_row(
            str(version.number),
            serves,
            str(provenance.dated),
            rows,
            provenance.kind,
            escape(provenance.source),
            when,
        )
    console.out().print(table)


@commands.command()
def rollback(*, json: console.Json = False) -> None:
    """Roll back to the version before the current one."""

    async def work() -> GuideVersion:
        async with _guides() as guides:
            return await guides.rollback()

    version = console.run(work())
    if json:
        console.emit_json(_as_json(version))
    else:
        told = f"Version {version.number} serves again ({version.rows:,} restaurants)."
        console.out().print(told, markup=False)


async def _import(options: _ImportOptions) -> ImportReport:
    settings = console.settings()
    metadata = _metadata(options)
    async with _guides() as guides, http_client(settings.user_agent) as client:
        importer = Importer(guides, system_clock, _countries())
        if options.sample:
            return (await import_sample(importer))[1]
        if options.source is None:
            dataset = await fetch_wikidata(client, settings)
        else:
            dataset = await fetch(client, options.source, settings)
        dated = metadata.dated or dataset.dated
        metadata = replace(metadata, source=dataset.source, dated=dated)
        with Progress(console=console.err(), transient=True) as bar:
            task = bar.add_task("Checking rows", total=None)
            _, report = await importer.run(
                dataset.data,
                metadata,
                strict=options.strict,
                progress=lambda done, rows: bar.update(task, completed=done, total=rows),
            )
        return report


def _countries() -> Callable[[float, float], str | None]:
    gazetteer = Gazetteer.load()
    return lambda lat, lng: gazetteer.point(lat, lng).country


def _metadata(options: _ImportOptions) -> ImportMetadata:
    """What the options say, checked before anything is fetched."""
    cc0 = options.wikidata
    return ImportMetadata(
        source="",
        dated=_date(options.dated),
        attribution=options.attribution or ("Wikidata" if cc0 else ""),
        attribution_url=options.attribution_url or ("https://www.wikidata.org/" if cc0 else None),
        license=options.license or (CC0.name if cc0 else None),
        labels=read_labels(options.labels) if options.labels else {},
    )


def _date(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise OperatorError(f"--dated is {text!r}; accepted: a date like 2026-01-31.") from None


@asynccontextmanager
async def _guides() -> AsyncIterator[SqlGuideStore]:
    async with open_database() as (_, database):
        yield SqlGuideStore(database)


def _print_report(report: ImportReport, *, json: bool) -> None:
    if json:
        console.emit_json(report)
        return
    for row in report.refused[:_MAX_LISTED]:
        line = f"{report.counted_in} {row.line}: {row.reason}"
        console.err().print(line, style="yellow", markup=False)
    if (more := len(report.refused) - _MAX_LISTED) > 0:
        console.err().print(f"… and {more:,} more; --json lists them all.", markup=False)
    tiers = ", ".join(f"{count:,} {tier}" for tier, count in report.by_tier.items())
    rows = f"{report.rows:,} rows ({report.kind}): {report.taken:,} restaurants"
    rest = f"{len(report.merged):,} merged into others, {len(report.refused):,} refused"
    console.out().print(f"{rows}, {rest}.", markup=False)
    if report.version is not None:
        console.out().print(f"Version {report.version} serves: {tiers}.", markup=False)


def _as_json(version: GuideVersion) -> dict[str, Any]:
    shown = msgspec.structs.asdict(version)
    return {"version": shown.pop("number"), **shown}
