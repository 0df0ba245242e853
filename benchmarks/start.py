"""CPU until the first answers beside an empty Starlette application, and memory after them.

    python -m benchmarks.start [--rounds 5] [--workers 1] [--json]

Each round starts `location-context serve` on a data directory that is set up, with stand-ins of the
weather providers in this process, and then an empty Starlette application on the same server. CPU
time and memory are those of the command and all its processes, from /proc: Linux only. Memory is
PSS: a page that n processes share counts 1/n for each. With several workers the server counts as
started when all of them listen.
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
from pathlib import Path

from benchmarks.harness import figures
from benchmarks.harness.servers import Server
from location_context.stay import system_clock
from tests.fakes.open_meteo import ARCHIVE, FORECAST, OpenMeteo
from tests.serving import free_port

LISTEN = "0A"  # a socket's state in /proc/net/tcp
COMMAND = [sys.executable, "-m", "location_context"]
SERVE = [*COMMAND, "serve"]
EMPTY = [
    sys.executable, "-m", "granian", "benchmarks.harness.anchors:starlette", "--interface", "asgi",
    "--log-level", "critical",
]  # fmt: skip
SECTIONS = ("weather", "astronomy", "guide", "events")


class Command(Server):
    """A server with so many workers."""

    def __init__(self, command: list[str], environ: dict[str, str], workers: int) -> None:
        port = free_port()
        more = ["--port", str(port), "--workers", str(workers)]
        super().__init__([*command, *more], port, environ, pinned=False)
        self._workers = workers

    def wait_for_workers(self) -> None:
        """Return once every worker listens: one that still starts would miss the signal to end."""
        patience = time.monotonic() + 60
        while time.monotonic() < patience:
            if self._listeners() == self._workers:
                self.fetch("/v1/health")
                return
            time.sleep(0.02)
        raise SystemExit("the server did not start")

    def _listeners(self) -> int:
        rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return sum(row[1].endswith(f":{self.port:04X}") and row[3] == LISTEN for row in rows)

    def fetch(self, path: str, key: str = "") -> None:
        answer = self.ask(path, {"Authorization": f"Bearer {key}"} if key else {})
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {answer.body!r}")


def measure(environ: dict[str, str], key: str, workers: int) -> dict[str, float]:
    """Return CPU seconds after each of the first answers, and megabytes after them all."""
    today = system_clock().date()
    stay = f"start={today + timedelta(3)}&end={today + timedelta(6)}"
    query = f"?lat=48.8566&lng=2.3522&{stay}"
    values = {}
    with Command(SERVE, environ, workers) as command:
        command.wait_for_workers()
        values["CPU s, health"] = command.cpu_seconds()
        command.fetch("/v1/pulse/astronomy" + query, key)
        values["CPU s, first astronomy"] = command.cpu_seconds()
        command.fetch("/v1/pulse" + query)
        values["CPU s, first widget"] = command.cpu_seconds()
        for section in SECTIONS:
            command.fetch(f"/v1/pulse/{section}{query}", key)
        values["CPU s, every section"] = command.cpu_seconds()
        parent, *others = command.megabytes()
        values["MB, command"] = parent
        values["MB, largest worker"] = max(others)
        values["MB, all"] = parent + sum(others)
    with Command(EMPTY, environ, workers) as empty:
        empty.wait_for_workers()
        values["CPU s, empty Starlette"] = empty.cpu_seconds()
        values["MB, empty Starlette"] = sum(empty.megabytes())
    return values


def run(folder: Path, options: argparse.Namespace) -> dict[str, list[float]]:
    """Return each figure of each round."""
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
        if options.workers > 1:  # they need it
            own["REDIS_URL"] = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/0")
        environ = {**os.environ, **{f"LOCATION_CONTEXT_{name}": own[name] for name in own}}
        environ["XDG_DATA_HOME"] = str(folder)  # or it would become this user's first store
        setup = [*COMMAND, "setup", "--without-fallback", "--json"]
        done = subprocess.run(setup, env=environ, check=True, capture_output=True)
        key = json.loads(done.stdout)["key"]
        rounds = [measure(environ, key, options.workers) for _ in range(options.rounds + 1)]
    return {name: [one[name] for one in rounds[1:]] for name in rounds[0]}  # the first compiles


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=5)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rounds = run(Path(folder), options)
    medians = {
        name: {
            "median": statistics.median(values), "lowest": min(values), "highest": max(values)
        }
        for name, values in rounds.items()
    }  # fmt: skip
    figures.table(medians, {"median": "median", "lowest": "lowest", "highest": "highest"}, options)


if __name__ == "__main__":
    main()
