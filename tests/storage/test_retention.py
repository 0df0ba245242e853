"""Retention: expired rows are deleted, and their room is used again."""

import asyncio
from datetime import UTC, date, datetime, timedelta

import msgspec
from sqlalchemy import text

from location_context.point import Point
from location_context.sections.events.records import Calendar, Place, ProviderEvent, When
from location_context.sections.weather.records import MonthRow
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.settings import Settings
from location_context.storage.database import Database
from location_context.storage.datasets import SqlClimateStore
from location_context.storage.events import SqlEventStore
from location_context.storage.retention import Retention
from tests.logs import captured_logs
from tests.moved_clock import NOON, MovedClock
from tests.storage.subprocess_targets import child, plain, prune_and_die

TODAY = NOON.date()
PARIS = Point(48.8566, 2.3522, "Europe/Paris")


def months(cell: str, fetched_at: datetime, years: int = 10) -> list[MonthRow]:
    first = MonthRow("a", cell, 2000, 1, 0.0, 0.0, None, fetched_at, b"x" * 1100)
    return [
        msgspec.structs.replace(first, year=2000 + number // 12, month=1 + number % 12)
        for number in range(12 * years)
    ]


async def stored_cells(database: Database) -> set[str]:
    return set(await database.scalars(text("SELECT DISTINCT cell FROM climate_months")))


async def test_retention_deletes_unused_cells_with_their_data_of_all_months(
    database: Database,
) -> None:
    clock = MovedClock()
    store = SqlClimateStore(database)
    for number in range(12):
        await store.save(months(f"cell {number}", NOON))
    clock.advance(390 * 86_400)
    asking = ArchiveRepository(store, clock)
    for number in (3, 4):
        await asking.get("a", f"cell {number}", [(2000, 1)])
    await asking.flush()
    clock.advance(20 * 86_400)
    deleted = await Retention(database, clock).prune()
    assert deleted == {"climate_months": 10 * 120, "events": 0}
    assert await stored_cells(database) == {"cell 3", "cell 4"}
    assert (await store.extent())[0] == 2 * 120
    assert await Retention(database, clock).prune() == {"climate_months": 0, "events": 0}


async def test_last_use_of_a_cell_is_recorded_at_most_once_a_week(
    database: Database,
) -> None:
    clock, written = MovedClock(), list[object]()

    class Counted(SqlClimateStore):
        async def touch(self, cells):  # type: ignore[no-untyped-def]  # as its base
            written.append(dict(cells))
            await super().touch(cells)

    asking = ArchiveRepository(Counted(database), clock)
    for days in range(14):
        for cell in ("one", "two"):
            for _ in range(3):
                await asking.get("a", cell, [(2000, 1)])
        assert len(written) <= days  # behind the guest
        await asking.flush()
        clock.advance(86_400)
    assert written == [
        {("a", "one"): TODAY + timedelta(days), ("a", "two"): TODAY + timedelta(days)}
        for days in (0, 7)
    ]
    await asking.flush()


def event(number: int, first: date, days: int) -> ProviderEvent:
    return ProviderEvent(
        id=f"cal:{number}", source="calendars", title=f"Event {number}", category="concert",
        start=When(first), end=When(first + timedelta(days - 1)), all_day=True,
        place=Place(lat=PARIS.lat + number % 40, lng=PARIS.lng),
    )  # fmt: skip


async def test_retention_deletes_old_events(database: Database) -> None:
    store, stored = SqlEventStore(database), TODAY - timedelta(31)
    lengths = (1, 2, 8, 9, 64, 100, 600)
    events = [
        event(number, TODAY - timedelta(ago), lengths[number % len(lengths)])
        for number, ago in enumerate(range(-30, 1500))
    ]
    await store.replace(Calendar(id="cal", kind="import", source="s", rows=len(events)), events)
    deleted = await Retention(database, MovedClock()).prune()
    left = {row[0] for row in await database.rows(text("SELECT id FROM events"))}
    assert left == {one.id for one in events if one.end and one.end.day >= stored}
    assert deleted["events"] == len(events) - len(left) > 1000
    assert [calendar.rows for calendar in await store.calendars()] == [len(left)]


async def test_retention_logs_how_many_rows_it_deleted(database: Database) -> None:
    await SqlClimateStore(database).save(months("old", datetime(2000, 1, 1, tzinfo=UTC), years=1))
    with captured_logs() as lines:
        assert await Retention(database, MovedClock()).prune() == {
            "climate_months": 12,
            "events": 0,
        }
        assert await Retention(database, MovedClock()).prune() == {"climate_months": 0, "events": 0}
    assert [(line["event"], line["climate_months"]) for line in lines] == [
        ("retention_done", 12), ("retention_done", 0),
    ]  # fmt: skip


async def test_retention_killed_midway_leaves_no_partly_deleted_cell(
    database: Database, database_settings: Settings
) -> None:
    store = SqlClimateStore(database)
    for number in range(20):
        await store.save(months(f"cell {number}", datetime(2000, 1, 1, tzinfo=UTC), years=1))
    with child(prune_and_die, *plain(database_settings), 2) as (process, _):
        await asyncio.to_thread(process.join)
        assert process.exitcode == -9
    left = await stored_cells(database)
    assert 0 < len(left) < 20
    assert (await store.extent())[0] == 12 * len(left)
    deleted = await Retention(database, MovedClock()).prune()
    assert deleted == {"climate_months": 12 * len(left), "events": 0}


async def test_retention_blocks_neither_readers_nor_writers(database: Database) -> None:
    store = SqlClimateStore(database)
    for number in range(30):
        await store.save(months(f"cell {number}", datetime(2000, 1, 1, tzinfo=UTC)))
    passing = asyncio.create_task(Retention(database, MovedClock()).prune())
    reads = writes = 0
    while not passing.done():
        await store.save(months(f"new {writes % 3}", NOON, years=1))
        writes += 1
        reads += len(await store.load("a", "new 0", [1]))
    assert (await passing)["climate_months"] == 30 * 120
    assert min(reads, writes) >= 2  # between batches of five cells, on however slow a machine
    assert await stored_cells(database) == {f"new {number}" for number in range(min(3, writes))}


async def test_cell_stored_while_retention_runs_is_complete(database: Database) -> None:
    store = SqlClimateStore(database)
    for number in range(20):
        await store.save(months(f"cell {number}", datetime(2000, 1, 1, tzinfo=UTC), years=1))
    passing = asyncio.create_task(Retention(database, MovedClock()).prune())
    rows = [row for number in range(20) for row in months(f"cell {number}", NOON, years=1)]
    await asyncio.gather(store.save(rows), store.save(rows[::-1]), passing)
    assert (await store.extent())[0] == len(rows)
