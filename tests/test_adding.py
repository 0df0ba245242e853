"""docs/adding.md is true: its commands are run one by one, up to the card in Chromium."""

import json
import os
import re
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from location_context.settings import Settings
from location_context.testing import FakeResponse, FakeServer
from tests.conftest import ROOT
from tests.serving import serve
from tests.web.full_app import OFF
from tests.widget.browser import chromium, open_page, windows  # noqa: F401  fixtures

BLOCKS = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "adding.md").read_text(), re.DOTALL)
NO_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # they take two seconds, and none is used
TODAY = date.today()  # noqa: DTZ011  commands have the system's clock
START, END = TODAY + timedelta(days=1), TODAY + timedelta(days=3)


def follow(block: str, folder: Path, **environ: str) -> str:
    """What a block of commands prints, each command run after the other in one shell."""
    (folder / "scripts").symlink_to(ROOT / "scripts")
    given = {
        **os.environ, **environ, "START": f"{START}", "END": f"{END}",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'src'}",
        **NO_PLUGINS,
    }  # fmt: skip
    done = subprocess.run(
        ["/bin/sh", "-ec", block],
        cwd=folder,
        env=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    off = {f"LOCATION_CONTEXT_{name.upper()}": "" for name in OFF}
    given = {**off, "LOCATION_CONTEXT_DATA_DIR": str(tmp_path / "data")}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return given


def test_section_made_by_the_documented_steps_shows_its_card_in_a_browser(
    tmp_path,
    environ,
    monkeypatch,
    open_page,  # noqa: F811  the fixture
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()

    def respond(_):
        days = [{"date": f"{TODAY + timedelta(days=n)}", "value": 1.5} for n in range(9)]
        return FakeResponse({"days": days})

    with FakeServer(respond).running() as server:
        monkeypatch.setenv("LOCATION_CONTEXT_TIDES_URL", server.url)
        said = follow(BLOCKS[0], folder, LOCATION_CONTEXT_TIDES_URL=server.url)
        assert "To fill in:" in said
        assert "1 passed" in said
        answer = json.loads(said[said.index('{"') if '{"' in said else said.index("{\n") :])
        assert [day["value"] for day in answer["days"]] == [1.5, 1.5, 1.5]
        monkeypatch.syspath_prepend(str(folder / "tides" / "installed"))
        with serve(Settings.read(os.environ)) as served:
            address = f"{served.url}/v1/pulse?lat=48.8566&lng=2.3522&start={START}&end={END}"
            page = open_page(address).page
            card = page.locator("section.card.tides")
            assert card.locator("h2").inner_text().strip() == "Tides"
            assert card.locator("dd").all_inner_texts() == ["1.5", "1.5", "1.5"]
            assert card.bounding_box()["height"] > 40
            assert "Tides" in page.locator("footer").inner_text()


def test_provider_made_by_the_documented_steps_passes_its_generated_test(tmp_path, environ) -> None:
    said = follow(BLOCKS[1], tmp_path, **environ)
    assert said.count("To fill in:") == 3
    assert "1 passed" in said
    tests = [  # side by side, since they mostly wait for servers that hang
        subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            cwd=tmp_path / name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={
                **os.environ, **NO_PLUGINS,
                "PYTHONPATH": f"{ROOT / 'src'}:{tmp_path / name / 'src'}",
            },
        )
        for name in ("almanac", "harbour")
    ]  # fmt: skip
    for test in tests:
        printed, _ = test.communicate()
        assert "1 passed" in printed, printed[-3000:]


def test_scaffold_script_does_not_overwrite_an_existing_folder(tmp_path) -> None:
    (tmp_path / "own").write_text("mine")
    command = [sys.executable, ROOT / "scripts" / "new", "section", "tides", "--into", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "exists and is not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["own"]
