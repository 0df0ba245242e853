"""The store returns months of the archive on both databases, and drops damaged rows."""

import asyncio
import math
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sqlalchemy import delete, update

from location_context.sections.weather.records import (
    ARCHIVE_FIELDS,
    Grid,
    Month,
    MonthRow,
    month_span,
)
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.storage.database import Database
from location_context.storage.datasets import SqlClimateStore
from location_context.storage.schema import climate_months
from location_context.upstream.host import Hosts
from tests.fakes.failing_store import FailingStore
from tests.fakes.open_meteo import ARCHIVE
from tests.moved_clock import MovedClock
from tests.patience import wait_in_loop_until
from tests.sections.weather.conftest import DOWN, FAR, query

FETCHED = datetime(2026, 11, 21, 12, tzinfo=UTC)


def month(year: int, name: int, value: float = 1.5, fetched_at: datetime = FETCHED) -> Month:
    first, last = month_span(year, name)
    values = np.full((len(ARCHIVE_FIELDS), (last - first).days + 1), value, np.float32)
    values[0, 0] = np.nan
    return Month(year, name, Grid(48.75, 2.25, 81.0), fetched_at, values)


async def test_archive_months_are_loaded_as_saved(database):
    store = SqlClimateStore(database)
    saved = [month(year, 2) for year in range(2016, 2026)]
    await store.save([MonthRow.pack("a", "cell", one) for one in saved])
    rows = await store.load("a", "cell", [2])
    back = sorted((row.unpack() for row in rows), key=lambda one: one.year)
    for one, other in zip(saved, back, strict=True):
        assert (one.year, one.month, one.grid, one.fetched_at) == (
            other.year, other.month, other.grid, other.fetched_at,
        )  # fmt: skip
        assert np.array_equal(one.values, other.values, equal_nan=True)
    assert await store.load("a", "cell", [3]) == []
    assert await store.load("b", "cell", [2]) == []
    assert await store.extent() == (10, FETCHED)


DECIMALS = st.integers(-40_000, 40_000).map(lambda number: number / 100)
VALUES = st.one_of(DECIMALS, st.floats(width=32), st.just(math.nan))


@given(arrays(np.float32, (15, 58), elements=VALUES, fill=DECIMALS))
@settings(suppress_health_check=list(HealthCheck), max_examples=50)
async def test_every_value_of_an_archive_month_is_unchanged_by_packing_and_unpacking(values):
    row = MonthRow.pack("a", "b", replace(month(2021, 2), values=values))
    assert np.array_equal(row.unpack().values, values, equal_nan=True)


async def test_archive_month_of_random_values_takes_at_most_2150_bytes_in_sqlite(sqlite_settings):
    """Fields as providers round them; 4,800 before rows had numbers and fields units."""
    database, random = await Database.open(sqlite_settings), np.random.default_rng(1)
    path = Path(sqlite_settings.database.removeprefix("sqlite:///"))
    store, rows = SqlClimateStore(database), []
    for year, name in product(range(1980, 2030), range(1, 13)):
        one = month(year, name)
        one.values[:] = random.normal(15, 8, one.values.shape).round(1)
        sunshine = random.normal(25_000, 9_000, one.values.shape[1])
        one.values[12] = sunshine.round(2) / 3600
        rows.append(MonthRow.pack("a source", "48.7500,2.2500,Europe/Paris", one))
    before = path.stat().st_size
    await store.save(rows)
    await database.close()  # what stands in the log goes into the file
    # 2,143: three rows in two pages and an index of 40 bytes; real months take 1.4 kB
    assert (path.stat().st_size - before) / len(rows) <= 2150


async def test_stored_month_count_is_correct_after_adding_renewing_and_deleting(database):
    store, later = SqlClimateStore(database), datetime(2026, 11, 22, 12, tzinfo=UTC)
    assert await store.extent() == (0, None)
    await store.save([MonthRow.pack("a", "cell", month(year, 2)) for year in range(2000, 2200)])
    assert await store.extent() == (200, FETCHED)
    await store.save([MonthRow.pack("a", "cell", month(2000, 2, fetched_at=later))])
    assert await store.extent() == (200, later)
    await database.execute((delete(climate_months).where(climate_months.c.year < 2050), {}))
    assert await store.extent() == (150, FETCHED)


