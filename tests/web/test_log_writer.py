"""A log whose reader stalls, goes away or has no room costs lines, and no answer."""

import fcntl
import io
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest

from location_context.web.logs import MAX_HELD_BYTES
from tests.patience import PATIENCE_SECONDS
from tests.serving import free_port
from tests.web.commands import COMMAND, Serving, environment, wait_until_it_answers


@contextmanager
def logging_to(descriptor: int, data_dir: Path) -> Iterator[Serving]:
    """`serve` whose stderr is `descriptor`."""
    port = free_port()
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=descriptor,
        env=environment(data_dir, {"LOCATION_CONTEXT_LOG_FORMAT": "json"}),
    )
    served = Serving(process, port, io.BytesIO())
    try:
        wait_until_it_answers(served)
        yield served
    finally:
        process.terminate()
        process.wait(timeout=30)


def assert_answers(served: Serving, times: int) -> None:
    """Request so often on one connection."""
    connection = HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_SECONDS)
    for _ in range(times):
        connection.request("GET", "/v1/nothing")
        assert connection.getresponse().read()
    connection.close()


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe for 4 kB."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    yield reader, writer
    for descriptor in (reader, writer):
        with suppress(OSError):
            os.close(descriptor)


def test_server_answers_while_nobody_reads_the_log_and_then_reports_lost_lines(
    prepared, pipe
) -> None:
    folder, _ = prepared
    reader, writer = pipe
    requested = MAX_HELD_BYTES // 200  # a line is longer
    with logging_to(writer, folder) as served:
        assert_answers(served, requested)
        os.close(writer)
        with os.fdopen(os.dup(reader)) as log:
            lines = [json.loads(log.readline())]
            while lines[-1]["event"] != "log_lines_lost":
                lines.append(json.loads(log.readline()))
            assert_answers(served, 1)
            served.signal(signal.SIGTERM)
            last = [json.loads(line) for line in log]
    assert (lost := lines[-1]["lines"]) > 0
    assert sum(line["event"] == "answered" for line in lines + last) + lost == requested + 1


def test_server_answers_after_the_log_reader_closed(prepared, pipe) -> None:
    folder, _ = prepared
    reader, writer = pipe
    with logging_to(writer, folder) as served:
        os.close(reader)
        assert_answers(served, 500)


def test_server_answers_while_the_log_disk_is_full(prepared) -> None:
    folder, _ = prepared
    with Path("/dev/full").open("wb") as full, logging_to(full.fileno(), folder) as served:
        assert_answers(served, 500)
