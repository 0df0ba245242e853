"""The data directory: where it is without a setting."""

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


def test_without_a_setting_the_data_lies_in_the_platform_s_place(home, tmp_path: Path) -> None:
    command(None, "keys", "create", "A", more=home)
    assert (tmp_path / "home" / "location-context" / DATABASE_FILE).exists()
    assert files(tmp_path / "elsewhere") == []
