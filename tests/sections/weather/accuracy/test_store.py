"""The store saves, loads and prunes forecasts on both databases."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from location_context.sections.weather.accuracy.records import (
    FORECAST_COLUMNS,
    LEADS,
    CellExtent,
    ForecastRow,
    unpack_forecasts,
)
from location_context.storage.datasets import SqlAccuracyStore

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DAY = date(2026, 11, 21)


def row(cell: str, issued_on: date, high: float = 20.0, provider: str = "Open-Meteo"):
    columns = {"issued_max": np.full(LEADS, high), "issued_chance": np.full(LEADS, 33.3)}
    return ForecastRow.pack(provider, cell, issued_on, 81.5, columns)


@given(arrays(float, (13, LEADS), elements=st.floats(-95, 100) | st.just(float("nan"))))
def test_forecast_is_stored_in_hundredths_and_its_unknown_values_stay_unknown(values):
    columns = dict(zip(FORECAST_COLUMNS, values, strict=True))
    packed = ForecastRow.pack("a", "cell", DAY, None, columns)
    assert len(packed.data) == 416
    found = unpack_forecasts([packed])
    for name in FORECAST_COLUMNS:
        assert np.allclose(found[name][0], columns[name], atol=0.00501, equal_nan=True)


def test_damaged_stored_forecast_has_unknown_values_and_other_forecasts_are_intact():
    damaged = ForecastRow("a", "cell", DAY, None, b"junk")
    found = unpack_forecasts([damaged, row("cell", DAY)])
    assert np.isnan(found["issued_max"][0]).all()
    assert (found["issued_max"][1] == 20).all()


async def test_stored_forecasts_are_loaded_by_date(database):
    store = SqlAccuracyStore(database)
    days = [DAY + timedelta(number) for number in range(3)]
    await store.save_forecasts([row("a", day) for day in days])
    await store.save_forecasts([row("a", DAY, provider="MET Norway"), row("b", days[2])])
    assert len(await store.load_forecasts(days[1])) == 3
    assert await store.cells() == {
        "a": CellExtent(DAY, days[2], 4), "b": CellExtent(days[2], days[2], 1),
    }  # fmt: skip


async def test_pruning_deletes_old_forecasts_and_dropped_cells(database):
    store = SqlAccuracyStore(database)
    old, new = DAY - timedelta(100), DAY
    await store.save_forecasts([row(cell, day) for cell in "abc" for day in (old, new)])
    await store.prune(DAY - timedelta(99), ["b"])
    assert [(one.cell, one.issued_on) for one in await store.load_forecasts(old)] == [
        ("a", new), ("c", new),
    ]  # fmt: skip
