"""`scripts/release`: version, date, and a wheel that serves by itself."""

import re
import runpy
import shlex
import shutil
import subprocess
import sys
import zipfile
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import location_context
from tests.conftest import ROOT
from tests.web.commands import NOWHERE

SCRIPT = ROOT / "scripts" / "packaging" / "release.py"
RELEASE: Any = SimpleNamespace(**runpy.run_path(str(SCRIPT)))
TODAY = date(2027, 3, 1)
PACKAGE = RELEASE.PACKAGE


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The files that name the version, with an unreleased section for 9.8.7."""
    for name in [*RELEASE.PLACES, "CHANGELOG.md"]:
        if (ROOT / name).exists():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(
        changelog.read_text().replace("\n## ", "\n## 9.8.7 – unreleased\n\n## ", 1)
    )
    return tmp_path


def test_release_sets_version_and_date(project: Path) -> None:
    changed = RELEASE.set_version(project, "9.8.7", TODAY)
    assert {PACKAGE, "CHANGELOG.md"} <= set(changed)
    assert '__version__ = "9.8.7"' in (project / PACKAGE).read_text()
    assert "## 9.8.7 – 2027-03-01\n" in (project / "CHANGELOG.md").read_text()


def test_second_run_of_the_release_script_changes_nothing(project: Path) -> None:
    RELEASE.set_version(project, "9.8.7", TODAY)
    assert RELEASE.set_version(project, "9.8.7", date(2027, 3, 2)) == []


def test_release_script_updates_every_file_that_contains_the_version() -> None:
    named = subprocess.run(
        ["git", "grep", "-lF", location_context.__version__, "--", "src", "docs", "deploy"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    for name in named:
        text = (ROOT / name).read_text("utf-8")
        around = RELEASE.PLACES.get(name, "{}").format(location_context.__version__)
        assert text.count(location_context.__version__) == text.count(around), name
    assert set(named) == {name for name in RELEASE.PLACES if (ROOT / name).exists()}


def test_release_check_changes_no_file(project: Path) -> None:
    before = (project / PACKAGE).read_text(), (project / "CHANGELOG.md").read_text()
    assert PACKAGE in RELEASE.set_version(project, "9.8.7", TODAY, write=False)
    assert before == ((project / PACKAGE).read_text(), (project / "CHANGELOG.md").read_text())


@pytest.mark.parametrize("version", ["1", "1.2", "01.x.0", "1.2.3-beta", "1.2.3 "])
def test_release_rejects_a_malformed_version(project: Path, version: str) -> None:
    with pytest.raises(SystemExit, match=re.escape(f'"{version}" is not of the form')):
        RELEASE.set_version(project, version, TODAY)


def test_release_rejects_a_version_without_a_changelog_section(project: Path) -> None:
    before = (project / PACKAGE).read_text()
    with pytest.raises(SystemExit, match=r'no section "## 9\.8\.8 – unreleased"'):
        RELEASE.set_version(project, "9.8.8", TODAY)
    assert (project / PACKAGE).read_text() == before


def test_the_changelog_is_short_and_dates_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    section = text.split(f"\n## {location_context.__version__} – ")[1].split("\n## ")[0]
    assert date.fromisoformat(section.split("\n")[0])
    assert len(section.split()) <= 500


def test_each_release_tool_is_explained_in_a_decision() -> None:
    page = (ROOT / "docs" / "decisions" / "release.md").read_text()
    lines = (ROOT / "requirements" / "release.in").read_text().splitlines()
    assert [one for one in lines if not one.startswith("#") and f"\n| {one} " not in page] == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without a network."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture
def programs(wheel: Path, tmp_path: Path) -> Path:
    """A folder with the command of the unpacked wheel, which sees nothing of the repository."""
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "location-context"
    variables = shlex.join(f"{name}={value}" for name, value in NOWHERE.items())
    command.write_text(
        f"#!/bin/sh\nexec env {variables} PYTHONPATH={shlex.quote(str(site))} "
        f'{sys.executable} -m location_context "$@"\n'
    )
    command.chmod(0o755)
    return folder


def test_the_wheel_serves_a_widget(programs: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    assert b'class="' in RELEASE.fetch_widget(programs, home)


def test_the_wheel_contains_only_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {
        "location_context",
        f"location_context-{location_context.__version__}.dist-info",
    }
    assert not [name for name in names if "__pycache__" in name or name.endswith(".po~")]
    assert wheel.stat().st_size < 15_000_000
