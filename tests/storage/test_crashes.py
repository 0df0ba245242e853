"""What survives a kill: every acknowledged write, and the way through a migration."""

import asyncio
import fcntl
import random
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import text

from location_context.settings import Settings
from location_context.storage import schema
from location_context.storage.access import SqlApiKeyStore
from location_context.storage.database import Database, WriteLock
from tests.databases import EMPTY_SCHEMA
from tests.storage.subprocess_targets import child, migrate_and_die, open_once, plain, write_keys

ROUNDS = 25


async def test_sigkill_loses_no_acknowledged_write(
    database_settings: Settings,
) -> None:
    await (await Database.open(database_settings)).close()
    chance, acknowledged = random.Random(20261121), set[str]()
    for number in range(ROUNDS):
        with child(write_keys, *plain(database_settings), f"round-{number}") as (process, pipe):
            for _ in range(chance.randint(1, 12)):
                acknowledged.add(await asyncio.to_thread(pipe.recv))
            process.kill()
            process.join()
            while pipe.poll():
                try:
                    acknowledged.add(pipe.recv())
                except EOFError:
                    break
        database = await Database.open(database_settings, read_whole=True)
        try:
            stored = {key.id for key in await SqlApiKeyStore(database).all()}
            assert acknowledged <= stored
            assert len(stored - acknowledged) <= number + 1  # the one write under way at each kill
            if database.is_sqlite:
                assert await database.scalar(text("PRAGMA integrity_check")) == "ok"
        finally:
            await database.close()


async def test_two_writing_processes_both_succeed(
    database_settings: Settings,
) -> None:
    names = plain(database_settings)
    with child(write_keys, *names, "one") as (_, one), child(write_keys, *names, "two") as (_, two):
        report = [await asyncio.to_thread(pipe.recv) for _ in range(20) for pipe in (one, two)]
    database = await Database.open(database_settings)
    assert set(report) <= {key.id for key in await SqlApiKeyStore(database).all()}
    await database.close()


def test_process_that_writes_without_pause_lets_another_process_write(tmp_path: Path) -> None:
    path, order = tmp_path / "lock", list[str]()
    greedy, other = WriteLock(path), WriteLock(path)  # as in two processes
    writing = threading.Event()

    def write_greedily() -> None:
        for _ in range(2):
            with greedy.acquire():
                writing.set()
                order.append("greedy")
                while "other" not in order and not is_awaited(path):
                    time.sleep(0.001)

    thread = threading.Thread(target=write_greedily)
    thread.start()
    writing.wait()
    with other.acquire():
        order.append("other")
    thread.join()
    assert order == ["greedy", "other", "greedy"]


def is_awaited(lock: Path) -> bool:
    """Return True while a writer waits for the lock, which it says by a file of its own."""
    with lock.with_name(f"{lock.name}.next").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.fixture
async def no_schema(database_settings: Settings) -> Settings:
    """A database without anything in it."""
    if database_settings.database_url:
        database = await Database.open(database_settings)
        for statement in EMPTY_SCHEMA.split("; "):
            await database.execute((text(statement), {}))
        await database.close()
    return database_settings


@pytest.mark.parametrize("statements", [1, 2, 3, 4])
async def test_killed_migration_leaves_no_partial_schema_and_can_be_repeated(
    no_schema: Settings, statements: int
) -> None:
    with child(migrate_and_die, *plain(no_schema), statements) as (process, _):
        await asyncio.to_thread(process.join)
        assert process.exitcode == -9
    database = await Database.open(no_schema)
    assert await database.revision() == schema.head()
    assert list(await SqlApiKeyStore(database).all()) == []
    await database.close()


async def test_concurrent_processes_can_open_the_same_new_database(
    no_schema: Settings,
) -> None:
    with ExitStack() as stack:
        pipes = [stack.enter_context(child(open_once, *plain(no_schema)))[1] for _ in range(4)]
        assert [await asyncio.to_thread(pipe.recv) for pipe in pipes] == ["ready"] * 4
        for pipe in pipes:
            pipe.send("go")
        assert [await asyncio.to_thread(pipe.recv) for pipe in pipes] == [schema.head()] * 4
