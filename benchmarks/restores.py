"""Back up an SQLite database that is being written to, restore each, and compare every row.

    python -m benchmarks.restores [--rounds 25] [--months 20000] [--json]

A server answers guests and stores the climate of new places (from a stand-in). A writer stores
numbered transactions without a pause, each a row in four tables whose content follows from its
number. An operator creates keys, and imports a calendar again and again, each time with all events
of one edition. `backup` and `restore` run meanwhile as commands. A round fails unless the restored
database

- is intact, and equals the database in the backup in every row of every table;
- holds exactly the first n transactions, complete in all four tables, with each one that was
  acknowledged before the backup began;
- has one edition of the calendar only;
- lacks no row of the tables that are only added to, against the live database;
- accepts each key created before the backup began, with the pepper in it.
"""

import asyncio
import hashlib
import random
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.harness import figures
from location_context.access.keys import digest
from location_context.access.pepper import open_pepper
from location_context.sections.events.records import (
    Calendar,
    Place,
    ProviderEvent,
    When,
)
from location_context.sections.weather.records import MonthRow
from location_context.settings import Settings
from location_context.settings.data_dir import DATABASE_FILE
from location_context.stay import system_clock
from location_context.storage import schema
from location_context.storage.access import SqlApiKeyStore, open_api_keys
from location_context.storage.database import Database
from location_context.storage.datasets import SqlClimateStore
from location_context.storage.events import SqlEventStore
from tests.fakes.open_meteo import ARCHIVE, FORECAST, OpenMeteo
from tests.storage.subprocess_targets import a_key, child
from tests.web.commands import COMMAND, environment, serving

FETCHED = datetime(2026, 1, 1, tzinfo=UTC)
DAY = date(2027, 6, 1)
EDITION_EVENTS = 200
_FETCHED = "SELECT count(*) FROM climate_months WHERE source NOT IN ('filled', 'sequence')"
ADDED_TO = ("api_keys", "climate_months")  # tables from which nothing here is deleted or changed


def month_of(number: int) -> MonthRow:
    """Return the month of a transaction."""
    data = random.Random(number).randbytes(1100)
    year, month = 2000 + number // 12 % 10, 1 + number % 12
    return MonthRow("sequence", f"cell {number}", year, month, 1.5, 2.5, None, FETCHED, data)


def event_of(name: str, number: int) -> ProviderEvent:
    day = When(DAY + timedelta(number % 300))
    place = Place(lat=number % 90, lng=number % 180)
    return ProviderEvent(
        id=f"{name}:{number}", source="calendars", title=f"{name} {number}", category="other",
        start=day, end=day, all_day=True, place=place,
    )  # fmt: skip


def write_sequence(pipe: Connection, folder: str) -> None:
    """Store transaction after transaction, and send the number of each acknowledged one."""

    async def life() -> None:
        database = await Database.open(Settings(data_dir=Path(folder)))
        calendar = Calendar(id="sequence", kind="import", source="a benchmark")
        await SqlEventStore(database).replace(calendar, [])
        count = database.insert(schema.metadata_kv)
        count = count.on_conflict_do_update(
            index_elements=["name"], set_={"value": count.excluded.value}
        )
        number = 0
        while True:
            number += 1
            key, months = asdict(a_key(f"sequence-{number}")), schema.climate_months
            day = date(2026, 1, 1)
            event = {
                "cell": number, "last_day": day, "calendar": "sequence", "first_day": day,
                "record": "{}",
            }  # fmt: skip
            await database.execute(
                (schema.api_keys.insert(), key),
                (months.insert(), msgspec.structs.asdict(month_of(number))),
                (schema.events.insert(), {**event, "id": f"sequence:{number}"}),
                (count, {"name": "sequence", "value": str(number)}),
            )
            pipe.send(number)

    asyncio.run(life())


def operate(pipe: Connection, folder: str) -> None:
    """Create keys and import editions, and send the secret of each key."""

    async def life() -> None:
        settings = Settings(data_dir=Path(folder))
        database = await Database.open(settings)
        keys, store = await open_api_keys(settings, database, system_clock), SqlEventStore(database)
        edition = 0
        while True:
            edition += 1
            pipe.send((await keys.create(f"guest {edition}")).secret)
            name = f"edition-{edition}"
            events = [event_of(name, number) for number in range(EDITION_EVENTS)]
            calendar = Calendar(id="edition", kind="import", source=name, rows=len(events))
            await store.replace(calendar, events)

    asyncio.run(life())


