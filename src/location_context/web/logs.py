"""Structured logs: a line of JSON for each answer and event, on stderr.

A line holds no client address, no query string, no key, no name of a place, and coordinates at one
decimal. Exceptions are logged by their type and where they arose, not by their message, which may
quote what came from outside.
"""

import asyncio
import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Collection, MutableMapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, TextIO, TypeAlias, cast

import msgspec
import structlog

from location_context.counters import Histogram
from location_context.settings import Settings
from location_context.web.log_writer import LogWriter

GRANIAN = {  # its own lines go the way of all others
    "loggers": {
        name: {"handlers": [], "propagate": True} for name in ("_granian", "granian.access")
    }
}
GATHER_SECONDS = 0.02
MAX_GATHERED = 500  # lines
REQUEST_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_KEY = re.compile(r"lc_live_[0-9A-Za-z]*")
_TRACEPARENT = re.compile(  # of W3C Trace Context: version, trace, parent, flags, and what follows
    rb"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?"
)


class Facts:
    """What equal requests have in common in their lines; `json` is that part of the line.

    Attributes:
        code: of the error.
        mode: of the weather.
        cache: `response` for a kept response, else the worst of its sections' `ReadKind`s.
        near: the point at one decimal.
    """

    __slots__ = ("cache", "code", "json", "mode", "near")

    def __init__(
        self,
        *,
        code: str | None = None,
        mode: str | None = None,
        cache: str | None = None,
        near: str | None = None,
    ) -> None:
        self.code, self.mode, self.cache, self.near = code, mode, cache, near
        self.json = (
            f'"code":{_quoted(code)},"mode":{_quoted(mode)},"cache":{_quoted(cache)},'
            f'"near":{_quoted(near)}'
        )


# id, method, path, status, milliseconds, facts, key's id, traceparent, and when (Unix nanoseconds)
Answer: TypeAlias = tuple[str, str, str, int, float, Facts, str | None, bytes | None, int]


def _quoted(text: str | None) -> str:
    return "null" if text is None else f'"{text}"'


def trace_id(traceparent: bytes | None) -> str | None:
    """The trace that a request says it belongs to; None where it says none in the right form."""
    found = _TRACEPARENT.fullmatch(traceparent) if traceparent else None
    if found is None or (found[1] == b"00" and found[3]):  # only later versions may be longer
        return None
    return found[2].decode()


class AccessLogger:
    """A line for each answer. Lines are gathered for a moment, and written together.

    As a context manager it writes, at its end, what is still to be written; a process that is
    killed loses that. Answers are counted with their lines, if there are metrics.

    Attributes:
        requests: how many by path, status, error's code and kind of cache.
        seconds: how long they took, by path.
    """

    def __init__(self, settings: Settings, probes: Collection[str] = ()) -> None:
        """`probes`: paths whose lines are at debug."""
        self.requests: dict[tuple[str, int, str | None, str | None], int] = {}
        self.seconds: dict[str, Histogram] = {}
        self._counts = bool(settings.metrics_address)
        self._silent = getattr(logging, settings.log_level.upper()) > logging.INFO
        self._json = settings.logs_json
        self._probes = probes
        self._unlogged = () if settings.log_level == "debug" else probes
        self._worker = os.getpid()
        self._answers: list[Answer] = []
        self._stream = stream()
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
        facts: Facts,
        key_id: str | None = None,
        traceparent: bytes | None = None,
    ) -> None:
        """Log an answer; `began` is on `time.perf_counter`. None of it needs escaping in JSON."""
        logged = not (self._silent or path in self._unlogged)
        if not (logged or self._counts):
            return
        ms = (time.perf_counter() - began) * 1000
        if logged and not self._json:
            log = structlog.get_logger()
            (log.debug if path in self._probes else log.info)(
                "answered",
                request_id=request_id,
                method=method,
                path=path,
                status=status,
                ms=round(ms, 1),
                code=facts.code,
                mode=facts.mode,
                cache=facts.cache,
                near=facts.near,
                key_id=key_id,
                trace_id=trace_id(traceparent),
            )
            if not self._counts:
                return
        ended = time.time_ns()
        self._answers.append(
            (request_id, method, path, status, ms, facts, key_id, traceparent, ended)
        )
        if len(self._answers) == 1:
            asyncio.get_running_loop().call_later(GATHER_SECONDS, self.flush)
        elif len(self._answers) >= MAX_GATHERED:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered; many lines in a row take half of what each alone would."""
        answers, self._answers = self._answers, []
        if self._counts:
            self._count(answers)
        lines = "" if self._silent or not self._json else "".join(map(self._line, answers))
        if lines:
            self._stream.write(lines)
            self._stream.flush()

    def _count(self, answers: Sequence[Answer]) -> None:
        requests, seconds = self.requests, self.seconds
        for _, _, path, status, ms, facts, _, _, _ in answers:
            key = (path, status, facts.code, facts.cache)
            requests[key] = requests.get(key, 0) + 1
            if (histogram := seconds.get(path)) is None:
                histogram = seconds[path] = Histogram(REQUEST_SECONDS)
            histogram.add(ms / 1000)

    def _line(self, answer: Answer) -> str:
        request_id, method, path, status, ms, facts, key_id, traceparent, ended = answer
        if path in self._unlogged:
            return ""
        second, micros = divmod(ended // 1000, 1_000_000)
        if second != self._second:
            self._second = second
            self._prefix = datetime.fromtimestamp(second, UTC).isoformat()[:-6]  # no +00:00
        shown = "0.0" if ms < 0.05 else f"{ms:.1f}"  # most are, and a float takes long to format
        trace = "null" if traceparent is None else _quoted(trace_id(traceparent))
        key_id = "null" if key_id is None else f'"{key_id}"'
        level = "debug" if path in self._probes else "info"
        return (
            f'{{"request_id":"{request_id}","method":"{method}","path":"{path}","status":{status},'
            f'"ms":{shown},{facts.json},"key_id":{key_id},"trace_id":{trace},'
            f'"worker":{self._worker},"event":"answered","level":"{level}",'
            f'"timestamp":"{self._prefix}.{micros:06}Z"}}\n'
        )


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
