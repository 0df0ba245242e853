"""Database: SQLite or PostgreSQL behind one interface. Queries run in threads.

`read` and `write` run a function on a connection, each in one transaction; `rows`, `scalars` and
`scalar` run a single query. SQLite has one writer at a time, across all threads and processes. Its
readers never wait, because the file is in WAL mode. With `synchronous = FULL`, acknowledged writes
survive a crash. A new SQLite file is completed under another name and then renamed, so an empty
file always means damage.
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
PATIENCE = 60.0  # time-out of a write, in seconds
READ_PATIENCE = 10.0  # time-out of a query, in seconds; the slowest query takes 1 s
CLOSE_TIMEOUT = 2.0  # seconds to wait for connections in use
T = TypeVar("T")
Statement = tuple[Executable, Mapping[str, Any] | Sequence[Mapping[str, Any]]]


class _Job:
    """A task for the database that runs in a thread, and that another thread can abort (`cut`)."""

    def __init__(self, *, writes: bool | None, durable: bool = True) -> None:
        """Prepare a task; `writes` is None for a single query, which needs no transaction.

        If `durable`, the task's writes survive a power cut.
        """
        self.writes = writes
        self.durable = durable
        self.connection: Connection | None = None
        self.is_cut = False

    def cut(self) -> None:
        """Cancel the task. A task that has begun is aborted on PostgreSQL, but not on SQLite."""
        self.is_cut = True
        with suppress(Exception):  # the thread may be closing the connection at this moment
            driver: Any = self.connection and self.connection.connection.driver_connection
            with socket.socket(fileno=os.dup(driver.fileno())) as end:
                end.shutdown(socket.SHUT_RDWR)


class Database:
    """An open database. Every failure of the database is raised as a `StorageError`."""

    def __init__(self, label: str, engine: Engine, path: Path | None = None) -> None:
        """Set the `label` that names the database in errors; `path` is the SQLite file, or None."""
        self._label = label
        self._engine = engine
        self._path = path
        self._lock = WriteLock(path.with_name(path.name + ".lock")) if path else None
        self._threads = ThreadPoolExecutor(THREADS[engine.dialect.name], "database")
        self._writer = ThreadPoolExecutor(1, "database-writer") if path else self._threads
        self._jobs: dict[asyncio.Future[Any], _Job] = {}

    @classmethod
    async def open(cls, settings: Settings, *, read_whole: bool = False) -> Self:
        """Open the database that the settings name; create the tables of a new one.

        With `read_whole`, read every page of an SQLite file to detect damage now. That takes
        seconds for a gigabyte, so only `serve` and `doctor` do it.

        Raises:
            StorageError: the database cannot be reached or is damaged.
            OperatorError: the schema has another version; the message names the command to run.
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
        """Migrate the schema; return the revisions before (None if new) and after.

        Raises:
            StorageError: the database cannot be reached or is damaged.
            OperatorError: a newer version, incompatible with this one, created the schema.
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
            StorageError: the database cannot be reached or is damaged.
            OperatorError: a newer version, incompatible with this one, created the schema.
        """
        async with cls._connect(make_url(settings.database)) as database:
            if database._path and not database._path.exists():  # noqa: SLF001  of this class
                return None
            revision = await database.revision()
            if revision is not None and not schema.pending(revision):
                await database.read(schema.require_usable)
            return revision

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
        """Return the numbers of connections in use and allowed (0 for SQLite: no limit)."""
        return len(self._jobs), 0 if self.is_sqlite else THREADS["postgresql"]

    @property
    def is_sqlite(self) -> bool:
        return self._path is not None

    async def ensure_file(self) -> None:
        """Create the SQLite file if there is none; do nothing for PostgreSQL.

        Raises:
            StorageError: the file is empty (0 bytes), or cannot be created.
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
                    f"The database {self._label} is an empty file (0 bytes): restore a backup, "
                    "or move the file away to start with an empty database."
                )

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Call `work` with a read-only connection in one transaction; return its result."""
        return await self._run(self._threads, _Job(writes=False), work, READ_PATIENCE)

    async def write(
        self,
        work: Callable[[Connection], T],
        patience: float | None = PATIENCE,
        *,
        durable: bool = True,
    ) -> T:
        """Call `work` with a connection in one transaction; commit, and return its result.

        An error in `work` rolls the transaction back. Work that has begun runs to its end even if
        the caller is cancelled. After `patience` seconds, the call fails; None sets no time-out.
        If not `durable`, a power cut may undo the transaction (SQLite).
        """
        return await self._run(self._writer, _Job(writes=True, durable=durable), work, patience)

    async def rows(self, query: Executable, **values: Any) -> Sequence[Row[Any]]:
        """Return all rows of a query; `values` are its bound parameters.

        A query built once, with parameters, takes a third of the time of one built at each call.
        """
        return await self._query(lambda given: given.execute(query, values).all(), READ_PATIENCE)

    async def _query(self, work: Callable[[Connection], T], patience: float | None) -> T:
        """Call `work` with a connection without a transaction; return its result."""
        return await self._run(self._threads, _Job(writes=None), work, patience)

    async def scalars(self, query: Executable, **values: Any) -> Sequence[Any]:
        """Return the first column of all rows of a query."""
        return [row[0] for row in await self.rows(query, **values)]

    async def scalar(self, query: Executable, **values: Any) -> Any | None:
        """Return the first column of a query's first row; None if there is no row."""
        return next(iter(await self.scalars(query, **values)), None)

    async def execute(self, *statements: Statement) -> int:
        """Execute statements, each with one or several mappings of values, in one transaction.

        Returns:
            The number of rows that the last statement changed.
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
        if patience is not None:  # by a timer, since the caller may be cancelled before
            cutting = loop.call_later(patience, job.cut)
            running.add_done_callback(lambda _: cutting.cancel())
        self._jobs[running] = job
        running.add_done_callback(self._on_done)
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

    def _on_done(self, done: asyncio.Future[Any]) -> None:
        del self._jobs[done]
        if not done.cancelled():
            done.exception()  # marks it as retrieved: the caller may have been cancelled

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
        """Return an INSERT for this database that supports ON CONFLICT."""
        if self.is_sqlite:
            return sqlite.insert(table)
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415  large, and most use SQLite

        return postgresql.insert(table)  # type: ignore[return-value]  # same calls

    async def revision(self) -> str | None:
        """Return the revision of the schema; None for a new database."""
        return await self.read(schema.current)

    async def migrate(self) -> None:
        """Migrate the schema to the newest revision, in one transaction."""

        def work(connection: Connection) -> None:
            if not self.is_sqlite:
                connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))
            schema.upgrade(connection)

        await self.write(work, patience=None)

    async def check(self) -> None:
        """Read every page of the file (SQLite), or run a trivial query (PostgreSQL).

        Raises:
            StorageError: the database is damaged or cannot be reached.
        """
        query = "PRAGMA quick_check(1)" if self.is_sqlite else "SELECT 'ok'"
        result = await self._query(lambda given: given.scalar(text(query)), patience=None)
        if result != "ok":
            raise StorageError(
                f"The database {self._label} is damaged: restore a backup, or move the file away "
                f"to start with an empty database. SQLite says: {result}"
            )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait up to two seconds for running work, then close every connection."""
        if self._jobs:
            await asyncio.wait(self._jobs, timeout=CLOSE_TIMEOUT)
        for job in self._jobs.values():
            job.cut()
        for threads in (self._threads, self._writer):
            threads.shutdown(wait=False)
        await asyncio.to_thread(self._engine.dispose)


