"""Importer: a dataset's bytes become a new version of the guide, or an error that changes nothing.

Every row is accounted for: taken, merged into another, or refused with its line and reason. A file
with more than half of its rows refused is refused whole; a strict import refuses at the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from location_context.errors import OperatorError
from location_context.sections.guide.imports.checks import Checks, CountryAt
from location_context.sections.guide.imports.duplicates import groups, merged
from location_context.sections.guide.imports.formats import read_table
from location_context.sections.guide.imports.identity import with_ids
from location_context.sections.guide.imports.rows import Fault, Row, Table
from location_context.sections.guide.records import TIERS, Provenance, Restaurant, Tier, Words

if TYPE_CHECKING:
    from datetime import date

    from location_context.sections.guide.records import GuideVersion
    from location_context.sections.guide.store import GuideStore
    from location_context.stay import Clock

Progress = Callable[[int, int], None]  # rows done, rows in all
_EVERY = 256


@dataclass(frozen=True, kw_only=True)
class About:
    """What the operator tells about a dataset."""

    source: str
    dated: date | None = None  # None: nobody knows, so the day of the import
    kind: str | None = None  # the format's, unless it is the sample
    attribution: str = ""
    attribution_url: str | None = None
    license: str | None = None
    labels: dict[Tier, Words] = field(default_factory=dict)


class Merged(msgspec.Struct, frozen=True):
    """A row that became one with an earlier one."""

    line: int
    into: int


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What became of every row: `rows` = `taken` + `merged` + `refused`."""

    kind: str
    counted_in: str
    rows: int
    taken: int
    by_tier: dict[str, int]
    merged: list[Merged]
    refused: list[Fault]
    version: int | None = None


class ImportRefused(OperatorError):
    """The whole file is refused; `report` tells of its rows."""

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


class Importer:
    """Imports into a store. `country_at` tells the country at a latitude and longitude."""

    def __init__(self, store: GuideStore, clock: Clock, country_at: CountryAt) -> None:
        self._store = store
        self._clock = clock
        self._country_at = country_at

    async def run(
        self, data: bytes, about: About, *, strict: bool = False, progress: Progress | None = None
    ) -> tuple[GuideVersion, Report]:
        """Import a dataset and make it the active version.

        Raises:
            OperatorError: the file is no dataset, or too much of it is wrong; nothing is changed.
        """
        table = read_table(data)
        restaurants, own, report = self._checked(table, progress or (lambda _done, _all: None))
        _refuse_bad(report, strict=strict)
        before = await self._store.active()
        former = await self._store.load(before.number) if before else []
        version = await self._store.replace(
            self._provenance(about, table.kind),
            with_ids(restaurants, own, former),
            self._clock(),
        )
        return version, msgspec.structs.replace(report, version=version.number)

    def _provenance(self, about: About, kind: str) -> Provenance:
        dated = about.dated or self._clock().date()
        return Provenance(
            kind=about.kind or kind,
            source=about.source,
            dated=dated,
            attribution=about.attribution or f"Restaurant guide, as of {dated.isoformat()}",
            attribution_url=about.attribution_url,
            license=about.license,
            labels=about.labels,
        )

    def _checked(
        self, table: Table, progress: Progress
    ) -> tuple[list[Restaurant], list[str], Report]:
        """The restaurants, their own ids, and the report."""
        checks = Checks(self._country_at)
        sound: list[tuple[Row, Restaurant]] = []
        refused: list[Fault] = []
        for done, row in enumerate(table.rows):
            if done % _EVERY == 0:
                progress(done, len(table.rows))
            restaurant = checks.restaurant(row)
            if isinstance(restaurant, str):
                refused.append(Fault(row.line, restaurant))
            else:
                sound.append((row, restaurant))
        progress(len(table.rows), len(table.rows))
        return _united(table, sound, refused)


def _united(
    table: Table, sound: Sequence[tuple[Row, Restaurant]], refused: list[Fault]
) -> tuple[list[Restaurant], list[str], Report]:
    together = groups([restaurant for _, restaurant in sound])
    restaurants = [merged([sound[n][1] for n in group]) for group in together]
    own = [next((i for n in group if (i := sound[n][0].get("id"))), "") for group in together]
    tiers = [restaurant.tier for restaurant in restaurants]
    report = Report(
        kind=table.kind,
        counted_in=table.counted_in,
        rows=len(table.rows),
        taken=len(restaurants),
        by_tier={tier: tiers.count(tier) for tier in TIERS if tier in tiers},
        merged=[
            Merged(sound[n][0].line, sound[group[0]][0].line)
            for group in together
            for n in group[1:]
        ],
        refused=refused,
    )
    return restaurants, own, report


def _refuse_bad(report: Report, *, strict: bool) -> None:
    bad = len(report.refused)
    if strict and bad:
        raise ImportRefused(
            f"{bad} of {report.rows} rows are wrong, and the import is strict; "
            "nothing was changed.",
            report,
        )
    if bad * 2 > report.rows:
        first = report.refused[0]
        raise ImportRefused(
            f"{bad:,} of {report.rows:,} rows are wrong, so the whole file is refused and nothing "
            f"was changed. The first: {report.counted_in} {first.line}: {first.reason}.",
            report,
        )
