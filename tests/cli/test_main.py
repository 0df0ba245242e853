"""The command `location-context` itself: its list, its version, and what it imports for them."""

import subprocess
import sys
from pathlib import Path

import pytest

from location_context import __version__
from location_context.cli.main import COMMANDS, MODULES, load
from tests.web.commands import command, environment

WHOLE_SERVICE = ("numpy", "skyfield", "starlette", "granian")
SAY_MODULES = (
    "import sys\n"
    "from location_context.cli.main import main\n"
    "try:\n"
    "    main()\n"
    "finally:\n"
    "    print('imported:', *sorted(sys.modules))\n"
)


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("--version",), ("keys", "--help"), ("keys", "list")],
    ids=" ".join,
)
def test_command_does_not_import_modules_that_only_the_server_needs(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SAY_MODULES, *arguments],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    imported = done.stdout.partition("imported:")[2].split()
    assert "typer" in imported
    assert not {name.partition(".")[0] for name in imported} & set(WHOLE_SERVICE)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_list_shows_the_help_text_of_each_command(name: str) -> None:
    assert " ".join(load(name).help.split()) == COMMANDS[name]


def test_help_lists_every_command(tmp_path: Path) -> None:
    package = Path(sys.modules["location_context.cli.main"].__file__ or "").parent
    files = {path.stem for path in package.glob("*.py")} - {"__init__", "main", "console", "notice"}
    assert files == {MODULES.get(name, name) for name in COMMANDS}
    shown = command(tmp_path, "--help").stdout
    assert all(f" {name} " in shown for name in COMMANDS)


def test_version_option_prints_only_the_version(tmp_path: Path) -> None:
    assert command(tmp_path, "--version").stdout == f"{__version__}\n"


def test_unknown_command_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    said = command(tmp_path, "key", fails=True).stderr
    assert "No such command 'key'" in said
    assert "keys" in said
