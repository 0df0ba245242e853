"""CPU and requests a second of warm answers, each beside a raw ASGI application on the same server.

    python benchmarks/http_speed.py [--seconds 1] [--clients 32] [--rounds 5] [--json]

The raw application sends the same bytes with the same headers and does nothing else. Both run in
one granian worker each and are asked in turn, round after round, by the same clients in a third
process over kept connections. A request of ours passes all that a real one passes: key and quota,
or the limit by address, freshness, ETag, coding and a line of log. The sky is the real section,
the others answer with samples, so that every answer is whole. CPU time is that of the server's
processes, from /proc: Linux alone.
"""

import argparse
import base64
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from tests.serving import free_port  # noqa: E402  found by the line above
from tests.web.conftest import make_key  # noqa: E402  likewise
from tests.widget.samples.sections import sample_sections  # noqa: E402  likewise

from location_context.app import create_app  # noqa: E402  likewise
from location_context.settings import Settings  # noqa: E402  likewise
from location_context.stay import system_clock  # noqa: E402  likewise
from location_context.web import logs  # noqa: E402  likewise

STAY = "lat=48.8566&lng=2.3522&start=2030-11-28&end=2030-12-01"
SKY, WIDGET = f"/v1/pulse/astronomy?{STAY}", f"/v1/pulse?{STAY}"
TICKS = os.sysconf("SC_CLK_TCK")


class Case(NamedTuple):
    """A request: its path, whether with the key, its coding, and whether the client has it."""

    path: str
    keyed: bool = True
    coding: str = "identity"
    held: bool = False


CASES = {
    "section": Case(SKY),
    "section, br": Case(SKY, coding="br"),
    "section, 304": Case(SKY, held=True),
    "section, 401": Case(SKY, keyed=False),
    "guide": Case("/v1/pulse/guide?lat=48.8566&lng=2.3522"),
    "widget": Case(WIDGET, keyed=False),
    "widget, gzip": Case(WIDGET, keyed=False, coding="gzip"),
    "widget, br": Case(WIDGET, keyed=False, coding="br"),
    "widget, 304": Case(WIDGET, keyed=False, held=True),
}


def service() -> ASGIApp:
    """Ours, as a worker of granian makes it."""
    settings = Settings.read(os.environ)
    logs.configure(settings)
    return create_app(settings, sections=sample_sections(system_clock))


def raw() -> ASGIApp:
    """The anchor: what was answered, by number."""
    answers = {}
    for path, (status, headers, body) in json.loads(
        Path(os.environ["ANSWERS"]).read_text()
    ).items():
        pairs = [(name.encode(), value.encode()) for name, value in headers]
        answers[path] = (
            {"type": "http.response.start", "status": status, "headers": pairs},
            {"type": "http.response.body", "body": base64.b64decode(body)},
        )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        if scope["type"] == "http":
            start, body = answers[scope["path"]]
            await send(start)
            await send(body)

    return app


Answer = tuple[int, list[tuple[str, str]], bytes]  # status, headers, body


