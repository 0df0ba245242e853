"""Database: SQLite or PostgreSQL behind two doors, `read` and `write`.

`open` checks the version of the schema, and makes the schema in a new database. On SQLite one
writer works at a time, in this process and among processes; readers never wait. A new SQLite file
is made whole under another name and then given its own, so that an empty one is always damage.
"""

from __future__ import annotations

import os
from contextlib import asynccontextmanager, nullcontext
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sqlalchemy import URL, make_url, text
from sqlalchemy.dialects import postgresql, sqlite

from location_context.errors import StorageError
from location_context.storage import schema
from location_context.storage.engines import postgresql_engine, sqlite_engine, told_clearly
from location_context.storage.writer import Writer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sqlalchemy import Table
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

    from location_context.settings import Settings

_MIGRATING = 7_236_001  # the number of the lock that replicas hold while one of them migrates


class Database:
    """One database while it is open. Everything it raises itself is a `StorageError`."""

    def __init__(
        self,
        shown: str,
        reading: AsyncEngine,
        writing: AsyncEngine,
        writer: Writer | None = None,
        path: Path | None = None,
    ) -> None:
        """`writer` and `path` are SQLite's."""
        self._shown = shown
        self._path = path
        self._reading = reading
        self._writing = writing
        self._writer = writer

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """The database of the settings, with the schema it needs.

        Raises:
            StorageError: it cannot be reached or is damaged.
            OperatorError: its schema is another version's; the sentence has the command to run.
        """
        database = cls._connect(make_url(settings.database))
        try:
            await database.see_to_file()
            if (revision := await database.revision()) is None:
                await database.migrate()
            else:
                schema.check(revision)
            await database.check()
        except BaseException:
            await database.close()
            raise
        return database

    @classmethod
    async def upgrade(cls, settings: Settings) -> tuple[str | None, str]:
        """Bring the schema up to date; the revisions before and after."""
        database = cls._connect(make_url(settings.database))
        try:
            await database.see_to_file()
            before = await database.revision()
            await database.migrate()
            return before, schema.head()
        finally:
            await database.close()

    @classmethod
    def _connect(cls, url: URL) -> Self:
        if url.get_backend_name() != "sqlite":
            engine = postgresql_engine(url)
            return cls(f"{url.host}:{url.port or 5432}/{url.database}", engine, engine)
        path = Path(url.database or "").absolute()
        with told_clearly(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
        url = url.set(drivername="sqlite+aiosqlite", database=str(path))
        return cls(
            str(path),
            sqlite_engine(url, writes=False, read_only=_unwritable(path)),
            sqlite_engine(url, writes=True),
            Writer(path.with_name(path.name + ".lock")),
            path,
        )

    async def see_to_file(self) -> None:
        """Make the SQLite file if there is none; refuse one that was emptied.

        Raises:
            StorageError: it has 0 bytes, or cannot be made.
        """
        if self._path is None or self._writer is None:
            return
        with told_clearly(self._shown):
            if not self._path.exists():
                async with self._writer.hold():
                    if not self._path.exists():
                        await _make_file(self._path)
            if not self._path.stat().st_size:
                raise StorageError(
                    f"The database {self._shown} is an empty file (0 bytes): restore a copy of it, "
                    "or move it away to begin anew."
                )

    @property
    def is_sqlite(self) -> bool:
        return self._writer is not None

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A connection that reads one consistent state."""
        with told_clearly(self._shown):
            async with self._reading.connect() as connection:
                yield connection

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A connection in one transaction: committed at the end, rolled back on any error."""
        async with self._writer.hold() if self._writer else nullcontext():
            with told_clearly(self._shown):
                async with self._writing.begin() as connection:
                    yield connection

    def insert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """An INSERT that knows ON CONFLICT, which both databases spell the same way."""
        return sqlite.insert(table) if self.is_sqlite else postgresql.insert(table)

    async def revision(self) -> str | None:
        """The revision of the schema; None for a new database."""
        async with self.read() as connection:
            return await connection.run_sync(schema.current)

    async def migrate(self) -> None:
        """Bring the schema up to date in one transaction."""
        async with self.write() as connection:
            if not self.is_sqlite:
                await connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATING})"))
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
            said = (await connection.execute(text("PRAGMA quick_check(1)"))).scalar_one()
        if said != "ok":
            raise StorageError(
                f"The database {self._shown} is damaged: restore a copy of it, or move it away to "
                f"begin anew. SQLite says: {said}"
            )

    async def close(self) -> None:
        """Give back every connection."""
        await self._reading.dispose()
        await self._writing.dispose()


async def _make_file(path: Path) -> None:
    """A new database with its schema, which has its own name only once it is whole."""
    draft = path.with_name(path.name + ".new")
    for left_over in path.parent.glob(f"{escape(draft.name)}*"):
        left_over.unlink()
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


def _unwritable(path: Path) -> bool:
    """Whether an existing file lies where WAL cannot make its shared memory."""
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
