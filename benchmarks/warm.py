"""Warm answers: CPU and rate beside raw ASGI, FastAPI and nginx, and p99 at half load.

    python -m benchmarks.warm [--seconds 1] [--clients 32] [--rounds 5] [--json]
    python -m benchmarks.warm --workers [--seconds 2] [--clients 64] [--rounds 5] [--json]

The raw application sends the same bytes with the same headers and does nothing else, on the same
server with the same settings and event loop. FastAPI answers the same section from its pydantic
models under uvicorn with uvloop and httptools; nginx sends the same bytes from a file (skipped if
it is not installed: apt-get install nginx). Each has one process on the first core. They are loaded
in turn, round after round, by wrk with one thread on the last core (apt-get install wrk; without it
by clients in Python, which cost more than the servers). A request of ours takes every step of a
real one: key and quota, or the limit by address, freshness, ETag, coding and a log line in a file.
Astronomy is the real section; the others answer with samples, so that every answer is complete.

`of raw` is the raw application's CPU a request over ours: 1 is as good as raw. The last columns are
times of answers at half of the rate that each can sustain. CPU time is that of the server's
processes, from /proc: Linux only.

`--workers` compares two workers with Redis, one with Redis and one without, for a section with a
key; it starts a redis-server of its own (apt-get install redis-server). Workers, Redis and clients
share the machine's cores, so two workers on two cores have less than two. `times one, as measured`
compares requests a second on this machine. `times one, by CPU` is twice the CPU of one worker's
request over that of one of two: the gain where each worker has a core, and Redis and the clients
have theirs.
"""

import argparse
import base64
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from starlette.types import ASGIApp

from benchmarks.harness import figures
from benchmarks.harness.servers import WITHOUT_LIMIT, Server, key_without_limit, paced
from location_context.app import create_app
from location_context.settings import Settings
from location_context.stay import system_clock
from location_context.web import logs
from tests.serving import free_port
from tests.widget.samples.sections import sample_sections

STAY = "lat=48.8566&lng=2.3522&start=2030-11-28&end=2030-12-01"
SKY, WIDGET = f"/v1/pulse/astronomy?{STAY}", f"/v1/pulse?{STAY}"
PRESSED = ("section", "widget, br")  # those with nginx and times at half load


class Case(NamedTuple):
    """A request: path, with a key or not, coding, and whether the client holds the answer."""

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
KINDS = {"one worker": (1, False), "one, Redis": (1, True), "two, Redis": (2, True)}
WORKERS_COLUMNS = {
    "cpu_us": "CPU us", "redis_us": "Redis us", "a_second": "requests/s", "more_us": "more us",
    "times_one": "times one, as measured", "times_one_lowest": "lowest",
    "times_one_highest": "highest", "times_one_by_cpu": "times one, by CPU",
}  # fmt: skip


def service() -> ASGIApp:
    """Return the application with sample sections, without a limit by address."""
    settings = Settings.read(os.environ)
    logs.configure(settings)
    settings = msgspec.structs.replace(settings, widget_per_minute=WITHOUT_LIMIT)
    return create_app(settings, sections=sample_sections(system_clock))


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
    """The servers, and the headers of each case."""

    def __init__(self, folder: Path, options: argparse.Namespace, stack: ExitStack) -> None:
        self._folder = folder
        self._options = options
        self._stack = stack
        settings = Settings(data_dir=folder / "data")
        self._key = key_without_limit(settings)
        environ = {
            "LOCATION_CONTEXT_DATA_DIR": str(settings.data_dir),
            "ANSWERS": str(folder / "answers.json"),
            "ANSWER": str(folder / "0"),
        }
        log = folder / "log"
        self.ours = stack.enter_context(Server.of("benchmarks.warm:service", environ, log))
        self.ours.wait("/v1/health")
        self.headers: dict[str, dict[str, str]] = {}
        self._record()
        self.raw = stack.enter_context(
            Server.of("benchmarks.harness.anchors:recorded", environ, log)
        )
        self.raw.wait("/0")
        self.fastapi = self._start_fastapi(environ)
        self.nginx = self._start_nginx()

    def _record(self) -> None:
        """Request every case once, for the other servers to repeat."""
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
        command = [
            sys.executable,
            "-m",
            "uvicorn",
            "benchmarks.harness.fastapi_app:app",
            "--factory",
        ]
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
        """Measure one round of one case."""
        headers, options = self.headers[name], self._options

        def pressed(server: Server, path: str) -> tuple[float, float]:
            return server.pressed(path, headers, options.seconds, options.clients)

        cpu, rate = pressed(self.ours, CASES[name].path)
        base, raw_rate = pressed(self.raw, f"/{number}")
        found = {"cpu_us": cpu, "raw_cpu_us": base, "requests_a_second": rate}
        if name == "section":
            found["fastapi_cpu_us"], _ = pressed(self.fastapi, SKY)
        if name in PRESSED:
            if self.nginx:
                found["nginx_cpu_us"], _ = pressed(self.nginx, f"/{number}")
            found["p99_us"] = paced(
                self.ours.port, CASES[name].path, headers, options.seconds, rate / 2
            )
            found["raw_p99_us"] = paced(
                self.raw.port, f"/{number}", headers, options.seconds, raw_rate / 2
            )
        return found


