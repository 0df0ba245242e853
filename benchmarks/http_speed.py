"""Warm answers: CPU and requests a second beside raw ASGI, FastAPI and nginx, and p99 at half load.

    python benchmarks/http_speed.py [--seconds 1] [--clients 32] [--rounds 5] [--json]

The raw application sends the same bytes with the same headers and does nothing else, on the same
server with the same settings and event loop. FastAPI answers the same section from its pydantic
models under uvicorn with uvloop and httptools; nginx sends the same bytes from a file (skipped if
it is not installed: apt-get install nginx). Each has one process on the first core; they are asked
in turn, round after round, by wrk with one thread on the last core (apt-get install wrk; without
it by clients in Python, which take more than the servers). A request of ours passes all that a real
one passes: key and quota, or the limit by address, freshness, ETag, coding and a line of log in a
file. The sky is the real section, the others answer with samples, so that every answer is whole.

`of raw` is the raw application's CPU a request over ours: 1 is as good as raw. The last lines are
times of answers at half of the rate at which each could answer. CPU time is that of the server's
processes, from /proc: Linux alone.
"""

import argparse
import base64
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from benchmarks import figures  # noqa: E402  found by the line above
from benchmarks.servers import CORES, WITHOUT_LIMIT, Server, key_without_limit  # noqa: E402  likewise
from tests.serving import free_port  # noqa: E402  likewise
from tests.widget.samples.sections import sample_sections  # noqa: E402  likewise

from location_context.app import create_app  # noqa: E402  likewise
from location_context.settings import Settings  # noqa: E402  likewise
from location_context.stay import system_clock  # noqa: E402  likewise
from location_context.web import logs  # noqa: E402  likewise

STAY = "lat=48.8566&lng=2.3522&start=2030-11-28&end=2030-12-01"
SKY, WIDGET = f"/v1/pulse/astronomy?{STAY}", f"/v1/pulse?{STAY}"
PRESSED = ("section", "widget, br")  # of these nginx and the times at half load are measured


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
    "guide": Case("/v1/pulse/guide?lat=48.8566&lng=2.3522"),
    "widget": Case(WIDGET, keyed=False),
    "widget, gzip": Case(WIDGET, keyed=False, coding="gzip"),
    "widget, br": Case(WIDGET, keyed=False, coding="br"),
    "widget, 304": Case(WIDGET, keyed=False, held=True),
}
COLUMNS = {
    "cpu_us": "CPU us", "raw_cpu_us": "raw", "of_raw": "of raw", "of_raw_lowest": "lowest",
    "of_raw_highest": "highest", "requests_a_second": "requests/s", "fastapi_cpu_us": "FastAPI",
    "times_fastapi": "times FastAPI", "nginx_cpu_us": "nginx", "p99_us": "p99 us",
    "raw_p99_us": "raw p99", "p99_of_raw": "p99 of raw's",
}  # fmt: skip


def service() -> ASGIApp:
    """Ours, as a worker of granian makes it; with a limit by address that no client meets."""
    settings = Settings.read(os.environ)
    logs.configure(settings)
    settings = msgspec.structs.replace(settings, widget_per_minute=WITHOUT_LIMIT)
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


NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
user root;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
  open_file_cache max=100; default_type application/json;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
