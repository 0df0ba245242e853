"""Test clients of six generators against a running service, and lint the OpenAPI document.

`./scripts/check clients` runs it. Generated code is not edited. A row of the table is one
generator: whether it made the client, whether that compiles strictly together with the calls
(call_*.py, call_*.ts), and how many of its calls returned the right answer.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.web.full_app import full_app

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
WORK = ROOT / ".clients"
VENV, NODE, PYTHON = WORK / "venv", WORK / "node", WORK / "python"
DOCUMENT = WORK / "openapi.json"
LEAST_SCORE = 90
CALLS = [
    "weather true", "weather false", "astronomy true", "guide true", "guide false",
    "events true", "events false", "pulse weather", "pulses no_restaurants_in_range",
    "error invalid_date_range",
]  # fmt: skip
TSC = [
    "npx", "tsc", "--noEmit", "--strict", "--target", "es2022", "--module", "esnext",
    "--moduleResolution", "bundler", "--lib", "es2022,dom,dom.iterable", "--types", "node",
]  # fmt: skip
MYPY = ["mypy", "--config-file=", "--strict"]  # not by this project's own settings


@dataclass(frozen=True)
class Generator:
    """A generator's commands, run in `folder`; `{}` is the document."""

    name: str
    folder: Path
    make: str
    compile: list[str]
    call: list[str]


GENERATORS = [
    Generator(
        "openapi-python-client",
        PYTHON / "client",
        "openapi-python-client generate --path {} --output-path . --overwrite",
        [*MYPY, "location_context_service_client", "call_openapi_python_client.py"],
        ["python", "call_openapi_python_client.py"],
    ),
    Generator(
        "openapi-generator, Python",
        PYTHON / "generator",
        "openapi-generator-cli generate -i {} -g python -o .",
        ["mypy", "--config-file", "pyproject.toml", "openapi_client", "call_openapi_generator.py"],
        ["python", "call_openapi_generator.py"],
    ),
    Generator(
        "datamodel-code-generator",
        PYTHON / "datamodels",
        "datamodel-codegen --input {} --input-file-type openapi --output datamodels.py "
        "--output-model-type pydantic_v2.BaseModel --use-annotated --target-python-version 3.11",
        [*MYPY, "datamodels.py", "call_datamodel_code_generator.py"],
        ["python", "call_datamodel_code_generator.py"],
    ),
    Generator(
        "openapi-generator, TypeScript",
        NODE,
        "openapi-generator-cli generate -i {} -g typescript-fetch -o typescript_fetch",
        [*TSC, "call_typescript_fetch.ts"],
        ["npx", "tsx", "call_typescript_fetch.ts"],
    ),
    Generator(
        "openapi-typescript",
        NODE,
        "npx openapi-typescript {} -o openapi_typescript/schema.d.ts",
        [*TSC, "call_openapi_typescript.ts"],
        ["npx", "tsx", "call_openapi_typescript.ts"],
    ),
    Generator(
        "hey-api",
        NODE,
        "npx openapi-ts -i {} -o hey_api",
        [*TSC, "call_hey_api.ts"],
        ["npx", "tsx", "call_hey_api.ts"],
    ),
]


def run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the tools' programs first on the path."""
    path = f"{VENV / 'bin'}{os.pathsep}{os.environ['PATH']}"
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command, cwd=folder, env={**inherited, "PATH": path, **environment},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def install() -> None:
    """Install the tools at their pinned versions, unless they are there."""
    for source, folder, commands in (
        ("requirements.txt", VENV, [
            [sys.executable, "-m", "venv", str(VENV)],
            ["pip", "install", "--quiet", "-r", str(HERE / "requirements.txt")],
        ]),
        ("package.json", NODE, [["npm", "install", "--no-audit", "--no-fund"]]),
    ):  # fmt: skip
        wanted, stamp = (HERE / source).read_text(), folder / "installed"
        if stamp.is_file() and stamp.read_text() == wanted:
            continue
        print(f"Installing {source} …", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy(HERE / source, folder)
        for command in commands:
            done = run(command, folder)
            if done.returncode:
                sys.exit(done.stdout + done.stderr)
        stamp.write_text(wanted)


def lay_out() -> None:
    """Copy the calls to where the clients will be, and remove an earlier run."""
    shutil.rmtree(PYTHON, ignore_errors=True)
    for name in ("client", "generator", "datamodels"):
        (PYTHON / name).mkdir(parents=True)
    for name in ("typescript_fetch", "openapi_typescript", "hey_api"):
        shutil.rmtree(NODE / name, ignore_errors=True)
    for one in GENERATORS:
        shutil.copy(HERE / one.call[-1], one.folder)


def check(one: Generator, base: str, key: str) -> tuple[bool, bool, int]:
    """Return whether the client was made and compiles, and how many calls were right."""
    made = run(one.make.format(DOCUMENT).split(), one.folder)
    compiled = run(one.compile, one.folder)
    called = run(one.call, one.folder, BASE_URL=base, API_KEY=key)
    for step in (made, compiled, called):
        if step.returncode:
            print(f"\n== {one.name}: {' '.join(step.args)}\n{(step.stdout + step.stderr)[-4000:]}")
    right = [line for line in called.stdout.splitlines() if line in CALLS]
    return made.returncode == 0, compiled.returncode == 0, len(set(right))


def judged() -> dict[str, tuple[str, bool]]:
    """Return the linters' verdict, and whether it is good enough."""
    (NODE / "spectral.yaml").write_text('extends: ["spectral:oas"]\n')
    lint = run(["npx", "redocly", "lint", "--format", "json", str(DOCUMENT)], NODE)
    score = run(["npx", "redocly", "score", "--format", "json", str(DOCUMENT)], NODE)
    spectral = run(
        ["npx", "spectral", "lint", "-r", "spectral.yaml", "-f", "json", "-q", str(DOCUMENT)], NODE
    )
    totals = json.loads(lint.stdout[lint.stdout.index("{") :])["totals"]
    problems = sum(totals.values())
    points = json.loads(score.stdout[score.stdout.index("{") :])["agentReadiness"]
    found = len(json.loads(spectral.stdout[spectral.stdout.index("[") :]))
    return {
        "Redocly lint": (f"{problems} problems", not problems),
        "Redocly score": (f"{points} of 100", points >= LEAST_SCORE),
        "Spectral": (f"{found} problems", not found),
    }


def main() -> None:
    install()
    lay_out()
    table = Table("generator", "made", "compiled", "calls")
    good = True
    with tempfile.TemporaryDirectory() as folder, full_app(Path(folder)) as client:
        DOCUMENT.write_bytes(client.get("/v1/openapi.json").content)
        for one in GENERATORS:
            made, compiled, right = check(one, client.served.url, client.key)
            words = [{True: "yes", False: "NO"}[part] for part in (made, compiled)]
            table.add_row(one.name, *words, f"{right} of {len(CALLS)}")
            good = good and made and compiled and right == len(CALLS)
    for name, (result, enough) in judged().items():
        table.add_row(name, "", "", result if enough else f"{result}: NOT ENOUGH")
        good = good and enough
    Console().print(table)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
