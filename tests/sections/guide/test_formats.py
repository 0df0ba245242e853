"""Formats of packages outside: the seam's example works, and the importer asks them first."""

from __future__ import annotations

import doctest

import pytest

from location_context.sections.guide.imports import formats
from location_context.sections.guide.imports.formats import GuideFormat, Row, Table, decode_text
from location_context.sections.guide.imports.importer import BUILT_IN_FORMATS, Importer
from location_context.storage.guide import SqlGuideStore
from tests.moved_clock import MovedClock
from tests.sections.guide.samples import METADATA, country_at, open_csv, open_row


class LinesFormat(GuideFormat):
    """Below a line "#guide": name, tier, latitude and longitude, one restaurant a line."""

    name = "lines"

    def recognises(self, data: bytes) -> bool:
        return data.startswith(b"#guide")

    def read(self, data: bytes) -> Table:
        names = ("name", "tier", "lat", "lng")
        rows = (line.split("|") for line in decode_text(data).splitlines()[1:])
        return Table.of(
            "lines", (Row(n, dict(zip(names, row, strict=True))) for n, row in enumerate(rows, 2))
        )


def test_the_example_of_the_seam_works() -> None:
    result = doctest.testmod(formats)
    assert result.failed == 0
    assert result.attempted > 2


@pytest.mark.anyio
async def test_a_format_of_ones_own_is_imported_like_the_built_in_ones(
    guides: SqlGuideStore,
) -> None:
    importer = Importer(guides, MovedClock(), country_at, [LinesFormat(), *BUILT_IN_FORMATS])
    data = b"#guide\nChez Lignes|one_star|48.85|2.35\nChez Rien|none|48.85|2.36"
    version, report = await importer.run(data + b"\nChez Trois|selected|48.85|2.37", METADATA)
    assert version.provenance.kind == report.kind == "lines"
    assert (report.taken, [row.line for row in report.refused]) == (2, [3])
    _, report = await importer.run(open_csv(open_row(1)), METADATA)
    assert report.kind == "guide_csv"
