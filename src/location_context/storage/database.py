"""Database: SQLite or PostgreSQL with one way to `read` and one to `write`.

`Database.open` checks the version of the schema, and makes the schema in a new database. On SQLite
one writer works at a time, in this process and among processes; readers never wait, since it runs
in WAL mode, with synchronous FULL, so that what was acknowledged survives a crash. A new SQLite
file is written completely under another name and then renamed, so that an empty one is always
damage.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from glob import escape
from pathlib import Path
from typing import Any, Self

from sqlalchemy import URL, Executable, Row, Table, make_url, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from location_context.errors import OperatorError, StorageError
from location_context.settings import Settings
from location_context.storage import schema
from location_context.storage.sqlite import (
    SqliteReader,
    SqliteWriter,
    Statement,
    WriteLock,
    read_only_url,
    sqlite_engine,
)

MIGRATION_LOCK = 7_236_001  # advisory lock that a replica holds while it migrates
POOL_SIZE, MAX_OVERFLOW = 5, 5  # connections to PostgreSQL that are kept, and more under load
RESERVED = 2  # for the keys: one, and another while one that fell silent is being closed
PAGES_AT_ONCE = 500  # of an SQLite file, 2 MB
CLOSE_TIMEOUT = 2.0  # seconds to wait for connections in use


class Database:
    """One database while it is open. Everything it raises itself is a `StorageError`."""

    def __init__(  # noqa: PLR0913, PLR0917  the ways to the two databases
        self,
        label: str,
        reading: AsyncEngine,
        writing: AsyncEngine,
        write_lock: WriteLock | None = None,
        path: Path | None = None,
        reserved: AsyncEngine | None = None,
    ) -> None:
        """`label` names it in errors; `write_lock` and `path` are set for SQLite alone.

        `reserved`: connections to PostgreSQL that are kept for queries that ask for them.
        """
        self._label = label
        self._path = path
        self._reading = reading
        self._reader = SqliteReader(read_only_url(path, "sqlite")) if path else None
        self._reserved_reader = SqliteReader(read_only_url(path, "sqlite"), 1) if path else None
        self._reserved = reserved or reading
        self._writing = writing
        self._writer = SqliteWriter(URL.create("sqlite", database=str(path))) if path else None
        self._write_lock = write_lock
        self._connections = 0  # in use
        self._idle = asyncio.Event()
        self._idle.set()

    @classmethod
    async def open(cls, settings: Settings, *, read_whole: bool = False) -> Self:
        """The database that the settings name, with the schema it needs.

        `read_whole`: every page of an SQLite file is read, so that damage is said at once; a
        gigabyte takes seconds, so that `serve` does it once and commands that ask for a row do not.

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
                async with database.read() as connection:
                    await connection.run_sync(schema.require_usable)
            if read_whole:
                await database.check()
        except BaseException:
            await database.close()
            raise
        return database

    @classmethod
    async def upgrade(cls, settings: Settings) -> tuple[str | None, str]:
        """Bring the schema up to date; the revisions before and after.

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
        """The revision of the schema; None if there is no database yet.

        Raises:
            StorageError: it cannot be reached or is damaged.
            OperatorError: the schema is that of a newer version, which this one cannot use.
        """
        async with cls._connect(make_url(settings.database)) as database:
            return await database.usable_revision()

    @classmethod
    def _connect(cls, url: URL) -> Self:
        if url.get_backend_name() != "sqlite":
            engine, label = postgresql_engine(url), f"{url.host}:{url.port or 5432}/{url.database}"
            return cls(label, engine, engine, reserved=postgresql_engine(url, 1, RESERVED - 1))
        path = Path(url.database or "").absolute()
        with translate_database_errors(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
        driver = "sqlite+aiosqlite"
        return cls(
            str(path),
            sqlite_engine(read_only_url(path, driver), writes=False),
            sqlite_engine(URL.create(driver, database=str(path)), writes=True),
            WriteLock(path.with_name(path.name + ".lock")),
            path,
        )

    def connections(self) -> tuple[int, int]:
        """How many are in use, and how many there may be; SQLite has no such bound (0)."""
        return self._connections, 0 if self.is_sqlite else POOL_SIZE + MAX_OVERFLOW

    async def ensure_file(self) -> None:
        """Create the SQLite file if there is none; reject one that was emptied.

        Raises:
            StorageError: it has 0 bytes, or cannot be made.
        """
        if self._path is None or self._write_lock is None:
            return
        with translate_database_errors(self._label):
            if not self._path.exists():
                async with self._write_lock.acquire():
                    if not self._path.exists():
                        await _make_file(self._path)
            if not self._path.stat().st_size:
                raise StorageError(
                    f"The database {self._label} is an empty file (0 bytes): restore a copy of it, "
                    "or move it away to start afresh."
                )

    @property
    def is_sqlite(self) -> bool:
        return self._write_lock is not None

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A connection that reads one consistent state."""
        with translate_database_errors(self._label):
            async with self._in_use(), self._reading.connect() as connection:
                yield connection

    async def reserved_rows(self, query: Executable) -> Sequence[Row[Any]]:
        """All rows of one query, however many others wait for a connection."""
        with translate_database_errors(self._label):
            if self._reserved_reader is not None:
                return await self._reserved_reader.rows(query, {})
            async with self._reserved.connect() as connection:
                return (await connection.execute(query)).all()

    async def rows(self, query: Executable, **values: Any) -> Sequence[Row[Any]]:
        """All rows of one query, with values for its parameters.

        A query that is made once, with parameters, takes a third of one that is made each time.
        """
        if self._reader is not None:
            with translate_database_errors(self._label):
                return await self._reader.rows(query, values)
        async with self.read() as connection:
            return (await connection.execute(query, values)).all()

    async def scalars(self, query: Executable, **values: Any) -> Sequence[Any]:
        """The first column of one query."""
        return [row[0] for row in await self.rows(query, **values)]

    async def scalar(self, query: Executable, **values: Any) -> Any | None:
        """The first column of the first row of one query; None where there is no row."""
        return next(iter(await self.scalars(query, **values)), None)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A connection in one transaction: committed at the end, rolled back on any error."""
        async with self._write_lock.acquire() if self._write_lock else nullcontext():
            with translate_database_errors(self._label):
                async with self._in_use(), self._writing.begin() as connection:
                    yield connection

    async def execute(self, *statements: Statement) -> None:
        """Statements, each with its values or a list of them, in one transaction."""
        if self._writer is None or self._write_lock is None:
            async with self.write() as connection:
                for statement, values in statements:
                    await connection.execute(statement, values)
            return
        async with self._write_lock.acquire(), self._in_use():
            with translate_database_errors(self._label):
                await self._writer.execute(statements)

    async def shrink(self) -> AsyncIterator[int]:
        """Give free pages of an SQLite file back to the disk; yields the number of each batch.

        A file that a version before this one made keeps them for new rows, until `vacuum`.
        """
        while self._writer is not None and self._write_lock is not None:
            async with self._write_lock.acquire(), self._in_use():
                with translate_database_errors(self._label):
                    count = await self._writer.shrink(PAGES_AT_ONCE)
            if not count:
                return
            yield count

    async def vacuum(self) -> None:
        """Write an SQLite file anew without free pages; who writes waits, or fails after 15 s."""
        if self._writer is None or self._write_lock is None:
            raise OperatorError("The database is PostgreSQL: use its VACUUM.")
        async with self._write_lock.acquire(), self._in_use():
            with translate_database_errors(self._label):
                await self._writer.vacuum()

    @asynccontextmanager
    async def _in_use(self) -> AsyncIterator[None]:
        self._connections += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._connections -= 1
            if not self._connections:
                self._idle.set()

    def insert(self, table: Table) -> sqlite.Insert:
        """An INSERT that supports ON CONFLICT, which both databases spell the same way."""
        if self.is_sqlite:
            return sqlite.insert(table)
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415  large, and SQLite is the usual

        return postgresql.insert(table)  # type: ignore[return-value]  # same calls

    async def revision(self) -> str | None:
        """The revision of the schema; None for a new database."""
        async with self.read() as connection:
            return await connection.run_sync(schema.current)

    async def usable_revision(self) -> str | None:
        """The revision of the schema, if this version can use it or migrate it; None for none.

        Raises:
            OperatorError: it is that of a newer version, and not usable.
        """
        if self._path and not self._path.exists():
            return None
        revision = await self.revision()
        if revision is not None and not schema.pending(revision):
            async with self.read() as connection:
                await connection.run_sync(schema.require_usable)
        return revision

    async def migrate(self) -> None:
        """Bring the schema up to date in one transaction."""
        async with self.write() as connection:
            if not self.is_sqlite:
                await connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))
            await connection.run_sync(schema.upgrade)

    async def check(self) -> None:
        """Read every page once (SQLite), or reach the server.

        Raises:
            StorageError: the database is damaged or not there.
        """
        async with self.read() as connection:
            if not self.is_sqlite:
                await connection.execute(text("SELECT 1"))
                return
            result = (await connection.execute(text("PRAGMA quick_check(1)"))).scalar_one()
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
        """Close every connection, once those in use are given back."""
        with suppress(TimeoutError):  # a pool disposed earlier would leave them open
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self._idle.wait()
        for reader in filter(None, (self._reader, self._reserved_reader)):
            await reader.close()
        await self._reserved.dispose()
        if self._writer is not None:
            await self._writer.close()
        await self._reading.dispose()
        await self._writing.dispose()


async def _make_file(path: Path) -> None:
    """A new database with its schema, under its own name only once it is complete."""
    draft = path.with_name(path.name + ".new")
    for leftover in path.parent.glob(f"{escape(draft.name)}*"):
        leftover.unlink()
    draft.touch(mode=0o600)  # digests of keys are not for other users
    engine = sqlite_engine(URL.create("sqlite+aiosqlite", database=str(draft)), writes=True)
    try:
        async with engine.begin() as connection:
            await connection.run_sync(schema.upgrade)
    finally:
        await engine.dispose()
    draft.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the name survives a crash like what is written under it
    finally:
        os.close(folder)


def postgresql_engine(url: URL, kept: int = POOL_SIZE, more: int = MAX_OVERFLOW) -> AsyncEngine:
    """An engine on PostgreSQL; a connection is tried before use, so a restart is survived.

    No statement outlives its transaction under a name, so that PgBouncer may give each transaction
    another connection of the server.
    """
    arguments: dict[str, Any] = {
        "timeout": 5,
        "command_timeout": 60,
        "statement_cache_size": 0,
        "prepared_statement_cache_size": 0,
        "prepared_statement_name_func": str,  # the empty name
    }
    if mode := url.query.get("sslmode"):  # libpq's word for what asyncpg calls ssl
        arguments["ssl"] = mode
        url = url.difference_update_query(["sslmode"])
    return create_async_engine(
        url.set(drivername="postgresql+asyncpg"),
        pool_size=kept,
        max_overflow=more,
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
