"""A hotel's own picks: from the template of docs/house-guide.md to the answer and the widget."""

import csv
import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from location_context.sections.guide.imports.formats import known_field
from location_context.settings import Settings
from tests.web.commands import command
from tests.web.conftest import Client, served_client
from tests.web.full_app import OFF

DOCS = Path(__file__).parents[3] / "docs"
TEMPLATE = DOCS / "house-guide.csv"
PAGE = (DOCS / "house-guide.md").read_text("utf-8")
HOTEL = {"lat": "43.3224", "lng": "-1.9839"}
QUOTES = {
    "en": "“{}”", "de": "„{}“", "fr": "«\u00a0{}\u00a0»", "es": "«{}»", "it": "«{}»",
    "pt": "“{}”", "nl": "‘{}’", "ja": "「{}」", "zh-Hans": "“{}”", "ar": "«{}»",
}  # fmt: skip


@pytest.fixture(scope="module")
def hotel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The service after the command of step 4, without any provider."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("hotel"), log_level="error", **OFF)
    arguments = ("--strict", "--attribution", "Picked by Hotel Mira")
    command(settings.data_dir, "guide", "import", str(TEMPLATE), *arguments)
    with served_client(settings) as client:
        yield client


def rows() -> list[dict[str, str]]:
    with TEMPLATE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_template_column_is_known_and_documented():
    columns = list(rows()[0])
    assert [column for column in columns if known_field(column) is None] == []
    table = PAGE.partition("| column |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == columns


def test_documented_template_is_imported_and_its_notes_appear_in_the_answer(hotel):
    body = hotel.get("/v1/pulse/guide", HOTEL).json()
    found = {one["name"]: one for one in body["restaurants"]}
    assert {name: one["note"] for name, one in found.items()} == {
        row["name"]: row["note"] for row in rows()
    }
    assert {one["tier"] for one in found.values()} == {"selected", "good_value"}
    assert body["attribution"][0]["text"] == "Picked by Hotel Mira"


@pytest.mark.parametrize("lang", QUOTES)
def test_widget_shows_each_note_in_the_quotes_of_the_pages_language(hotel, lang):
    page = hotel.get(
        "/v1/pulse", {**HOTEL, "days": "3", "sections": "guide", "lang": lang}, key=None
    ).text
    text = html.unescape(page)
    assert "Picked by Hotel Mira" in text
    for row in rows():
        note = QUOTES[lang].format(row["note"])
        assert f'<span class="ow">\u2068{note}\u2069</span>' in text
