"""An upgrade, rehearsed: data of every old schema, and two versions on one database."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from datetime import UTC, date, datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Table, insert, inspect, select

import location_context
from location_context.settings import Settings
from location_context.storage import schema
from location_context.storage.database import Database
from tests.web.commands import Serving, command, environment, serving

NEWER = """
import sqlalchemy as sa
from alembic import op

revision = "0099_newer"
down_revision = {head!r}
{usable}

def upgrade():
    op.create_table("newer", sa.Column("id", sa.Integer, primary_key=True))
"""
A_ROW = {
    "Integer": 1, "BigInteger": 1, "Double": 1.5, "Boolean": True, "LargeBinary": b"0" * 32,
    "String": "1", "Text": "{}", "UtcDateTime": datetime(2026, 1, 2, tzinfo=UTC),
    "Date": date(2026, 1, 2),
}  # fmt: skip
MADE_BY_MIGRATIONS = {"climate_extent"}  # and the triggers that fill it


def fill(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
    """A row in each table that this schema has; what the tables then hold."""
    for table in tables_of(connection):
        if table.name not in MADE_BY_MIGRATIONS:
            row = {column.name: A_ROW[type(column.type).__name__] for column in table.columns}
            connection.execute(insert(table), row)
    return rows(connection)


def rows(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the tables this schema has, but the one that says who can use it."""
    found = {}
    for table in tables_of(connection):
        kept = [tuple(row) for row in connection.execute(select(table))]
        found[table.name] = [row for row in kept if row[0] != schema.OLDEST_USABLE]
    return found


def tables_of(connection: Connection) -> list[Table]:
    held = set(inspect(connection).get_table_names())
    return [table for table in schema.metadata.sorted_tables if table.name in held]


@pytest.mark.anyio
@pytest.mark.parametrize("revision", schema.pending(None))
async def test_rows_of_every_old_schema_come_through_an_upgrade_unchanged(
    revision: str, database: Database, database_settings: Settings
) -> None:
    async with database.write() as connection:
        if revision != schema.head():
            await connection.run_sync(schema.downgrade, revision)
        before = await connection.run_sync(fill)
    assert await Database.upgrade(database_settings) == (revision, schema.head())
    async with database.read() as connection:
        after = await connection.run_sync(rows)
    assert {name: after[name] for name in before} == before
    if "climate_months" in before:
        assert [row[1] for row in after["climate_extent"]] == [1]


def test_check_tells_what_is_pending_changes_nothing_and_exits_with_1(
    sqlite_settings: Settings,
) -> None:
    folder = sqlite_settings.data_dir
    none = json.loads(command(folder, "migrate", "--check", "--json", fails=True).stdout)
    assert none == {"held": None, "needed": schema.head(), "pending": schema.pending(None)}
    assert not list(folder.glob("*.sqlite3"))
    command(folder, "migrate")
    assert "can use" in command(folder, "migrate", "--check").stdout

    async def age() -> None:
        database = await Database.open(sqlite_settings)
        async with database.write() as connection:
            await connection.run_sync(schema.downgrade, "0003_events")
        await database.close()

    asyncio.run(age())
    pending = schema.pending("0003_events")
    for _ in range(2):
        told = command(folder, "migrate", "--check", fails=True).stdout.replace("\n", " ")
        assert f"has schema 0003_events; migrate would apply {', '.join(pending)}." in told


def newer_version(folder: Path, *, usable: bool) -> dict[str, str]:
    """A copy of the service with one more migration; the environment in which it runs."""
    package = folder / "location_context"
    shutil.copytree(Path(location_context.__file__).parent, package)
    declared = f"usable_from = {schema.head()!r}" if usable else ""
    migration = NEWER.format(head=schema.head(), usable=declared)
    (package / "storage/migrations/versions/0099_newer.py").write_text(migration)
    return {"PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}


def run(folder: Path, more: dict[str, str], *arguments: str) -> str:
    """A command of the newer version, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "location_context", *arguments],
        env=environment(folder, more), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return done.stdout


class Guest(threading.Thread):
    """Asks the server it is sent to, a hundred times a second, and counts how it was answered."""

    def __init__(self, served: Serving, key: str) -> None:
        super().__init__()
        self.port, self.key = served.port, key
        self.answers: Counter[str] = Counter()
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.01):
            connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
            place = f"lat=48.{sum(self.answers.values()) % 10_000:04}&lng=2.3"
            path = f"/v1/pulse/astronomy?{place}&start=2027-01-01&end=2027-01-02"
            try:
                connection.request("GET", path, headers={"Authorization": f"Bearer {self.key}"})
                response = connection.getresponse()
                response.read()
                self.answers[str(response.status)] += 1
            except (OSError, HTTPException) as error:
                self.answers[repr(error)] += 1
            connection.close()

    def end(self) -> None:
        self.done.set()
        self.join()

    def see(self, more: int) -> None:
        """Wait until it has had some more answers."""
        wanted = sum(self.answers.values()) + more
        while sum(self.answers.values()) < wanted:
            self.done.wait(0.01)


@pytest.fixture
def house(tmp_path: Path) -> tuple[Path, str]:
    folder = tmp_path / "house"
    command(folder, "setup", "--without-fallback", "--json")
    made = command(folder, "keys", "create", "guest", "--per-minute", "1000000", "--json")
    return folder, json.loads(made.stdout)["key"]


def test_two_versions_side_by_side_lose_no_request_during_an_upgrade(
    house: tuple[Path, str], tmp_path: Path
) -> None:
    folder, key = house
    newer = newer_version(tmp_path / "newer", usable=True)
    with serving(folder) as old:
        guest = Guest(old, key)
        guest.start()
        try:
            guest.see(10)
            assert "0099_newer" in run(folder, newer, "migrate")
            guest.see(10)
            with serving(folder) as restarted:  # as one that crashed in between
                guest.port = restarted.port
                guest.see(10)
                assert "can use" in command(folder, "migrate", "--check").stdout
                assert "already has schema 0099_newer" in command(folder, "migrate").stdout
                with serving(folder, more=newer) as after:
                    guest.port = after.port
                    guest.see(10)
                    guest.end()
                    for served in (old, restarted, after):
                        served.signal(signal.SIGKILL)  # its drain is another test's
        finally:
            guest.end()
    assert set(guest.answers) == {"200"}, guest.answers


def test_a_version_before_a_migration_that_it_cannot_use_says_what_to_do(
    house: tuple[Path, str], tmp_path: Path
) -> None:
    folder, _ = house
    run(folder, newer_version(tmp_path / "newer", usable=False), "migrate")
    for refused in (("serve",), ("keys", "list"), ("migrate",), ("migrate", "--check")):
        told = command(folder, *refused, fails=True).stderr.replace("\n", " ")
        assert "has schema 0099_newer, which this version cannot use" in told, refused
        assert "Install that version, or restore a copy from before its migration." in told
