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
def test_a_command_imports_only_what_it_needs(tmp_path: Path, arguments: tuple[str, ...]) -> None:
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
def test_the_list_says_of_each_command_what_its_own_file_says(name: str) -> None:
    assert " ".join(load(name).help.split()) == COMMANDS[name]


def test_the_list_names_every_file_with_a_command(tmp_path: Path) -> None:
    package = Path(sys.modules["location_context.cli.main"].__file__ or "").parent
    files = {path.stem for path in package.glob("*.py")} - {"__init__", "main", "console"}
    assert files == {MODULES.get(name, name) for name in COMMANDS}
    shown = command(tmp_path, "--help").stdout
    assert all(f" {name} " in shown for name in COMMANDS)


def test_the_version_is_printed_alone(tmp_path: Path) -> None:
    assert command(tmp_path, "--version").stdout == f"{__version__}\n"


def test_a_command_that_is_not_there_is_an_error_that_names_the_nearest(tmp_path: Path) -> None:
    said = command(tmp_path, "key", fails=True).stderr
    assert "No such command 'key'" in said
    assert "keys" in said
