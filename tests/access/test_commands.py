"""The commands `keys` and `migrate`, run as an operator runs them."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from location_context.access.keys import is_well_formed
from location_context.settings import Settings
from location_context.storage import schema
from tests.databases import make_older
from tests.serving import free_port
from tests.web import commands


@pytest.fixture
def environment(sqlite_settings: Settings) -> dict[str, str]:
    """The environment of a command that uses an empty SQLite database."""
    return environment_of(sqlite_settings)


def environment_of(settings: Settings) -> dict[str, str]:
    return {
        "LOCATION_CONTEXT_DATA_DIR": str(settings.data_dir),
        "LOCATION_CONTEXT_DATABASE_URL": settings.database_url.reveal(),
        "LOCATION_CONTEXT_KEY_PEPPER": settings.key_pepper.reveal(),
    }


def command(given: dict[str, str], *words: str, code: int = 0) -> str:
    """What a command writes on stdout; on stderr when it fails."""
    done = commands.command(None, *words, more=given, fails=code != 0)
    assert done.code == code, done
    return done.stderr if code else done.stdout


def in_a_process(given: dict[str, str], *words: str) -> str:
    """What the installed program writes in a process of its own."""
    program = Path(sys.executable).with_name("location-context")
    done = subprocess.run(
        [program, *words], env=commands.environment(None, given), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_keys_command_creates_rotates_revokes_and_lists_keys(environment: dict[str, str]) -> None:
    printed = command(environment, "keys", "create", "Hotel [red]", "--expires", "2027-01-01")
    secret = printed.splitlines()[-1]
    assert is_well_formed(secret)
    made = msgspec.json.decode(command(environment, "keys", "create", "Other", "--json"))
    assert is_well_formed(made["key"])
    rotated = msgspec.json.decode(command(environment, "keys", "rotate", made["id"], "--json"))
    command(environment, "keys", "revoke", rotated["id"])
    listed = msgspec.json.decode(in_a_process(environment, "keys", "list", "--json"))
    stored = [key for key in listed if key["name"] in {"Hotel [red]", "Other"}]
    assert [key["status"] for key in stored[-3:]] == ["active", "active", "revoked"]
    assert stored[-3]["expires_at"] == "2027-01-02T00:00:00Z"
    assert stored[-2]["replaced_by"] == rotated["id"]
    table = command(environment, "keys", "list")
    assert "Hotel [red]" in table
    assert made["id"] in table
    assert secret not in table


def test_kind_of_a_test_key_is_the_same_after_it_is_listed_rotated_and_revoked(
    environment: dict[str, str],
) -> None:
    made = msgspec.json.decode(command(environment, "keys", "create", "CI", "--test", "--json"))
    assert made["key"].startswith("lc_test_")
    assert made["test"] is True
    rotated = msgspec.json.decode(command(environment, "keys", "rotate", made["id"], "--json"))
    assert rotated["key"].startswith("lc_test_")
    command(environment, "keys", "revoke", rotated["id"])
    command(environment, "keys", "create", "Hotel")
    listed = msgspec.json.decode(command(environment, "keys", "list", "--json"))
    seen = [(key["test"], key["status"]) for key in listed]
    assert sorted(seen) == [(False, "active"), (True, "active"), (True, "revoked")]
    rows = command(environment, "keys", "list").splitlines()
    kinds = [row.split()[1] for row in rows if row.strip().startswith("key_")]
    assert sorted(kinds) == ["live", "test", "test"]


def test_rotation_does_not_expire_the_old_key_if_the_new_key_cannot_be_printed(
    environment: dict[str, str],
) -> None:
    made = msgspec.json.decode(command(environment, "keys", "create", "Hotel", "--json"))
    program = Path(sys.executable).with_name("location-context")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [program, "keys", "rotate", made["id"]], env=commands.environment(None, environment),
            stdout=full, stderr=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    assert done.returncode != 0
    old, _ = msgspec.json.decode(command(environment, "keys", "list", "--json"))
    assert (old["id"], old["expires_at"], old["replaced_by"]) == (made["id"], None, None)


def test_keys_command_with_a_wrong_argument_prints_a_message_and_exits_1(
    environment: dict[str, str],
) -> None:
    assert "accepted: a date" in command(
        environment, "keys", "create", "A", "--expires", "soon", code=1
    )
    assert "There is no key" in command(environment, "keys", "revoke", "key_none", code=1)


def test_migrate_command_reports_the_schema_revision_on_postgresql(
    postgresql_settings: Settings,
) -> None:
    environment = environment_of(postgresql_settings)
    first = msgspec.json.decode(command(environment, "migrate", "--json"))
    assert first["after"] == schema.head()
    assert "already" in command(environment, "migrate")


def test_serve_refuses_an_old_database_schema_until_it_is_migrated(
    environment: dict[str, str], sqlite_settings: Settings
) -> None:
    make_older(sqlite_settings)
    port = str(free_port())
    assert "run: location-context migrate" in command(
        environment, "serve", "--port", port, code=1
    ).replace("\n", " ")
    assert schema.head() in command(environment, "migrate")
    assert "revoked" in command(environment, "keys", "list", "--json")
