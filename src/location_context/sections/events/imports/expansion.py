"""Expansion: having a calendar, page or table read in a process that can be stopped.

The process gets the `Task` and the bytes, and tells a line of JSON for each entry or refusal; they
are taken as they come, so that what came before a stop is kept and nothing is left to do after it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from threading import Timer
from typing import TYPE_CHECKING

import msgspec

from location_context.sections.events.imports.entries import Entry, Format, Refused, Window

if TYPE_CHECKING:
    from collections.abc import Generator

    from location_context.upstream.deadline import Deadline

# of the five that an import may take; the rest is for stopping the process and for the database
SECONDS = 3.5
_READER = "location_context.sections.events.imports.reader"
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LANG", "LD_LIBRARY_PATH")


class Task(msgspec.Struct, frozen=True):
    """What is to be read: the format and the window."""

    format: Format
    window: Window


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of output: an entry, or a refusal."""

    entry: Entry | None = None
    refused: Refused | None = None


def expand(data: bytes, task: Task, deadline: Deadline) -> Generator[Entry | Refused, None, None]:
    """Read `data` in a process that is killed when the deadline passes. Blocks: for a thread."""
    # what reads a stranger's bytes has no business with the keys in our environment
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    with subprocess.Popen(  # noqa: S603  our own interpreter with our own module
        [sys.executable, "-m", _READER], env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        stop = Timer(deadline.left(), process.kill)
        stop.daemon = True
        stop.start()
        try:
            ended = yield from _told(process, msgspec.json.encode(task) + b"\n" + data, deadline)
        finally:
            stop.cancel()
            process.kill()  # nothing more is wanted of it; it may be alive if the caller left
    if process.returncode or not ended:
        yield Refused("the rest", _why(deadline))


def _told(
    process: subprocess.Popen[bytes], given: bytes, deadline: Deadline
) -> Generator[Entry | Refused, None, bool]:
    """What it tells; in the end, whether it has told all."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # it was stopped before it had heard all
        process.stdin.write(given)
        process.stdin.close()
    for line in process.stdout:
        with contextlib.suppress(msgspec.DecodeError):  # the last one may be cut
            told = msgspec.json.decode(line, type=Line)
            if one := told.entry or told.refused:
                yield one
        if not deadline.left():
            return False
    process.wait()
    return True


def _why(deadline: Deadline) -> str:
    if deadline.left():
        return "reading it took too much memory, or failed"
    return f"reading took more than {SECONDS:g} seconds"