def _make_file(path: Path) -> None:
    """Create a database file under a draft name, and rename it to `path` when it is complete."""
    draft = path.with_name(path.name + ".new")
    for leftover in path.parent.glob(f"{escape(draft.name)}*"):
        leftover.unlink()
    draft.touch(mode=0o600)  # other users of the machine must not read the digests of keys
    engine = sqlite_engine(draft, 1)
    try:
        with engine.connect().execution_options(writes=True) as connection, connection.begin():
            schema.upgrade(connection)
    finally:
        engine.dispose()
    draft.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # so that the new name survives a crash too
    finally:
        os.close(folder)


def postgresql_engine(url: URL) -> Engine:
    """Return an engine on PostgreSQL that survives a restart of the server.

    The engine tests connections before use. It prepares no named statements, so that PgBouncer may
    pool connections by transaction.

    Raises:
        OperatorError: the PostgreSQL driver is not installed.
    """
    try:
        return create_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_size=IDLE_CONNECTIONS,
            max_overflow=THREADS["postgresql"] - IDLE_CONNECTIONS,
            pool_timeout=5,
            pool_pre_ping=True,
            execution_options={"preserve_rowcount": True},  # of INSERT … ON CONFLICT DO NOTHING
            connect_args={"connect_timeout": 5, "prepare_threshold": None},
        )
    except ModuleNotFoundError:
        raise OperatorError(
            "A PostgreSQL database needs its driver: pip install 'location-context[postgresql]'."
        ) from None


