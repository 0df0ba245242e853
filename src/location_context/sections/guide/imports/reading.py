"""Reading: turns a dataset's bytes into restaurants, in a sandbox unless the bytes are trusted.

The report counts every row as taken, as merged into another row, or as rejected with a reason.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from location_context.errors import OperatorError
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.sections import registry
from location_context.sections.guide import records
from location_context.sections.guide.imports import formats, matching
from location_context.sections.guide.imports.validation import CountryAt, RowValidator
from location_context.sections.sandbox import Sandbox, confine

Progress: TypeAlias = Callable[[int, int], None]  # called with rows done and rows in total
_PROGRESS_EVERY = 256  # rows
CPU_SECONDS = 300  # three times the largest file's time on a slow core of 2026


class RejectedRow(msgspec.Struct, frozen=True):
    """A row that was rejected, with its line and the reason."""

    line: int
    reason: str


class MergedRow(msgspec.Struct, frozen=True):
    """A duplicate row: `line` was merged into the earlier line `into`."""

    line: int
    into: int


class CountryCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a dataset's restaurants in one country: in total and by stars.

    `newest_award` is the year of the newest award, null if no restaurant has an award year.
    """

    country: str | None
    restaurants: int
    three_star: int
    two_star: int
    one_star: int
    newest_award: int | None


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of reading a dataset: `rows` = `taken` + number of `merged` + number of `refused`.

    `counted_in` is what line numbers count: lines, features or results. `version` is None if no
    version was stored. `without_tier` is the number of valid rows with no tier, award or stars.
    `coverage` begins with the country that has the most restaurants.
    """

    kind: str
    counted_in: str
    rows: int
    taken: int
    without_tier: int
    by_tier: dict[str, int]
    coverage: list[CountryCoverage]
    merged: list[MergedRow]
    refused: list[RejectedRow]
    version: int | None = None


@dataclass(frozen=True)
class Reading:
    """The restaurants of a dataset, with its own ids ("" for none), and the report on its rows."""

    restaurants: list[records.Restaurant]
    report: ImportReport


Read: TypeAlias = Callable[[bytes, Progress], Reading]


class _Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line printed by the sandboxed process: progress, a restaurant, the report or an error."""

    progress: tuple[int, int] | None = None
    restaurant: records.Restaurant | None = None
    report: ImportReport | None = None
    error: str | None = None


def read(data: bytes, progress: Progress, *, country_at: CountryAt) -> Reading:
    """Read a dataset in this process; for untrusted data use `read_in_sandbox`.

    `country_at` returns the country at a point.

    Raises:
        OperatorError: `data` is not a dataset.
    """
    table = formats.read_table(data, installed_formats())
    valid, rejected = _validated(table, RowValidator(country_at), progress)
    groups = matching.group_duplicates([restaurant for _, restaurant in valid])
    restaurants = [matching.merge([valid[n][1] for n in group]) for group in groups]
    tiers = [restaurant.tier for restaurant in restaurants]
    report = ImportReport(
        kind=table.kind,
        counted_in=table.counted_in,
        rows=len(table.rows),
        taken=len(restaurants),
        without_tier=sum(not row.names_tier for row, _ in valid),
        by_tier={tier: tiers.count(tier) for tier in records.TIERS if tier in tiers},
        coverage=_coverage(restaurants),
        merged=[
            MergedRow(valid[n][0].line, valid[group[0]][0].line)
            for group in groups
            for n in group[1:]
        ],
        refused=rejected,
    )
    return Reading(restaurants, report)


def read_in_sandbox(data: bytes, progress: Progress) -> Reading:
    """Read an untrusted dataset in a separate process with limits on memory and time.

    Raises:
        OperatorError: `data` is not a dataset, or reading it exceeded the limits.
    """
    restaurants: list[records.Restaurant] = []
    sandbox = Sandbox(__name__, data, CPU_SECONDS)
    report = problem = None
    try:
        for text in sandbox.lines():
            line = msgspec.json.decode(text, type=_Line)
            if line.restaurant:
                restaurants.append(line.restaurant)
            elif line.progress:
                progress(*line.progress)
            report, problem = line.report, line.error
    except msgspec.DecodeError:
        problem = "The file cannot be imported: reading it ended too early."
    except OperatorError as error:
        problem = f"The file cannot be imported: {error.message}."
    finally:
        sandbox.cancel()
    if report is None:
        raise OperatorError(problem or "The file cannot be imported: nothing could be read.")
    return Reading(restaurants, report)


def installed_formats() -> list[formats.GuideFormat]:
    """Return the built-in formats and those of other packages, in the order to try them.

    Raises:
        OperatorError: a format of another package cannot be loaded.
    """
    return [one() for one in registry.load(registry.GUIDE_IMPORTERS, formats.GuideFormat)]


def _coverage(restaurants: Sequence[records.Restaurant]) -> list[CountryCoverage]:
    by_country: defaultdict[str | None, list[records.Restaurant]] = defaultdict(list)
    for restaurant in restaurants:
        by_country[restaurant.country].append(restaurant)
    found = []
    for country, some in by_country.items():
        tiers = Counter(one.tier for one in some)
        found.append(
            CountryCoverage(
                country=country,
                restaurants=len(some),
                three_star=tiers["three_star"],
                two_star=tiers["two_star"],
                one_star=tiers["one_star"],
                newest_award=max(one.award_year or 0 for one in some) or None,
            )
        )
    return sorted(found, key=lambda one: (-one.restaurants, one.country or ""))


def _validated(
    table: formats.Table, validator: RowValidator, progress: Progress
) -> tuple[Sequence[tuple[formats.Row, records.Restaurant]], list[RejectedRow]]:
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


def main() -> None:
    """Run as the sandboxed process: read a dataset from stdin, and print a `_Line` per result."""
    confine()

    def put(line: _Line) -> None:
        sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")

    def progress(done: int, rows: int) -> None:
        put(_Line(progress=(done, rows)))
        sys.stdout.buffer.flush()

    try:
        found = read(sys.stdin.buffer.read(), progress, country_at=Gazetteer.load().country)
    except OperatorError as error:
        put(_Line(error=error.message))
    else:
        for restaurant in found.restaurants:
            put(_Line(restaurant=restaurant))
        put(_Line(report=found.report))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
