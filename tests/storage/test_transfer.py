"""`copy`: everything from SQLite to PostgreSQL, under load, interrupted, refused."""

import asyncio
import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import psycopg
import pytest

from benchmarks.copies import compare, create_key, empty_database, run
from location_context.errors import OperatorError, StorageError
from location_context.settings import Secret, Settings
from location_context.settings.data_dir import DATABASE_FILE, PEPPER_FILE
from location_context.storage import schema
from location_context.storage.database import Database
from location_context.storage.transfer import Transfer
from tests.databases import SERVER, make_older
from tests.storage.subprocess_targets import child
from tests.web.commands import command, serving


@pytest.fixture
def target(postgresql_url: str) -> Iterator[str]:
    """The address of a new PostgreSQL database without tables."""
    with empty_database(postgresql_url.rpartition("/")[0]) as address:
        yield address


@pytest.fixture
def source(sqlite_settings: Settings) -> Settings:
    """Settings of an SQLite database with rows in every table."""
    make_older(sqlite_settings, "0010_first")
    asyncio.run(Database.upgrade(sqlite_settings))
    with closing(sqlite3.connect(sqlite_settings.data_dir / DATABASE_FILE)) as connection:
        connection.execute("INSERT INTO key_usage VALUES ('hotel', '2026-11-23', 7)")
        connection.execute("INSERT INTO provider_units VALUES ('h', 60, 29000000, 1.5, 0.1)")
        connection.commit()
    return sqlite_settings


def compare_all(source: Settings, target: str) -> int:
    with (
        closing(sqlite3.connect(source.data_dir / DATABASE_FILE)) as here,
        psycopg.connect(target) as there,
    ):
        return compare(here, there)


def tables(target: str) -> list[str]:
    with psycopg.connect(target) as there:
        found = there.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return [name for (name,) in found]


def test_database_copied_during_writes_equals_its_source_row_by_row(
    postgresql_url: str, tmp_path: Path
) -> None:
    done = run(tmp_path, rounds=2, months=1200, server=SERVER)["copies"]
    assert done["equal"] == 2
    assert done["transactions during copies"] > 0


def test_database_copied_while_serving_accepts_the_api_keys_of_its_source(
    source: Settings, target: str
) -> None:
    folder, made = source.data_dir, list[str]()

    def advance(_: int) -> None:
        if not made:
            made.append(asyncio.run(create_key(source)))

    with serving(folder):
        made_before = json.loads(command(folder, "keys", "create", "before", "--json").stdout)
        Transfer(source, Secret(target)).run(advance)
    more = {
        "LOCATION_CONTEXT_DATABASE_URL": target,
        "LOCATION_CONTEXT_KEY_PEPPER_FILE": str(folder / PEPPER_FILE),
    }
    with serving(folder, more=more) as served:
        for key in (made_before["key"], *made):
            path = "/v1/pulse/astronomy?lat=48.85&lng=2.35&start=2027-01-01&end=2027-01-02"
            assert served.status(path, key) == 200


def test_copy_command_counts_the_rows_of_each_table(source: Settings, target: str) -> None:
    command(source.data_dir, "keys", "list")  # makes the pepper
    address = target.replace("postgres@", "postgres:hidden-word@")
    done = command(source.data_dir, "copy", "--to", address)
    assert f"LOCATION_CONTEXT_KEY_PEPPER_FILE={source.data_dir / PEPPER_FILE}" in done.stdout
    assert "hidden-word" not in done.stdout + done.stderr
    shown = dict(line.split() for line in done.stdout.splitlines()[1:] if len(line.split()) == 2)
    assert shown["events"] == "10"
    assert shown["key_usage"] == "1"
    assert sum(map(int, shown.values())) == compare_all(source, target)
    again = command(source.data_dir, "copy", "--to", address, fails=True)
    assert "has rows in api_keys; nothing was copied" in again.stderr
    assert "hidden-word" not in again.stdout + again.stderr


def test_copy_command_prints_the_row_counts_as_json(source: Settings, target: str) -> None:
    done = json.loads(command(source.data_dir, "copy", "--to", target, "--json").stdout)
    assert done["from"] == str(source.data_dir / DATABASE_FILE)
    assert done["to"] == target.partition("@")[2]
    assert done["rows"].keys() == schema.metadata.tables.keys()


def test_copy_overwrites_the_stored_pepper_check_of_an_otherwise_empty_target(
    source: Settings, target: str
) -> None:
    more = {"LOCATION_CONTEXT_DATABASE_URL": target, "LOCATION_CONTEXT_KEY_PEPPER": "another"}
    command(source.data_dir, "keys", "list", more=more)
    command(source.data_dir, "keys", "list")
    Transfer(source, Secret(target)).run(lambda _: None)
    compare_all(source, target)


