"""Engines: how each kind of database is connected to, and the words its failures are told in.

SQLite runs in WAL mode with synchronous FULL, so that readers never wait for the writer and what
was acknowledged survives a crash. Its driver starts no transaction of its own, so that DDL is part
of ours.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import create_async_engine

from location_context.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import URL, Connection
    from sqlalchemy.ext.asyncio import AsyncEngine

_BUSY_SECONDS = 15.0


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
        connect_args={"timeout": _BUSY_SECONDS},
    )
    begin = "BEGIN IMMEDIATE" if writes else "BEGIN"

    @event.listens_for(engine.sync_engine, "connect")
    def _connected(connection: Any, _: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA journal_mode = WAL" if writes else "PRAGMA query_only = ON")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def _begun(connection: Connection) -> None:
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


_SENTENCES = {
    "malformed": "is damaged: restore a copy of it, or move it away to begin anew",
    "not a database": "is not an SQLite database or is damaged: restore a copy of it",
    "disk is full": "cannot be written: the disk is full; free some space",
    "disk i/o error": "cannot be read or written: the disk reports an error or is full",
    "readonly": "cannot be written: it is read-only",
    "read-only": "cannot be written: it is read-only",
    "locked": "is locked by another process: end that process or wait, then try again",
    "unable to open": "cannot be opened: does its folder exist, with the right to write?",
}


@contextmanager
def told_clearly(shown: str) -> Iterator[None]:
    """Turn what the database raises into a `StorageError` about the database `shown`."""
    try:
        yield
    except IntegrityError as error:
        raise StorageError(f"The database {shown} refused a row: {_first_line(error)}") from error
    except (SQLAlchemyError, OSError, TimeoutError) as error:
        text = _first_line(error)
        found = (words for key, words in _SENTENCES.items() if key in text.lower())
        raise StorageError(
            f"The database {shown} {next(found, f'cannot be used: {text}')}."
        ) from error


def _first_line(error: BaseException) -> str:
    """What the driver said, without the statement and its values."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    return (str(cause) or type(cause).__name__).splitlines()[0]
