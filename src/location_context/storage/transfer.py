"""Transfer: copies all rows from an SQLite database to an empty PostgreSQL one.

Two passes run in one transaction of the target, so an interrupted copy does not change the target.
Each pass reads the tables of both databases in the order of their keys and compares every row. It
copies rows that the target lacks or has with other values, and deletes rows that only the target
has. It fails unless the target returns each copied row unchanged. The service may write to the
source during the first pass. The second pass blocks these writes until the target has committed, so
that the copy is complete.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    String,
    Table,
    collate,
    delete,
    func,
    inspect,
    make_url,
    select,
    text,
    tuple_,
)

from location_context.errors import OperatorError, StorageError
from location_context.settings import Secret, Settings
from location_context.storage import schema
from location_context.storage.backup import sqlite_file
from location_context.storage.database import (
    MIGRATION_LOCK,
    WriteLock,
    postgresql_engine,
    sqlite_engine,
    translate_database_errors,
)
from location_context.storage.schema import metadata, metadata_kv

ROWS_AT_ONCE = 500  # rows that are compared and written together; a row has some kB
Values: TypeAlias = tuple[Any, ...]
Advance: TypeAlias = Callable[[int], None]


class Transfer:
    """A copy of this installation's SQLite database to a PostgreSQL one.

    Attributes:
        source: the SQLite file.
        target: host, port and name of the PostgreSQL database, without the password.
    """

    def __init__(self, settings: Settings, address: Secret) -> None:
        """Prepare a copy from the settings' database to the PostgreSQL URL `address`.

        Raises:
            OperatorError: there is no SQLite file to copy.
        """
        path, url = sqlite_file(settings), make_url(address.reveal())
        if path is None or not path.exists():
            raise OperatorError(
                f"There is no SQLite database to copy: {path} is missing."
                if path
                else "LOCATION_CONTEXT_DATABASE_URL is PostgreSQL already; unset it to copy from "
                "the SQLite database of the data directory."
            )
        self.source, self.target = path, f"{url.host}:{url.port or 5432}/{url.database}"
        self._url = url

    def count(self) -> int:
        """Return the number of rows in the source.

        Raises:
            OperatorError: the source's schema is not the one of this version.
            StorageError: the source cannot be read.
        """
        with translate_database_errors(str(self.source)), self._reading(writes=False) as here:
            if (revision := schema.current(here)) != schema.head():
                raise OperatorError(
                    f"The database {self.source} has schema {revision or 'none'}; copying needs "
                    f"{schema.head()}. Install the newest location-context, and run: "
                    "location-context migrate"
                )
            tables = (select(func.count()).select_from(one) for one in metadata.sorted_tables)
            return sum(here.scalar(one) or 0 for one in tables)

    def run(self, advance: Advance) -> dict[str, int]:
        """Copy all rows; return the number of rows of each table.

        Args:
            advance: receives the number of rows read since its last call; two passes read each row.

        Raises:
            OperatorError: the target is not empty.
            StorageError: a database cannot be used, or a row is damaged. The target is unchanged.
        """
        lock = WriteLock(self.source.with_name(self.source.name + ".lock"))
        with (
            translate_database_errors(self.target),
            _connected(postgresql_engine(self._url)) as there,
            there.begin() as copying,
        ):
            self._prepare(there)
            with self._reading(writes=False) as here:
                self._equalise(here, there, advance)
            with lock.acquire(), self._reading(writes=True) as here:
                rows = self._equalise(here, there, advance)
                copying.commit()
        return rows

    def _prepare(self, there: Connection) -> None:
        """Create the target's tables if it has none, and lock them; reject a target with rows."""
        there.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))
        revision = schema.current(there)
        if revision is None and not inspect(there).get_table_names():
            schema.upgrade(there)
        elif revision != schema.head():
            raise self._refusal(
                f"schema {revision}" if revision else "tables of another application"
            )
        there.execute(text("SET LOCAL lock_timeout = '10s'"))
        there.execute(text(f"LOCK TABLE {', '.join(metadata.tables)} IN EXCLUSIVE MODE"))
        for table in metadata.sorted_tables:
            if table is not metadata_kv and there.execute(select(table).limit(1)).first():
                raise self._refusal(f"rows in {table.name}")

    def _refusal(self, found: str) -> OperatorError:
        return OperatorError(
            f"The database {self.target} has {found}; nothing was copied. A copy needs an empty "
            "database: drop this one and create it again, or name another."
        )

    @contextmanager
    def _reading(self, *, writes: bool) -> Iterator[Connection]:
        """Open a transaction on the source; if `writes`, other processes cannot write meanwhile."""
        with (
            _connected(sqlite_engine(self.source, 1)) as here,
            here.execution_options(writes=writes).begin(),
        ):
            yield here

    def _equalise(self, here: Connection, there: Connection, advance: Advance) -> dict[str, int]:
        """Make each table of the target equal to the source's; return the tables' row counts."""
        counts = dict.fromkeys((table.name for table in metadata.sorted_tables), 0)
        for table in metadata.sorted_tables:  # each after the tables that it references
            ours, theirs = _rows(here, table, str(self.source)), _rows(there, table, self.target)
            pairs = _pairs(ours, theirs, len(table.primary_key))
            while part := list(islice(pairs, ROWS_AT_ONCE)):
                counts[table.name] += sum(one is not None for one, _ in part)
                self._write(there, table, [(one, other) for one, other in part if one != other])
                advance(len(part))
        return counts

    def _write(
        self, there: Connection, table: Table, pairs: Sequence[tuple[Values | None, Values | None]]
    ) -> None:
        """Make rows of the target equal to the source's; `pairs` has (source's, target's row).

        If the source's row of a pair is None, the target's row is deleted.
        """
        from sqlalchemy.dialects.postgresql import insert  # noqa: PLC0415  large, as in database.py

        keys = table.primary_key.columns.keys()
        if extra := [theirs[: len(keys)] for ours, theirs in pairs if ours is None and theirs]:
            there.execute(delete(table).where(tuple_(*table.primary_key).in_(extra)))
        if rows := [ours for ours, _ in pairs if ours is not None]:
            names, into = table.columns.keys(), insert(table)
            rest = {name: into.excluded[name] for name in names if name not in keys}
            into = into.on_conflict_do_update(index_elements=keys, set_=rest)
            values = [dict(zip(names, row, strict=True)) for row in rows]
            written = there.execute(into.returning(*table.columns), values)
            if set(map(tuple, written)) != set(rows):
                raise StorageError(
                    f"{self.target} returned rows of {table.name} that differ from those written."
                )


