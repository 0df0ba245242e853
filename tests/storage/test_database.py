"""The database when something is wrong with it: what is said, and that reads go on."""

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Connection, delete, text

from location_context.errors import OperatorError, StorageError
from location_context.sections.weather.records import MonthRow
from location_context.settings import Settings
from location_context.storage import schema
from location_context.storage.access import SqlApiKeyStore
from location_context.storage.database import Database, WriteLock
from location_context.storage.datasets import SqlClimateStore
from tests.databases import pooled_settings as database_settings  # noqa: F401  a fixture
from tests.storage.subprocess_targets import (
    a_key,
    child,
    hold_the_lock,
    read_and_write_on_a_full_disk,
)

INSERT = text("INSERT INTO facts VALUES ('a', 'b')")
SELECT = text("SELECT * FROM facts WHERE name = 'a'")


async def test_error_in_a_transaction_rolls_the_transaction_back(database: Database) -> None:
    def half(connection: Connection) -> None:
        connection.execute(INSERT)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.write(half)
    assert await database.rows(SELECT) == []


async def test_cancelled_write_completes_and_the_next_write_works(
    database: Database,
) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def work(connection: Connection) -> None:
        begun.set()
        goes_on.wait()
        connection.execute(INSERT)

    task = asyncio.create_task(database.write(work))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(await database.rows(SELECT)) == 1
    await database.execute((text("UPDATE facts SET value = 'c' WHERE name = 'a'"), {}))


async def test_cancelled_readers_and_writers_leave_the_file_intact(
    sqlite_settings: Settings,
) -> None:
    database = await Database.open(sqlite_settings)
    store = SqlApiKeyStore(database)
    for pauses in range(40):
        task = asyncio.create_task(store.add(a_key(f"key-{pauses}")))
        reader = asyncio.create_task(store.all())
        for _ in range(pauses):
            await asyncio.sleep(0)
        task.cancel()
        reader.cancel()
        await asyncio.gather(task, reader, return_exceptions=True)
    await store.add(a_key("last"))
    assert "last" in {key.id for key in await store.all()}
    await database.check()
    await database.close()


async def test_reader_does_not_see_uncommitted_changes_of_a_writer(database: Database) -> None:
    written, looked = threading.Event(), threading.Event()

    def work(connection: Connection) -> None:
        connection.execute(INSERT)
        written.set()
        looked.wait()

    writing = asyncio.create_task(database.write(work))
    await asyncio.to_thread(written.wait)
    assert await database.rows(SELECT) == []
    looked.set()
    await writing
    assert len(await database.rows(SELECT)) == 1


async def test_concurrent_writers_do_not_lose_updates(database: Database) -> None:
    locked = "" if database.is_sqlite else " FOR UPDATE"
    held = text(f"SELECT value FROM facts WHERE name = 'n'{locked}")

    def count(connection: Connection) -> None:
        values = {"value": str(int(connection.scalar(held)) + 1)}
        connection.execute(text("UPDATE facts SET value = :value WHERE name = 'n'"), values)

    await database.execute((text("INSERT INTO facts VALUES ('n', '0')"), {}))
    await asyncio.gather(*(database.write(count) for _ in range(50)))
    assert await database.scalar(text("SELECT value FROM facts WHERE name = 'n'")) == "50"


async def test_reading_connection_cannot_write_on_sqlite(sqlite_settings: Settings) -> None:
    database = await Database.open(sqlite_settings)
    with pytest.raises(StorageError, match="read-only"):
        await database.read(lambda connection: connection.execute(INSERT))
    await database.close()


async def test_sqlite_syncs_each_acknowledged_write(
    sqlite_settings: Settings,
) -> None:
    database = await Database.open(sqlite_settings)
    names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
    found = await database.write(
        lambda connection: [connection.scalar(text(f"PRAGMA {name}")) for name in names]
    )
    assert found == ["wal", 2, 1, 15000]
    await database.close()


async def test_database_with_a_newer_schema_is_refused(
    database: Database,
    database_settings: Settings,  # noqa: F811
) -> None:
    await database.execute(
        (text("UPDATE schema_version SET version_num = '9999_later'"), {}),
        (delete(schema.metadata_kv), {}),
    )
    try:
        with pytest.raises(OperatorError, match="newer version"):
            await Database.open(database_settings)
    finally:
        back = text("UPDATE schema_version SET version_num = :head")
        await database.execute((back, {"head": schema.head()}))


async def filled(settings: Settings, keys: int = 80) -> Path:
    """A closed SQLite database with keys in it."""
    database = await Database.open(settings)
    for number in range(keys):
        await SqlApiKeyStore(database).add(a_key(f"key-{number}"))
    await database.close()
    return Path(settings.database.removeprefix("sqlite:///"))


