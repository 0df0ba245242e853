"""SQLite's own ways: engines on a file, reading in a thread, one writer at a time."""

import asyncio
import fcntl
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, Executable, Row, create_engine, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from location_context.errors import StorageError

Statement = tuple[Executable, Mapping[str, Any] | Sequence[Mapping[str, Any]]]
BUSY_TIMEOUT = 15.0  # seconds to wait for other writers of an SQLite file
MAX_POLL_SECONDS = 0.05
T = TypeVar("T")
READERS = 4  # threads, each with a connection of its own


def read_only_url(path: Path, driver: str) -> URL:
    """Where an SQLite file is read that may lie in a folder that cannot be written."""
    if not is_unwritable(path):
        return URL.create(driver, database=str(path))
    # such a folder has no place for WAL's shared memory
    query = {"mode": "ro", "immutable": "1", "uri": "true"}
    return URL.create(driver, database=f"file:{quote(str(path))}", query=query)


def sqlite_engine(url: URL, *, writes: bool) -> AsyncEngine:
    """An engine on an SQLite file; the writing one has a single connection."""
    engine = create_async_engine(
        url,
        pool_size=1 if writes else 4,
        max_overflow=0 if writes else 4,
        connect_args={
            "timeout": BUSY_TIMEOUT,
            "factory": _ClosedWhenLost,
            "check_same_thread": False,  # a lost one is closed by whoever drops it
        },
    )
    _set_up(engine.sync_engine, writes=writes)
    return engine


class _ClosedWhenLost(sqlite3.Connection):
    """The driver loses a connection whose opening was cancelled, open as it is."""

    def __del__(self) -> None:
        self.close()


def _set_up(engine: Engine, *, writes: bool) -> None:
    """What each connection begins with, and each transaction."""
    begin = "BEGIN IMMEDIATE" if writes else "BEGIN"

    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA synchronous = FULL")
        if writes:  # of a new file; another is made so by VACUUM
            cursor.execute("PRAGMA auto_vacuum = INCREMENTAL")
        cursor.execute("PRAGMA journal_mode = WAL" if writes else "PRAGMA query_only = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)


class SqliteReader:
    """Single queries on an SQLite file, each in one step of a thread.

    The asynchronous driver goes to its thread and back for each part of a query, which costs four
    times as much. One query sees one consistent state, so that it needs no transaction.
    """

    def __init__(self, url: URL, at_once: int = READERS) -> None:
        self._engine = create_engine(
            url,
            pool_size=at_once,
            max_overflow=0,
            isolation_level="AUTOCOMMIT",
            connect_args={"timeout": BUSY_TIMEOUT, "check_same_thread": False},
        )
        event.listen(self._engine, "connect", _only_reads)
        self._threads = ThreadPoolExecutor(at_once, "sqlite")

    async def rows(self, query: Executable, values: Mapping[str, Any]) -> Sequence[Row[Any]]:
        """All rows of one query, with values for its parameters."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._rows, query, values)

    def _rows(self, query: Executable, values: Mapping[str, Any]) -> Sequence[Row[Any]]:
        with self._engine.connect() as connection:
            return connection.execute(query, values).all()

    async def close(self) -> None:
        """Close every connection, once the queries that run have ended."""
        await asyncio.to_thread(self._threads.shutdown)
        self._engine.dispose()


class SqliteWriter:
    """Transactions on an SQLite file, each in one step of a thread; whoever asks holds the lock.

    What is fetched is stored several times a second, which the asynchronous driver does in ten
    steps each.
    """

    def __init__(self, url: URL) -> None:
        arguments = {"timeout": BUSY_TIMEOUT, "check_same_thread": False}
        self._engine = create_engine(url, pool_size=1, max_overflow=0, connect_args=arguments)
        _set_up(self._engine, writes=True)
        self._thread = ThreadPoolExecutor(1, "sqlite-writer")

    async def execute(self, statements: Sequence[Statement]) -> None:
        """Execute statements with their values, all or none, to the end even if cancelled."""
        await self._run(self._execute, statements)

    async def shrink(self, pages: int) -> int:
        """Give up to so many free pages back to the disk; how many were given."""
        return await self._run(self._shrink, pages)

    async def vacuum(self) -> None:
        """Write the file anew without its free pages, which needs its size on the disk besides."""
        await self._run(self._vacuum)

    async def _run(self, work: Callable[..., T], *arguments: Any) -> T:
        written = asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)
        try:
            return await asyncio.shield(written)
        except asyncio.CancelledError:
            await asyncio.wait([written])
            raise

    def _shrink(self, pages: int) -> int:
        with self._engine.connect() as connection:
            driver: Any = connection.connection.cursor()  # outside of the transaction of ours
            before: int = driver.execute("PRAGMA freelist_count").fetchone()[0]
            # a page is given with each step: `execute` takes one, a script all
            driver.executescript(f"PRAGMA incremental_vacuum({pages})")
            left: int = driver.execute("PRAGMA freelist_count").fetchone()[0]
            return before - left

    def _vacuum(self) -> None:
        with self._engine.connect() as connection:
            connection.connection.cursor().execute("VACUUM")  # outside of the transaction of ours

    def _execute(self, statements: Sequence[Statement]) -> None:
        with self._engine.begin() as connection:
            for statement, values in statements:
                connection.execute(statement, values)

    async def close(self) -> None:
        """Close the connection, once the transaction that runs has ended."""
        await asyncio.to_thread(self._thread.shutdown)
        self._engine.dispose()


def _only_reads(connection: Any, _: object) -> None:
    connection.execute("PRAGMA query_only = ON").close()


def is_unwritable(path: Path) -> bool:
    """Whether an existing file lies where WAL cannot create its shared memory."""
    if not path.exists():
        return False
    try:
        with path.open("r+b"):
            pass
        probe = path.with_name(path.name + ".lock")
        probe.touch()
    except OSError:
        return not path.with_name(path.name + "-wal").exists()
    return False


class WriteLock:
    """One writer of an SQLite file at a time, in a process and among processes (by a file lock).

    SQLite before 3.51.3 can damage a WAL database when two connections write and reset the log at
    the same moment; with one writer at a time that cannot happen, and nobody meets SQLITE_BUSY.

    Whoever waits holds a second file, without which nobody takes the lock: one who writes without a
    pause lets the others in between. Waits at most `timeout` seconds.
    """

    def __init__(self, path: Path, timeout: float = BUSY_TIMEOUT) -> None:
        self._path = path
        self._turn = path.with_name(path.name + ".next")
        self._timeout = timeout
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[None]:
        """Hold the lock for a block.

        Raises:
            StorageError: others write for longer than `timeout`, or the folder is read-only.
        """
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._timeout):
                    await stack.enter_async_context(self._lock)
                    with ExitStack() as waiting:
                        for path, until in ((self._turn, waiting), (self._path, stack)):
                            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                            until.callback(os.close, descriptor)
                            await _lock_file(descriptor)
            except TimeoutError:
                raise StorageError(
                    "The database is being written by another process for over "
                    f"{self._timeout:g} s; end that process or wait, then try again."
                ) from None
            except OSError as error:
                raise StorageError(
                    f"The database cannot be written: {self._path}: {error.strerror}"
                ) from None
            yield


async def _lock_file(descriptor: int) -> None:
    pause = 0.002
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await asyncio.sleep(pause)
            pause = min(MAX_POLL_SECONDS, pause * 1.5)
        else:
            return
