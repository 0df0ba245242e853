"""Database: SQLite or PostgreSQL behind one engine, whose work runs in threads.

`read` and `write` run a function on a connection, each in one transaction; `rows` and its kin run
a single query. On SQLite one writer works at a time, in this process and among processes. Readers
never wait, since the file is in WAL mode, with synchronous FULL, so that acknowledged writes
survive a crash. A new SQLite file is completed under another name and then renamed: an empty one
is always damage.
"""

import asyncio
import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from glob import escape
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Executable,
    Row,
    Table,
    create_engine,
    event,
    make_url,
    text,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from location_context.errors import OperatorError, StorageError
from location_context.settings import Settings
from location_context.storage import schema

MIGRATION_LOCK = 7_236_001  # advisory lock that a replica holds while it migrates
THREADS = {"sqlite": 4, "postgresql": 10}  # each with a connection of its own
IDLE_CONNECTIONS = 5  # connections to PostgreSQL that stay open when idle
PATIENCE = 60.0  # seconds after which a PostgreSQL that is silent about a write is abandoned
READ_PATIENCE = 10.0  # seconds for a query; the largest, of all stored forecasts, take one
CLOSE_TIMEOUT = 2.0  # seconds to wait for connections in use
T = TypeVar("T")
Statement = tuple[Executable, Mapping[str, Any] | Sequence[Mapping[str, Any]]]


class _Job:
    """A piece of work in a thread, whose connection can be cut from outside."""

    def __init__(self, *, writes: bool | None, durable: bool = True) -> None:
        """Set whether the transaction `writes`; None for a single query without a transaction.

        With `durable`, what it wrote survives a power cut.
        """
        self.writes = writes
        self.durable = durable
        self.connection: Connection | None = None
        self.is_cut = False

    def cut(self) -> None:
        """Prevent work that has not begun.

        Break a connection to a PostgreSQL that does not answer.
        """
        self.is_cut = True
        with suppress(Exception):  # the thread may be done with it at this moment
            driver: Any = self.connection and self.connection.connection.driver_connection
            with socket.socket(fileno=os.dup(driver.fileno())) as end:
                end.shutdown(socket.SHUT_RDWR)


