"""Start servers in their own processes, measure their CPU and memory, and load them.

    python -m benchmarks.harness.servers FACTORY PORT WORKERS

serves any ASGI application (`module:function`) as `location-context serve` serves ours. CPU time
and memory are read from /proc, so on Linux only.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple, Self

from location_context.cli.serve import server
from location_context.settings import Settings
from location_context.stay import system_clock
from location_context.storage.access import open_api_keys
from location_context.storage.database import Database
from tests.serving import free_port

ROOT = Path(__file__).parents[2]
CLIENTS = (sys.executable, "-m", "benchmarks.harness.clients")
TICKS = os.sysconf("SC_CLK_TCK")
CORES = sorted(os.sched_getaffinity(0))
STARTING_SECONDS = 60.0
WITHOUT_LIMIT = 1_000_000_000  # requests of a key a minute and a day


class Answer(NamedTuple):
    """A response; its header names are in lower case."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Load(NamedTuple):
    """How many answers the clients received, and how many a second."""

    answers: int
    a_second: float


class Server:
    """A command that listens on `port` and logs to `log`; on the first core only if `pinned`."""

    def __init__(
        self,
        command: Sequence[str],
        port: int,
        environ: Mapping[str, str] | None = None,
        *,
        log: Path = Path(os.devnull),
        pinned: bool = True,
    ) -> None:
        self.port = port
        self._log = log
        self._pinned = pinned
        cores = ["taskset", "--cpu-list", str(CORES[0])] if pinned and len(CORES) > 1 else []
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        with log.open("a") as lines:
            self._process = subprocess.Popen(
                [*cores, *command],
                env={**os.environ, "PYTHONPATH": path, **(environ or {})},
                cwd=ROOT,
                stdout=lines,
                stderr=lines,
            )

    @classmethod
    def of(
        cls,
        factory: str,
        environ: Mapping[str, str],
        log: Path,
        workers: int = 1,
        *,
        pinned: bool = True,
    ) -> Self:
        """Start an ASGI application on the server and with the settings that serve ours."""
        port = free_port()
        command = [sys.executable, "-m", __name__, factory, str(port), str(workers)]
        return cls(command, port, environ, log=log, pinned=pinned)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(30)

    def wait(self, path: str) -> None:
        """Return once the server answers at `path`; end after a minute or if it stops."""
        patience = time.monotonic() + STARTING_SECONDS
        while time.monotonic() < patience and self._process.poll() is None:
            try:
                self.ask(path)
            except OSError:
                time.sleep(0.05)
            else:
                return
        log = self._log.read_text()[-2000:] if self._log.is_file() else ""
        raise SystemExit(f"a server did not start\n{log}")

    def ask(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", path, headers=dict(headers or {}))
        response = connection.getresponse()
        pairs = [(name.lower(), value) for name, value in response.getheaders()]
        answer = Answer(response.status, pairs, response.read())
        connection.close()
        return answer

    def cpu_seconds(self) -> float:
        """Return the CPU time of all its processes, and of ended ones that they waited for."""
        seconds = 0.0
        for pid in self.processes():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            seconds += sum(int(field) for field in fields[11:15]) / TICKS
        return seconds

    def megabytes(self) -> list[float]:
        """Return the PSS of the process and of each below it; a page that n share counts 1/n."""
        sizes = []
        for pid in self.processes():
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            line = next(line for line in lines if line.startswith("Pss:"))
            sizes.append(int(line.split()[1]) / 1000)
        return sizes

    def processes(self) -> list[int]:
        """Return the ids of the process and of all below it."""
        family = [self._process.pid]
        for pid in family:
            for task in Path(f"/proc/{pid}/task").iterdir():
                family += [int(child) for child in (task / "children").read_text().split()]
        return family

    def pressed(
        self, path: str, headers: Mapping[str, str], seconds: float, clients: int
    ) -> tuple[float, float]:
        """Return microseconds of CPU a request and requests a second, under load at one path."""
        status = self.ask(path, headers).status
        before = self.cpu_seconds()
        load = press(self.port, path, headers, seconds, clients, pinned=self._pinned)
        spent = self.cpu_seconds() - before
        if self.ask(path, headers).status != status:
            raise SystemExit(f"{path}: status {status} before the load, another one after it")
        if self._log.is_file():
            os.truncate(self._log, 0)
        return spent / load.answers * 1e6, load.a_second


def press(  # noqa: PLR0913  each is an option of wrk
    port: int,
    path: str,
    headers: Mapping[str, str],
    seconds: float,
    clients: int,
    *,
    pinned: bool = True,
) -> Load:
    """Send without a pause: by wrk with one thread, which costs least; without wrk, in Python."""
    core = ["taskset", "--cpu-list", str(CORES[-1])] if pinned else []
    if shutil.which("wrk"):
        lines = [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]
        job = ["-t1", f"-c{clients}", f"-d{round(seconds) or 1}s", "--timeout", "20s", *lines]
        address = f"http://127.0.0.1:{port}{path}"
        printed = _output([*core, "wrk", *job, address])
        answers = re.search(r"(\d+) requests in", printed)
        rate = re.search(r"Requests/sec: +([\d.]+)", printed)
        if not answers or not rate or "Socket errors" in printed:
            raise SystemExit(printed)
        return Load(int(answers[1]), float(rate[1]))
    rate = float(
        _output(
            [
                *core,
                *CLIENTS,
                "press",
                str(port),
                request(path, headers),
                str(seconds),
                str(clients),
            ]
        )
    )
    return Load(round(rate * seconds), rate)


def paced(port: int, path: str, headers: Mapping[str, str], seconds: float, rate: float) -> float:
    """Return the 99th percentile in microseconds at so many requests a second."""
    core = ["taskset", "--cpu-list", str(CORES[-1])]
    command = [*core, *CLIENTS, "pace", str(port), request(path, headers), str(seconds), str(rate)]
    return float(json.loads(_output(command))[1])


def request(path: str, headers: Mapping[str, str]) -> str:
    """Return a GET request as it is sent."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"GET {path} HTTP/1.1\r\nHost: a\r\n{lines}\r\n"


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def key_without_limit(settings: Settings) -> str:
    """Create an API key without a quota and return its secret."""

    async def work() -> str:
        database = await Database.open(settings)
        keys = await open_api_keys(settings, database, system_clock)
        key = await keys.create("a benchmark", per_minute=WITHOUT_LIMIT, per_day=WITHOUT_LIMIT)
        await database.close()
        return key.secret

    return asyncio.run(work())


if __name__ == "__main__":
    factory, port, workers = sys.argv[1:]
    server(factory, "127.0.0.1", int(port), int(workers)).serve()
