"""The command `location-context` with the settings of a test; `serve` in a process of its own."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from unittest.mock import patch

import structlog

from location_context.cli.main import main
from tests.serving import free_port

NOWHERE = {  # every provider at a closed port
    f"LOCATION_CONTEXT_{name}_URL": "http://127.0.0.1:9/x"
    for name in (
        "OPEN_METEO_FORECAST",
        "OPEN_METEO_ARCHIVE",
        "NASA_POWER",
        "MET_NORWAY",
        "OPEN_HOLIDAYS",
        "WIKIDATA",
    )
}
COMMAND = [sys.executable, "-m", "location_context"]


def environment(data_dir: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("LOCATION_CONTEXT_")}
    return {**kept, **NOWHERE, "LOCATION_CONTEXT_DATA_DIR": str(data_dir), **(more or {})}


@dataclass(frozen=True)
class Done:
    """What a command printed, and its exit code."""

    stdout: str
    stderr: str
    code: int


def command(
    data_dir: Path, *arguments: str, more: Mapping[str, str] | None = None, fails: bool = False
) -> Done:
    """Run a command to its end in this process, as `main` runs it."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        patch.dict(os.environ, environment(data_dir, more), clear=True),
        patch.object(sys, "argv", ["location-context", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
        finally:
            structlog.reset_defaults()
            logging.getLogger().handlers.clear()
    done = Done(out.getvalue(), err.getvalue(), code)
    assert (done.code != 0) == fails, done
    return done


@contextmanager
def serving(
    data_dir: Path, *arguments: str, more: Mapping[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`serve` while it runs: the process and its port."""
    port = free_port()
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", str(port), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(data_dir, more),
    )
    try:
        wait_until_it_answers(process, port)
        yield process, port
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=30)


def wait_until_it_answers(process: subprocess.Popen[str], port: int) -> None:
    patience = time.monotonic() + 60
    while time.monotonic() < patience:
        assert process.poll() is None, process.communicate()[0]
        try:
            connection = HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/v1/health")
            connection.getresponse().read()
            connection.close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server did not answer in time")
