"""The scorekeeper stores forecasts, verifies them, and fails without any effect on answers."""

import asyncio
from datetime import date, timedelta

import numpy as np
import pytest

from location_context.sections.weather.accuracy import scorekeeper
from location_context.sections.weather.accuracy.records import unpack_forecasts
from location_context.sections.weather.accuracy.verification import ObservedDays
from location_context.sections.weather.records import ARCHIVE_FIELDS, Cell, Grid, Month, month_span
from location_context.storage.datasets import SqlAccuracyStore
from tests.fakes.failing_store import FailingStore
from tests.fakes.open_meteo import ARCHIVE
from tests.fakes.server import FakeResponse
from tests.sections.weather.accuracy.conftest import HERE, PROVIDER

THERE = Cell(52.5, 13.4, "Europe/Berlin")


async def stored(scoring):
    return await SqlAccuracyStore(scoring.database).load_forecasts(scoring.today - timedelta(400))


async def test_first_stored_forecast_of_a_day_is_not_replaced_by_any_worker(scoring):
    other = scoring.another()
    for wrong in (1.0, 2.0):
        scoring.record(wrong=wrong)
        scoring.record(wrong=wrong + 10, keeper=other)
        await scoring.keeper.flush()
        await other.flush()
    (row,) = await stored(scoring)
    came = [scoring.came(scoring.today + timedelta(lead))["max"] for lead in range(16)]
    assert np.allclose(unpack_forecasts([row])["issued_max"][0], np.array(came) + 1, atol=0.006)
    await scoring.next_day()
    scoring.record()
    await scoring.keeper.flush()
    assert [one.issued_on for one in await stored(scoring)] == [row.issued_on, scoring.today]


async def test_repeated_forecast_of_a_day_is_written_once(sqlite_scoring, monkeypatch):
    written, save = [], SqlAccuracyStore.save_forecasts

    def counted(store, rows):
        written.append(rows)
        return save(store, rows)

    monkeypatch.setattr(SqlAccuracyStore, "save_forecasts", counted)
    for _ in range(48):
        sqlite_scoring.record()
        await sqlite_scoring.keeper.flush()
    assert len(written) == 1


async def test_number_of_scored_grid_cells_is_bounded_and_idle_cells_are_dropped(
    sqlite_scoring, monkeypatch
):
    monkeypatch.setattr(scorekeeper, "SCORED_CELLS", 2)
    scoring, keeper = sqlite_scoring, sqlite_scoring.keeper
    cells = [Cell(float(lat), 2.0, "Europe/Paris") for lat in range(40, 44)]

    async def day(*numbers):
        for cell in numbers:
            scoring.record(cells[cell], keeper=keeper)
            await keeper.flush()

    await day(0, 1, 2)
    assert {row.cell for row in await stored(scoring)} == {cells[0].key, cells[1].key}
    for _ in range(scorekeeper.IDLE_DAYS + 1):
        scoring.clock.advance(86_400)
        await day(0)
    await day(3, 2)
    await keeper.pass_once()
    assert {row.cell for row in await stored(scoring)} == {cells[0].key, cells[3].key}


async def test_forecasts_older_than_120_days_are_deleted(scoring):
    keeper = scoring.keeper
    scoring.record(keeper=keeper)
    await keeper.flush()
    scoring.clock.advance(86_400 * 120)
    scoring.record(keeper=keeper)
    await keeper.flush()
    await keeper.pass_once()
    assert len(await stored(scoring)) == 2
    scoring.clock.advance(86_400)
    await keeper.pass_once()
    assert [row.issued_on for row in await stored(scoring)] == [scoring.today - timedelta(1)]


async def test_one_archive_call_verifies_a_grid_cell_and_the_next_follows_after_five_days(scoring):
    await scoring.record_days(8)
    assert await scoring.keeper.pass_once()
    assert not await scoring.keeper.pass_once()
    assert not await scoring.another().pass_once()
    assert scoring.requests == 1
    (call,) = scoring.open_meteo.calls(ARCHIVE)
    assert "," not in call.query["start_date"]
    assert scoring.open_meteo.units[-1] < 8
    for _ in range(4):
        await scoring.next_day()
        assert not await scoring.keeper.pass_once()
    await scoring.next_day()
    assert await scoring.keeper.pass_once()
    assert scoring.requests == 2


