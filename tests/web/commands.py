"""The command `location-context` with the settings of a test; `serve` in a process of its own."""

import contextlib
import io
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import IO
from unittest.mock import patch

import pytest
import structlog

from location_context.cli.main import main
from tests.databases import OwnRedis
from tests.patience import wait_until
from tests.serving import answers, free_port

NOWHERE = {  # every provider at a closed port
    f"LOCATION_CONTEXT_{name}_URL": "http://127.0.0.1:9/x"
    for name in (
        "OPEN_METEO_FORECAST",
        "OPEN_METEO_ARCHIVE",
        "NASA_POWER",
        "MET_NORWAY",
        "OPEN_HOLIDAYS",
    )
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
COMMAND = [sys.executable, "-m", "location_context"]


def environment(data_dir: Path | None, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of a command; without `data_dir` none is set."""
    stored = {k: v for k, v in os.environ.items() if not k.startswith("LOCATION_CONTEXT_")}
    where = {} if data_dir is None else {"LOCATION_CONTEXT_DATA_DIR": str(data_dir)}
    return {**stored, **NOWHERE, **where, **(more or {})}


@dataclass(frozen=True)
class Done:
    """What a command printed, and its exit code."""

    stdout: str
    stderr: str
    code: int


def command(
    data_dir: Path | None,
    *arguments: str,
    more: Mapping[str, str] | None = None,
    fails: bool = False,
) -> Done:
    """Run a command to its end in this process, as `main` runs it."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        patch.dict(os.environ, environment(data_dir, more), clear=True),
        patch.object(sys, "argv", ["location-context", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        here = threading.current_thread() is threading.main_thread()  # others may not handle them
        heeded = {number: signal.getsignal(number) for number in SIGNALS if here}
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
        finally:
            for number, handler in heeded.items():  # `serve` takes them for itself
                signal.signal(number, handler)
            structlog.reset_defaults()
            logging.getLogger().handlers.clear()
    done = Done(out.getvalue(), err.getvalue(), code)
    assert (done.code != 0) == fails, done
    return done


def unbounded_key(data_dir: Path, name: str) -> dict[str, str]:
    """A key for as many requests as a test likes: its `id` and the `key` itself."""
    made = command(data_dir, "keys", "create", name, "--per-minute", "1000000", "--json")
    printed: dict[str, str] = json.loads(made.stdout)
    return printed


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A data directory as `setup` leaves it, and a key."""
    folder = tmp_path_factory.mktemp("prepared")
    command(folder, "setup", "--without-fallback", "--json")
    return folder, unbounded_key(folder, "load")["key"]


def with_redis(redis: OwnRedis) -> dict[str, str]:
    """The setting that several workers need."""
    return {"LOCATION_CONTEXT_REDIS_URL": redis.url}


@dataclass(frozen=True)
class Serving:
    """`serve` in a process of its own; its output goes into a file, which never fills up."""

    process: subprocess.Popen[bytes]
    port: int
    output: IO[bytes]

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def status(self, path: str, key: str = "") -> int:
        """Request a path on a connection of its own; return the answer's status."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            response.read()
            return response.status

    def written(self) -> str:
        """What it has printed so far; reading leaves the place where it writes."""
        return os.pread(self.output.fileno(), os.fstat(self.output.fileno()).st_size, 0).decode()

    def printed(self) -> str:
        """Everything it printed, once it has ended."""
        self.process.wait(timeout=60)
        self.output.seek(0)
        return self.output.read().decode()


@contextmanager
def serving(
    data_dir: Path,
    *arguments: str,
    more: Mapping[str, str] | None = None,
    port: int | None = None,
) -> Iterator[Serving]:
    """`serve` while it runs."""
    with starting(data_dir, *arguments, more=more, port=port) as served:
        wait_until_it_answers(served)
        yield served


@contextmanager
def starting(
    data_dir: Path,
    *arguments: str,
    more: Mapping[str, str] | None = None,
    port: int | None = None,
) -> Iterator[Serving]:
    """`serve` from its first moment."""
    port = port or free_port()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--port", str(port), *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment(data_dir, more),
        )
        try:
            yield Serving(process, port, output)
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(timeout=30)


def wait_until_it_answers(served: Serving) -> None:
    wait_until(lambda: served.process.poll() is not None or answers(served.port))
    assert served.process.poll() is None, served.printed()
