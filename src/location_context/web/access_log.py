"""The access log: writes a line for each response, if the log level shows it.

If METRICS_ADDRESS is set, responses are also counted.
"""

import logging
import os
import re
import time
from collections.abc import Collection
from datetime import UTC, datetime

import msgspec
import structlog

from location_context.counters import Histogram
from location_context.exchange import Exchange
from location_context.settings import Settings
from location_context.web.logs import stream

REQUEST_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_OF_EVERY_EVENT = ("event", "level", "timestamp", "worker")  # structlog's processors add these
_TRACEPARENT = re.compile(  # W3C Trace Context: version, trace, parent, flags, future fields
    rb"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?"
)


class AccessLine(msgspec.Struct):
    """The log line of a response.

    Attributes:
        ms: milliseconds from the request's arrival until its response was sent.
        code, mode, cache, near: copied from the `Exchange`, which describes them.
        key_id: the id of the API key.
        trace_id: the trace id in the request's `traceparent` header.
    """

    request_id: str
    method: str
    path: str
    status: int
    ms: float
    code: str | None
    mode: str | None
    cache: str | None
    near: str | None
    key_id: str | None
    trace_id: str | None
    worker: int
    timestamp: datetime
    event: str = "answered"
    level: str = "info"


class AccessLogger:
    """Logs each response, and counts responses if METRICS_ADDRESS is set.

    Attributes:
        requests: number of requests by path, status, error code and cache outcome. Requests with
            test keys are counted under the path `test`.
        seconds: durations of requests, by path.
    """

    def __init__(self, settings: Settings, probes: Collection[str] = ()) -> None:
        """Set up the log; health checks (paths in `probes`) are logged at the level debug."""
        self.requests: dict[tuple[str, int, str | None, str | None], int] = {}
        self.seconds: dict[str, Histogram] = {}
        self._counts = bool(settings.metrics_address)
        self._level = getattr(logging, settings.log_level.upper())
        self._json = settings.logs_json
        self._probes = probes
        self._worker = os.getpid()
        self._encoder = msgspec.json.Encoder()
        self._stream = stream()

    def answered(self, request: Exchange, path: str, status: int) -> None:
        """Log and count a response; `path` is its route's path, or `other` if no route matched."""
        seconds = time.monotonic() - request.arrived_at
        if self._counts:
            self._count(request, "test" if request.test else path, status, seconds)
        level = logging.DEBUG if path in self._probes else logging.INFO
        if level < self._level:
            return
        method = request.method
        trace = request.given.get(b"traceparent")
        line = AccessLine(
            request.id,
            method if method.isalpha() and len(method) < 10 else "other",
            path,
            status,
            int(seconds * 10_000) / 10,
            request.code,
            request.mode,
            request.cache,
            request.near,
            request.counted.subject if request.counted else None,
            trace_id(trace) if trace else None,
            self._worker,
            datetime.now(UTC),
        )
        if not self._json:
            fields = msgspec.structs.asdict(line)
            for name in _OF_EVERY_EVENT:
                del fields[name]
            structlog.get_logger().log(level, line.event, **fields)
            return
        if level == logging.DEBUG:
            line.level = "debug"
        self._stream.write(self._encoder.encode(line).decode() + "\n")

    def _count(self, request: Exchange, path: str, status: int, seconds: float) -> None:
        key = (path, status, request.code, request.cache)
        self.requests[key] = self.requests.get(key, 0) + 1
        self.seconds.setdefault(path, Histogram(REQUEST_SECONDS)).add(seconds)


def trace_id(traceparent: bytes | None) -> str | None:
    """Return the trace id in a `traceparent` header; None if the header is missing or malformed."""
    found = _TRACEPARENT.fullmatch(traceparent) if traceparent else None
    if found is None or (found[1] == b"00" and found[3]):  # only later versions may be longer
        return None
    return found[2].decode()
