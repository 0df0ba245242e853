"""Structured logs: a line of JSON for each response and event, on stderr.

Log lines never contain a client address, a query string, an API key or the name of a place.
Coordinates have only one decimal. An exception is logged with its type and traceback, but without
its message, which may quote input.
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

GRANIAN = {  # sends the lines of granian, the server, through the same handlers as all others
    "loggers": {
        name: {"handlers": [], "propagate": True} for name in ("_granian", "granian.access")
    }
}
_KEY = re.compile(r"lc_(live|test)_[0-9A-Za-z]*")
MAX_HELD_BYTES = 1_000_000  # about 4,000 lines
GATHER_SECONDS = 0.02
END_SECONDS = 1.0  # an exiting process waits at most so long until its lines are written


class LogWriter:
    """Writes lines to a file descriptor in a separate thread, so that callers never wait.

    Lines are gathered for 0.02 s and written together; a killed process loses them. A full pipe or
    a slow disk blocks only the thread. While `MAX_HELD_BYTES` are queued, new lines are dropped.
    Lines that the system rejects (no reader, full disk) are dropped too. When writing succeeds
    again and half of the queue is empty, the event `log_lines_lost` reports how many were dropped.

    A forked process starts its own queue and thread with its first line.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._lock, self._queue = threading.Lock(), SimpleQueue[bytes]()
        self._held = 0  # bytes
        self._runs = False
        self._lost = 0  # lines dropped since the last report

    def write(self, text: str) -> int:
        """Queue complete lines, or drop them if the queue is full; return the text's length."""
        data = text.encode(errors="backslashreplace")
        with self._lock:
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._run, name="log", daemon=True).start()
                Finalize(None, self.drain, exitpriority=0)  # runs in forked processes too
            if self._held + len(data) > MAX_HELD_BYTES:
                self._lost += data.count(b"\n")
            else:
                self._held += len(data)
                self._queue.put(data)
        return len(text)

    def flush(self) -> None:
        """Do nothing, because the thread writes lines within 0.02 s."""

    def drain(self) -> None:
        """Wait until all lines are written, at most `END_SECONDS`."""
        until = time.monotonic() + END_SECONDS
        while self._held and time.monotonic() < until:
            time.sleep(0.005)

    def _run(self) -> None:
        while True:
            first = self._queue.get()
            time.sleep(GATHER_SECONDS)
            data = b"".join([first, *(self._queue.get() for _ in range(self._queue.qsize()))])
            left = memoryview(data)
            with suppress(OSError):
                while left:
                    left = left[os.write(self._descriptor, left) :]
            with self._lock:
                self._held -= len(data)
                self._lost += bytes(left).count(b"\n")
                lines = 0 if left or self._held > MAX_HELD_BYTES // 2 else self._lost
                self._lost -= lines
            if lines:
                structlog.get_logger().warning("log_lines_lost", lines=lines)


def configure(settings: Settings) -> None:
    """Configure logging for a server, with the level and format in the settings."""
    level = getattr(logging, settings.log_level.upper())
    _configure(level, as_json=settings.logs_json, to=stream())


def configure_for_commands() -> None:
    """Configure logging for a command: only errors, as readable text on stderr."""
    _configure(logging.ERROR, as_json=False, to=sys.stderr)


def stream() -> LogWriter | TextIO:
    """Return a `LogWriter` to stderr, or stderr itself if it has no file descriptor."""
    try:
        return _writer(sys.stderr.fileno())
    except OSError:
        return sys.stderr


_writer = cache(LogWriter)


def _configure(level: int, *, as_json: bool, to: LogWriter | TextIO) -> None:
    """Configure structlog and `logging` (for libraries) with the same processors."""
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
    """Add the id of this process to a log event, as the field `worker`."""
    event["worker"] = os.getpid()
    return event


def without_messages(
    _: object, __: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Replace the exception of a log event by its type (`error`) and its traceback (`at`)."""
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
    """Replace text that looks like an API key by `***` in all fields of a log event."""
    for name, value in event.items():
        if isinstance(value, str) and "lc_" in value:
            event[name] = _KEY.sub("***", value)
    return event
