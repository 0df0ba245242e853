"""`guide`: imports restaurant guides, lists their versions, rolls back and removes them."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer
from rich.console import RenderableType

from location_context.cli import console
from location_context.errors import OperatorError
from location_context.sections.contract import CC0
from location_context.sections.guide.imports import importer, reading, sources
from location_context.sections.guide.records import GuideVersion, Provenance
from location_context.settings import parsers
from location_context.stay import system_clock
from location_context.storage.database import Database
from location_context.storage.datasets import SqlGuideStore
from location_context.upstream.http import HttpClient

guide = typer.Typer(
    add_completion=False,
    help="Import a restaurant guide, list its versions, roll one back, remove one.",
    no_args_is_help=True,
)

T = TypeVar("T")
_MAX_LISTED = 20  # rejected rows, and countries, printed for people; --json lists all
_INCOMPLETE = (
    "This is not a complete guide: it has only the restaurants and awards that volunteers entered "
    "at Wikidata. Compare the counts with a current list before guests see it."
)
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
Name = Annotated[
    str, typer.Option(metavar="NAME", help="Name of the guide, requested with guide=NAME.")
]
Source = Annotated[
    str | None, typer.Argument(metavar="FILE|URL", help="CSV, GeoJSON or SPARQL results (JSON).")
]


@guide.command("import")
def import_(  # noqa: PLR0913  each option is an argument
    source: Source = None,
    *,
    name: Name = "",
    sample: Annotated[
        bool, typer.Option("--sample", help="Import the made-up sample guide.")
    ] = False,
    wikidata: Annotated[
        bool, typer.Option("--wikidata", help="Query Wikidata (CC0; not complete).")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Reject the whole file if a row is invalid.")
    ] = False,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your own labels for the tiers.")
    ] = None,
    radii: Annotated[
        str,
        typer.Option(metavar="KM,…", help="Radius of each tier in km, instead of GUIDE_RADII."),
    ] = "",
    dated: Annotated[str | None, typer.Option(metavar="DATE", help="Date of the data.")] = None,
    attribution: console.Attribution = "",
    attribution_url: console.AttributionUrl = None,
    license_: console.License = None,
    json: console.Json = False,
) -> None:
    """Import a dataset and serve it; running servers switch to it within seconds."""
    if [source is not None, sample, wikidata].count(True) != 1:
        raise OperatorError("Use exactly one of: a file or address, --sample, --wikidata.")
    if name and not _NAME.fullmatch(name):
        raise OperatorError(
            f"--name is {name!r}; accepted: at most 40 characters (a-z, 0-9, -), the first not -."
        )
    console.check_notice(attribution, attribution_url, license_)
    day, texts = _date(dated), sources.read_labels(labels) if labels else {}
    own = _radii(radii)

    def describe(dataset: sources.Dataset) -> Provenance:
        return Provenance(
            source=dataset.source,
            dated=day or dataset.dated or system_clock().date(),
            attribution=attribution or ("Wikidata" if wikidata else ""),
            attribution_url=attribution_url or ("https://www.wikidata.org/" if wikidata else None),
            license=license_ or (CC0.name if wikidata else None),
            labels=texts,
            radii=own,
        )

    try:
        report = _run(
            lambda guides: _import(
                guides, source, describe, name=name, radii=own, sample=sample, strict=strict
            )
        )
    except importer.ImportRejected as rejected:
        _print_report(rejected.report, json=json)
        raise
    _print_report(report, json=json)


@guide.command("list")
def list_(*, json: console.Json = False) -> None:
    """List the stored versions of all guides, newest first."""
    versions = _run(lambda guides: guides.versions())
    columns = ("version", "name", "serves", "of", "restaurants", "kind", "source", "imported")
    rows = [
        (
            str(version.number),
            version.name,
            "yes" if version.active else "",
            str(version.provenance.dated),
            f"{version.rows:,}",
            version.provenance.kind,
            version.provenance.source,
            f"{version.imported_at:%Y-%m-%d %H:%M}",
        )
        for version in versions
    ]
    value = [_as_json(version) for version in versions]
    console.emit(value, console.table(columns, rows), json=json)


@guide.command()
def rollback(*, name: Name = "", json: console.Json = False) -> None:
    """Serve the previous version of a guide again."""
    version = _run(lambda guides: guides.rollback(name))
    text = f"Version {version.number} is active again ({version.rows:,} restaurants)."
    console.emit(_as_json(version), text, json=json)


@guide.command()
def remove(*, name: Name = "", json: console.Json = False) -> None:
    """Remove a guide with all its versions; running servers stop serving it within seconds."""
    guide_name = f"the guide {name!r}" if name else "the unnamed guide"
    if not _run(lambda guides: guides.remove(name)):
        raise OperatorError(
            f"There is no version of {guide_name}; the command `guide list` shows all versions."
        )
    console.emit({"removed": name}, f"Removed {guide_name}.", json=json)


def _run(work: Callable[[SqlGuideStore], Awaitable[T]]) -> T:
    """Open the database, run `work` on the stored guides, and return its result."""

    async def run() -> T:
        settings = console.settings()
        async with await Database.open(settings) as database:
            return await work(SqlGuideStore(database))

    return asyncio.run(run())


async def _import(  # noqa: PLR0913  the options of `import_`
    guides: SqlGuideStore,
    source: str | None,
    describe: Callable[[sources.Dataset], Provenance],
    *,
    name: str,
    radii: tuple[float, ...],
    sample: bool,
    strict: bool,
) -> reading.ImportReport:
    """Import the sample guide if `sample`, else `source`, or Wikidata if `source` is None."""
    settings = console.settings()
    async with HttpClient(settings.user_agent) as client:
        datasets = importer.Importer(guides, system_clock, reading.read_in_sandbox)
        if sample:
            _, report = await importer.import_sample(datasets, name, radii)
            return report
        if source is None:
            dataset = await sources.fetch_wikidata(client)
        else:
            dataset = await sources.fetch(client, source, settings)
        with console.ProgressReporter("rows") as progress:
            _, report = await datasets.run(
                dataset.data,
                describe(dataset),
                name=name,
                strict=strict,
                progress=progress.update,
            )
        return report


def _date(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise OperatorError(f"--dated is {text!r}; accepted: a date like 2026-01-31.") from None


def _radii(text: str) -> tuple[float, ...]:
    try:
        return parsers.parse(parsers.Radii, text) if text else ()
    except parsers.InvalidSetting as error:
        raise OperatorError(f"--radii: {error}.") from None


def _print_report(report: reading.ImportReport, *, json: bool) -> None:
    if not json:
        for row in report.refused[:_MAX_LISTED]:
            console.warn(f"{report.counted_in} {row.line}: {row.reason}")
        if (more := len(report.refused) - _MAX_LISTED) > 0:
            console.step(f"… and {more:,} more; --json lists them all.")
    rows = f"{report.rows:,} rows ({report.kind}): {report.taken:,} restaurants"
    rest = f"{len(report.merged):,} merged into others, {len(report.refused):,} refused"
    text = [f"{rows}, {rest}."]
    if report.without_tier:
        text.append(f"{report.without_tier:,} rows without tier, award or stars: tier `selected`.")
    if report.version is not None:
        tiers = ", ".join(f"{count:,} {tier}" for tier, count in report.by_tier.items())
        text.append(f"Version {report.version} is active: {tiers}.")
    coverage = _coverage(report) if report.kind == "sparql" else ()
    console.emit(report, *text, *coverage, json=json)


def _coverage(report: reading.ImportReport) -> Sequence[RenderableType]:
    """Return a table of restaurants by country, and a note that Wikidata is incomplete."""

    def line(name: str, some: Sequence[reading.CountryCoverage]) -> tuple[str, ...]:
        fields = ("restaurants", "three_star", "two_star", "one_star")
        counts = [sum(getattr(one, field) for one in some) for field in fields]
        newest = max(one.newest_award or 0 for one in some)
        return (name, *(f"{count:,}" for count in counts), f"{newest or ''}")

    columns = ("country", "restaurants", "three stars", "two stars", "one star", "newest award")
    largest = report.coverage[:_MAX_LISTED]
    lines = [line(one.country or "unknown", [one]) for one in largest]
    total = line(f"all {len(report.coverage)}", report.coverage)
    return console.table(columns, [*lines, total]), _INCOMPLETE


def _as_json(version: GuideVersion) -> dict[str, Any]:
    fields = msgspec.structs.asdict(version)
    return {"version": fields.pop("number"), **fields}
