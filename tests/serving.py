"""The real application under the real server, on a real socket, for end-to-end tests.

`serve` runs it in a thread of this process, so that a test can hand in a clock, sections, and look
into what it holds. Tests of signals and processes run the command `location-context serve` instead.
"""

import asyncio
import contextlib
import itertools
import logging
import os
import random
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection

import structlog
import uvloop
from granian.constants import HTTPModes, Interfaces
from granian.server.common import LogLevels
from granian.server.embed import Server

from location_context.app import create_app
from location_context.cli.serve import HTTP1_SETTINGS, MAX_CONNECTIONS
from location_context.sections.section import Section
from location_context.settings import Settings
from location_context.stay import Clock, system_clock
from location_context.web.application import Application
from tests.patience import PATIENCE_SECONDS, wait_until


@dataclass(frozen=True)
class Served:
    """A running server: its address without a trailing slash, and the application itself."""

    url: str
    port: int
    app: Application


@contextmanager
def serve(
    settings: Settings,
    *,
    clock: Clock = system_clock,
    sections: Sequence[Section] | None = None,
    port: int | None = None,
    headers_within: int = HTTP1_SETTINGS.header_read_timeout,
) -> Iterator[Served]:
    """Serve until the end of the block. `sections` stand in for the real ones.

    `headers_within` is how many milliseconds a client has to send its headers.
    """
    level = getattr(logging, settings.log_level.upper())
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(level))
    app, port = create_app(settings, clock=clock, sections=sections), port or free_port()
    thread = _Thread(app, port, headers_within)
    thread.start()
    try:
        thread.wait_until_it_answers()
        yield Served(f"http://127.0.0.1:{port}", port, app)
    finally:
        thread.end()
        structlog.reset_defaults()


def answers(port: int) -> bool:
    """Return True if a server answers health on this port."""
    try:
        with contextlib.closing(
            HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        ) as connection:
            connection.request("GET", "/v1/health")
            connection.getresponse().read()
    except OSError:
        return False
    return True


def _ports() -> Iterator[int]:
    """Yield ports below those that the system gives to clients, each once a round.

    Test processes that run side by side have disjoint ranges.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 8
    own = range(10_000 + worker * 2_750, 12_750 + worker * 2_750)
    first = random.SystemRandom().randrange(len(own))  # whatever Hypothesis seeds
    return itertools.cycle([*own[first:], *own[:first]])


_PORTS = _ports()


def free_port() -> int:
    """Return a port that nobody listens on, and that this process has not returned before."""
    while True:
        port = next(_PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class _Thread(threading.Thread):
    """A thread with its own event loop and server in it."""

    def __init__(self, app: Application, port: int, headers_within: int) -> None:
        super().__init__(name="served", daemon=True)
        self._server = Server(
            app,
            address="127.0.0.1",
            port=port,
            interface=Interfaces.ASGI,
            websockets=False,
            backlog=MAX_CONNECTIONS,
            backpressure=MAX_CONNECTIONS,
            http=HTTPModes.http1,
            http1_settings=replace(HTTP1_SETTINGS, header_read_timeout=headers_within),
            log_level=LogLevels.critical,
        )
        self._port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._app = app

    def run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as in production
                runner.run(self._serve())
        except Exception:  # noqa: BLE001  the application holds why it failed
            return

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve()

    def wait_until_it_answers(self) -> None:
        wait_until(lambda: self._app.failure or not self.is_alive() or answers(self._port))
        if self._app.failure or not self.is_alive():
            raise RuntimeError("the server did not start") from self._app.failure

    def end(self) -> None:
        if self._loop is not None and self.is_alive():
            self._loop.call_soon_threadsafe(self._server.stop)
        self.join(20)
