"""Structured logs: a line of JSON for each answer and event, on stderr.

A line holds no client address, no query string, no key, no name of a place, and coordinates at one
decimal. Exceptions are logged by their type and where they arose, not by their message, which may
quote what came from outside.
"""

import logging
import os
import re
import sys
import threading
import time
import traceback
from collections.abc import MutableMapping
from contextlib import suppress
from functools import cache
from multiprocessing.util import Finalize
from queue import SimpleQueue
from typing import Any, TextIO, cast

import msgspec
import structlog

from location_context.settings import Settings

GRANIAN = {  # its own lines go the way of all others
    "loggers": {
        name: {"handlers": [], "propagate": True} for name in ("_granian", "granian.access")
    }
}
_KEY = re.compile(r"lc_(live|test)_[0-9A-Za-z]*")
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
        self._lost = 0  # lines, since the last report of lost lines

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
        """Do nothing: the thread writes at once."""

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


def configure(settings: Settings) -> None:
    """Configure logging for a server."""
    level = getattr(logging, settings.log_level.upper())
    _configure(level, as_json=settings.logs_json, to=stream())


def configure_for_commands() -> None:
    """Configure logging for a command: errors only, in readable form, apart from its own output."""
    _configure(logging.ERROR, as_json=False, to=sys.stderr)


def stream() -> LogWriter | TextIO:
    """Return the server's log: stderr by its own thread, or stderr itself if it has no file."""
    try:
        return _writer(sys.stderr.fileno())
    except OSError:
        return sys.stderr


_writer = cache(LogWriter)


def _configure(level: int, *, as_json: bool, to: LogWriter | TextIO) -> None:
    """Send structlog's and the libraries' events through the same processors."""
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        with_worker,
        without_messages,
        without_keys,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer(serializer=_json)
        if as_json
        else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, to)),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(to)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING), force=True)
    logging.captureWarnings(capture=True)


def _json(event: object, **_: object) -> str:
    return msgspec.json.encode(event, enc_hook=repr).decode()


def with_worker(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add the process that writes the line, as the lines about answers do."""
    event["worker"] = os.getpid()
    return event


def without_messages(
    _: object, __: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Replace an exception by its type and the places it passed."""
    info = event.pop("exc_info", None)
    if not info:
        return event
    error = info if isinstance(info, BaseException) else sys.exc_info()[1]
    if isinstance(info, tuple):
        error = info[1]
    if error is not None:
        event["error"] = type(error).__name__
        event["at"] = [
            f"{frame.filename.rpartition('site-packages/')[2]}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)
        ]
    return event


def without_keys(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Strike out text that looks like an API key."""
    for name, value in event.items():
        if isinstance(value, str) and "lc_" in value:
            event[name] = _KEY.sub("***", value)
    return event