@pytest.mark.parametrize(
    "damaged",
    [lambda whole: whole[:8192] + b"\xa5" * (len(whole) - 8192), lambda whole: whole[:-9000]],
    ids=["overwritten", "truncated"],
)
async def test_damaged_database_is_reported_at_start(
    sqlite_settings: Settings, damaged: Callable[[bytes], bytes]
) -> None:
    path = await filled(sqlite_settings)
    path.write_bytes(damaged(path.read_bytes()))
    with pytest.raises(StorageError, match="is damaged: restore a backup"):
        await Database.open(sqlite_settings, read_whole=True)


async def test_only_the_start_of_the_server_checks_the_whole_database_file(
    sqlite_settings: Settings,
) -> None:
    database = await Database.open(sqlite_settings)
    fetched = datetime(2026, 1, 1, tzinfo=UTC)
    stored = MonthRow("a", "cell", 2020, 1, 0.0, 0.0, None, fetched, b"x" * 900)
    rows = [msgspec.structs.replace(stored, year=year) for year in range(1000, 1100)]
    await SqlClimateStore(database).save(rows)
    await database.close()
    path = Path(sqlite_settings.database.removeprefix("sqlite:///"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-40_960] + b"\xa5" * 40_960)  # pages of the archive
    opened = await Database.open(sqlite_settings)
    assert await SqlApiKeyStore(opened).all() == []
    await opened.close()
    with pytest.raises(StorageError, match="is damaged: restore a backup"):
        await Database.open(sqlite_settings, read_whole=True)


async def test_file_that_is_not_an_sqlite_database_is_reported_and_unchanged(
    sqlite_settings: Settings,
) -> None:
    path = Path(sqlite_settings.database.removeprefix("sqlite:///"))
    path.write_text("a letter to the owner, not a database\n" * 100)
    before = path.read_bytes()
    with pytest.raises(StorageError, match="is not an SQLite database"):
        await Database.open(sqlite_settings)
    assert path.read_bytes() == before


async def test_empty_database_file_is_refused_and_unchanged(
    sqlite_settings: Settings,
) -> None:
    path = await filled(sqlite_settings, keys=1)
    path.write_bytes(b"")
    for use in (Database.open, Database.upgrade):
        with pytest.raises(StorageError, match=r"empty file \(0 bytes\): restore a backup"):
            await use(sqlite_settings)
    assert path.read_bytes() == b""


async def test_reads_continue_and_writes_wait_while_another_process_holds_the_lock(
    sqlite_settings: Settings,
) -> None:
    path = await filled(sqlite_settings, keys=3)
    database = await Database.open(sqlite_settings)
    store = SqlApiKeyStore(database)
    with child(hold_the_lock, str(path)) as (_, pipe):
        assert await asyncio.to_thread(pipe.recv) == "locked"
        writing = asyncio.create_task(store.add(a_key("late")))
        for _ in range(50):
            assert len(await store.all()) == 3
        assert not writing.done()
        pipe.send("let go")
        await writing
    assert len(await store.all()) == 4
    await database.close()


def test_writer_that_waits_too_long_for_the_lock_times_out_with_a_reason(tmp_path: Path) -> None:
    first, second = WriteLock(tmp_path / "lock"), WriteLock(tmp_path / "lock", timeout=0.02)
    with (
        first.acquire(),
        pytest.raises(StorageError, match="Another process has locked"),
        second.acquire(),
    ):
        pass
    with second.acquire():
        pass


async def test_database_on_a_full_disk_allows_reads_and_refuses_writes(
    sqlite_settings: Settings,
) -> None:
    await filled(sqlite_settings, keys=3)
    with child(read_and_write_on_a_full_disk, str(sqlite_settings.data_dir)) as (_, pipe):
        before, said, after = await asyncio.to_thread(pipe.recv)
    assert (before, after) == (3, 3)
    assert "cannot be" in said
    assert "full" in said
    reopened = await Database.open(sqlite_settings)
    await SqlApiKeyStore(reopened).add(a_key("room again"))
    await reopened.close()


async def test_closing_the_database_waits_for_a_connection_in_use(
    sqlite_settings: Settings,
) -> None:
    database = await Database.open(sqlite_settings)
    reading, go_on = threading.Event(), threading.Event()

    def read(connection: Connection) -> int:
        reading.set()
        go_on.wait()
        return connection.execute(text("SELECT 1")).scalar_one()

    reader = asyncio.create_task(database.read(read))
    await asyncio.to_thread(reading.wait)
    closing = asyncio.create_task(database.close())
    for _ in range(10):
        await asyncio.sleep(0)
    assert not closing.done()
    go_on.set()
    assert await reader == 1
    await closing
