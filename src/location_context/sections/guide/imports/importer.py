"""Importer: a dataset's bytes become a new version of the guide, or an error that changes nothing.

Every row is accounted for: taken, merged into another, or rejected with its line and reason. A file
with more than half of its rows rejected is rejected whole; a strict import rejects it at the first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib import resources

import msgspec
import structlog

from location_context.errors import OperatorError
from location_context.sections import registry
from location_context.sections.contract import MIT
from location_context.sections.guide import records
from location_context.sections.guide.imports import formats, matching
from location_context.sections.guide.imports.validation import CountryAt, RowValidator
from location_context.stay import Clock

Progress = Callable[[int, int], None]  # rows done, rows in all
_PROGRESS_EVERY = 256  # rows


@dataclass(frozen=True, kw_only=True)
class ImportMetadata:
    """What the operator says about a dataset.

    Attributes:
        source: the file's name, or the host it came from.
        dated: the day its data was true; None: unknown, so the day of the import.
        kind: the format's name, unless it is the sample.
        attribution: the notice that its licence asks for, with its address and the licence's name.
        labels: the operator's own texts for tiers.
    """

    source: str
    dated: date | None = None
    kind: str | None = None
    attribution: str = ""
    attribution_url: str | None = None
    license: str | None = None
    labels: dict[records.Tier, records.TierTexts] = field(default_factory=dict)


# Well-known restaurants written from general knowledge (name, tier, city, coordinates to a few
# hundred metres, year of the award), not from any dataset, so that a first run shows something
# true. It is not current, and says so wherever it is shown. Most rows are of 2024, some of 2023.
SAMPLE = ImportMetadata(
    source="sample.csv",
    dated=date(2024, 6, 30),
    kind="sample",
    attribution="Sample guide",
    license=MIT.name,
)


class RejectedRow(msgspec.Struct, frozen=True):
    """A row that was not taken, and why."""

    line: int
    reason: str


class MergedRow(msgspec.Struct, frozen=True):
    """A row that became one with an earlier one."""

    line: int
    into: int


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of every row: `rows` = `taken` + `merged` + `refused`.

    Lines are counted in `counted_in`; `version` is None when nothing was stored.
    """

    kind: str
    counted_in: str
    rows: int
    taken: int
    by_tier: dict[str, int]
    merged: list[MergedRow]
    refused: list[RejectedRow]
    version: int | None = None


class ImportRejected(OperatorError):
    """The whole file is rejected; `report` tells what is wrong with its rows."""

    def __init__(self, message: str, report: ImportReport) -> None:
        super().__init__(message)
        self.report = report


class Importer:
    """Imports datasets in any installed format; `country_at` gives the country at a point."""

    def __init__(self, store: records.GuideStore, clock: Clock, country_at: CountryAt) -> None:
        self._store = store
        self._clock = clock
        self._country_at = country_at

    async def run(
        self,
        data: bytes,
        metadata: ImportMetadata,
        *,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> tuple[records.GuideVersion, ImportReport]:
        """Import a dataset and make it the active version.

        Raises:
            OperatorError: it is not a dataset, or too much of it is wrong; nothing is changed.
        """
        table = formats.read_table(data, installed_formats())
        valid, rejected = self._validated(table, progress or (lambda _done, _all: None))
        restaurants, own_ids, report = _merge_duplicates(table, valid, rejected)
        _check(report, strict=strict)
        active = await self._store.active()
        former = await self._store.load(active.number) if active else []
        version = await self._store.replace(
            self._provenance(metadata, table.kind),
            matching.assign_ids(restaurants, own_ids, former),
            self._clock(),
        )
        structlog.get_logger().info(
            "import_done", kind="guide", version=version.number, rows=version.rows
        )
        return version, msgspec.structs.replace(report, version=version.number)

    def _provenance(self, metadata: ImportMetadata, kind: str) -> records.Provenance:
        dated = metadata.dated or self._clock().date()
        return records.Provenance(
            kind=metadata.kind or kind,
            source=metadata.source,
            dated=dated,
            attribution=metadata.attribution or f"Restaurant guide, as of {dated.isoformat()}",
            attribution_url=metadata.attribution_url,
            license=metadata.license,
            labels=metadata.labels,
        )

    def _validated(
        self, table: formats.Table, progress: Progress
    ) -> tuple[list[tuple[formats.Row, records.Restaurant]], list[RejectedRow]]:
        validator = RowValidator(self._country_at)
        valid: list[tuple[formats.Row, records.Restaurant]] = []
        rejected: list[RejectedRow] = []
        for done, row in enumerate(table.rows):
            if done % _PROGRESS_EVERY == 0:
                progress(done, len(table.rows))
            try:
                valid.append((row, validator.restaurant(row)))
            except formats.RowError as reason:
                rejected.append(RejectedRow(row.line, str(reason)))
        progress(len(table.rows), len(table.rows))
        return valid, rejected


def installed_formats() -> list[formats.GuideFormat]:
    """The formats of other packages and our own, in the order in which they are asked.

    Raises:
        OperatorError: a format of another package cannot be loaded.
    """
    kind: type[formats.GuideFormat] = formats.GuideFormat  # type: ignore[type-abstract]  # subclasses are built
    return [one() for one in registry.load(registry.GUIDE_IMPORTERS, kind)]


async def import_sample(importer: Importer) -> tuple[records.GuideVersion, ImportReport]:
    """Make the sample guide of the package the active version."""
    return await importer.run(sample_data(), SAMPLE, strict=True)


def sample_data() -> bytes:
    """The sample guide as a plain CSV."""
    return (resources.files("location_context.sections.guide") / "sample.csv").read_bytes()


def _merge_duplicates(
    table: formats.Table,
    valid: Sequence[tuple[formats.Row, records.Restaurant]],
    rejected: list[RejectedRow],
) -> tuple[list[records.Restaurant], list[str], ImportReport]:
    """The restaurants, their ids in the dataset ("" where it has none), and the report."""
    groups = matching.group_duplicates([restaurant for _, restaurant in valid])
    restaurants = [matching.merge([valid[n][1] for n in group]) for group in groups]
    own_ids = [next((i for n in group if (i := valid[n][0].get("id"))), "") for group in groups]
    tiers = [restaurant.tier for restaurant in restaurants]
    report = ImportReport(
        kind=table.kind,
        counted_in=table.counted_in,
        rows=len(table.rows),
        taken=len(restaurants),
        by_tier={tier: tiers.count(tier) for tier in records.TIERS if tier in tiers},
        merged=[
            MergedRow(valid[n][0].line, valid[group[0]][0].line)
            for group in groups
            for n in group[1:]
        ],
        refused=rejected,
    )
    return restaurants, own_ids, report


def _check(report: ImportReport, *, strict: bool) -> None:
    """Raises `ImportRejected` for a file with too many wrong rows."""
    wrong = len(report.refused)
    if strict and wrong:
        raise ImportRejected(
            f"{wrong} of {report.rows} rows are wrong, and the import is strict; "
            "nothing was changed.",
            report,
        )
    if wrong * 2 > report.rows:
        first = report.refused[0]
        raise ImportRejected(
            f"{wrong:,} of {report.rows:,} rows are wrong, so the whole file is rejected and "
            f"nothing was changed. The first: {report.counted_in} {first.line}: {first.reason}.",
            report,
        )
