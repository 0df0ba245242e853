"""The command `serve`: it cuts no request at its end, and says what is wrong."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from location_context.cli.serve import ENDING_SECONDS, HTTP1_SETTINGS, Supervisor, server
from location_context.localisation.language import Languages
from location_context.widget import png
from tests.databases import OwnRedis
from tests.patience import wait_until
from tests.serving import free_port, serve
from tests.web.commands import Serving, command, serving, starting, with_redis

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
QUERY = "lat=48.8566&lng={lng}&start=2026-11-28&end=2026-12-01"


class Asker(threading.Thread):
    """Sends requests until stopped, as a load balancer that follows health; counts the answers.

    Every second asker takes its time between connecting and asking.
    """

    def __init__(self, port: int, key: str, number: int) -> None:
        super().__init__()
        self.port, self.key, self.number = port, key, number
        self.answers: Counter[str] = Counter()
        self.stopped = threading.Event()

    def run(self) -> None:
        connection, requested = None, 0
        while not self.stopped.is_set():
            try:
                if connection is None:
                    connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
                    connection.connect()
                requested += 1
                connection = self.ask(connection, requested)
            except (OSError, HTTPException, ValueError) as error:
                self.answers[f"cut: {error!r}"] += 1
                connection = None
        if connection is not None:
            connection.close()

    def ask(self, connection: HTTPConnection, requested: int) -> HTTPConnection | None:
        if self.number % 2:
            time.sleep(0.1)
        query = QUERY.format(lng=f"{self.number}.{requested % 1000:03}")
        headers = {"Authorization": f"Bearer {self.key}"}
        connection.request("GET", f"/v1/pulse/astronomy?{query}", headers=headers)
        response = connection.getresponse()
        json.loads(response.read())
        self.answers[str(response.status)] += 1
        if response.headers.get("connection") == "close":
            connection.close()
            return None
        return connection


@pytest.mark.parametrize("workers", ["1", "2"])
def test_sigterm_interrupts_no_request_of_clients_that_watch_the_health_check(
    prepared, workers: str, own_redis: OwnRedis
) -> None:
    folder, key = prepared
    free = {
        "LOCATION_CONTEXT_OPEN_METEO_FORECAST_URL": "https://api.open-meteo.com/v1/forecast",
        **with_redis(own_redis),
    }
    with serving(folder, "--workers", workers, more=free) as served:
        askers = [Asker(served.port, key, number) for number in range(12)]
        for asker in askers:
            asker.start()
        wait_until(lambda: sum(one.answers["200"] for one in askers) >= 100)
        served.signal(signal.SIGTERM)
        wait_until_it_drains(served.port)
        for asker in askers:
            asker.stopped.set()
        for asker in askers:
            asker.join()
        printed = served.printed()
    total = sum((asker.answers for asker in askers), Counter())
    assert served.process.returncode == 0, printed
    assert total["200"] > 100
    assert set(total) == {"200"}
    assert "Open-Meteo free access: non-commercial use only" in printed
    assert "sample guide" in printed.lower()
    assert "Traceback" not in printed


def health(port: int) -> tuple[int, str | None, dict]:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/v1/health")
    response = connection.getresponse()
    report = response.status, response.headers["connection"], json.loads(response.read())
    connection.close()
    return report


def wait_until_it_drains(port: int) -> None:
    """Until health says so: what a load balancer goes by when it sends no more."""
    wait_until(lambda: health(port)[0] != 200)
    assert health(port) == (503, "close", {"status": "draining"})


def test_draining_server_answers_requests_for_the_configured_time(prepared) -> None:
    folder, _ = prepared
    longer = {"LOCATION_CONTEXT_DRAIN_AT_LEAST": "2"}  # the default is 1 s
    with serving(folder, more=longer) as served:
        began = time.monotonic()
        served.signal(signal.SIGTERM)
        wait_until_it_drains(served.port)
        printed = served.printed()
        assert time.monotonic() - began >= 2
    assert served.process.returncode == 0, printed


def test_client_that_sends_headers_too_slowly_is_disconnected(web_settings) -> None:
    assert HTTP1_SETTINGS.header_read_timeout <= 30_000
    with (
        serve(web_settings, sections=[], headers_within=300) as served,
        socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection,
    ):
        connection.sendall(b"GET /v1/health HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        while connection.recv(1000):
            pass


def test_serve_lists_all_wrong_settings_and_masks_secrets(tmp_path: Path) -> None:
    wrong = {
        "LOCATION_CONTEXT_EVENTS_RADIUS": "far",
        "LOCATION_CONTEXT_PUBLIC_URL": "gopher://x",
        "LOCATION_CONTEXT_DATABASE_URL": "mysql://user:hunter2@db/x",
    }
    done = command(tmp_path, "serve", more=wrong, fails=True)
    for name in wrong:
        assert name in done.stderr
    assert "hunter2" not in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_serve_explains_a_port_in_use_or_a_damaged_database_without_a_traceback(
    tmp_path: Path, own_redis: OwnRedis
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = command(tmp_path, "serve", "--port", port, fails=True)
    assert "--port" in done.stderr
    (tmp_path / "location-context.sqlite3").write_bytes(b"not a database" * 1000)
    with starting(tmp_path, "--workers", "2", more=with_redis(own_redis)) as served:
        printed = served.printed()
    assert served.process.returncode == 1
    assert "location-context.sqlite3" in printed
    assert "Traceback" not in printed
    assert "Unexpected exit" not in printed
    assert len(printed.splitlines()) <= 3  # the sentence alone, as a terminal wraps it


@LINUX
def test_supervisor_process_loads_no_library_that_only_its_workers_need(
    prepared, own_redis: OwnRedis
) -> None:
    folder, key = prepared
    with serving(folder, "--workers", "2", more=with_redis(own_redis)) as served:
        first, second = children(served.process.pid)
        ask_all(served, key)
        assert loaded_libraries(served.process.pid) == {"granian", "msgspec"}
        assert {"granian", "msgspec", "numpy", "sqlalchemy"} <= loaded_libraries(first)
        assert megabytes(served.process.pid) < 40
        # 111 MB on Python 3.11, 120 on 3.14
        assert max(megabytes(first), megabytes(second)) < 125
    code = "import sys, location_context.cli.serve; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder
    )
    heavy = {
        "numpy",
        "sqlalchemy",
        "starlette",
        "jinja2",
        "babel",
        "skyfield",
        "aiohttp",
        "alembic",
    }
    ours = {f"location_context.{name}" for name in ("app", "service", "sections", "storage")}
    assert not (heavy | ours) & set(done.stdout.split())


def ask_all(served: Serving, key: str) -> None:
    """A page and every section, each over a connection of its own."""
    query = QUERY.format(lng="2.3522")
    for path in ("", "/weather", "/astronomy", "/guide", "/events"):
        status = served.status(f"/v1/pulse{path}?{query}", key if path else "")
        assert status in {200, 503}, path


def loaded_libraries(pid: int) -> set[str]:
    """The packages of which a process has a compiled part in its memory; those of interest."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    names = ("granian", "lxml", "msgspec", "numpy", "sqlalchemy", "aiohttp")
    return {name for name in names if f"site-packages/{name}/" in maps}


