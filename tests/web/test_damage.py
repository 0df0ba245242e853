"""A damaged row costs its key or its section and nothing else, and the operator learns of it."""

import contextlib
import io
import json
import sqlite3
from pathlib import Path

import pytest

from location_context.settings import Settings
from tests.sections.weather.conftest import write_grid
from tests.serving import serve
from tests.web.commands import command
from tests.web.conftest import STAY, Client
from tests.web.full_app import OFF

FILE = "location-context.sqlite3"


@pytest.fixture
def prepared(tmp_path: Path) -> tuple[Path, str, str]:
    """A data directory as `setup` leaves it, with two keys."""
    command(tmp_path, "setup", "--without-fallback")
    made = [
        json.loads(command(tmp_path, "keys", "create", name, "--json").stdout)["key"]
        for name in ("whole", "damaged")
    ]
    return tmp_path, made[0], made[1]


def change(folder: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(folder / FILE)) as connection, connection:
        assert connection.execute(statement).rowcount == 1


def settings(folder: Path) -> Settings:
    return Settings(data_dir=folder, log_level="error", **OFF)


@pytest.mark.parametrize(
    "damage",
    [
        "created_at = 'yesterday'",
        "expires_at = x'ff00'",
        "per_minute = 'many'",
        "per_day = -1.5",
        "name = cast(x'ff' as text)",
        "digest = 'text'",
    ],
)
def test_damaged_key_row_disables_only_its_key_and_is_reported(prepared, damage: str) -> None:
    folder, whole, damaged = prepared
    change(folder, f"UPDATE api_keys SET {damage} WHERE name = 'damaged'")
    written = io.StringIO()
    with contextlib.redirect_stderr(written), serve(settings(folder)) as served:
        client = Client(served, whole)
        assert client.get("/v1/pulse/astronomy", STAY).status_code == 200
        refused = client.get("/v1/pulse/astronomy", STAY, key=damaged)
        report = client.get("/v1/status", key=None).json()
    assert refused.json()["error"]["code"] == "invalid_api_key"
    assert report["status"] == "degraded"
    assert any("record of API key key_" in notice for notice in report["notices"])


def test_keys_command_and_doctor_command_report_a_damaged_row(prepared) -> None:
    folder, _, _ = prepared
    write_grid(folder)
    change(folder, "UPDATE api_keys SET created_at = '?' WHERE name = 'damaged'")
    listed = json.loads(command(folder, "keys", "list", "--json").stdout)
    assert {key["name"] for key in listed} == {"first key", "whole"}
    findings = json.loads(command(folder, "doctor", "--json").stdout)
    [found] = [finding for finding in findings if finding["check"] == "keys"]
    assert found["outcome"] == "warning"
    assert "is damaged" in found["message"]


RECORD = (
    "UPDATE guide_restaurants SET record = {} WHERE id = (SELECT min(id) FROM guide_restaurants)"
)
UNREADABLE = ("'{'", "'{\"id\": 7}'", "cast(x'ff' as text)", "x'00'", "''")


@pytest.mark.parametrize(
    ("damage", "notice"),
    [
        *((RECORD.format(one), "The restaurant guide cannot be updated") for one in UNREADABLE),
        ("UPDATE guide_versions SET provenance = '?'", "guide version 1 is damaged"),
    ],
)
def test_damaged_guide_disables_only_the_guide_section_and_is_reported(
    prepared, damage: str, notice: str
) -> None:
    folder, whole, _ = prepared
    change(folder, damage)
    with serve(settings(folder)) as served:
        client = Client(served, whole)
        assert client.get("/v1/pulse/astronomy", STAY).status_code == 200
        assert client.get("/v1/pulse/guide", STAY).status_code == 503
        report = client.get("/v1/status", key=None).json()
    assert any(notice in one for one in report["notices"])


def test_guide_whose_provenance_is_damaged_cannot_be_replaced_by_an_import(prepared) -> None:
    folder, _, _ = prepared
    change(folder, "UPDATE guide_versions SET provenance = '?'")
    command(folder, "guide", "import", "--sample", fails=True)
