"""SQLite's own ways: the engine on a file, and one writer at a time."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from location_context.errors import StorageError

BUSY_TIMEOUT = 15.0  # seconds to wait for other writers of an SQLite file
MAX_POLL_SECONDS = 0.05


def sqlite_engine(path: Path, connections: int) -> Engine:
    """Return an engine on an SQLite file.

    The execution option `writes` of a connection says whether its transaction may write; None is a
    single query, which sees one consistent state without a transaction. `durable` is False for a
    transaction that a power cut may undo, which saves the wait for the disk.
    """
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        pool_size=connections,
        max_overflow=0,
        connect_args={"timeout": BUSY_TIMEOUT, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        options, driver = connection.get_execution_options(), connection.connection
        if (writes := options.get("writes")) is not None:
            level = "FULL" if options.get("durable", True) else "NORMAL"
            cursor = driver.cursor()  # of the driver itself, which takes a tenth of SQLAlchemy's
            cursor.execute(f"PRAGMA query_only = {'OFF' if writes else 'ON'}")
            cursor.execute(f"PRAGMA synchronous = {level}")
            cursor.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            cursor.close()

    return engine


class WriteLock:
    """Lets one writer at a time into an SQLite file, among threads and processes (a file lock).

    SQLite before 3.51.3 can damage a WAL database when two connections write and reset the log at
    the same moment; with one writer at a time that cannot happen, and nobody meets SQLITE_BUSY.

    A waiting writer holds a second file, without which nobody takes the lock: one who writes
    without a pause lets the others in between. Waits at most `timeout` seconds.
    """

    def __init__(self, path: Path, timeout: float = BUSY_TIMEOUT) -> None:
        self._path = path
        self._turn = path.with_name(path.name + ".next")
        self._timeout = timeout

    @contextmanager
    def acquire(self) -> Iterator[None]:
        """Hold the lock for a block.

        Raises:
            StorageError: others write for longer than `timeout`, or the folder is read-only.
        """
        until = time.monotonic() + self._timeout
        with ExitStack() as stack:
            try:
                with ExitStack() as waiting:
                    for path, held in ((self._turn, waiting), (self._path, stack)):
                        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                        held.callback(os.close, descriptor)
                        _lock_file(descriptor, until)
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


def _lock_file(descriptor: int, until: float) -> None:
    pause = 0.002
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise TimeoutError from None
            time.sleep(pause)
            pause = min(MAX_POLL_SECONDS, pause * 1.5)
        else:
            return