class Guests(threading.Thread):
    """Requests of new places, one after another."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.port, self.statuses, self.done = port, dict[str, int](), threading.Event()

    def run(self) -> None:
        number = 0
        while not self.done.wait(0.02):
            number += 1
            place = f"lat={number % 60}.5&lng={number * 7 % 170}.5"
            connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
            try:
                connection.request("GET", f"/v1/pulse?{place}&start=2027-06-01&end=2027-06-03")
                status = str(connection.getresponse().status)
            except OSError as error:
                status = type(error).__name__
            self.statuses[status] = self.statuses.get(status, 0) + 1
            connection.close()


@dataclass
class Load:
    """The writers, and what was acknowledged so far."""

    folder: Path
    sequence: Connection
    operator: Connection
    number: int = 0
    secrets: list[str] = field(default_factory=list)

    def drain(self) -> int:
        """Read all acknowledgements until now and return the number of the last transaction."""
        while self.sequence.poll():
            self.number = self.sequence.recv()
        while self.operator.poll():
            self.secrets.append(self.operator.recv())
        return self.number


@contextmanager
def load(folder: Path, months: int) -> Iterator[tuple[Load, Guests]]:
    """Run all that writes to a database with so many months, until the end of the block."""
    asyncio.run(_fill(folder, months))
    with ExitStack() as stack:
        meteo = OpenMeteo(system_clock)
        stack.enter_context(meteo.server.running())
        addresses = {
            "LOCATION_CONTEXT_OPEN_METEO_FORECAST_URL": meteo.server.url + FORECAST,
            "LOCATION_CONTEXT_OPEN_METEO_ARCHIVE_URL": meteo.server.url + ARCHIVE,
            "LOCATION_CONTEXT_WIDGET_PER_MINUTE": "100000",
        }
        served = stack.enter_context(serving(folder, more=addresses))
        _, sequence = stack.enter_context(child(write_sequence, str(folder)))
        _, operator = stack.enter_context(child(operate, str(folder)))
        guests = Guests(served.port)
        guests.start()
        stack.callback(guests.join)
        stack.callback(guests.done.set)
        under = Load(folder, sequence, operator)
        while not (under.drain() and under.secrets and guests.statuses.get("200")):
            time.sleep(0.01)
        yield under, guests


async def _fill(folder: Path, months: int) -> None:
    database = await Database.open(Settings(data_dir=folder))
    first, store = month_of(0), SqlClimateStore(database)
    for start in range(0, months, 1200):
        await store.save([
            MonthRow("filled", f"cell {n // 120}", n % 10, 1 + n // 10 % 12, *_rest(first))
            for n in range(start, min(months, start + 1200))
        ])  # fmt: skip
    await database.close()


def _rest(month: MonthRow) -> list[Any]:
    return [getattr(month, name) for name in MonthRow.__struct_fields__[4:]]


def _run(folder: Path, *arguments: str) -> None:
    subprocess.run([*COMMAND, *arguments], env=environment(folder), check=True, capture_output=True)


def one_round(under: Load, place: Path) -> Mapping[str, float]:
    """Back up, restore and compare; return the figures.

    Raises:
        AssertionError: a row is missing or differs.
    """
    file, other = place / "backup.tar", place / "restored"
    before, secrets, began = under.drain(), list(under.secrets), time.monotonic()
    _run(under.folder, "backup", str(file))
    took, after = time.monotonic() - began, under.drain()
    _run(other, "restore", str(file))
    restored = other / DATABASE_FILE
    with tarfile.open(file) as tar:
        stored = tar.extractfile(DATABASE_FILE)  # extract() has no filter before Python 3.11.4
        assert stored is not None
        (place / DATABASE_FILE).write_bytes(stored.read())
    with (
        closing(sqlite3.connect(f"file:{restored}", uri=True)) as there,
        closing(sqlite3.connect(place / DATABASE_FILE)) as packed,
    ):
        rows = compare(there, packed)
        number = check_contents(there)
        assert before <= number <= after + 1, (before, number, after)
        there.execute("ATTACH ? AS live", [f"file:{under.folder / DATABASE_FILE}?mode=ro"])
        for table in ADDED_TO:
            lost = there.execute(
                f"SELECT count(*) FROM (SELECT * FROM {table} EXCEPT SELECT * FROM live.{table})"
            )
            assert lost.fetchone() == (0,), table
    asyncio.run(check_keys(Settings(data_dir=other), secrets))
    return {"rows": rows, "seconds": took, "meanwhile": after - before, "number": number,
            "keys": len(secrets), "MB": file.stat().st_size / 1e6}  # fmt: skip


def compare(one: sqlite3.Connection, other: sqlite3.Connection) -> int:
    """Compare every row of every table of two databases and return their number."""
    digests = []
    for connection in (one, other):
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")
        seen, count = hashlib.sha256(), 0
        for (table,) in found.fetchall():
            rows = sorted(map(repr, connection.execute(f"SELECT * FROM {table}")))
            seen.update("\n".join([table, *rows]).encode())
            count += len(rows)
        digests.append((count, seen.digest()))
    assert digests[0] == digests[1]
    return count


def check_contents(there: sqlite3.Connection) -> int:
    """Check that it is one state of the load; return the number of its last transaction."""

    def rows(query: str) -> list[tuple[Any, ...]]:
        return there.execute(query).fetchall()

    assert rows("PRAGMA integrity_check") == [("ok",)]
    assert rows("PRAGMA foreign_key_check") == []
    number = int(rows("SELECT value FROM facts WHERE name = 'sequence'")[0][0])
    numbers = range(1, number + 1)
    keys = {key for (key,) in rows("SELECT id FROM api_keys WHERE id LIKE 'sequence-%'")}
    assert keys == {f"sequence-{n}" for n in numbers}
    months = dict(rows("SELECT cell, data FROM climate_months WHERE source = 'sequence'"))
    assert months == {month_of(n).cell: month_of(n).data for n in numbers}
    events = {key for (key,) in rows("SELECT id FROM events WHERE calendar = 'sequence'")}
    assert events == {f"sequence:{n}" for n in numbers}
    editions = rows("SELECT id, record FROM events WHERE calendar = 'edition'")
    calendar = rows("SELECT record FROM event_calendars WHERE id = 'edition'")
    names = {key.partition(":")[0] for key, _ in editions}
    assert len(names) == len(calendar)
    assert len(editions) == EDITION_EVENTS * len(calendar)
    assert all(name in record for name in names for (record,) in calendar)
    return number


async def check_keys(settings: Settings, secrets: list[str]) -> None:
    """Check that each key is one of the stored ones, by the pepper of the settings."""
    async with await Database.open(settings, read_whole=True) as database:
        store = SqlApiKeyStore(database)
        pepper = await open_pepper(settings, store)
        digests = {key.digest for key in await store.all()}
        assert not store.damaged
        assert {digest(pepper, secret) for secret in secrets} <= digests


def run(folder: Path, rounds: int, months: int) -> Mapping[str, Mapping[str, Any]]:
    """Return the figures of so many rounds under one load."""
    done = []
    with load(folder / "live", months) as (under, guests):
        for number in range(rounds):
            with tempfile.TemporaryDirectory(dir=folder) as place:
                done.append(one_round(under, Path(place)))
            print(f"round {number + 1}: equal, {done[-1]['rows']:,.0f} rows", file=sys.stderr)
        answers = dict(guests.statuses)
        with closing(sqlite3.connect(under.folder / DATABASE_FILE)) as live:
            (fetched,) = live.execute(_FETCHED).fetchone()
    last = done[-1]
    return {"restores": {
        "equal": len(done), "rows compared": int(sum(one["rows"] for one in done)),
        "transactions": int(last["number"]), "keys": int(last["keys"]), "months of guests": fetched,
        "during backups": int(sum(one["meanwhile"] for one in done)),
        "MB": last["MB"], "seconds of a backup": figures.median(one["seconds"] for one in done),
        "guests": str(answers),
    }}  # fmt: skip


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=25)
    parser.add_argument("--months", type=int, default=20_000, help="stored before (20,000: 29 MB)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures.show(run(Path(folder), given.rounds, given.months), given)


if __name__ == "__main__":
    main()
