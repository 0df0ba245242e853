"""Requests at a given rate, whatever the answers take; a process of its own for `http_speed.py`.

    python benchmarks/http_latency.py PORT REQUEST SECONDS A_SECOND

Prints the median and the 99th percentile in microseconds, as JSON. The moments of sending are drawn
beforehand (exponential gaps, as of guests who know nothing of each other), and an answer's time
counts from the moment it was due, so that no wait is left out. It never sleeps:
one core is its own.
"""

import json
import random
import select
import socket
import sys
import time

CONNECTIONS = 64
WARMING = 0.2  # the share of requests at the beginning that is not counted


def complete(answer: bytes) -> bool:
    """Whether all of the body has come."""
    head, found, body = answer.partition(b"\r\n\r\n")
    head = head.lower()
    if not found:
        return False
    if b" 304 " in head[:20]:
        return True
    return len(body) >= int(head.partition(b"content-length: ")[2].partition(b"\r")[0])


class Clients:
    """Kept connections; each has one request under way at the most."""

    def __init__(self, port: int, sent: bytes) -> None:
        self._sent = sent
        self._poll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        for _ in range(CONNECTIONS):
            one = socket.create_connection(("127.0.0.1", port))
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets[one.fileno()] = one
            self._poll.register(one, select.EPOLLIN)
        self._free = list(self._sockets)
        self._due: dict[int, float] = {}
        self._come: dict[int, bytes] = {}
        self.took: list[float] = []

    def run(self, moments: list[float]) -> None:
        """Send at these moments, in seconds from now, and await all answers."""
        began, at = time.perf_counter(), 0
        while at < len(moments) or self._due:
            now = time.perf_counter() - began
            while at < len(moments) and moments[at] <= now and self._free:
                descriptor = self._free.pop()
                self._due[descriptor] = moments[at]
                self._come[descriptor] = b""
                self._sockets[descriptor].send(self._sent)
                at += 1
            for descriptor, _ in self._poll.poll(0):
                part = self._sockets[descriptor].recv(1 << 18)
                if not part:
                    raise SystemExit("the server closed a connection")
                self._come[descriptor] += part
                if complete(self._come[descriptor]):
                    ended = time.perf_counter() - began
                    self.took.append(ended - self._due.pop(descriptor))
                    self._free.append(descriptor)


def main(port: str, sent: str, seconds: str, a_second: str) -> None:
    chance, moments, at = random.Random(14), [], 0.0
    while at < float(seconds):
        at += chance.expovariate(float(a_second))
        moments.append(at)
    clients = Clients(int(port), sent.encode())
    clients.run(moments)
    took = sorted(clients.took[int(len(clients.took) * WARMING) :])
    print(json.dumps([1e6 * took[len(took) // 2], 1e6 * took[int(len(took) * 0.99)]]))


if __name__ == "__main__":
    main(*sys.argv[1:])
