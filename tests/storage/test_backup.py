"""`backup` and `restore`: a live database is copied whole, and nothing is ever written over."""

import asyncio
import io
import json
import shutil
import sqlite3
import stat
import tarfile
from pathlib import Path

import pytest

from benchmarks import restores
from location_context.access.keys import digest
from location_context.settings import Settings
from location_context.settings.data_dir import DATABASE_FILE, PEPPER_FILE
from location_context.stay import system_clock
from location_context.storage.access import open_api_keys
from location_context.storage.database import Database
from tests.sections.weather.conftest import write_grid
from tests.web.commands import command


def digests(path: Path) -> set[bytes]:
    with sqlite3.connect(path) as connection:
        found = {row[0] for row in connection.execute("SELECT digest FROM api_keys")}
    connection.close()
    return found


def test_backup_of_a_live_database_has_its_newest_key(
    tmp_path: Path,
) -> None:
    prepared, other, file = tmp_path / "prepared", tmp_path / "other", tmp_path / "b.tar"
    command(prepared, "keys", "create", "first")
    write_grid(prepared)

    async def work() -> str:
        database = await Database.open(Settings(data_dir=prepared))
        keys = await open_api_keys(Settings(data_dir=prepared), database, system_clock)
        secret = (await keys.create("newest")).secret
        shutil.copy(prepared / DATABASE_FILE, tmp_path / "plain.sqlite3")
        await asyncio.to_thread(command, prepared, "backup", str(file))
        await database.close()
        return secret

    newest = asyncio.run(work())
    stored = digest((prepared / PEPPER_FILE).read_bytes().strip(), newest)
    assert stored not in digests(tmp_path / "plain.sqlite3")  # why a plain copy will not do
    report = json.loads(command(other, "restore", str(file), "--json").stdout)
    assert set(report["holds"]) == {DATABASE_FILE, PEPPER_FILE, "climate_fallback.npy"}
    assert stored in digests(other / DATABASE_FILE)
    assert (other / PEPPER_FILE).read_bytes() == (prepared / PEPPER_FILE).read_bytes()
    assert {stat.S_IMODE(p.stat().st_mode) for p in (file, other / PEPPER_FILE)} == {0o600}
    command(other, "keys", "create", "one more")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "b.tar", "other", "plain.sqlite3", "prepared",
    ]  # fmt: skip


def test_backup_under_load_is_consistent_and_restores_each_row(
    tmp_path: Path,
) -> None:
    found = restores.run(tmp_path, rounds=1, months=600)["restores"]
    assert (found["equal"], found["rows compared"] > 600) == (1, True)


def test_new_database_file_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    command(tmp_path, "keys", "create", "first")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob(f"{DATABASE_FILE}*")}
    assert modes == {0o600}


def test_backup_and_restore_never_overwrite_existing_files(tmp_path: Path) -> None:
    prepared, file = tmp_path / "prepared", tmp_path / "b.tar"
    command(prepared, "keys", "create", "first")
    command(prepared, "backup", str(file))
    before = file.read_bytes(), (prepared / PEPPER_FILE).read_bytes()
    assert "already exists" in command(prepared, "backup", str(file), fails=True).stderr
    said = command(prepared, "restore", str(file), fails=True).stderr
    assert "already contains data: move it away" in " ".join(said.split())
    assert (file.read_bytes(), (prepared / PEPPER_FILE).read_bytes()) == before


def packed(**files: bytes) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for name, data in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            tar.addfile(about, io.BytesIO(data))
    return held.getvalue()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is damaged, or is not a backup file"),
        (b"nonsense" * 1000, "is damaged, or is not a backup file"),
        (packed(other=b"x"), "is damaged, or is not a backup file"),
        (packed(**{DATABASE_FILE: b"nonsense" * 1000}), "in the backup is damaged"),
        (packed(**{DATABASE_FILE: b"", PEPPER_FILE: b"x"}), "in the backup is damaged"),
    ],
    ids=["empty file", "not a tar", "another tar", "damaged database", "empty database"],
)
def test_restore_of_an_invalid_file_changes_nothing(tmp_path: Path, data: bytes, said: str) -> None:
    file = tmp_path / "b.tar"
    file.write_bytes(data)
    assert said in " ".join(
        command(tmp_path / "new", "restore", str(file), fails=True).stderr.split()
    )
    assert list((tmp_path / "new").iterdir()) == []


def test_backup_refuses_a_damaged_database(tmp_path: Path) -> None:
    prepared, file = tmp_path / "prepared", tmp_path / "b.tar"
    command(prepared, "setup", "--without-fallback")
    path = prepared / DATABASE_FILE
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xa5" * (len(whole) - 8192))
    said = command(prepared, "backup", str(file), fails=True).stderr
    assert DATABASE_FILE in said.replace("\n", "")
    assert not file.exists()


def test_backup_of_postgresql_refers_to_pg_dump(
    postgresql_settings: Settings, tmp_path: Path
) -> None:
    more = {
        "LOCATION_CONTEXT_DATABASE_URL": postgresql_settings.database_url.reveal(),
        "LOCATION_CONTEXT_KEY_PEPPER": "p",
    }
    done = command(tmp_path, "backup", str(tmp_path / "b.tar"), more=more, fails=True)
    assert "pg_dump" in done.stderr
