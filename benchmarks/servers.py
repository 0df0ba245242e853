"""Servers in processes of their own, what they take, and the clients that press them.

    python benchmarks/servers.py FACTORY PORT WORKERS

serves any ASGI application (`module:function`) as `location-context serve` serves ours; the
benchmarks start their servers so. CPU time is from /proc: Linux alone.
"""

import asyncio
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

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from tests.serving import free_port  # noqa: E402  likewise

from location_context.cli.serve import server  # noqa: E402  found by the line above
from location_context.settings import Settings  # noqa: E402  likewise
from location_context.stay import system_clock  # noqa: E402  likewise
from location_context.storage.access import open_api_keys  # noqa: E402  likewise
from location_context.storage.database import Database  # noqa: E402  likewise

TICKS = os.sysconf("SC_CLK_TCK")
CORES = sorted(os.sched_getaffinity(0))
STARTING_SECONDS = 60.0
WITHOUT_LIMIT = 1_000_000_000  # requests of a key a minute and a day


class Answer(NamedTuple):
    """A response; the headers' names are in lower case."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Load(NamedTuple):
    """What clients got: answers, and how many of them in a second."""

    answers: int
    a_second: float


class Server:
    """A command that listens on `port`, its log in `log`; on the first core alone if `pinned`."""

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
        """An ASGI application under the server that serves ours, with the same settings."""
        port = free_port()
        command = [sys.executable, __file__, factory, str(port), str(workers)]
        return cls(command, port, environ, log=log, pinned=pinned)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(30)

    def wait(self, path: str) -> None:
        """Until it answers there."""
        patience = time.monotonic() + STARTING_SECONDS
        while time.monotonic() < patience and self._process.poll() is None:
            try:
                self.ask(path)
            except OSError:
                time.sleep(0.05)
            else:
                return
        said = self._log.read_text()[-2000:] if self._log.is_file() else ""
        raise SystemExit(f"a server did not start\n{said}")

    def ask(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", path, headers=dict(headers or {}))
        response = connection.getresponse()
        pairs = [(name.lower(), value) for name, value in response.getheaders()]
        answer = Answer(response.status, pairs, response.read())
        connection.close()
        return answer

    def cpu_seconds(self) -> float:
        """Of all its processes, and of those that they waited for."""
        seconds = 0.0
        for pid in self.processes():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            seconds += sum(int(field) for field in fields[11:15]) / TICKS
        return seconds

    def megabytes(self) -> list[float]:
        """PSS of the process, then of each below it: a page that n share counts 1/n for each."""
        sizes = []
        for pid in self.processes():
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            line = next(line for line in lines if line.startswith("Pss:"))
            sizes.append(int(line.split()[1]) / 1000)
        return sizes

    def processes(self) -> list[int]:
        """The process, and all below it."""
        family = [self._process.pid]
        for pid in family:
            for task in Path(f"/proc/{pid}/task").iterdir():
                family += [int(child) for child in (task / "children").read_text().split()]
        return family

    def pressed(
        self, path: str, headers: Mapping[str, str], seconds: float, clients: int
    ) -> tuple[float, float]:
        """Microseconds of CPU a request, and requests a second, while clients ask for one thing."""
        status = self.ask(path, headers).status
        before = self.cpu_seconds()
        load = press(self.port, path, headers, seconds, clients, pinned=self._pinned)
        spent = self.cpu_seconds() - before
        if self.ask(path, headers).status != status:
            raise SystemExit(f"{path} was answered {status} before, and not after")
        if self._log.is_file():
            os.truncate(self._log, 0)
        return spent / load.answers * 1e6, load.a_second


def press(  # noqa: PLR0913  what clients need to know
    port: int,
    path: str,
    headers: Mapping[str, str],
    seconds: float,
    clients: int,
    *,
    pinned: bool = True,
) -> Load:
    """Ask without a pause: by wrk with one thread, which costs least; without it, in Python."""
    core = ["taskset", "--cpu-list", str(CORES[-1])] if pinned else []
    if shutil.which("wrk"):
        lines = [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]
        job = ["-t1", f"-c{clients}", f"-d{round(seconds) or 1}s", "--timeout", "20s", *lines]
        address = f"http://127.0.0.1:{port}{path}"
        said = _said([*core, "wrk", *job, address])
        answers = re.search(r"(\d+) requests in", said)
        rate = re.search(r"Requests/sec: +([\d.]+)", said)
        if not answers or not rate or "Socket errors" in said:
            raise SystemExit(said)
        return Load(int(answers[1]), float(rate[1]))
    lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
    sent = f"GET {path} HTTP/1.1\r\nHost: a\r\n{''.join(lines)}\r\n"
    script = str(ROOT / "benchmarks" / "http_clients.py")
    rate = float(
        _said([*core, sys.executable, script, str(port), sent, str(seconds), str(clients)])
    )
    return Load(round(rate * seconds), rate)


def _said(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def key_without_limit(settings: Settings) -> str:
    """The secret of a new key that no quota ends."""

    async def work() -> str:
        database = await Database.open(settings)
        keys = await open_api_keys(settings, database, system_clock)
        made = await keys.create("a benchmark", per_minute=WITHOUT_LIMIT, per_day=WITHOUT_LIMIT)
        await database.close()
        return made.secret

    return asyncio.run(work())


if __name__ == "__main__":
    factory, port, workers = sys.argv[1:]
    server(factory, "127.0.0.1", int(port), int(workers)).serve()