@contextmanager
def _connected(engine: Engine) -> Iterator[Connection]:
    """Yield a connection, and close the whole engine when the block ends."""
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def _rows(connection: Connection, table: Table, label: str) -> Iterator[Values]:
    """Yield a table's rows, sorted by primary key in byte order (the same in both databases)."""
    is_sqlite = connection.dialect.name == "sqlite"
    key: list[ColumnElement[Any]] = [
        column if is_sqlite or not isinstance(column.type, String) else collate(column, "C")
        for column in table.primary_key
    ]
    query = select(table).order_by(*key).execution_options(yield_per=ROWS_AT_ONCE)
    with translate_database_errors(label):
        try:
            yield from map(tuple, connection.execute(query))
        except (ValueError, TypeError) as error:  # SQLite does not enforce a column's type
            raise StorageError(f"{label} has a damaged row in {table.name}: {error}") from None


def _pairs(
    ours: Iterator[Values], theirs: Iterator[Values], key: int
) -> Iterator[tuple[Values | None, Values | None]]:
    """Yield (our row, their row) for each key, the first `key` columns; None for a missing row."""
    one, other = next(ours, None), next(theirs, None)
    while one is not None or other is not None:
        if other is None or (one is not None and one[:key] < other[:key]):
            yield one, None
            one = next(ours, None)
        elif one is None or other[:key] < one[:key]:
            yield None, other
            other = next(theirs, None)
        else:
            yield one, other
            one, other = next(ours, None), next(theirs, None)
