"""Structured logs: a line of JSON for each answer and event, on stderr.

A line holds no client address, no query string, no key, no name of a place, and coordinates at one
decimal. Exceptions are logged by their type and where they arose, not by their message, which may
quote what came from outside.
"""

import logging
import os
import re
import sys
import traceback
from collections.abc import MutableMapping
from functools import cache
from typing import Any, TextIO, cast

import msgspec
import structlog

from location_context.settings import Settings
from location_context.web.log_writer import LogWriter

GRANIAN = {  # its own lines go the way of all others
    "loggers": {
        name: {"handlers": [], "propagate": True} for name in ("_granian", "granian.access")
    }
}
_KEY = re.compile(r"lc_live_[0-9A-Za-z]*")


def configure(settings: Settings) -> None:
    """Log as a server does."""
    level = getattr(logging, settings.log_level.upper())
    _configure(level, as_json=settings.logs_json, to=stream())


def configure_for_commands() -> None:
    """Log errors alone, for people, so that a command's own output stays what it prints."""
    _configure(logging.ERROR, as_json=False, to=sys.stderr)


def stream() -> LogWriter | TextIO:
    """The server's log: stderr by a thread of its own, or as it is if it is only in memory."""
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
    """The process that writes the line, as its lines about answers have it too."""
    event["worker"] = os.getpid()
    return event


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