def test_second_pass_of_a_copy_applies_inserts_updates_and_deletes_made_during_the_first(
    source: Settings, target: str
) -> None:
    """The source is changed in each of the three ways after the first pass has read it."""
    transfer = Transfer(source, Secret(target))
    left = transfer.count()
    changes = (
        "PRAGMA foreign_keys = ON",
        "DELETE FROM event_calendars WHERE id = 'cal'",  # with its events
        "UPDATE api_keys SET revoked_at = '2026-11-24 00:00:00.000000' WHERE id = 'hotel'",
        "INSERT INTO point_heights VALUES (-1, -1, -0.5)",
        "INSERT INTO facts VALUES ('Ä', 'ä'), ('Z', 'z'), ('a_b', '🌧')",
    )

    def advance(count: int) -> None:
        nonlocal left
        left -= count
        if left == 0:
            with closing(sqlite3.connect(transfer.source, isolation_level=None)) as connection:
                for statement in changes:
                    connection.execute(statement)

    rows = transfer.run(advance)
    assert (rows["events"], rows["event_calendars"], rows["point_heights"]) == (0, 1, 2)
    assert compare_all(source, target) == sum(rows.values())


def copy_and_die(_: Connection, folder: str, target: str, calls: int) -> None:
    """Begin to copy, and be killed when so many parts are done."""
    seen = 0

    def advance(_: int) -> None:
        nonlocal seen
        seen += 1
        if seen == calls:
            os.kill(os.getpid(), signal.SIGKILL)

    Transfer(Settings(data_dir=Path(folder)), Secret(target)).run(advance)


@pytest.mark.parametrize("calls", [2, 12, 20])
def test_killed_copy_leaves_the_target_empty(source: Settings, target: str, calls: int) -> None:
    with child(copy_and_die, str(source.data_dir), target, calls) as (process, _):
        process.join(30)
        assert process.exitcode == -signal.SIGKILL
    assert tables(target) == []
    Transfer(source, Secret(target)).run(lambda _: None)
    compare_all(source, target)


def test_copy_refuses_a_target_with_other_tables(source: Settings, target: str) -> None:
    with psycopg.connect(target) as there:
        there.execute("CREATE TABLE bookings (id integer)")
    with pytest.raises(
        OperatorError, match="has tables of another application; nothing was copied"
    ):
        Transfer(source, Secret(target)).run(lambda _: None)
    assert tables(target) == ["bookings"]


def test_copy_refuses_a_source_of_another_schema(sqlite_settings: Settings, target: str) -> None:
    make_older(sqlite_settings, "0010_first")
    said = command(sqlite_settings.data_dir, "copy", "--to", target, fails=True).stderr
    assert f"has schema 0010_first; copying needs {schema.head()}" in said
    assert tables(target) == []


def test_copy_reports_a_damaged_row_and_leaves_the_target_unchanged(
    source: Settings, target: str
) -> None:
    with closing(sqlite3.connect(source.data_dir / DATABASE_FILE)) as connection:
        connection.execute("UPDATE api_keys SET created_at = 'soon' WHERE id = 'hotel'")
        connection.commit()
    with pytest.raises(StorageError, match="has a damaged row in api_keys"):
        Transfer(source, Secret(target)).run(lambda _: None)
    assert tables(target) == []


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("sqlite:///hidden-word", "--to: the value must be postgresql://…, not ***"),
        ("", "--to: the value must be postgresql://…"),
        (
            "postgresql://me:hidden-word@127.0.0.1:x/y",
            "--to: the value must be postgresql://…, not ***",
        ),
        ("postgresql://me:hidden-word@127.0.0.1:9/y", "The database 127.0.0.1:9/y cannot be used"),
    ],
)
def test_copy_masks_the_password_of_an_unusable_database_url(
    source: Settings, address: str, expected: str
) -> None:
    done = command(source.data_dir, "copy", "--to", address, fails=True)
    assert expected in done.stderr
    assert "hidden-word" not in done.stdout + done.stderr


def test_copy_command_is_refused_if_the_source_is_missing_or_postgresql(
    tmp_path: Path, postgresql_settings: Settings
) -> None:
    url = postgresql_settings.database_url.reveal()
    more = {"LOCATION_CONTEXT_DATABASE_URL": url, "LOCATION_CONTEXT_KEY_PEPPER": "p"}
    said = command(tmp_path, "copy", "--to", url, more=more, fails=True).stderr
    assert "LOCATION_CONTEXT_DATABASE_URL is PostgreSQL already" in said
    said = command(tmp_path, "copy", "--to", url, fails=True).stderr
    assert "There is no SQLite database to copy" in said
