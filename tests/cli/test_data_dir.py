"""One data directory: where it is without a setting, and that no second one is made unseen."""

import json
from pathlib import Path

import pytest

from location_context.settings.data_dir import DATABASE_FILE
from tests.web.commands import command


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What a user has who sets no DATA_DIR, and stands in an empty folder."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return {"XDG_DATA_HOME": str(tmp_path / "home")}


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_default_data_directory_is_that_of_the_platform(home, tmp_path: Path) -> None:
    command(None, "keys", "create", "A", more=home)
    assert (tmp_path / "home" / "location-context" / DATABASE_FILE).exists()
    assert files(tmp_path / "elsewhere") == []


def test_command_run_in_another_folder_creates_no_second_data_directory(
    home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tmp_path / "clone" / "data"
    command(first, "setup", "--without-fallback", more=home)
    for words in (("keys", "create", "A"), ("keys", "list"), ("serve",), ("doctor",)):
        done = command(None, *words, more=home, fails=True)
        said = " ".join((done.stdout + done.stderr).split())
        assert f"LOCATION_CONTEXT_DATA_DIR={first}" in said
        assert "lc_live_" not in said
    assert files(tmp_path / "elsewhere") == []
    monkeypatch.chdir(tmp_path / "clone")
    assert len(json.loads(command(None, "keys", "list", "--json", more=home).stdout)) == 1


def test_relative_data_directory_is_refused_and_the_existing_one_is_named(
    home, tmp_path: Path
) -> None:
    command(tmp_path / "first", "keys", "create", "A", more=home)
    relative = {**home, "LOCATION_CONTEXT_DATA_DIR": "data"}
    assert "first" in command(None, "keys", "create", "B", more=relative, fails=True).stderr


def test_second_data_directory_is_created_if_the_new_option_or_a_setting_requests_it(
    home, tmp_path: Path
) -> None:
    command(tmp_path / "first", "keys", "create", "A", more=home)
    command(None, "keys", "create", "B", "--new", more=home)
    listed = json.loads(command(None, "keys", "list", "--json", more=home).stdout)
    assert [key["name"] for key in listed] == ["B"]
    said = command(tmp_path / "third", "keys", "create", "C", more=home).stderr
    assert "second data directory" in said
    assert str(tmp_path / "first") in said.replace("\n", "")


def test_first_data_directory_is_ignored_once_it_is_deleted(home, tmp_path: Path) -> None:
    command(tmp_path / "first", "keys", "create", "A", more=home)
    for file in (tmp_path / "first").iterdir():
        file.unlink()
    command(None, "keys", "create", "B", more=home)
    listed = json.loads(command(None, "keys", "list", "--json", more=home).stdout)
    assert [key["name"] for key in listed] == ["B"]
    assert files(tmp_path / "first") == []
