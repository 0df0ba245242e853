"""Expansion: having a calendar, page or table read in a process that can be stopped.

The process gets the `Task` and the bytes, and tells a line of JSON for each entry or refusal. It is
stopped by the processor's time, which a busy machine does not shorten; whoever waits for it has a
bound on the wall as well, against one that only sleeps.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from threading import Timer
from typing import TYPE_CHECKING

import msgspec

from location_context.errors import OperatorError
from location_context.sections.events.imports.entries import Entry, Format, Refused, Window

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

# three times and more what a core of 2026 takes for the slowest 16 MB: 50,000 events of a calendar
# 24 s, events of a page 5 s, a table whose rows are all refused 20 s
PROCESSOR_SECONDS: dict[Format, int] = {"ics": 120, "jsonld": 30, "csv": 60}
WALL_SECONDS = 1200.0  # ten times the most of the processor: nine others may be as busy
_READER = "location_context.sections.events.imports.reader"
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LANG", "LD_LIBRARY_PATH")


class Task(msgspec.Struct, frozen=True):
    """What is to be read: the format, the window, and seconds of the processor for it."""

    format: Format
    window: Window
    processor: int

    @classmethod
    def of(cls, format_: Format, window: Window) -> Task:
        """With as much of the processor as the format may need."""
        return cls(format_, window, PROCESSOR_SECONDS[format_])


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of output: an entry, or a refusal."""

    entry: Entry | None = None
    refused: Refused | None = None


class Expansion:
    """One reading of `data`, in a process of its own. `read` blocks: for a thread."""

    def __init__(self, data: bytes, task: Task) -> None:
        self._data = data
        self._task = task
        self._process: subprocess.Popen[bytes] | None = None
        self._given_up = False

    def give_up(self) -> None:
        """End the process, from whatever thread."""
        self._given_up = True
        if self._process is not None:
            self._process.kill()

    def read(self) -> Generator[Entry | Refused, None, None]:
        """All that the process tells.

        Raises:
            OperatorError: it did not come to its end, so that what it told is a part.
        """
        # what reads a stranger's bytes has no business with the keys in our environment
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        with subprocess.Popen(  # noqa: S603  our own interpreter with our own module
            [sys.executable, "-m", _READER], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            self._process = process
            if self._given_up:
                process.kill()
            late = [False]
            stop = Timer(WALL_SECONDS, _stop, (process, late))
            stop.daemon = True
            stop.start()
            try:
                yield from _told(process, msgspec.json.encode(self._task) + b"\n" + self._data)
            finally:
                stop.cancel()
                process.kill()  # nothing more is wanted of it; it may be alive if the caller left
        if process.returncode:
            raise OperatorError(self._why(process.returncode, late=late[0]))

    def _why(self, returncode: int, *, late: bool) -> str:
        if late:
            return f"reading it took more than {WALL_SECONDS:g} seconds"
        if returncode == -signal.SIGXCPU:
            seconds = self._task.processor
            return (
                f"reading it took more than {seconds} second{'s' * (seconds > 1)} of the processor"
            )
        return "reading it took too much memory, or failed"


def _stop(process: subprocess.Popen[bytes], late: list[bool]) -> None:
    late[0] = True
    process.kill()


def _told(process: subprocess.Popen[bytes], given: bytes) -> Iterator[Entry | Refused]:
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
    process.wait()