class Database:
    """An open database. Everything it raises itself is a `StorageError`."""

    def __init__(self, label: str, engine: Engine, path: Path | None = None) -> None:
        """Take a `label` for errors; `path` is set for SQLite alone."""
        self._label = label
        self._engine = engine
        self._path = path
        self._lock = WriteLock(path.with_name(path.name + ".lock")) if path else None
        self._threads = ThreadPoolExecutor(THREADS[engine.dialect.name], "database")
        self._writer = ThreadPoolExecutor(1, "database-writer") if path else self._threads
        self._jobs = set[_Job]()
        self._idle = asyncio.Event()
        self._idle.set()

    @classmethod
    async def open(cls, settings: Settings, *, read_whole: bool = False) -> Self:
        """Open the database that the settings name, with the schema it needs.

        `read_whole`: read every page of an SQLite file, so that damage is said at once; a gigabyte
        takes seconds, so that `serve` does it once and commands that read a row do not.

        Raises:
            StorageError: it cannot be reached or is damaged.
            OperatorError: its schema is another version's; the sentence has the command to run.
        """
        database = cls._connect(make_url(settings.database))
        try:
            await database.ensure_file()
            if await database.revision() is None:
                await database.migrate()
            else:
                await database.read(schema.require_usable)
            if read_whole:
                await database.check()
        except BaseException:
            await database.close()
            raise
        return database

    @classmethod
    async def upgrade(cls, settings: Settings) -> tuple[str | None, str]:
        """Bring the schema up to date; return the revisions before and after.

        Raises:
            StorageError: it cannot be reached or is damaged.
            OperatorError: the schema is that of a newer version, which this one cannot use.
        """
        async with cls._connect(make_url(settings.database)) as database:
            await database.ensure_file()
            before = await database.revision()
            await database.migrate()
            return before, await database.revision() or schema.head()

    @classmethod
    async def held_revision(cls, settings: Settings) -> str | None:
        """Return the revision of the schema; None if there is no database yet.

        Raises:
            StorageError: it cannot be reached or is damaged.
            OperatorError: the schema is that of a newer version, which this one cannot use.
        """
        async with cls._connect(make_url(settings.database)) as database:
            return await database.usable_revision()

    @classmethod
    def _connect(cls, url: URL) -> Self:
        if url.get_backend_name() != "sqlite":
            label = f"{url.host}:{url.port or 5432}/{url.database}"
            return cls(label, postgresql_engine(url))
        path = Path(url.database or "").absolute()
        with translate_database_errors(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
        return cls(str(path), sqlite_engine(path, THREADS["sqlite"] + 1), path)

    def connections(self) -> tuple[int, int]:
        """Return how many are in use, and how many there may be; SQLite has no such bound (0)."""
        return len(self._jobs), 0 if self.is_sqlite else THREADS["postgresql"]

    @property
    def is_sqlite(self) -> bool:
        return self._path is not None

    async def ensure_file(self) -> None:
        """Create the SQLite file if there is none; reject one that was emptied.

        Raises:
            StorageError: it has 0 bytes, or cannot be made.
        """
        if self._path is not None and self._lock is not None:
            await asyncio.to_thread(self._ensure_file, self._path, self._lock)

    def _ensure_file(self, path: Path, lock: "WriteLock") -> None:
        with translate_database_errors(self._label):
            if not path.exists():
                with lock.acquire():
                    if not path.exists():
                        _make_file(path)
            if not path.stat().st_size:
                raise StorageError(
                    f"The database {self._label} is an empty file (0 bytes): restore a copy of it, "
                    "or move it away to start afresh."
                )

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Return what `work` makes of a connection that reads one consistent state."""
        return await self._run(self._threads, _Job(writes=False), work, READ_PATIENCE)

    async def write(
        self,
        work: Callable[[Connection], T],
        patience: float | None = PATIENCE,
        *,
        durable: bool = True,
    ) -> T:
        """Return what `work` makes of a connection in one transaction, which it commits.

        An error in `work` rolls it back. Work that has begun ends even if the caller is cancelled.
        `patience`: seconds that it may take; None for a long import. Not `durable`: a power cut may
        undo it (SQLite).
        """
        return await self._run(self._writer, _Job(writes=True, durable=durable), work, patience)

    async def rows(self, query: Executable, **values: Any) -> Sequence[Row[Any]]:
        """Return all rows of one query, with values for its parameters.

        A query built once, with parameters, takes a third of the time of one built for each call.
        """
        return await self._query(lambda given: given.execute(query, values).all(), READ_PATIENCE)

    async def _query(self, work: Callable[[Connection], T], patience: float | None) -> T:
        """Return what `work` makes of a connection outside of a transaction."""
        return await self._run(self._threads, _Job(writes=None), work, patience)

    async def scalars(self, query: Executable, **values: Any) -> Sequence[Any]:
        """Return the first column of one query."""
        return [row[0] for row in await self.rows(query, **values)]

    async def scalar(self, query: Executable, **values: Any) -> Any | None:
        """Return the first column of the first row of one query; None where there is no row."""
        return next(iter(await self.scalars(query, **values)), None)

    async def execute(self, *statements: Statement) -> int:
        """Execute statements, each with its values or a list of them, in one transaction.

        Returns:
            The number of rows that the last one changed.
        """

        def work(connection: Connection) -> int:
            count = 0
            for statement, values in statements:
                count = connection.execute(statement, values).rowcount
            return count

        return await self.write(work)

    async def _run(
        self,
        threads: ThreadPoolExecutor,
        job: _Job,
        work: Callable[[Connection], T],
        patience: float | None,
    ) -> T:
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(threads, self._transact, job, work)
        if patience is not None:  # by a timer, since the caller may go before
            cutting = loop.call_later(patience, job.cut)
            running.add_done_callback(lambda _: cutting.cancel())
        self._jobs.add(job)
        self._idle.clear()
        running.add_done_callback(lambda done: self._on_done(job, done))
        try:
            await asyncio.wait({running}, timeout=patience)
        except asyncio.CancelledError:
            if job.writes:
                await asyncio.wait({running})
            raise
        if not running.done():
            raise StorageError(
                f"The database {self._label} cannot be used: no answer within {patience:g} s."
            )
        return running.result()

    def _on_done(self, job: _Job, done: asyncio.Future[Any]) -> None:
        if not done.cancelled():
            done.exception()  # marks it as retrieved: the caller may have left
        self._jobs.discard(job)
        if not self._jobs:
            self._idle.set()

    def _transact(self, job: _Job, work: Callable[[Connection], T]) -> T:
        with (
            translate_database_errors(self._label),
            self._lock.acquire() if self._lock and job.writes else nullcontext(),
            self._engine.connect() as connection,
        ):
            job.connection = connection
            if job.is_cut:
                raise StorageError(f"The database {self._label} did not answer in time.")
            if job.writes is None:
                if not self.is_sqlite:
                    connection.execution_options(isolation_level="AUTOCOMMIT")
                return work(connection)
            with connection.execution_options(writes=job.writes, durable=job.durable).begin():
                return work(connection)

    def insert(self, table: Table) -> sqlite.Insert:
        """Return an INSERT that supports ON CONFLICT, which both databases spell the same way."""
        if self.is_sqlite:
            return sqlite.insert(table)
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415  large, and SQLite is the usual

        return postgresql.insert(table)  # type: ignore[return-value]  # same calls

    async def revision(self) -> str | None:
        """Return the revision of the schema; None for a new database."""
        return await self.read(schema.current)

    async def usable_revision(self) -> str | None:
        """Return the revision of the schema, if this version can use it or migrate it, else None.

        Raises:
            OperatorError: it is that of a newer version, and not usable.
        """
        if self._path and not self._path.exists():
            return None
        revision = await self.revision()
        if revision is not None and not schema.pending(revision):
            await self.read(schema.require_usable)
        return revision

    async def migrate(self) -> None:
        """Bring the schema up to date in one transaction."""

        def work(connection: Connection) -> None:
            if not self.is_sqlite:
                connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))
            schema.upgrade(connection)

        await self.write(work, patience=None)

    async def check(self) -> None:
        """Read every page once (SQLite), or reach the server.

        Raises:
            StorageError: the database is damaged or not there.
        """
        query = "PRAGMA quick_check(1)" if self.is_sqlite else "SELECT 'ok'"
        result = await self._query(lambda given: given.scalar(text(query)), patience=None)
        if result != "ok":
            raise StorageError(
                f"The database {self._label} is damaged: restore a copy of it, or move it away to "
                f"start afresh. SQLite says: {result}"
            )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection once its work has ended, or after two seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self._idle.wait()
        for job in list(self._jobs):
            job.cut()
        for threads in (self._threads, self._writer):
            threads.shutdown(wait=False)
        await asyncio.to_thread(self._engine.dispose)


def _make_file(path: Path) -> None:
    """Make a new database with its schema, under its own name only once it is complete."""
    draft = path.with_name(path.name + ".new")
    for leftover in path.parent.glob(f"{escape(draft.name)}*"):
        leftover.unlink()
    draft.touch(mode=0o600)  # digests of keys are not for other users
    engine = sqlite_engine(draft, 1)
    try:
        with engine.connect().execution_options(writes=True) as connection, connection.begin():
            schema.upgrade(connection)
    finally:
        engine.dispose()
    draft.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the name survives a crash like the content
    finally:
        os.close(folder)


def postgresql_engine(url: URL) -> Engine:
    """Return an engine on PostgreSQL. Connections are tested before use, so it survives a restart.

    Statements are unnamed, so PgBouncer may use another server connection for each transaction.

    Raises:
        OperatorError: its driver is not installed.
    """
    try:
        return create_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_size=IDLE_CONNECTIONS,
            max_overflow=THREADS["postgresql"] - IDLE_CONNECTIONS,
            pool_timeout=5,
            pool_pre_ping=True,
            execution_options={"preserve_rowcount": True},  # of an INSERT that may do nothing
            connect_args={"connect_timeout": 5, "prepare_threshold": None},
        )
    except ModuleNotFoundError:
        raise OperatorError(
            "A PostgreSQL database needs its driver: pip install 'location-context[postgresql]'."
        ) from None


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
    """Turn the driver's errors into a `StorageError` about the database `label`."""
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
    """Return the driver's message, without the statement and its values."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    return (str(cause) or type(cause).__name__).splitlines()[0]


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
    """A lock for one writer at a time on an SQLite file, among threads and processes (a file lock).

    SQLite before 3.51.3 can damage a WAL database when two connections write and reset the log at
    the same moment; with one writer at a time that cannot happen, and SQLITE_BUSY does not occur.

    A waiting writer holds a second file that every writer needs before it takes the lock. So a busy
    writer cannot starve the others. Waits at most `timeout` seconds.
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
                    f"The database has been locked by another process for over {self._timeout:g} "
                    "s; end that process or wait, then try again."
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
