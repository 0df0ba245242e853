"""What is kept of the archive: on both databases, over restarts, and never trusted when damaged."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from sqlalchemy import update

from location_context.sections.weather.fetching.holdings import Holdings
from location_context.sections.weather.records import FIELDS, Grid, Month, MonthRow, month_span
from location_context.storage.climate import Climate
from location_context.storage.tables import climate_months
from tests.moved_clock import MovedClock

pytestmark = pytest.mark.anyio
FETCHED = datetime(2026, 11, 21, 12, tzinfo=UTC)


def month(year: int, name: int, value: float = 1.5, fetched_at: datetime = FETCHED) -> Month:
    first, last = month_span(year, name)
    values = np.full((len(FIELDS), (last - first).days + 1), value, np.float32)
    values[0, 0] = np.nan
    return Month(year, name, Grid(48.75, 2.25, 81.0), fetched_at, values)


async def test_months_come_back_as_they_were_kept(database):
    store = Climate(database)
    kept = [month(year, 2) for year in range(2016, 2026)]
    await store.keep([MonthRow.pack("a", "cell", one) for one in kept])
    rows = await store.load("a", "cell", [2])
    back = sorted((row.unpack() for row in rows), key=lambda one: one.year)
    for one, other in zip(kept, back, strict=True):
        assert (one.year, one.month, one.grid, one.fetched_at) == (
            other.year, other.month, other.grid, other.fetched_at,
        )  # fmt: skip
        assert np.array_equal(one.values, other.values, equal_nan=True)
    assert await store.load("a", "cell", [3]) == []
    assert await store.load("b", "cell", [2]) == []
    assert await store.extent() == (10, FETCHED)


async def test_a_month_fetched_again_takes_the_place_of_the_old(database):
    store = Climate(database)
    for value in (1.0, 2.0):
        await store.keep([MonthRow.pack("a", "cell", month(2020, 2, value))])
    (row,) = await store.load("a", "cell", [2])
    assert row.unpack().values[1, 1] == 2.0


async def test_a_height_is_kept_once_per_point(database):
    store = Climate(database)
    assert await store.height(48.8566, 2.3522) is None
    await store.keep_heights({(48.8566, 2.3522): 35.0, (-0.0001, 180.0): 0.0})
    await store.keep_heights({(48.8566, 2.3522): 99.0})
    assert await store.height(48.8566, 2.3522) == 35.0
    assert await store.height(-0.0001, 180.0) == 0.0
    assert await store.height(48.8567, 2.3522) is None


async def test_a_damaged_row_counts_as_not_held_and_is_replaced(database):
    store, clock = Climate(database), MovedClock()
    await store.keep([MonthRow.pack("a", "cell", month(2020, 2))])
    for damage in (b"", b"junk", MonthRow.pack("a", "cell", month(2020, 3)).data):
        async with database.write() as connection:
            await connection.execute(update(climate_months).values(data=damage))
        assert await Holdings(store, clock).held("a", "cell", [(2020, 2)]) == {}
    holdings = Holdings(store, clock)
    holdings.keep("a", "cell", [month(2020, 2)])
    await holdings.flush()
    assert (2020, 2) in await Holdings(store, clock).held("a", "cell", [(2020, 2)])


async def test_a_month_fetched_before_its_days_were_final_is_fetched_again_later(database):
    store, clock = Climate(database), MovedClock(datetime(2026, 2, 18, 12, tzinfo=UTC))
    holdings = Holdings(store, clock)
    holdings.keep("a", "cell", [month(2026, 1, fetched_at=clock())])  # its pad ends on 15 February
    assert (2026, 1) in await holdings.held("a", "cell", [(2026, 1)])
    clock.advance(86_401)
    assert await holdings.held("a", "cell", [(2026, 1)]) == {}
    holdings.keep("a", "cell", [month(2026, 1, fetched_at=datetime(2026, 2, 22, tzinfo=UTC))])
    assert (2026, 1) in await holdings.held("a", "cell", [(2026, 1)])
    await holdings.flush()
