"""Copy an SQLite database that is being written to into PostgreSQL, and compare every row.

    python -m benchmarks.copies [--rounds 25] [--months 20000] [--to URL] [--json]

A server, a writer and an operator write without a pause, as in `benchmarks.restores`; each round
copies into a new database of the PostgreSQL server at URL. A round fails unless the copy

- equals, in every row of every table, the state of the source when the copy was committed. That
  state is read by a connection of the round's own, opened while the copy holds the write lock;
- holds each transaction that was acknowledged before the copy began;
- accepts each key that was created before the copy began, and one created during it.
"""

import asyncio
import sqlite3
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from benchmarks.harness import figures
from benchmarks.restores import Load, check_keys, load
from location_context.settings import Secret, Settings
from location_context.settings.data_dir import DATABASE_FILE, PEPPER_FILE
from location_context.stay import system_clock
from location_context.storage.access import open_api_keys
from location_context.storage.database import Database
from location_context.storage.transfer import Transfer
from tests.databases import SERVER, administer

SHOWN = "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'schema_version'"


class Snapshots:
    """The newest state of an SQLite file, read by a transaction that a copy's progress opens."""

    def __init__(self, file: Path) -> None:
        self._address = f"file:{file}?mode=ro"
        self.newest: sqlite3.Connection | None = None

    def advance(self, _: int) -> None:
        """Read the state anew; the last call comes while the copy holds the write lock."""
        self.close()
        self.newest = sqlite3.connect(self._address, uri=True, isolation_level=None)
        self.newest.execute("BEGIN")
        self.newest.execute("SELECT count(*) FROM facts").fetchone()

    def close(self) -> None:
        if self.newest is not None:
            self.newest.close()


@contextmanager
def empty_database(server: str) -> Iterator[str]:
    """Make an empty database for the block; yield its address."""
    name = f"location_context_copy_{uuid.uuid4().hex[:12]}"
    asyncio.run(administer(f"CREATE DATABASE {name}", f"{server}/postgres"))
    try:
        yield f"{server}/{name}"
    finally:
        asyncio.run(administer(f"DROP DATABASE {name} WITH (FORCE)", f"{server}/postgres"))


def compare(here: sqlite3.Connection, there: psycopg.Connection[Any]) -> int:
    """Compare every row of every table, each as its driver reads it; return their number."""
    count = 0
    for (table,) in here.execute(SHOWN).fetchall():
        columns = [row[1] for row in here.execute(f"PRAGMA table_info({table})")]
        query = f"SELECT {', '.join(columns)} FROM {table}"
        rows = Counter(here.execute(query))
        copied = Counter(tuple(map(as_sqlite, row)) for row in there.execute(query))
        assert rows == copied, (table, len(rows), len(copied), list((rows - copied) or copied)[:1])
        count += rows.total()
    return count


def as_sqlite(value: Any) -> Any:
    """Return a value of PostgreSQL as SQLite stores it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    if isinstance(value, date):
        return value.isoformat()
    return int(value) if isinstance(value, bool) else value


def one_round(under: Load, address: str) -> Mapping[str, float]:
    """Copy and compare; return the figures.

    Raises:
        AssertionError: a row is missing or differs.
    """
    live = Settings(data_dir=under.folder)
    pepper = Secret((under.folder / PEPPER_FILE).read_text().strip())
    target = msgspec.structs.replace(live, database_url=Secret(address), key_pepper=pepper)
    snapshots = Snapshots(under.folder / DATABASE_FILE)
    before, secrets, made = under.drain(), list(under.secrets), list[str]()

    def advance(count: int) -> None:
        if not made:  # in the first pass
            made.append(asyncio.run(create_key(live)))
        snapshots.advance(count)

    began = time.monotonic()
    rows = Transfer(live, Secret(address)).run(advance)
    took, after = time.monotonic() - began, under.drain()
    with closing(snapshots), psycopg.connect(address) as there:
        assert snapshots.newest is not None
        assert compare(snapshots.newest, there) == sum(rows.values())
        found = there.execute("SELECT value FROM facts WHERE name = 'sequence'").fetchone()
    assert found is not None
    assert before <= int(found[0]) <= after + 1, (before, found, after)
    asyncio.run(check_keys(target, secrets + made))
    return {"rows": sum(rows.values()), "seconds": took, "meanwhile": after - before}


async def create_key(settings: Settings) -> str:
    async with await Database.open(settings) as database:
        keys = await open_api_keys(settings, database, system_clock)
        return (await keys.create("meanwhile")).secret


def run(folder: Path, rounds: int, months: int, server: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the figures of so many rounds under one load."""
    done = []
    with load(folder / "live", months) as (under, guests):
        for number in range(rounds):
            with empty_database(server) as address:
                done.append(one_round(under, address))
            print(f"round {number + 1}: equal, {done[-1]['rows']:,.0f} rows", file=sys.stderr)
        answers = dict(guests.statuses)
    return {"copies": {
        "equal": len(done), "rows compared": int(sum(one["rows"] for one in done)),
        "transactions during copies": int(sum(one["meanwhile"] for one in done)),
        "seconds of a copy": figures.median(one["seconds"] for one in done),
        "guests": str(answers),
    }}  # fmt: skip


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=25)
    parser.add_argument("--months", type=int, default=20_000, help="stored before (20,000: 29 MB)")
    parser.add_argument("--to", default=SERVER, help="a PostgreSQL server, without a database")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures.show(run(Path(folder), given.rounds, given.months, given.to), given)


if __name__ == "__main__":
    main()
