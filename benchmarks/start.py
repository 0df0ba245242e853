"""CPU until the first answers beside an empty Starlette application, and memory after them.

    python benchmarks/start.py [--rounds 5] [--workers 1] [--json]

With several workers a figure until the first answer is until all of them listen.

Each round starts `location-context serve` on a data directory that is set up, with stand-ins of the
weather's providers in this process, and then an empty Starlette application on the same server. CPU
time and memory are of the command with all its processes, from /proc: Linux alone. Memory is PSS: a
page that n processes share counts 1/n for each.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from tests.fakes.open_meteo import ARCHIVE, FORECAST, OpenMeteo  # noqa: E402  found by the line above
from tests.serving import free_port  # noqa: E402  likewise

from location_context.stay import system_clock  # noqa: E402  likewise

LISTEN = "0A"  # a socket's state in /proc/net/tcp
TICKS = os.sysconf("SC_CLK_TCK")
COMMAND = [sys.executable, "-m", "location_context"]
SERVE = [*COMMAND, "serve"]
EMPTY = [
    sys.executable, "-m", "granian", "benchmarks.empty_app:app", "--interface", "asgi",
    "--log-level", "critical",
]  # fmt: skip
SECTIONS = ("weather", "astronomy", "guide", "events")


class Command:
    """A server while it runs, and what it takes with all its processes."""

    def __init__(self, command: list[str], environ: dict[str, str], workers: int) -> None:
        self._port = free_port()
        self._workers = workers
        given = ["--port", str(self._port), "--workers", str(workers)]
        self._process = subprocess.Popen(
            [*command, *given],
            env=environ,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def wait(self) -> None:
        """Until every worker listens: one that still starts would not hear that it shall end."""
        patience = time.monotonic() + 60
        while time.monotonic() < patience:
            if self._listeners() == self._workers:
                self.ask("/v1/health")
                return
            time.sleep(0.02)
        raise SystemExit("the server did not start")

    def _listeners(self) -> int:
        rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return sum(row[1].endswith(f":{self._port:04X}") and row[3] == LISTEN for row in rows)

    def ask(self, path: str, key: str = "") -> None:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=20)
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"} if key else {})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        if response.status != 200:
            raise SystemExit(f"{path}: {response.status} {body!r}")

    def cpu_seconds(self) -> float:
        """Of all processes, and of those that they waited for."""
        seconds = 0.0
        for pid in self._family():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            seconds += sum(int(field) for field in fields[11:15]) / TICKS
        return seconds

    def megabytes(self) -> list[float]:
        """PSS of the command's own process, then of each below it."""
        sizes = []
        for pid in self._family():
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            line = next(line for line in lines if line.startswith("Pss:"))
            sizes.append(int(line.split()[1]) / 1000)
        return sizes

    def _family(self) -> list[int]:
        family = [self._process.pid]
        for pid in family:
            for task in Path(f"/proc/{pid}/task").iterdir():
                family += [int(child) for child in (task / "children").read_text().split()]
        return family

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(30)


def measure(environ: dict[str, str], key: str, workers: int) -> dict[str, float]:
    """One start: CPU seconds after each of the first answers, and megabytes after them all."""
    today = system_clock().date()
    stay = f"start={today + timedelta(3)}&end={today + timedelta(6)}"
    query = f"?lat=48.8566&lng=2.3522&{stay}"
    figures = {}
    command = Command(SERVE, environ, workers)
    try:
        command.wait()
        figures["CPU s, health"] = command.cpu_seconds()
        command.ask("/v1/pulse/astronomy" + query, key)
        figures["CPU s, first astronomy"] = command.cpu_seconds()
        command.ask("/v1/pulse" + query)
        figures["CPU s, first widget"] = command.cpu_seconds()
        for section in SECTIONS:
            command.ask(f"/v1/pulse/{section}{query}", key)
        figures["CPU s, every section"] = command.cpu_seconds()
        parent, *others = command.megabytes()
        figures["MB, command"] = parent
        figures["MB, largest worker"] = max(others)
        figures["MB, all"] = parent + sum(others)
    finally:
        command.end()
    empty = Command(EMPTY, environ, workers)
    try:
        empty.wait()
        figures["CPU s, empty Starlette"] = empty.cpu_seconds()
        figures["MB, empty Starlette"] = sum(empty.megabytes())
    finally:
        empty.end()
    return figures


def run(folder: Path, given: argparse.Namespace) -> dict[str, list[float]]:
    """Each figure of each round."""
    with ExitStack() as stack:
        meteo = OpenMeteo(system_clock)
        stack.enter_context(meteo.server.running())
        own = {
            "DATA_DIR": str(folder / "data"),
            "OPEN_METEO_FORECAST_URL": meteo.server.url + FORECAST,
            "OPEN_METEO_ARCHIVE_URL": meteo.server.url + ARCHIVE,
            "NASA_POWER_URL": "",
            "MET_NORWAY_URL": "",
            "OPEN_HOLIDAYS_URL": "",
        }
        if given.workers > 1:  # which need it
            own["REDIS_URL"] = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/0")
        environ = {**os.environ, **{f"LOCATION_CONTEXT_{name}": own[name] for name in own}}
        environ["XDG_DATA_HOME"] = str(folder)  # or it would become this user's first store
        setup = [*COMMAND, "setup", "--without-fallback", "--json"]
        done = subprocess.run(setup, env=environ, check=True, capture_output=True)
        key = json.loads(done.stdout)["key"]
        rounds = [measure(environ, key, given.workers) for _ in range(given.rounds + 1)]
    return {name: [one[name] for one in rounds[1:]] for name in rounds[0]}  # the first compiles


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), given)
    if given.json:
        print(json.dumps(figures, indent=1))
        return
    for name, values in figures.items():
        median = statistics.median(values)
        print(f"{name:24}{median:8.2f}   {min(values):.2f} to {max(values):.2f}")


if __name__ == "__main__":
    main()
