"""An upgrade, rehearsed: from before the first release, and two versions on one database."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, inspect, text

import location_context
from location_context.errors import OperatorError
from location_context.point import Point
from location_context.settings import Settings
from location_context.stay import Stay
from location_context.storage import schema
from location_context.storage.access import SqlApiKeyStore
from location_context.storage.database import Database
from location_context.storage.datasets import (
    SqlAccuracyStore,
    SqlCacheStore,
    SqlClimateStore,
    SqlGuideStore,
)
from location_context.storage.events import SqlEventStore
from tests.databases import EMPTY_SCHEMA, OLDER, make_older
from tests.storage.subprocess_targets import a_key
from tests.storage.test_schema import differences
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


@pytest.mark.parametrize("revision", sorted(folder.name for folder in OLDER.iterdir()))
async def test_old_database_is_converted_once_and_keeps_its_data_unchanged(
    database_settings: Settings, revision: str
) -> None:
    make_older(database_settings, revision)
    with pytest.raises(OperatorError, match="run: location-context migrate"):
        await Database.open(database_settings)
    assert await Database.upgrade(database_settings) == (revision, schema.head())
    assert await Database.upgrade(database_settings) == (schema.head(), schema.head())
    async with await Database.open(database_settings, read_whole=True) as database:
        await check_rows(database)
        await SqlApiKeyStore(database).add(a_key("later"))
        assert await database.read(differences) == []
        migrated = await database.read(structure)
    remove(database_settings)
    async with await Database.open(database_settings) as database:
        assert await database.read(structure) == migrated


def structure(connection: Connection) -> dict[str, object]:
    """Return what the database says of its tables, but for the names of constraints."""
    found = inspect(connection)
    parts: dict[str, object] = {}
    for table in sorted(found.get_table_names()):
        parts[table] = [
            *(
                (column["name"], str(column["type"]), column["nullable"], column["default"])
                for column in found.get_columns(table)
            ),
            found.get_pk_constraint(table)["constrained_columns"],
            *({**key, "name": None} for key in found.get_foreign_keys(table)),
            *(key["column_names"] for key in found.get_unique_constraints(table)),
            *sorted(str(index) for index in found.get_indexes(table)),
        ]
    if connection.dialect.name == "sqlite":
        without_rowid = text("SELECT name FROM pragma_table_list WHERE wr")
        parts["without rowid"] = set(connection.scalars(without_rowid))
    return parts


def remove(settings: Settings) -> None:
    """Remove the database, so that the next opening makes a new one."""
    if settings.database_url:
        with psycopg.connect(settings.database, autocommit=True) as connection:
            connection.execute(EMPTY_SCHEMA)
    for path in settings.data_dir.glob("*.sqlite3*"):
        path.unlink()


async def check_rows(database: Database) -> None:
    now = datetime(2026, 11, 23, 12, tzinfo=UTC)
    guides, climate = SqlGuideStore(database), SqlClimateStore(database)
    keys = await SqlApiKeyStore(database).all()
    assert [(key.id, key.revoked_at is not None) for key in keys] == [
        ("hotel", False), ("revoked", True),
    ]  # fmt: skip
    active = (await guides.active())[""]
    assert (active.number, active.name, active.replaces) == (2, "", 1)
    assert [one.id for one in await guides.load(2)] == ["r00001", "r00002"]
    await see_events(SqlEventStore(database))
    months = await climate.load("open_meteo_archive", "48.85,2.35", [12])
    assert [(one.year, one.data) for one in months] == [(2020, b"x" * 20), (2021, b"x" * 20)]
    assert await climate.extent() == (2, now + timedelta(1))
    assert await climate.load_elevation(48.8566, 2.3522) == 35.0
    assert await SqlCacheStore(database).load("p", "k", now) == b"answer"
    assert [one.data for one in await SqlAccuracyStore(database).load_forecasts(now.date())] == [
        b"f"
    ]


async def see_events(store: SqlEventStore) -> None:
    paris = Point(48.8566, 2.3522, "Europe/Paris", "FR")
    calendars = [(one.id, one.kind, one.rows) for one in await store.calendars()]
    assert calendars == [("cal", "import", 10), ("feed", "feed", 0)]
    for day, expected in {
        date(2026, 12, 1): {"cal:0", "cal:old"},
        date(2026, 12, 24): {"cal:5", "cal:6", "cal:7", "cal:fr", "cal:old"},
        date(2028, 7, 1): {"cal:7", "cal:old"},
        date(2030, 1, 1): {"cal:old"},
    }.items():
        found = await store.find_nearby(paris, 25, Stay(day, day), 100)
        assert {event.id for event in found} == expected, day


def test_migrate_check_reports_pending_migrations_and_changes_nothing(
    sqlite_settings: Settings,
) -> None:
    folder = sqlite_settings.data_dir
    none = json.loads(command(folder, "migrate", "--check", "--json", fails=True).stdout)
    assert none == {"held": None, "needed": schema.head(), "pending": schema.pending(None)}
    assert not list(folder.glob("*.sqlite3"))
    command(folder, "migrate")
    assert "can use" in command(folder, "migrate", "--check").stdout

    remove(sqlite_settings)
    make_older(sqlite_settings)
    for _ in range(2):
        report = command(folder, "migrate", "--check", fails=True).stdout.replace("\n", " ")
        would = ", ".join(schema.pending(schema.BEFORE_FIRST))
        assert f"has schema {schema.BEFORE_FIRST}; migrate would apply {would}." in report


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
def prepared(tmp_path: Path) -> tuple[Path, str]:
    folder = tmp_path / "house"
    command(folder, "setup", "--without-fallback", "--json")
    made = command(folder, "keys", "create", "guest", "--per-minute", "1000000", "--json")
    return folder, json.loads(made.stdout)["key"]


def test_upgrade_loses_no_request_while_two_versions_run_at_the_same_time(
    prepared: tuple[Path, str], tmp_path: Path
) -> None:
    folder, key = prepared
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


def test_old_version_refuses_a_newer_schema(prepared: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = prepared
    run(folder, newer_version(tmp_path / "newer", usable=False), "migrate")
    for refused in (("serve",), ("keys", "list"), ("migrate",), ("migrate", "--check")):
        report = command(folder, *refused, fails=True).stderr.replace("\n", " ")
        assert "has schema 0099_newer, which this version cannot use" in report, refused
        assert "Install that version, or restore a backup made before the migration." in report
