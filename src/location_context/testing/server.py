"""A fake provider: a real HTTP server on loopback, in its own thread, that answers as it is told.

It is given a `respond` function. Faults are ways of answering: `hang` accepts and never answers,
`drop` closes the connection, `drip` sends a byte a second, `cut` ends in the middle of the body,
`late` answers after `LATE_SECONDS`.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import msgspec


@dataclass(frozen=True)
class FakeRequest:
    """One request as it came: path, query (first values; all in `every`), headers in lower case.

    `target` is path and query as they were written.
    """

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    every: Mapping[str, list[str]] = field(default_factory=dict)
    target: str = ""


@dataclass(frozen=True)
class FakeResponse:
    """What to answer. A body that is not bytes is sent as JSON."""

    body: object = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    fault: str | None = None  # hang, drop, drip, cut or late

    def encoded(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else msgspec.json.encode(self.body)


LATE_SECONDS = 1.5  # more than the kit waits
Respond = Callable[[FakeRequest], FakeResponse]


class FakeServer:
    """The server while it runs: its address, what it was asked, and how it answers."""

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self.asked: list[FakeRequest] = []
        self.date: float | str | None = (
            None  # a POSIX timestamp or a header, where its clock is another
        )
        self.stopping = threading.Event()
        self._server = ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Handler", (_Handler,), {"fake": self})
        )
        self._server.daemon_threads = True
        self._server.block_on_close = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Give up the port of a server that never ran."""
        self._server.server_close()

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
    """One connection to a stand-in."""

    fake: FakeServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        every = parse_qs(parts.query, keep_blank_values=True)
        headers = {name.lower(): value for name, value in self.headers.items()}
        first = {name: values[0] for name, values in every.items()}
        asked = FakeRequest(parts.path, first, headers, every, self.path)
        self.fake.asked.append(asked)
        self._send(self.fake.respond(asked))

    def date_time_string(self, timestamp: float | None = None) -> str:
        date = self.fake.date
        return date if isinstance(date, str) else super().date_time_string(timestamp or date)

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
            self.close_connection = True  # the client went away, as clients do

    def log_message(self, *_: object) -> None:
        """Say nothing: what was asked is kept in `asked`."""
