"""A fake provider: an HTTP server on loopback, in a thread, that can produce faults.

It answers with the result of its `respond` function. A `FakeResponse` may have a fault: `hang`
never answers, `drop` closes the connection, `drip` sends a byte a second, `cut` stops in the middle
of the body, `late` answers after `LATE_SECONDS`. Each function in `FAULTS` turns a correct response
into a faulty one.
"""

import gzip
import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec


@dataclass(frozen=True)
class FakeRequest:
    """A received request.

    `query` has the first value of each query parameter, `every` has all values. The names of
    headers are in lower case. `target` is path and query as sent.
    """

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    every: Mapping[str, list[str]] = field(default_factory=dict)
    target: str = ""


@dataclass(frozen=True)
class FakeResponse:
    """A response to send, as JSON if `body` is not bytes; `fault` names a fault in sending it."""

    body: object = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    fault: str | None = None  # hang, drop, drip, cut or late

    def encoded(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else msgspec.json.encode(self.body)


BOMB_BYTES = 40_000_000  # uncompressed size of a gzip bomb; five times the most that we read
LATE_SECONDS = 1.5  # longer than the kit's time limit
Respond = Callable[[FakeRequest], FakeResponse]
Fault = Callable[[FakeResponse], FakeResponse]


class FakeServer:
    """A fake server: its URL, the requests that it received, and its `respond` function."""

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self.requests: list[FakeRequest] = []
        self.stopping = threading.Event()
        handler = type("Handler", (_Handler,), {"fake": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> "Iterator[FakeServer]":
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.stopping.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    """The handler of a connection to a fake server."""

    fake: FakeServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        every = parse_qs(parts.query, keep_blank_values=True)
        headers = {name.lower(): value for name, value in self.headers.items()}
        first = {name: values[0] for name, values in every.items()}
        request = FakeRequest(parts.path, first, headers, every, self.path)
        self.fake.requests.append(request)
        self._send(self.fake.respond(request))

    def _send(self, answer: FakeResponse) -> None:
        if answer.fault == "hang":
            self.fake.stopping.wait(60)
        if answer.fault == "late":
            self.fake.stopping.wait(LATE_SECONDS)
        if answer.fault in {"hang", "drop"}:
            self.close_connection = True
            return
        body = answer.encoded()
        self.send_response(answer.status)
        headers = {"Content-Type": "application/json", **answer.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if answer.fault == "drip":
            self._drip(body)
        elif answer.fault == "cut":
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        else:
            self.wfile.write(body)

    def _drip(self, body: bytes) -> None:
        for position in range(len(body)):
            self.wfile.write(body[position : position + 1])
            self.wfile.flush()
            if self.fake.stopping.wait(1):
                return

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True  # the client closed the connection

    def log_message(self, *_: object) -> None:
        """Log nothing: requests are recorded in `requests`."""


def _spoilt(value: Any) -> Any:
    """Return a JSON value with every number replaced by NaN."""
    if isinstance(value, dict):
        return {key: _spoilt(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_spoilt(part) for part in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return math.nan if is_number else value


def _nan(good: FakeResponse) -> FakeResponse:
    return FakeResponse(json.dumps(_spoilt(msgspec.json.decode(good.encoded()))).encode())


def _status(status: int, **headers: str) -> Fault:
    return _body({"error": "made up"}, status, **headers)


def _body(body: object, status: int = 200, **headers: str) -> Fault:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: FakeResponse(body, status, named)


def _way(fault: str) -> Fault:
    return lambda good: FakeResponse(good.body, good.status, good.headers, fault)


FAULTS: Mapping[str, Fault] = {
    "hangs": _way("hang"),
    "drips": _way("drip"),
    "answers late": _way("late"),
    "closes the connection": _way("drop"),
    "cuts its answer": _way("cut"),
    "429 without a time": _status(429),
    "429 for some seconds": _status(429, Retry_After="120"),
    "429 until a date": _status(429, Retry_After="Fri, 31 Dec 2100 23:59:59 GMT"),
    "401": _status(401),
    "500": _status(500),
    "503 for some seconds": _status(503, Retry_After="120"),
    "a redirect": _status(302, Location="http://127.0.0.1:9/"),
    "a web page": _body(b"<!doctype html><title>Maintenance</title>", Content_Type="text/html"),
    "NaN for numbers": _nan,
    "a gzip bomb": _body(gzip.compress(bytes(BOMB_BYTES), 9), Content_Encoding="gzip"),
    "a list": _body([]),
    "an object of another shape": _body({"unexpected": True}),
    "a number": _body(42),
    "deep nesting": _body(b"[" * 100_000),
    "nothing": _body(b""),
}