"""


class Bench:
    """The servers, and what each case is asked with: its path and headers at every server."""

    def __init__(self, folder: Path, given: argparse.Namespace, stack: ExitStack) -> None:
        self._folder = folder
        self._given = given
        self._stack = stack
        settings = Settings(data_dir=folder / "data")
        self._key = key_without_limit(settings)
        environ = {
            "LOCATION_CONTEXT_DATA_DIR": str(settings.data_dir),
            "ANSWERS": str(folder / "answers.json"),
            "ANSWER": str(folder / "0"),
        }
        log = folder / "log"
        self.ours = stack.enter_context(Server.of("benchmarks.http_speed:service", environ, log))
        self.ours.wait("/v1/health")
        self.headers: dict[str, dict[str, str]] = {}
        self._record()
        self.raw = stack.enter_context(Server.of("benchmarks.http_speed:raw", environ, log))
        self.raw.wait("/0")
        self.fastapi = self._start_fastapi(environ)
        self.nginx = self._start_nginx()

    def _record(self) -> None:
        """Ask for every case once: what came is what the anchors answer."""
        answers = dict[str, Any]()
        for number, (name, case) in enumerate(CASES.items()):
            sent = self.headers[name] = {"Accept-Encoding": case.coding}
            if case.keyed:
                sent["Authorization"] = f"Bearer {self._key}"
            if case.held:
                sent["If-None-Match"] = dict(self.ours.ask(case.path, sent).headers)["etag"]
            answer = self.ours.ask(case.path, sent)
            own = [pair for pair in answer.headers if pair[0] not in {"server", "date"}]
            answers[f"/{number}"] = (answer.status, own, base64.b64encode(answer.body).decode())
            (self._folder / str(number)).write_bytes(answer.body)
        (self._folder / "answers.json").write_text(json.dumps(answers))

    def _start_fastapi(self, environ: Mapping[str, str]) -> Server:
        port = free_port()
        command = [sys.executable, "-m", "uvicorn", "benchmarks.fastapi_app:app", "--factory"]
        options = ["--port", str(port), "--no-access-log", "--log-level", "warning"]
        server = Server([*command, *options], port, environ, log=self._folder / "fastapi.log")
        self._stack.enter_context(server)
        server.wait(SKY)
        theirs, ours = (json.loads(one.ask(SKY, self.headers["section"]).body)
                        for one in (server, self.ours))  # fmt: skip
        if theirs.keys() != ours.keys() or len(theirs["days"]) != len(ours["days"]):
            raise SystemExit("FastAPI's model lacks a part of the answer")
        return server

    def _start_nginx(self) -> Server | None:
        program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if program is None:
            print("nginx is not installed (apt-get install nginx): skipped", file=sys.stderr)
            return None
        port, config = free_port(), self._folder / "nginx.conf"
        config.write_text(NGINX.format(folder=self._folder, port=port))
        command = [program, "-c", str(config), "-e", str(self._folder / "nginx.log")]
        server = self._stack.enter_context(Server(command, port, log=self._folder / "nginx.log"))
        server.wait("/0")
        return server

    def measure(self, name: str, number: int) -> dict[str, float]:
        """One round of one case."""
        headers, given = self.headers[name], self._given

        def pressed(server: Server, path: str) -> tuple[float, float]:
            return server.pressed(path, headers, given.seconds, given.clients)

        cpu, rate = pressed(self.ours, CASES[name].path)
        base, raw_rate = pressed(self.raw, f"/{number}")
        found = {"cpu_us": cpu, "raw_cpu_us": base, "requests_a_second": rate}
        if name == "section":
            found["fastapi_cpu_us"], _ = pressed(self.fastapi, SKY)
        if name in PRESSED:
            if self.nginx:
                found["nginx_cpu_us"], _ = pressed(self.nginx, f"/{number}")
            found["p99_us"] = self._p99(self.ours, CASES[name].path, headers, rate / 2)
            found["raw_p99_us"] = self._p99(self.raw, f"/{number}", headers, raw_rate / 2)
        return found

    def _p99(self, server: Server, path: str, headers: Mapping[str, str], a_second: float) -> float:
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        sent = f"GET {path} HTTP/1.1\r\nHost: a\r\n{lines}\r\n"
        core = ["taskset", "--cpu-list", str(CORES[-1])]
        script = [sys.executable, str(ROOT / "benchmarks" / "http_latency.py"), str(server.port)]
        command = [*core, *script, sent, str(self._given.seconds), str(a_second)]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        return json.loads(done.stdout)[1]


def summary(rounds: list[dict[str, float]]) -> dict[str, float]:
    """Medians of the rounds, and of their ratios."""
    columns = {name: [one[name] for one in rounds] for name in rounds[0]}
    found = {name: figures.median(values) for name, values in columns.items()}
    found["requests_a_second"] = round(found["requests_a_second"])
    found |= figures.ratio(columns["raw_cpu_us"], columns["cpu_us"], "of_raw")
    if "fastapi_cpu_us" in columns:
        found |= figures.ratio(columns["fastapi_cpu_us"], columns["cpu_us"], "times_fastapi")
    if "p99_us" in columns:
        pairs = zip(columns["p99_us"], columns["raw_p99_us"], strict=True)
        found["p99_of_raw"] = round(statistics.median(ours / raw for ours, raw in pairs), 2)
    return found


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--clients", type=int, default=32)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        bench = Bench(Path(folder), given, stack)
        rounds: dict[str, list[dict[str, float]]] = {name: [] for name in CASES}
        for _ in range(given.rounds):
            for number, name in enumerate(CASES):
                rounds[name].append(bench.measure(name, number))
    figures.table({name: summary(ones) for name, ones in rounds.items()}, COLUMNS, given)


if __name__ == "__main__":
    main()
