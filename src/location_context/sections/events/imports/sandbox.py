"""Sandbox: a calendar, page or table is read in a process of its own, which can be stopped.

The process takes a `Task` on its first line of input and the bytes after it, and prints a line of
JSON for each entry or rejection as it goes. It is stopped by the processor's time, which a busy
machine does not shorten, and has a bound on memory; whoever waits for it has a bound on the wall
clock as well, against one that only sleeps.
"""

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Generator, Iterable
from importlib import import_module
from threading import Timer

import msgspec

from location_context.errors import OperatorError
from location_context.sections.events.imports import entries

# three times and more what a core of 2026 takes for the slowest 16 MB: 50,000 events of a calendar
# 24 s, events of a page 5 s, a table whose rows are all rejected 20 s
CPU_SECONDS: dict[entries.Format, int] = {"ics": 120, "jsonld": 30, "csv": 60}
WALL_SECONDS = 1200.0  # ten times the most of the processor: nine others may be as busy
# 16 MB, the largest file, hold so many events of a calendar or a page as most are written, with 320
# bytes each; a server that refreshes such a feed holds 85 MB for it meanwhile
MAX_ENTRIES = 50_000
MAX_REJECTED = 1_000  # more than anybody reads
_MAX_MEMORY = 1 << 30
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LANG", "LD_LIBRARY_PATH")


class Task(msgspec.Struct, frozen=True):
    """What is to be read: the format, the window, and seconds of the processor for it."""

    format: entries.Format
    window: entries.Window
    cpu_seconds: int

    @classmethod
    def of(cls, format_: entries.Format, window: entries.Window) -> "Task":
        """With as much of the processor as the format may need."""
        return cls(format_, window, CPU_SECONDS[format_])


class _Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of output: an entry, or a rejection."""

    entry: entries.CalendarEntry | None = None
    rejected: entries.RejectedEntry | None = None


class Sandbox:
    """One reading of `data`. `parse_in_subprocess` blocks: for a thread."""

    def __init__(self, data: bytes, task: Task) -> None:
        self._data = data
        self._task = task
        self._process: subprocess.Popen[bytes] | None = None
        self._cancelled = self._timed_out = False

    def cancel(self) -> None:
        """End the process, from whatever thread."""
        self._cancelled = True
        if self._process is not None:
            self._process.kill()

    def parse_in_subprocess(
        self,
    ) -> Generator[entries.CalendarEntry | entries.RejectedEntry, None, None]:
        """All that the process finds.

        Raises:
            OperatorError: it did not come to its end, so that what it found is a part.
        """
        # what reads a stranger's bytes has no business with the keys in our environment
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        environment["OPENBLAS_NUM_THREADS"] = "1"  # else numpy takes 30 MB for each processor
        with subprocess.Popen(  # noqa: S603  our own interpreter with our own module
            [sys.executable, "-m", __name__], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            self._process = process
            if self._cancelled:
                process.kill()
            timer = Timer(WALL_SECONDS, self._stop)
            timer.daemon = True
            timer.start()
            try:
                yield from _exchange(process, msgspec.json.encode(self._task) + b"\n" + self._data)
            finally:
                timer.cancel()
                process.kill()  # nothing more is wanted of it; it may be alive if the caller left
        if process.returncode:
            raise OperatorError(self._reason(process.returncode))

    def _stop(self) -> None:
        self._timed_out = True
        self.cancel()

    def _reason(self, returncode: int) -> str:
        if self._timed_out:
            return f"reading it took more than {WALL_SECONDS:g} seconds"
        if returncode == -signal.SIGXCPU:
            seconds = self._task.cpu_seconds
            return (
                f"reading it took more than {seconds} second{'s' * (seconds > 1)} of the processor"
            )
        return "reading it took too much memory, or failed"


def _exchange(process: subprocess.Popen[bytes], given: bytes) -> entries.Entries:
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # it was stopped before it had read all
        process.stdin.write(given)
        process.stdin.close()
    for text in process.stdout:
        with contextlib.suppress(msgspec.DecodeError):  # the last one may be cut
            line = msgspec.json.decode(text, type=_Line)
            if found := line.entry or line.rejected:
                yield found
    process.wait()


def main() -> None:
    """What the process runs: reads the task and the data from stdin, and prints line by line."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # else a stop would write its memory to disk
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    task = msgspec.json.decode(sys.stdin.buffer.readline(), type=Task)
    # the first ends it with a signal that tells why, the second if that is not received
    resource.setrlimit(resource.RLIMIT_CPU, (task.cpu_seconds, task.cpu_seconds + 1))
    # each format's part is loaded only where it is needed: the others cost a third of a second
    readers = {"ics": "ics:read_ics", "jsonld": "jsonld:read_jsonld", "csv": "table:read_table"}
    module, _, function = readers[task.format].partition(":")
    read = getattr(import_module(f"{__spec__.parent}.{module}"), function)
    out = sys.stdout.buffer
    for one in _bounded(read(sys.stdin.buffer.read(), task.window)):
        line = _Line(entry=one) if isinstance(one, entries.CalendarEntry) else _Line(rejected=one)
        out.write(msgspec.json.encode(line) + b"\n")
    out.flush()


def _bounded(found: Iterable[entries.CalendarEntry | entries.RejectedEntry]) -> entries.Entries:
    """As many entries as are kept, and as many rejections as anybody reads."""
    kept = rejected = 0
    for one in found:
        if isinstance(one, entries.RejectedEntry):
            rejected += 1
            if rejected <= MAX_REJECTED:
                yield one
        elif kept == MAX_ENTRIES:
            reason = (
                f"it holds more than {MAX_ENTRIES:,} events; the first {MAX_ENTRIES:,} are kept"
            )
            yield entries.RejectedEntry("the rest", reason)
            break
        else:
            kept += 1
            yield one
    if rejected > MAX_REJECTED:
        yield entries.RejectedEntry("the rest", f"{rejected - MAX_REJECTED} more were refused")


if __name__ == "__main__":
    main()
