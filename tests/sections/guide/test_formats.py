"""Formats of other packages: the seam's example works, and an installed one is imported."""

import doctest

import pytest

from location_context.errors import OperatorError
from location_context.sections.guide.imports import formats
from location_context.sections.guide.imports.reading import installed_formats
from tests.sections.guide.samples import METADATA, open_csv, open_row

MODULE = '''
from location_context.sections.guide.imports.formats import GuideFormat, Row, Table, decode_text

class LinesFormat(GuideFormat):
    """Below a line "#guide": name, tier, latitude and longitude, one restaurant a line."""

    name = "lines"

    def recognises(self, data):
        return data.startswith(b"#guide")

    def read(self, data):
        names = ("name", "tier", "lat", "lng")
        rows = (line.split("|") for line in decode_text(data).splitlines()[1:])
        return Table.of("lines", (Row(n, dict(zip(names, row))) for n, row in enumerate(rows, 2)))
'''


@pytest.fixture
def package(install) -> None:
    """An installed package with a format of its own."""
    install(MODULE, guide_importers={"lines": "LinesFormat"})


def test_documented_example_of_a_format_works():
    result = doctest.testmod(formats)
    assert result.failed == 0
    assert result.attempted > 2


@pytest.mark.usefixtures("package")
async def test_format_of_another_package_is_imported_like_a_shipped_one(importer):
    data = b"#guide\nChez Lignes|one_star|48.85|2.35\nChez Rien|none|48.85|2.36"
    version, report = await importer.run(data + b"\nChez Trois|selected|48.85|2.37", METADATA)
    assert version.provenance.kind == report.kind == "lines"
    assert (report.taken, [row.line for row in report.refused]) == (2, [3])
    _, report = await importer.run(open_csv(open_row(1)), METADATA)
    assert report.kind == "guide_csv"


@pytest.mark.usefixtures("package")
def test_built_in_import_formats_are_tried_after_those_of_other_packages():
    assert [one.name for one in installed_formats()] == ["lines", "json", "csv"]


def test_format_that_cannot_be_loaded_is_named_with_its_package(install):
    install(MODULE, guide_importers={"lines": "Nothing"})
    with pytest.raises(OperatorError, match=r"lines.*made_up_0"):
        installed_formats()
