"""The page of the score: what it shows follows from the rows in the database."""

import asyncio
import math
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import numpy as np
import pytest

from location_context.errors import StorageError
from location_context.sections.weather.accuracy.verification import OBSERVED, months_around
from location_context.sections.weather.providers.base import months_from
from location_context.sections.weather.records import ARCHIVE_FIELDS, Grid, MonthRow
from location_context.settings import Settings
from location_context.storage.database import Database
from location_context.storage.datasets import SqlAccuracyStore, SqlClimateStore
from tests.moved_clock import NOON, MovedClock
from tests.sections.weather.accuracy.drawn import drawn
from tests.sections.weather.accuracy.test_report import unpacked
from tests.serving import serve
from tests.web.full_app import OFF

SOURCE = "open_meteo_era5_seamless_terrain"
ARCHIVE_CELLS = {
    "48.9000": "49.0000,2.5000,Europe/Paris",
    "52.5000": "52.5000,13.5000,Europe/Berlin",
}


class Tables(HTMLParser):
    """The rows of every table, cell by cell, and the tags of the page."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.tags, self._cell = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self._cell = ""

    def handle_endtag(self, tag):
        if tag in {"td", "th"}:
            self.tables[-1][-1].append(self._cell)
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell += data


def stored_scores(folder: Path) -> Settings:
    """An installation with 150 days of forecasts, of which 120 are not too old."""
    archive = "http://127.0.0.1:9/v1/archive"  # which nobody asks
    settings = Settings(
        data_dir=folder, log_level="error",
        **{**OFF, "open_meteo_archive_url": archive},
    )  # fmt: skip
    rows, came = drawn(150)

    async def fill():
        async with await Database.open(settings) as database:
            await SqlAccuracyStore(database).save_forecasts(rows)
            for cell, days in came.items():
                key = ARCHIVE_CELLS[cell.partition(",")[0]]
                count = days.values.shape[1]
                block = np.full((len(ARCHIVE_FIELDS), count), np.nan)
                block[OBSERVED] = days.values
                wanted = months_around(days.first, days.first + timedelta(count - 1))
                grid = Grid(0.0, 0.0, days.elevation)
                months = months_from(wanted, [(days.first, block)], grid, NOON)
                packed = [MonthRow.pack(SOURCE, key, month) for month in months]
                await SqlClimateStore(database).save(packed)

    asyncio.run(fill())
    return settings


@pytest.fixture(scope="module")
def score_settings(tmp_path_factory):
    return stored_scores(tmp_path_factory.mktemp("score"))


@pytest.fixture(scope="module")
def page(score_settings):
    with (
        serve(score_settings, clock=MovedClock()) as served,
        httpx2.Client(trust_env=False, timeout=20) as http,
    ):
        yield http.get(f"{served.url}/v1/docs/accuracy")


def pairs_at(lead):
    """Columns of the highs and what came, of forecasts that are not too old."""
    rows, came = drawn(150)
    for row in rows:
        place = (row.issued_on + timedelta(lead) - came[row.cell].first).days
        values = came[row.cell].values
        if row.issued_on >= NOON.date() - timedelta(120) and place < values.shape[1]:
            yield [column[lead] for column in unpacked(row.data)], float(values[0, place]) + 0.65


def test_the_table_of_highs_is_recomputed_from_the_stored_rows(page):
    highs = Tables(page.text).tables[0][1:]
    assert [row[0] for row in highs] == [str(lead) for lead in range(16)]
    for lead, row in enumerate(highs):
        pairs = list(pairs_at(lead))
        wrong = [columns[3] - came for columns, came in pairs]
        issued = [columns[0] - came for columns, came in pairs]
        usual = [columns[10] - came for columns, came in pairs]
        inside = sum(columns[4] <= came <= columns[5] for columns, came in pairs)
        expected = [
            lead, len(pairs), 100 * inside / len(pairs), mean(wrong), mean(map(abs, wrong)),
            root(wrong), mean(issued), root(issued), len(pairs), mean(map(abs, usual)), root(usual),
        ]  # fmt: skip
        shown = [float(cell.removesuffix("%")) for cell in row]
        for name, (one, other) in enumerate(zip(shown, expected, strict=True)):
            assert one == pytest.approx(other, abs=0.51 if name == 2 else 0.052), (lead, name)


def mean(values):
    found = list(values)
    return sum(found) / len(found)


def root(values):
    return math.sqrt(mean(value * value for value in values))


def test_a_database_that_does_not_answer_is_said_and_not_kept(score_settings, monkeypatch):
    async def fail(*_given):
        raise StorageError("The database cannot be used: the disk is full.")

    monkeypatch.setattr(SqlAccuracyStore, "load_forecasts", fail)
    with (
        serve(score_settings, clock=MovedClock()) as served,
        httpx2.Client(trust_env=False, timeout=20) as http,
    ):
        answer = http.get(f"{served.url}/v1/docs/accuracy")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert "The database does not answer." in answer.text


def test_the_page_has_no_script_loads_nothing_and_its_style_is_allowed_by_its_hash(page):
    tags = Tables(page.text).tags
    assert not {"script", "link", "img", "iframe", "form"} & {tag for tag, _ in tags}
    assert not [given for _, given in tags if "style" in given]
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha")
    assert len(page.content) < 100_000
