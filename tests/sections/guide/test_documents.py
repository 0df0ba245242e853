"""The guide's documents say what the code does."""

from pathlib import Path

from location_context.sections.guide.imports.formats import known_field
from location_context.sections.guide.imports.sources import WIKIDATA_QUERY
from location_context.sections.guide.records import TIERS

PAGE = (Path(__file__).parents[3] / "docs" / "data.md").read_text(encoding="utf-8")


def test_documented_wikidata_query_equals_the_query_that_is_sent():
    assert f"```sparql\n{WIKIDATA_QUERY}\n```" in PAGE


def test_every_documented_guide_column_is_accepted():
    table = PAGE.partition("| column | meaning |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    columns = [name.strip("` ") for cell in cells for name in cell.split(",")]
    assert len(columns) >= 15
    assert [column for column in columns if known_field(column) is None] == []
    assert all(f"`{tier}`" in PAGE for tier in TIERS)