_MESSAGES = {  # by part of the driver's message: how our message continues after the name
    "malformed": "is damaged: restore a backup, or move it away to start with an empty database",
    "not a database": "is not an SQLite database or is damaged: restore a backup",
    "disk is full": "cannot be written: the disk is full; free some space",
    "disk i/o error": "cannot be read or written: the disk reports an error or is full",
    "readonly": "cannot be written: it is read-only",
    "read-only": "cannot be written: it is read-only",
    "locked": "is locked by another process: end that process or wait, then try again",
    "unable to open": "cannot be opened: check that its folder exists and is writable",
}


@contextmanager
def translate_database_errors(label: str) -> Iterator[None]:
    """Convert errors of the driver in a `with` block to a `StorageError` that names `label`."""
    try:
        yield
    except IntegrityError as error:
        raise StorageError(f"The database {label} refused a row: {_first_line(error)}") from error
    except (SQLAlchemyError, OSError, TimeoutError) as error:
        text = _first_line(error)
        found = (message for key, message in _MESSAGES.items() if key in text.lower())
        problem = next(found, f"cannot be used: {text}")
        raise StorageError(f"The database {label} {problem}.") from error


def _first_line(error: BaseException) -> str:
    """Return the first line of the driver's message, without the SQL statement."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    return (str(cause) or type(cause).__name__).splitlines()[0]


BUSY_TIMEOUT = 15.0  # seconds that a writer of an SQLite file waits for other writers
MAX_POLL_SECONDS = 0.05


def sqlite_engine(path: Path, connections: int) -> Engine:
    """Return an engine on an SQLite file, with two execution options for its connections.

    `writes`: whether the transaction may write; if unset, queries run without a transaction.
    `durable`: False for a transaction that a power cut may undo; it does not wait for the disk.
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
            cursor = driver.cursor()  # the driver's: ten times as fast as through SQLAlchemy
            cursor.execute(f"PRAGMA query_only = {'OFF' if writes else 'ON'}")
            cursor.execute(f"PRAGMA synchronous = {level}")
            cursor.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            cursor.close()

    return engine


class WriteLock:
    """A file lock that admits one writer of an SQLite file, among all threads and processes.

    SQLite before 3.51.3 can damage a WAL database when two connections write and reset the log at
    the same moment. With one writer at a time, neither that nor SQLITE_BUSY can occur.

    Two files make the lock fair: a waiting writer first locks a second file (`….next`), then the
    lock file. So a writer that locks again at once cannot starve the others.
    """

    def __init__(self, path: Path, timeout: float = BUSY_TIMEOUT) -> None:
        self._path = path
        self._turn = path.with_name(path.name + ".next")
        self._timeout = timeout

    @contextmanager
    def acquire(self) -> Iterator[None]:
        """Hold the lock for the `with` block.

        Raises:
            StorageError: others held it for over `timeout` seconds, or the folder is read-only.
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
                    f"Another process has locked the database for over {self._timeout:g} s; end "
                    "that process or wait, then try again."
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
