"""CSV: the open restaurant-guide CSV in all its vintages, and the plain one in docs/guide-data.md.

Commas, semicolons or tabs, told by the header; quoted fields may hold line breaks.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from location_context.errors import OperatorError
from location_context.sections.guide.imports.rows import Row, Table, bounded, known_field

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST_FIELD = 100_000
_NEEDED = (
    ("name", ("name",)),
    ("latitude", ("lat",)),
    ("longitude", ("lng",)),
    ("award (or tier, or stars)", ("award", "tier", "stars")),
)


def csv_table(text: str) -> Table:
    """The rows of a CSV.

    Raises:
        OperatorError: a column that is needed is missing, or the quoting is broken.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        header = next(lines)
        fields = _fields(header)
        kind = "plain_csv" if "tier" in fields else "guide_csv"
        return Table(kind, bounded(_rows(lines, fields)))
    except csv.Error as error:
        raise OperatorError(f"The CSV is broken at line {lines.line_num:,}: {error}.") from None


def _delimiter(text: str) -> str:
    header = text[:10_000].splitlines()[0]
    return max(",;\t", key=header.count)


def _fields(header: list[str]) -> list[str | None]:
    """The field of each column; a field named twice counts the first time."""
    fields: list[str | None] = []
    for column in header:
        known = known_field(column)
        fields.append(None if known in fields else known)
    missing = [name for name, ways in _NEEDED if not any(way in fields for way in ways)]
    if missing:
        shown = ", ".join(header)[:200]
        raise OperatorError(f"The CSV lacks the columns {', '.join(missing)}; it has: {shown}")
    return fields


def _rows(lines: Iterator[list[str]], fields: list[str | None]) -> Iterator[Row]:
    last = lines.line_num  # type: ignore[attr-defined]  # the reader of csv has it
    for values in lines:
        line, last = last + 1, lines.line_num  # type: ignore[attr-defined]  # as above
        if not any(value.strip() for value in values):
            continue
        if len(values) != len(fields):
            said = f"{len(values)} fields where the header has {len(fields)}"
            yield Row(line, {}, broken=said)
            continue
        pairs = zip(fields, values, strict=True)
        yield Row(line, {name: value.strip() for name, value in pairs if name and value.strip()})