def megabytes(pid: int) -> float:
    """The memory that the process alone has written, whatever runs beside it."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("Private_Dirty:"))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_starting_server_ends_cleanly_on_a_signal(
    prepared, workers: str, own_redis: OwnRedis
) -> None:
    folder, _ = prepared
    for number in (signal.SIGTERM, signal.SIGINT):
        with starting(folder, "--workers", workers, more=with_redis(own_redis)) as served:
            wait_until(lambda: bool(children(served.process.pid)))
            signalled_at = time.monotonic()
            served.signal(number)
            printed = served.printed()
        assert served.process.returncode == 0, printed
        assert "Traceback" not in printed
        assert "Unexpected exit" not in printed
        # granian also says "Killing" of a worker that has just ended, before its thread has told
        # so; a worker that ignored the signal is killed only after this time
        assert "Killing" not in printed or time.monotonic() - signalled_at < ENDING_SECONDS


def test_worker_ends_on_a_signal_that_arrives_before_its_signal_handler_is_installed() -> None:
    supervisor = server("a:b", "127.0.0.1", 1, 1, kind=partial(Supervisor, lambda _: None))
    before = signal.signal(signal.SIGTERM, supervisor.signal_handler_interrupt)
    try:
        if not (worker := os.fork()):
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(7)  # it went on
    finally:
        signal.signal(signal.SIGTERM, before)
    assert os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) == 0
    assert not supervisor.interrupt_signal


def test_server_logs_its_notices_and_the_death_of_a_worker_as_json(
    prepared, own_redis: OwnRedis
) -> None:
    folder, _ = prepared
    with serving(folder, "--workers", "2", more=with_redis(own_redis)) as served:
        workers = children(served.process.pid)
        os.kill(workers[0], signal.SIGKILL)
        wait_until(lambda: len(set(children(served.process.pid)) - set(workers)) == 1)  # replaced
        served.signal(signal.SIGTERM)
        lines = served.printed().splitlines()
    events = [json.loads(line) for line in lines]
    report = next(event for event in events if event["event"] == "serving")
    assert report["data_dir"] == str(folder)
    assert report["address"].endswith(str(served.port))
    assert any("sample guide" in event.get("message", "") for event in events)
    assert any("worker" in event["event"].lower() for event in events), lines


def test_workers_end_after_their_parent_was_killed(prepared, own_redis: OwnRedis) -> None:
    folder, _ = prepared
    with serving(folder, "--workers", "2", more=with_redis(own_redis)) as served:
        workers = children(served.process.pid)
        assert len(workers) == 2
        served.signal(signal.SIGKILL)
        served.process.wait()
        try:
            wait_until(lambda: not any(map(runs, workers)))
        finally:
            for worker in filter(runs, workers):
                os.kill(worker, signal.SIGKILL)
        with pytest.raises(ConnectionRefusedError):
            health(served.port)


def runs(pid: int) -> bool:
    state = ["ps", "-o", "stat=", "-p", str(pid)]
    shown = subprocess.run(state, capture_output=True, text=True, check=False).stdout
    return bool(shown) and shown[0] != "Z"


def children(parent: int) -> list[int]:
    """The workers of a server that live."""
    requested = ["ps", "-o", "pid=,stat=,args=", "--ppid", str(parent)]
    listed = subprocess.run(requested, capture_output=True, text=True, check=False).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [int(pid) for pid, state, does in rows if state[0] != "Z" and "tracker" not in does]


def test_serve_prints_the_data_directory_and_ends_cleanly_on_ctrl_c(prepared) -> None:
    folder, _ = prepared
    with serving(folder, more={"LOCATION_CONTEXT_LOG_FORMAT": "console"}) as served:
        served.signal(signal.SIGINT)
        printed = served.printed()
    assert f"Serving at http://127.0.0.1:{served.port}, data directory {folder}" in printed
    # which is nothing where every language has its fonts
    assert png.missing_letters(Languages.load()) in " ".join(printed.split())
    assert served.process.returncode == 0, printed
    assert "Traceback" not in printed


def test_serve_refuses_several_workers_without_redis_and_names_the_redis_setting(
    tmp_path: Path,
) -> None:
    done = command(tmp_path, "serve", "--workers", "2", fails=True)
    said = " ".join(done.stderr.split())
    assert "LOCATION_CONTEXT_REDIS_URL" in said
    assert "or serve with one worker" in said


@pytest.mark.parametrize(
    ("extra", "library", "setting", "value"),
    [
        ("redis", "redis", "REDIS_URL", "redis://127.0.0.1:9/0"),
        ("metrics", "prometheus_client", "METRICS_ADDRESS", "127.0.0.1:19464"),
    ],
)
def test_serve_without_an_optional_library_names_the_extra_to_install(  # noqa: PLR0917  fixtures
    tmp_path: Path, monkeypatch, extra: str, library: str, setting: str, value: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)  # as if not installed
    more = {f"LOCATION_CONTEXT_{setting}": value}
    done = command(tmp_path, "serve", "--port", str(free_port()), more=more, fails=True)
    assert f"pip install 'location-context[{extra}]'" in done.stderr
