"""A stream for the log whose writes never wait, whatever becomes of the log's reader."""

import os
import threading
import time
from contextlib import suppress
from multiprocessing.util import Finalize
from queue import SimpleQueue

import structlog

MAX_HELD_BYTES = 1_000_000  # about 4,000 lines
END_SECONDS = 1.0  # that the end of a process waits for a reader


class LogWriter:
    """Writes to a file descriptor in a thread of its own.

    A full pipe or a slow disk blocks that thread alone. Lines that come while `MAX_HELD_BYTES` wait
    are dropped, until half of that is written again, and so are those that the system refuses (no
    reader, a full disk). The next line that is written after a loss is followed by
    `log_lines_lost` with their number.

    A forked process has a queue and a thread of its own from its first line on.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._lock, self._queue = threading.Lock(), SimpleQueue[bytes]()
        self._held = 0  # bytes
        self._full = self._runs = False
        self._lost = 0  # lines, since the last that were told

    def write(self, text: str) -> int:
        """Queue whole lines, or drop them."""
        data = text.encode(errors="backslashreplace")
        with self._lock:
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._run, name="log", daemon=True).start()
                Finalize(None, self.drain, exitpriority=0)  # at the end of forked processes too
            self._full = self._full or self._held + len(data) > MAX_HELD_BYTES
            if self._full:
                self._lost += data.count(b"\n")
            else:
                self._held += len(data)
                self._queue.put(data)
        return len(text)

    def flush(self) -> None:
        """Nothing: the thread writes at once."""

    def drain(self) -> None:
        """Wait until all is written, but no longer than `END_SECONDS`."""
        until = time.monotonic() + END_SECONDS
        while self._held and time.monotonic() < until:
            time.sleep(0.005)

    def _run(self) -> None:
        while True:
            data = self._queue.get()
            left = memoryview(data)
            with suppress(OSError):
                while left:
                    left = left[os.write(self._descriptor, left) :]
            with self._lock:
                self._held -= len(data)
                self._lost += bytes(left).count(b"\n")
                self._full = self._full and self._held > MAX_HELD_BYTES // 2
                lines = 0 if left or self._full else self._lost
                self._lost -= lines
            if lines:
                structlog.get_logger().warning("log_lines_lost", lines=lines)
