"""Structured logs: a line of JSON for each answer and event, on stderr.

A line holds no client address, no query string, no key, no name of a place, and coordinates at one
decimal. Exceptions are logged by their type and where they arose, not by their message, which may
quote what came from outside.
"""

import asyncio
import logging
import re
import sys
import time
import traceback
from collections.abc import MutableMapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec
import structlog

from location_context.settings import Settings

GRANIAN = {  # its own lines go the way of all others
    "loggers": {
        name: {"handlers": [], "propagate": True} for name in ("_granian", "granian.access")
    }
}
GATHER_SECONDS = 0.02
MAX_GATHERED = 500  # lines
# id, method, path, status, milliseconds, near, key's id, and when it was given (Unix nanoseconds)
Answer: TypeAlias = tuple[str, str, str, int, float, str | None, str | None, int]
_KEY = re.compile(r"lc_live_[0-9A-Za-z]*")


class AccessLogger:
    """A line for each answer. Lines are gathered for a moment, and written together.

    As a context manager it writes, at its end, what is still to be written. Only a process that is
    killed by the kernel loses lines: those of the last `GATHER_SECONDS`.
    """

    def __init__(self, settings: Settings) -> None:
        self._silent = getattr(logging, settings.log_level.upper()) > logging.INFO
        self._json = settings.log_format == "json"
        self._answers: list[Answer] = []
        self._second, self._prefix = 0, ""  # the time of the last line

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.flush()

    def answered(  # noqa: PLR0913, PLR0917  the fields of a line
        self,
        request_id: str,
        method: str,
        path: str,
        status: int,
        began: float,
        near: str | None,
        key_id: str | None,
    ) -> None:
        """Log an answer; `began` is on `time.perf_counter`. None of it needs escaping in JSON."""
        if self._silent:
            return
        ms = (time.perf_counter() - began) * 1000
        if not self._json:
            structlog.get_logger().info(
                "answered",
                request_id=request_id,
                method=method,
                path=path,
                status=status,
                ms=round(ms, 1),
                near=near,
                key_id=key_id,
            )
            return
        ended = time.time_ns()
        self._answers.append((request_id, method, path, status, ms, near, key_id, ended))
        if len(self._answers) == 1:
            asyncio.get_running_loop().call_later(GATHER_SECONDS, self.flush)
        elif len(self._answers) >= MAX_GATHERED:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered; many lines in a row take half of what each alone would."""
        answers, self._answers = self._answers, []
        if answers:
            sys.stderr.write("".join(map(self._line, answers)))
            sys.stderr.flush()

    def _line(self, answer: Answer) -> str:
        request_id, method, path, status, ms, near, key_id, ended = answer
        second, micros = divmod(ended // 1000, 1_000_000)
        if second != self._second:
            self._second = second
            self._prefix = datetime.fromtimestamp(second, UTC).isoformat()[:-6]  # no +00:00
        shown = "0.0" if ms < 0.05 else f"{ms:.1f}"  # most are, and a float takes long to format
        near = "null" if near is None else f'"{near}"'
        key_id = "null" if key_id is None else f'"{key_id}"'
        return (
            f'{{"request_id":"{request_id}","method":"{method}","path":"{path}","status":{status},'
            f'"ms":{shown},"near":{near},"key_id":{key_id},"event":"answered","level":"info",'
            f'"timestamp":"{self._prefix}.{micros:06}Z"}}\n'
        )


def configure(settings: Settings) -> None:
    """Log as a server does."""
    _configure(getattr(logging, settings.log_level.upper()), settings.log_format)


def configure_for_commands() -> None:
    """Log errors alone, for people, so that a command's own output stays what it prints."""
    _configure(logging.ERROR, "console")


def _configure(level: int, log_format: str) -> None:
    """Send structlog's and the libraries' events through the same processors."""
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        without_messages,
        without_keys,
    ]
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer()
        if log_format == "console"
        else structlog.processors.JSONRenderer(serializer=_json)
    )
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
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


def without_messages(
    _: object, __: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """An exception as its type and the places it passed."""
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
    """Whatever looks like an API key is struck out."""
    for name, value in event.items():
        if isinstance(value, str) and "lc_live_" in value:
            event[name] = _KEY.sub("***", value)
    return event
