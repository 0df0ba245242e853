"""What is kept of forecasts and of the days that came: on both databases, and never in the way."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from location_context.sections.weather.accuracy.records import (
    FORECAST_COLUMNS,
    LEADS,
    CellExtent,
    ForecastRow,
    ObservedDays,
    ObservedRow,
    unpack_forecasts,
)
from location_context.storage.datasets import SqlAccuracyStore

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DAY = date(2026, 11, 21)


def row(cell: str, issued_on: date, high: float = 20.0, provider: str = "Open-Meteo"):
    columns = {"issued_max": np.full(LEADS, high), "issued_chance": np.full(LEADS, 33.3)}
    return ForecastRow.pack(provider, cell, issued_on, 81.5, columns)


@given(arrays(float, (13, LEADS), elements=st.floats(-95, 100) | st.just(float("nan"))))
def test_a_forecast_comes_back_to_a_hundredth_and_what_was_unknown_is_unknown(values):
    columns = dict(zip(FORECAST_COLUMNS, values, strict=True))
    kept = ForecastRow.pack("a", "cell", DAY, None, columns)
    assert len(kept.data) == 416
    found = unpack_forecasts([kept])
    for name in FORECAST_COLUMNS:
        assert np.allclose(found[name][0], columns[name], atol=0.00501, equal_nan=True)


def test_a_damaged_row_is_unknown_and_the_others_are_not():
    damaged = ForecastRow("a", "cell", DAY, None, b"junk")
    found = unpack_forecasts([damaged, row("cell", DAY)])
    assert np.isnan(found["issued_max"][0]).all()
    assert (found["issued_max"][1] == 20).all()
    assert ObservedRow("a", "cell", NOW, DAY, None, b"junk!").unpack().values.size == 0


async def test_the_first_forecast_of_a_day_stays_whoever_writes_another(database):
    store = SqlAccuracyStore(database)
    await store.save_forecasts([row("b", DAY), row("a", DAY)])
    await SqlAccuracyStore(database).save_forecasts([row("a", DAY, 30.0), row("a", DAY, 31.0)])
    found = await store.load_forecasts(DAY)
    assert [(one.cell, one.issued_on, one.elevation) for one in found] == [
        ("a", DAY, 81.5), ("b", DAY, 81.5),
    ]  # fmt: skip
    assert unpack_forecasts(found)["issued_max"].tolist() == [[20.0] * LEADS] * 2


async def test_forecasts_are_found_by_date(database):
    store = SqlAccuracyStore(database)
    days = [DAY + timedelta(number) for number in range(3)]
    await store.save_forecasts([row("a", day) for day in days])
    await store.save_forecasts([row("a", DAY, provider="MET Norway"), row("b", days[2])])
    assert len(await store.load_forecasts(days[1])) == 3
    assert await store.cells() == {
        "a": CellExtent(DAY, days[2], 4), "b": CellExtent(days[2], days[2], 1),
    }  # fmt: skip


async def test_of_two_workers_that_ask_about_a_cell_one_is_told_to(database):
    store = SqlAccuracyStore(database)
    five_days = timedelta(days=5)
    assert await store.claim("era5", "a", NOW, NOW - five_days)
    assert not await store.claim("era5", "a", NOW, NOW - five_days)
    later = NOW + five_days
    assert await store.claim("era5", "a", later, later - five_days)
    assert not await store.claim("era5", "a", later, later - five_days)
    assert await store.claim("era5", "b", later, later - five_days)


async def test_the_days_that_came_back_take_the_place_of_the_claim(database):
    store = SqlAccuracyStore(database)
    await store.claim("era5", "a", NOW, NOW)
    values = np.array([[20.125, -3.5, np.nan], [10, -9, 0], [0, 12.35, 999.9]])
    await store.save_observed(ObservedRow.pack("era5", "a", NOW, ObservedDays(DAY, 80.0, values)))
    (kept,) = await store.load_observed("era5")
    days = kept.unpack()
    assert (kept.asked_at, days.first, days.elevation) == (NOW, DAY, 80.0)
    assert np.allclose(days.values, values, atol=0.026, equal_nan=True)
    assert await store.load_observed("power") == []


async def test_pruning_takes_old_forecasts_dropped_cells_and_days_nobody_asks_for(database):
    store = SqlAccuracyStore(database)
    old, new = DAY - timedelta(100), DAY
    await store.save_forecasts([row(cell, day) for cell in "abc" for day in (old, new)])
    for cell, asked in (("x", NOW - timedelta(100)), ("y", NOW)):
        await store.claim("era5", cell, asked, asked)
    await store.prune(DAY - timedelta(99), ["b"], NOW - timedelta(99))
    assert [(one.cell, one.issued_on) for one in await store.load_forecasts(old)] == [
        ("a", new), ("c", new),
    ]  # fmt: skip
    assert [one.cell for one in await store.load_observed("era5")] == ["y"]