async def test_observed_days_are_corrected_to_the_height_of_the_forecast(scoring):
    await scoring.record_days(20, wrong=0.5)
    await scoring.keeper.pass_once()
    (score,) = (await scoring.keeper.report()).providers
    assert score.temperature_max[0].pairs == 15  # all but the last five and today
    for one in (*score.temperature_max[:10], *score.temperature_min[:10]):
        assert one.mean_error == pytest.approx(0.5, abs=0.011)
        assert (one.coverage, one.mae) == (1.0, pytest.approx(0.5, abs=0.011))
    assert {one.brier for one in score.rain[:10]} == {0.0}


async def test_verification_of_a_grid_cell_is_retried_the_day_after_an_archive_failure(scoring):
    await scoring.record_days(8)
    scoring.open_meteo.faults[ARCHIVE] = FakeResponse(b"down", 502)
    assert await scoring.keeper.pass_once()
    assert not await scoring.keeper.pass_once()
    scoring.open_meteo.faults.clear()
    assert not (await scoring.keeper.report()).verified
    await scoring.next_day()
    assert await scoring.keeper.pass_once()
    assert (await scoring.keeper.report()).verified


async def test_day_missing_in_the_archive_does_not_block_verification_for_long(sqlite_scoring):
    scoring = sqlite_scoring
    scoring.open_meteo.missing = {scoring.today + timedelta(1)}
    for _ in range(60):
        scoring.record()
        await scoring.next_day()
        await scoring.keeper.pass_once()
    first = scoring.open_meteo.calls(ARCHIVE)[-1].query["start_date"]
    assert first > str(scoring.today - timedelta(60))
    assert scoring.requests <= 12
    (score,) = (await scoring.keeper.report()).providers
    assert score.temperature_max[0].pairs >= 50


async def test_verification_leaves_half_of_the_budget_to_callers(sqlite_scoring):
    scoring = sqlite_scoring
    await scoring.record_days(8)
    budget = scoring.archive.client.host.budget
    while budget.spent_share() <= 0.5:
        assert budget.take(10)
    assert not await scoring.keeper.pass_once()
    assert scoring.requests == 0


async def test_most_recently_requested_cell_is_verified_first(sqlite_scoring):
    scoring = sqlite_scoring
    scoring.record(THERE)
    await scoring.next_day()
    await scoring.record_days(8)
    for cell, lat in ((HERE, "49.0000"), (THERE, "52.5000")):
        assert await scoring.keeper.pass_once(), cell
        assert scoring.open_meteo.calls(ARCHIVE)[-1].query["latitude"] == lat
    assert not await scoring.keeper.pass_once()


async def test_failing_accuracy_store_loses_only_the_unsaved_scores(sqlite_scoring):
    scoring = sqlite_scoring
    store = FailingStore(SqlAccuracyStore(scoring.database))
    keeper = scoring.another(store)
    scoring.record(keeper=keeper)
    await keeper.flush()
    assert not await keeper.pass_once()
    assert await stored(scoring) == []
    store.failing = False
    scoring.record(keeper=keeper)
    await keeper.flush()
    assert len(await stored(scoring)) == 1


async def test_forecast_that_cannot_be_computed_does_not_prevent_storing_other_forecasts(
    sqlite_scoring,
):
    scoring = sqlite_scoring

    async def broken():
        raise ZeroDivisionError

    scoring.keeper.record(PROVIDER, HERE, scoring.today, None, broken)
    scoring.record(THERE)
    await scoring.keeper.flush()
    assert [row.cell for row in await stored(scoring)] == [THERE.key]


async def test_forecast_to_be_scored_is_computed_after_the_answer(sqlite_scoring):
    scoring, worked = sqlite_scoring, []

    async def columns():
        worked.append(True)
        return scoring.forecast()

    scoring.keeper.record(PROVIDER, HERE, scoring.today, None, columns)
    for _ in range(20):  # as many turns of others
        await asyncio.sleep(0)
    assert not worked
    await scoring.keeper.flush()
    assert worked


def test_gap_in_newer_archive_data_does_not_erase_known_days(clock):
    (year, month), now = (2026, 10), clock()
    days = (month_span(year, month)[1] - month_span(year, month)[0]).days + 1
    known = np.full((len(ARCHIVE_FIELDS), days), 8.0, np.float32)
    gap = np.full_like(known, np.nan)
    months = [
        Month(year, month, Grid(0, 0, 80.0), now, gap),
        Month(year, month, Grid(0, 0, None), now - timedelta(5), known),
    ]
    after = ObservedDays.of(months, date(2026, 10, 1), date(2026, 10, 5))
    assert (after.values == 8).all()
    assert after.elevation == 80.0