class Server:
    """A factory of this file under granian, in processes of its own."""

    def __init__(self, factory: str, environ: Mapping[str, str]) -> None:
        self.port = free_port()
        command = [
            sys.executable, "-m", "granian", f"benchmarks.http_speed:{factory}", "--factory",
            "--interface", "asgi", "--port", str(self.port), "--http", "1", "--no-ws",
            "--log-level", "critical",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command, env={**os.environ, **environ}, cwd=ROOT, stderr=subprocess.DEVNULL
        )

    def wait(self, path: str) -> None:
        for _ in range(600):
            try:
                self.ask(path, {})
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise SystemExit("a server did not start")

    def ask(
        self, path: str, headers: Mapping[str, str]
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", path, headers=dict(headers))
        response = connection.getresponse()
        answer = response.status, response.getheaders(), response.read()
        connection.close()
        return answer

    def cpu_seconds(self) -> float:
        """Of the process and all below it."""
        family, seconds = [self._process.pid], 0.0
        for pid in family:
            family += _children(pid)
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            seconds += (int(fields[11]) + int(fields[12])) / TICKS
        return seconds

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(30)


def _children(pid: int) -> list[int]:
    return [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]


def measure(
    server: Server, path: str, headers: Mapping[str, str], given: argparse.Namespace
) -> tuple[float, float]:
    """Microseconds of CPU a request, and requests a second, with clients in their own process."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    sent = f"GET {path} HTTP/1.1\r\nHost: a\r\n{lines}\r\n"
    clients = [sys.executable, str(ROOT / "benchmarks" / "http_clients.py")]
    job = [str(server.port), sent, str(given.seconds), str(given.clients)]
    before = server.cpu_seconds()
    done = subprocess.run([*clients, *job], capture_output=True, check=True, text=True)
    rate = float(done.stdout)
    return (server.cpu_seconds() - before) / (rate * given.seconds) * 1e6, rate


def run(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    settings = Settings(data_dir=folder / "data")
    key = make_key(settings, per_minute=100_000_000)
    environ = {
        "LOCATION_CONTEXT_DATA_DIR": str(settings.data_dir),
        "LOCATION_CONTEXT_WIDGET_PER_MINUTE": "100000",
        "ANSWERS": str(folder / "answers.json"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    ours = Server("service", environ)
    servers = [ours]
    try:
        ours.wait("/v1/health")
        headers, answers = dict[str, dict[str, str]](), dict[str, Any]()
        for number, (name, case) in enumerate(CASES.items()):
            sent = headers[name] = {"Accept-Encoding": case.coding}
            if case.keyed:
                sent["Authorization"] = f"Bearer {key}"
            if case.held:
                sent["If-None-Match"] = dict(ours.ask(case.path, sent)[1])["etag"]
            status, received, body = ours.ask(case.path, sent)
            own = [pair for pair in received if pair[0] not in {"server", "date", "connection"}]
            answers[f"/{number}"] = (status, own, base64.b64encode(body).decode())
        Path(environ["ANSWERS"]).write_text(json.dumps(answers))
        anchor = Server("raw", environ)
        servers.append(anchor)
        anchor.wait("/0")
        figures: dict[str, list[tuple[float, float, float]]] = {name: [] for name in CASES}
        for _ in range(given.rounds):
            for number, (name, case) in enumerate(CASES.items()):
                cpu, rate = measure(ours, case.path, headers[name], given)
                base, _ = measure(anchor, f"/{number}", headers[name], given)
                figures[name].append((cpu, base, rate))
        return {name: _summary(rounds) for name, rounds in figures.items()}
    finally:
        for server in servers:
            server.end()


def _summary(rounds: list[tuple[float, float, float]]) -> dict[str, float]:
    shares = sorted(base / cpu for cpu, base, _ in rounds)
    return {
        "cpu_us": round(statistics.median(cpu for cpu, _, _ in rounds), 1),
        "raw_cpu_us": round(statistics.median(base for _, base, _ in rounds), 1),
        "of_raw": round(statistics.median(shares), 3),
        "of_raw_lowest": round(shares[0], 3),
        "of_raw_highest": round(shares[-1], 3),
        "requests_a_second": round(statistics.median(rate for _, _, rate in rounds)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), given)
    if given.json:
        print(json.dumps(figures, indent=1))
        return
    print(f"{'':16}{'CPU us':>9}{'raw':>9}{'of raw':>9}{'spread':>15}{'requests/s':>12}")
    for name, one in figures.items():
        spread = f"{one['of_raw_lowest']:.2f} to {one['of_raw_highest']:.2f}"
        print(
            f"{name:16}{one['cpu_us']:9.0f}{one['raw_cpu_us']:9.0f}{one['of_raw']:9.2f}"
            f"{spread:>15}{one['requests_a_second']:12,.0f}"
        )


if __name__ == "__main__":
    main()