def summary(rounds: list[dict[str, float]]) -> dict[str, float]:
    """Return the medians of the rounds, and of their ratios."""
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


def start_redis(folder: Path, stack: ExitStack) -> Server:
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("redis-server is not installed: apt-get install redis-server")
    port = free_port()
    command = [program, "--port", str(port), "--save", "", "--dir", str(folder)]
    return stack.enter_context(Server(command, port, log=folder / "redis.log", pinned=False))


class Workers:
    """The servers, loaded in turn."""

    def __init__(self, folder: Path, options: argparse.Namespace, stack: ExitStack) -> None:
        self._options = options
        settings = Settings(data_dir=folder / "data")
        self._headers = {
            "Authorization": f"Bearer {key_without_limit(settings)}",
            "Accept-Encoding": "identity",
        }
        self._redis = start_redis(folder, stack)
        self._servers = {}
        for name, (workers, with_redis) in KINDS.items():
            environ = {"LOCATION_CONTEXT_DATA_DIR": str(settings.data_dir)}
            if with_redis:
                environ["LOCATION_CONTEXT_REDIS_URL"] = f"redis://127.0.0.1:{self._redis.port}/0"
            factory, log = "benchmarks.warm:service", folder / f"{workers} {with_redis}"
            server = Server.of(factory, environ, log, workers, pinned=False)
            self._servers[name] = stack.enter_context(server)
        for server in self._servers.values():
            server.wait("/v1/health")
            self._warm(server)

    def _warm(self, server: Server) -> None:
        """Request until each worker has answered."""
        began = time.monotonic()
        while time.monotonic() < began + 2:
            if server.ask(SKY, self._headers).status != 200:
                raise SystemExit("the section: not 200")

    def round(self) -> dict[str, dict[str, float]]:
        found = {}
        for name, server in self._servers.items():
            before = self._redis.cpu_seconds()
            cpu, rate = server.pressed(
                SKY, self._headers, self._options.seconds, self._options.clients
            )
            redis = self._redis.cpu_seconds() - before
            answers = rate * self._options.seconds
            found[name] = {"cpu_us": cpu, "redis_us": redis / answers * 1e6, "a_second": rate}
        return found


def summary_of_workers(rounds: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    found = {
        name: {part: figures.median(one[name][part] for one in rounds) for part in rounds[0][name]}
        for name in KINDS
    }
    one, two = ([r[name] for r in rounds] for name in ("one, Redis", "two, Redis"))
    measured = figures.ratio(
        [r["a_second"] for r in two], [r["a_second"] for r in one], "times_one"
    )
    by_cpu = [2 * a["cpu_us"] / b["cpu_us"] for a, b in zip(one, two, strict=True)]
    found["two, Redis"] |= {**measured, "times_one_by_cpu": round(statistics.median(by_cpu), 2)}
    without = [one_round["one worker"]["cpu_us"] for one_round in rounds]
    more = (a["cpu_us"] - b for a, b in zip(one, without, strict=True))
    found["one, Redis"]["more_us"] = figures.median(more)
    return found


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=5)
    parser.add_argument("--seconds", type=float, help="of each measurement: 1, with --workers 2")
    parser.add_argument("--clients", type=int, help="32, with --workers 64")
    parser.add_argument("--workers", action="store_true", help="two workers beside one, with Redis")
    options = parser.parse_args()
    options.seconds = options.seconds or (2.0 if options.workers else 1.0)
    options.clients = options.clients or (64 if options.workers else 32)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        if options.workers:
            workers = Workers(Path(folder), options, stack)
            of_workers = [workers.round() for _ in range(options.rounds)]
            figures.table(summary_of_workers(of_workers), WORKERS_COLUMNS, options)
            return
        bench = Bench(Path(folder), options, stack)
        rounds: dict[str, list[dict[str, float]]] = {name: [] for name in CASES}
        for _ in range(options.rounds):
            for number, name in enumerate(CASES):
                rounds[name].append(bench.measure(name, number))
    figures.table({name: summary(ones) for name, ones in rounds.items()}, COLUMNS, options)


if __name__ == "__main__":
    main()
