"""The scripts of a clone: the command that the documents show works after `./scripts/serve`."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.patience import wait_until
from tests.serving import answers, free_port
from tests.web.commands import NOWHERE


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone whose environment was made: this one's Python, so that nothing is fetched."""
    folder = tmp_path / "a clone"
    (folder / "requirements").mkdir(parents=True)
    for name in ("scripts/serve", "scripts/environment", "scripts/location-context"):
        if (ROOT / name).exists():
            (folder / "scripts").mkdir(exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for name in ("pyproject.toml", "requirements/serve.txt"):
        shutil.copy(ROOT / name, folder / name)
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    command = programs / "location-context"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m location_context "$@"\n')
    command.chmod(0o755)
    both = subprocess.run(
        ["/bin/sh", "-c", "cat requirements/serve.txt pyproject.toml | cksum"],
        cwd=folder, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    (folder / ".venv" / "installed-serve").write_text(both)
    return folder


@pytest.fixture
def plain(tmp_path: Path) -> dict[str, str]:
    """The environment of a user who has set nothing and installed nothing."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("LOCATION_CONTEXT_")}
    return {
        **inherited,
        **NOWHERE,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "src"),
        "XDG_DATA_HOME": str(tmp_path / "home"),
    }


def test_command_line_works_from_any_folder_after_the_first_serve(
    clone: Path, plain: dict[str, str], tmp_path: Path
) -> None:
    port, elsewhere = free_port(), tmp_path / "elsewhere"
    elsewhere.mkdir()
    with (tmp_path / "printed").open("w+") as printed:
        server = subprocess.Popen(
            ["./scripts/serve", "--without-fallback", "--port", str(port)],
            cwd=clone, env=plain, stdout=printed, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            wait_until_it_answers(server, port)
            listed = subprocess.run(
                [clone / "scripts/location-context", "keys", "list", "--json"],
                cwd=elsewhere, env=plain, capture_output=True, text=True, check=True,
            )  # fmt: skip
        finally:
            server.terminate()
            server.wait(30)
        printed.seek(0)
        said = printed.read()
    assert [key["name"] for key in json.loads(listed.stdout)] == ["first key"]
    assert "./scripts/location-context --help" in said
    assert (clone / "data" / "location-context.sqlite3").exists()
    assert list(elsewhere.iterdir()) == []
    assert '"message":"' in said  # the notices of the server
    assert "./scripts/location-context guide import FILE" in said


def test_help_of_the_serve_script_also_names_the_help_of_the_setup_command(
    clone: Path, plain: dict[str, str]
) -> None:
    done = subprocess.run(
        ["./scripts/serve", "--help"],
        cwd=clone, env=plain, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.count("Usage:") == 1
    assert "setup, with --without-fallback: ./scripts/location-context setup --help" in done.stdout
    assert not (clone / "data").exists()


def wait_until_it_answers(server: subprocess.Popen[bytes], port: int) -> None:
    wait_until(lambda: server.poll() is not None or answers(port))
    assert server.poll() is None


def test_each_clone_has_its_own_data_directory(
    clone: Path, plain: dict[str, str], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(clone, other, symlinks=True)
    for folder in (clone, other):
        done = subprocess.run(
            [folder / "scripts/location-context", "keys", "create", folder.name],
            cwd=tmp_path, env=plain, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert "lc_live_" in done.stdout
        assert (folder / "data" / "location-context.sqlite3").exists()


def test_hints_show_the_command_with_the_path_by_which_it_was_called(
    clone: Path, plain: dict[str, str]
) -> None:
    done = subprocess.run(
        ["./scripts/location-context", "doctor"],
        cwd=clone, env=plain, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "./scripts/location-context setup" in " ".join(done.stdout.split())


def test_documentation_calls_the_command_by_its_path_in_a_clone() -> None:
    installed = {"production.md"}  # there the command is on PATH
    pages = [one for one in (ROOT / "docs").glob("*.md") if one.name not in installed]
    bare = [
        f"{page.name}: {line}"
        for page in [ROOT / "README.md", *pages]
        for line in page.read_text().splitlines()
        if re.match(r"\s*(\$ )?location-context ", line)
    ]
    assert bare == []


MODULES = [
    f"{folder}.{path.stem}"
    for folder in ("benchmarks", "research")
    for path in sorted((ROOT / folder).glob("*.py"))
    if "parse_args()" in path.read_text()
]
# each starts in a process forked from one that has imported what all of them import
STARTS = """
import os, runpy, sys
import asyncio, argparse, httpx2, numpy, scipy.optimize, skyfield.api
import granian.server.embed, location_context.app
from tests.serving import answers
from tests.patience import wait_until
failed = []
for name in sys.argv[1:]:
    if not (child := os.fork()):
        sys.argv = [name, "--help"]
        runpy.run_module(name, run_name="__main__", alter_sys=True)
        os._exit(1)  # it printed no usage
    if os.waitpid(child, 0)[1]:
        failed.append(name)
sys.exit(", ".join(failed) or 0)
"""


def test_every_benchmark_and_study_prints_its_help(plain: dict[str, str]) -> None:
    assert len(MODULES) > 15
    done = subprocess.run(
        [sys.executable, "-c", STARTS, *MODULES],
        cwd=ROOT, env=plain, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("usage:") == len(MODULES)


def test_generate_and_check_scripts_list_their_targets() -> None:
    generate = [sys.executable, "-m", "scripts.generators", "--help"]
    names = {path.stem for path in (ROOT / "scripts" / "generators").glob("[a-z]*.py")}
    printed = subprocess.run(generate, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert [name for name in names if f"  {name} " not in printed] == []
    check = [ROOT / "scripts" / "check"]
    names = {path.stem for path in (ROOT / "scripts" / "checks").glob("[a-z]*")}
    printed = subprocess.run(check, capture_output=True, text=True, check=True).stdout
    assert [name for name in names if f"\n{name} " not in printed] == []


def test_check_script_refuses_an_unknown_target() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "check", "nothing"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert '"nothing" is not a check.' in done.stderr


def test_every_benchmark_study_and_script_can_be_imported() -> None:
    """They are run by hand, and their imports from the tests must follow each renaming."""
    files = [
        path
        for folder in ("benchmarks", "research", "scripts")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "clients" not in path.parts and path.name != "__main__.py"
    ]
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    done = subprocess.run(
        [sys.executable, "-c", code, *modules],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
