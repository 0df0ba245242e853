"""Engines: how each kind of database is connected to, its failures in words, SQLite's write lock.

SQLite runs in WAL mode with synchronous FULL, so that readers never wait for the writer and what
was acknowledged survives a crash. Its driver starts no transaction of its own, so that DDL is part
of ours.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, event
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from location_context.errors import StorageError

BUSY_TIMEOUT = 15.0


def sqlite_engine(url: URL, *, writes: bool, read_only: bool = False) -> AsyncEngine:
    """An engine on an SQLite file; the writing one has a single connection."""
    if read_only:
        # a folder that cannot be written has no place for WAL's shared memory
        query = {"mode": "ro", "immutable": "1", "uri": "true"}
        url = url.set(database=f"file:{quote(url.database or '')}", query=query)
    engine = create_async_engine(
        url,
        pool_size=1 if writes else 4,
        max_overflow=0 if writes else 4,
        connect_args={"timeout": BUSY_TIMEOUT},
    )
    begin = "BEGIN IMMEDIATE" if writes else "BEGIN"

    @event.listens_for(engine.sync_engine, "connect")
    def _on_connect(connection: Any, _: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA journal_mode = WAL" if writes else "PRAGMA query_only = ON")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def _on_begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def postgresql_engine(url: URL) -> AsyncEngine:
    """An engine on PostgreSQL; a connection is tried before use, so a restart is survived."""
    arguments: dict[str, Any] = {"timeout": 5, "command_timeout": 60}
    if mode := url.query.get("sslmode"):  # libpq's word for what asyncpg calls ssl
        arguments["ssl"] = mode
        url = url.difference_update_query(["sslmode"])
    return create_async_engine(
        url.set(drivername="postgresql+asyncpg"),
        pool_size=5,
        max_overflow=5,
        pool_timeout=5,
        pool_pre_ping=True,
        connect_args=arguments,
    )


_MESSAGES = {
    "malformed": "is damaged: restore a copy of it, or move it away to start afresh",
    "not a database": "is not an SQLite database or is damaged: restore a copy of it",
    "disk is full": "cannot be written: the disk is full; free some space",
    "disk i/o error": "cannot be read or written: the disk reports an error or is full",
    "readonly": "cannot be written: it is read-only",
    "read-only": "cannot be written: it is read-only",
    "locked": "is locked by another process: end that process or wait, then try again",
    "unable to open": "cannot be opened: does its folder exist, with the right to write?",
}


@contextmanager
def translate_database_errors(label: str) -> Iterator[None]:
    """Turn what the driver raises into a `StorageError` about the database `label`."""
    try:
        yield
    except IntegrityError as error:
        raise StorageError(f"The database {label} refused a row: {_first_line(error)}") from error
    except (SQLAlchemyError, OSError, TimeoutError) as error:
        text = _first_line(error)
        found = (message for key, message in _MESSAGES.items() if key in text.lower())
        raise StorageError(
            f"The database {label} {next(found, f'cannot be used: {text}')}."
        ) from error


def _first_line(error: BaseException) -> str:
    """The driver's message, without the statement and its values."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    return (str(cause) or type(cause).__name__).splitlines()[0]


MAX_POLL_SECONDS = 0.05


class WriteLock:
    """One writer of an SQLite file at a time, in a process and among processes (by a file lock).

    SQLite before 3.51.3 can damage a WAL database when two connections write and reset the log at
    the same moment; with one writer at a time that cannot happen, and nobody meets SQLITE_BUSY.

    Waits at most `timeout` seconds.
    """

    def __init__(self, path: Path, timeout: float = 15.0) -> None:
        self._path = path
        self._timeout = timeout
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[None]:
        """Hold the lock for a block.

        Raises:
            StorageError: others write for longer than `timeout`, or the folder is read-only.
        """
        try:
            async with asyncio.timeout(self._timeout):
                await self._lock.acquire()
        except TimeoutError:
            raise self._locked() from None
        try:
            descriptor = await self._file_lock()
            try:
                yield
            finally:
                os.close(descriptor)
        finally:
            self._lock.release()

    async def _file_lock(self) -> int:
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(
                f"The database cannot be written: {self._path}: {error.strerror}"
            ) from None
        try:
            await self._flock(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    async def _flock(self, descriptor: int) -> None:
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + self._timeout, 0.002
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if loop.time() >= until:
                    raise self._locked() from None
                await asyncio.sleep(pause)
                pause = min(MAX_POLL_SECONDS, pause * 1.5)
            else:
                return

    def _locked(self) -> StorageError:
        return StorageError(
            f"The database is being written by another process for over {self._timeout:g} s; "
            "end that process or wait, then try again."
        )
