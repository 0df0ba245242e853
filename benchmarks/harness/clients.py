"""Send requests: over kept connections, at a steady rate, and inside this process.

    python -m benchmarks.harness.clients press PORT REQUEST SECONDS CLIENTS
    python -m benchmarks.harness.clients pace PORT REQUEST SECONDS RATE

`press` sends without a pause and prints the answers a second. `pace` sends RATE requests a second,
however long the answers take, and prints the median and the 99th percentile in microseconds, as
JSON. Its gaps are exponential, as between guests who do not know of each other. A time counts from
the planned moment, so it includes every wait. `pace` never sleeps: it needs a core of its own.
REQUEST is sent as it stands, with its empty line.
"""

import asyncio
import json
import random
import select
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

from starlette.types import ASGIApp, Message

CONNECTIONS = 64
WARMING = 0.2  # share of the first requests that is not counted
STOPPED = (ConnectionError, asyncio.IncompleteReadError)


async def get(app: ASGIApp, target: str, headers: Mapping[str, str] | None = None) -> int:
    """Call an application in this process, without a server, and return the status."""
    path, _, query = target.partition("?")
    sent = {"host": "a", "accept-encoding": "br", **(headers or {})}
    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        "query_string": query.encode(), "http_version": "1.1", "scheme": "http", "root_path": "",
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), "state": {},
    }  # fmt: skip
    statuses = [0]

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        statuses.append(message.get("status", statuses[-1]))

    await app(scope, receive, send)
    return statuses[-1]


async def get_all(
    app: ASGIApp, targets: Iterable[str], headers: Iterable[Mapping[str, str]]
) -> None:
    """Call an application for each target in turn; end unless every status is 200."""
    for target, sent in zip(targets, headers, strict=False):
        if (status := await get(app, target, sent)) != 200:
            raise SystemExit(f"{target}: status {status}")


class Connection:
    """A kept connection, opened again after the server has closed it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, target: str, *headers: str) -> int:
        """Send a request and return the status; 0 if the server closed the connection instead."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        try:
            lines = "".join(f"{line}\r\n" for line in headers)
            writer.write(f"GET {target} HTTP/1.1\r\n{lines}\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(_length(head))
        except STOPPED:
            self.close()
            return 0
        status = int(head[9:12])
        if status == 431 or b"connection: close" in head.lower():
            self.close()
        return status

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@asynccontextmanager
async def connection(port: int) -> AsyncIterator[Connection]:
    opened = Connection(port)
    try:
        yield opened
    finally:
        opened.close()


async def ask_all(
    port: int, targets: Sequence[str], key: str, at_once: int
) -> list[tuple[int, float]]:
    """Request each target over `at_once` connections; return each status and its seconds."""
    left, answers = iter(targets), list[tuple[int, float]]()
    headers = ("Host: a", "Accept-Encoding: br", f"Authorization: Bearer {key}")

    async def client() -> None:
        async with connection(port) as opened:
            for target in left:
                began = time.perf_counter()
                status = await opened.ask(target, *headers)
                answers.append((status, time.perf_counter() - began))

    await asyncio.gather(*(client() for _ in range(min(at_once, len(targets)))))
    return answers


def _length(head: bytes) -> int:
    """Return the size of the body, by the head of its response."""
    if b" 304 " in head[:20]:
        return 0
    return int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])


async def press(port: int, sent: bytes, seconds: float, number: int) -> float:
    """Send without a pause over so many connections; return the answers a second."""
    count, began = 0, time.perf_counter()

    async def client() -> None:
        nonlocal count
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < began + seconds:
            writer.write(sent)
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(_length(head))
            assert head[9:12] in {b"200", b"304", b"401"}, head
            count += 1
        writer.close()

    await asyncio.gather(*(client() for _ in range(number)))
    return count / (time.perf_counter() - began)


class PacedClients:
    """Kept connections, each with one request at a time at most."""

    def __init__(self, port: int, sent: bytes) -> None:
        self._sent = sent
        self._poll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        for _ in range(CONNECTIONS):
            opened = socket.create_connection(("127.0.0.1", port))
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets[opened.fileno()] = opened
            self._poll.register(opened, select.EPOLLIN)
        self._free = list(self._sockets)
        self._planned: dict[int, float] = {}
        self._received: dict[int, bytes] = {}
        self.seconds: list[float] = []

    def run(self, moments: Sequence[float]) -> None:
        """Send at these moments, in seconds from now, and wait for all answers."""
        began, at = time.perf_counter(), 0
        while at < len(moments) or self._planned:
            now = time.perf_counter() - began
            while at < len(moments) and moments[at] <= now and self._free:
                descriptor = self._free.pop()
                self._planned[descriptor] = moments[at]
                self._received[descriptor] = b""
                self._sockets[descriptor].send(self._sent)
                at += 1
            for descriptor, _ in self._poll.poll(0):
                part = self._sockets[descriptor].recv(1 << 18)
                if not part:
                    raise SystemExit("the server closed a connection")
                self._received[descriptor] += part
                head, end, body = self._received[descriptor].partition(b"\r\n\r\n")
                if end and len(body) >= _length(head + end):
                    ended = time.perf_counter() - began
                    self.seconds.append(ended - self._planned.pop(descriptor))
                    self._free.append(descriptor)


def pace(port: int, sent: bytes, seconds: float, rate: float) -> list[float]:
    """Return the median and the 99th percentile in microseconds."""
    chance, moments, at = random.Random(14), [], 0.0
    while at < seconds:
        at += chance.expovariate(rate)
        moments.append(at)
    clients = PacedClients(port, sent)
    clients.run(moments)
    ordered = sorted(clients.seconds[int(len(clients.seconds) * WARMING) :])
    return [1e6 * ordered[len(ordered) // 2], 1e6 * ordered[int(len(ordered) * 0.99)]]


if __name__ == "__main__":
    kind, port, request, seconds, more = sys.argv[1:]
    if kind == "press":
        print(asyncio.run(press(int(port), request.encode(), float(seconds), int(more))))
    else:
        print(json.dumps(pace(int(port), request.encode(), float(seconds), float(more))))
