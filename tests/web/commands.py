"""The command `location-context` in processes of its own, with settings of a test."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

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
COMMAND = [sys.executable, "-c", "from location_context.cli.main import main; main()"]


def environment(data_dir: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("LOCATION_CONTEXT_")}
    return {**kept, **NOWHERE, "LOCATION_CONTEXT_DATA_DIR": str(data_dir), **(more or {})}


def command(
    data_dir: Path, *arguments: str, more: Mapping[str, str] | None = None, fails: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        env=environment(data_dir, more),
        timeout=120,
        check=False,
    )
    assert (done.returncode != 0) == fails, done.stderr + done.stdout
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