async def test_elevation_is_stored_once_per_point(database):
    store = SqlClimateStore(database)
    assert await store.load_elevation(48.8566, 2.3522) is None
    await store.save_elevations({(48.8566, 2.3522): 35.0, (-0.0001, 180.0): 0.0})
    await store.save_elevations({(48.8566, 2.3522): 99.0})
    assert await store.load_elevation(48.8566, 2.3522) == 35.0
    assert await store.load_elevation(-0.0001, 180.0) == 0.0
    assert await store.load_elevation(48.8567, 2.3522) is None


async def test_damaged_row_counts_as_missing_and_is_replaced(database):
    store, clock = SqlClimateStore(database), MovedClock()
    await store.save([MonthRow.pack("a", "cell", month(2020, 2))])
    for damage in (b"", b"junk", MonthRow.pack("a", "cell", month(2020, 3)).data):
        await database.execute((update(climate_months), {"data": damage}))
        assert await ArchiveRepository(store, clock).get("a", "cell", [(2020, 2)]) == {}
    repository = ArchiveRepository(store, clock)
    repository.put("a", "cell", [month(2020, 2)])
    await repository.flush()
    assert (2020, 2) in await ArchiveRepository(store, clock).get("a", "cell", [(2020, 2)])


async def test_archive_month_fetched_before_its_days_were_final_is_fetched_again(database):
    store, clock = SqlClimateStore(database), MovedClock(datetime(2026, 2, 18, 12, tzinfo=UTC))
    repository = ArchiveRepository(store, clock)
    repository.put("a", "cell", [month(2026, 1, fetched_at=clock())])  # its pad ends on 15 February
    assert (2026, 1) in await repository.get("a", "cell", [(2026, 1)])
    clock.advance(86_401)
    assert await repository.get("a", "cell", [(2026, 1)]) == {}
    repository.put("a", "cell", [month(2026, 1, fetched_at=datetime(2026, 2, 22, tzinfo=UTC))])
    assert (2026, 1) in await repository.get("a", "cell", [(2026, 1)])
    await repository.flush()


async def test_worker_reads_months_that_another_worker_stored(weather, build_section):
    hosts = Hosts()
    worker, other = build_section(hosts=hosts), build_section(hosts=hosts)
    weather.open_meteo.faults[ARCHIVE] = DOWN
    reading = await weather.read(query(FAR), section=worker)
    assert reading.body.basis.provider == "NASA POWER"
    weather.open_meteo.faults.clear()
    weather.clock.advance(3600)
    for provider in worker.sources.archives.providers:
        provider.client.breaker.succeed()
    await weather.read(query(FAR), section=other)
    await other.sources.archives.repository.flush()
    calls = len(weather.open_meteo.calls(ARCHIVE))
    reading = await weather.read(query(FAR), section=worker)
    assert reading.body.basis.provider == "Open-Meteo"
    assert len(weather.open_meteo.calls(ARCHIVE)) == calls


async def test_failed_write_of_archive_months_is_repeated_once_the_store_works_again(database):
    store, clock = FailingStore(SqlClimateStore(database)), MovedClock()
    repository = ArchiveRepository(store, clock)
    repository.put("a", "cell", [month(2020, 2)])
    repository.put_elevation((48.0, 2.0), 35.0)
    await repository.flush()
    assert repository.pending == 2
    assert (2020, 2) in await repository.get("a", "cell", [(2020, 2)])
    other = ArchiveRepository(SqlClimateStore(database), clock)
    assert await other.get("a", "cell", [(2020, 2)]) == {}
    repository.put("a", "cell", [month(2021, 2)])
    store.failing = False
    await repository.flush()
    assert repository.pending == 0
    again = ArchiveRepository(SqlClimateStore(database), clock)
    assert len(await again.get("a", "cell", [(2020, 2), (2021, 2)])) == 2
    assert await again.load_elevation((48.0, 2.0)) == 35.0


async def test_background_task_repeats_failed_writes_of_archive_months(database, monkeypatch):
    monkeypatch.setattr(
        "location_context.sections.weather.retrieval.archive_repository.RETRY_WRITE_SECONDS", 0
    )
    store, clock = FailingStore(SqlClimateStore(database)), MovedClock()
    repository = ArchiveRepository(store, clock)
    repository.put("a", "cell", [month(2020, 2)])
    await repository.flush()
    writing = asyncio.ensure_future(repository.retry_writes())
    store.failing = False
    await wait_in_loop_until(lambda: not repository.pending)
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    again = ArchiveRepository(SqlClimateStore(database), clock)
    assert set(await again.get("a", "cell", [(2020, 2)])) == {(2020, 2)}
