"""The page of the score shows the figures of the rows in the database."""

import asyncio
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import numpy as np
import pytest

from location_context.errors import StorageError
from location_context.sections.weather.accuracy.report import make_report
from location_context.sections.weather.accuracy.verification import OBSERVED
from location_context.sections.weather.climatology import months_of
from location_context.sections.weather.providers.base import months_from
from location_context.sections.weather.records import ARCHIVE_FIELDS, Grid, MonthRow
from location_context.settings import Settings
from location_context.stay import Stay
from location_context.storage.database import Database
from location_context.storage.datasets import SqlAccuracyStore, SqlClimateStore
from tests.moved_clock import NOON, MovedClock
from tests.sections.weather.accuracy.drawn import drawn
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
    archive = {"open_meteo_archive_url": "http://127.0.0.1:9/v1/archive"}  # is never called
    settings = Settings(data_dir=folder, log_level="error", **(OFF | archive))
    rows, came = drawn(150)

    async def fill():
        async with await Database.open(settings) as database:
            await SqlAccuracyStore(database).save_forecasts(rows)
            for cell, days in came.items():
                key = ARCHIVE_CELLS[cell.partition(",")[0]]
                count = days.values.shape[1]
                block = np.full((len(ARCHIVE_FIELDS), count), np.nan)
                block[OBSERVED] = days.values
                stay = Stay(days.first, days.first + timedelta(count - 1))
                wanted = months_of(stay, stay.start.year)
                grid = Grid(0.0, 0.0, days.elevation)
                months = months_from(wanted, [(days.first, block)], grid, NOON)
                packed = [MonthRow.pack(SOURCE, key, month) for month in months]
                await SqlClimateStore(database).save(packed)

    asyncio.run(fill())
    return settings


@pytest.fixture(scope="module")
def score_settings(tmp_path_factory):
    return stored_scores(tmp_path_factory.mktemp("score"))


def get_page(settings: Settings) -> httpx2.Response:
    with (
        serve(settings, clock=MovedClock()) as served,
        httpx2.Client(trust_env=False, timeout=20) as http,
    ):
        return http.get(f"{served.url}/v1/docs/accuracy")


@pytest.fixture(scope="module")
def page(score_settings):
    return get_page(score_settings)


def test_accuracy_page_table_of_daily_highs_shows_the_figures_of_the_report(page):
    """Of forecasts that are not too old; test_report recomputes the figures."""
    rows, came = drawn(150)
    oldest = NOON.date() - timedelta(120)
    report = make_report([row for row in rows if row.issued_on >= oldest], came.get)
    highs = Tables(page.text).tables[0][1:]
    for row, one in zip(highs, report.providers[0].temperature_max, strict=True):
        expected = [
            one.lead, one.pairs, 100 * one.coverage, one.mean_error, one.mae, one.rmse,
            one.issued_mean_error, one.issued_rmse, one.typical_pairs, one.typical_mae,
            one.typical_rmse,
        ]  # fmt: skip
        shown = [float(cell.removesuffix("%")) for cell in row]
        assert shown[2] == pytest.approx(expected[2], abs=0.51)
        assert shown == pytest.approx([*expected[:2], shown[2], *expected[3:]], abs=0.052)


def test_accuracy_page_names_a_failing_database_and_is_then_not_cached(score_settings, monkeypatch):
    async def fail(*_given):
        raise StorageError("The database cannot be used: the disk is full.")

    monkeypatch.setattr(SqlAccuracyStore, "load_forecasts", fail)
    answer = get_page(score_settings)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert "The database is not answering." in answer.text


def test_accuracy_page_has_no_script_and_loads_nothing_and_allows_its_style_by_hash(page):
    tags = Tables(page.text).tags
    assert not {"script", "link", "img", "iframe", "form"} & {tag for tag, _ in tags}
    assert not [given for _, given in tags if "style" in given]
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha")
    assert len(page.content) < 100_000
