"""Metrics: `/metrics` on an address of its own, for all processes of one server together.

Every worker listens on METRICS_ADDRESS (the kernel gives each connection to one of them), publishes
its values to a file each second and when it is asked, and answers with the sum over all files.
A file's number is locked by its worker; who starts takes the first free one and goes on from the
counters of the worker that had it, so that a counter never goes back while the server runs, whoever
is restarted or killed.
"""

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from socketserver import TCPServer
from typing import Any

import msgspec

from location_context.counters import Histogram
from location_context.errors import DAMAGED
from location_context.service import Service
from location_context.settings.data_dir import try_lock
from location_context.settings.parsers import METRICS_FOLDER, host_and_port
from location_context.web.application import Application
from location_context.web.measurements import (
    BY_NAME,
    DELAYS,
    METRICS,
    PREFIX,
    Metric,
    Values,
    datasets,
    joined,
    measured,
    samples_of,
)
from location_context.web.status import DatasetCache, readiness

DELAY_SECONDS = 0.25  # between two measurements of the event loop's delay
PUBLISH_EVERY = 4  # of these
ANSWER_SECONDS = 2.0  # for a busy worker to read its values; then those published last are taken
IDLE_SECONDS = 10  # for a scraper to send its request
_DECODER = msgspec.msgpack.Decoder(Values)


@asynccontextmanager
async def served(service: Service, app: Application) -> AsyncIterator[None]:
    """`/metrics` until the end of the block, if the settings name an address for it.

    Raises:
        OSError: it cannot be listened on.
    """
    if not (address := service.settings.metrics_address):
        yield
        return
    meter = Meter(service, app, SharedValues(os.environ.get(METRICS_FOLDER)))
    loop = asyncio.get_running_loop()
    server = _listening(address, partial(_collected, meter, loop))
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    publishing = asyncio.create_task(meter.run())
    try:
        yield
    finally:
        publishing.cancel()
        await asyncio.to_thread(server.shutdown)
        server.server_close()
        meter.publish()
        meter.shared.close()


class SharedValues:
    """The values of all processes that share `folder`; without one those of this process alone.

    What a process published is taken over by the next one with its number: its counters go on, its
    gauges end with it.
    """

    def __init__(self, folder: str | None) -> None:
        self._folder = Path(folder) if folder else None
        self._own: Values = {}
        self._descriptor: int | None = None
        self._number = 0
        self._before: Values = {}
        if self._folder is not None:
            with suppress(OSError):
                while (descriptor := try_lock(self._lock(self._number))) is None:
                    self._number += 1
                self._descriptor = descriptor
                self._before = _counters(self._read(self._number))

    def publish(self, values: Values) -> None:
        """Put these in place of what this process published before."""
        self._own = joined(samples_of(self._before), joined(samples_of(values)))
        if self._descriptor is None:
            return
        file = self._file(self._number)
        draft = file.with_suffix(".new")
        with suppress(OSError):  # a full disk costs the others' sum, and no answer
            draft.write_bytes(msgspec.msgpack.encode(self._own))
            draft.replace(file)

    def of_all(self) -> Values:
        """What every process published last, joined."""
        total = joined(samples_of(self._own))
        if self._folder is None or self._descriptor is None:
            return total
        for lock in sorted(self._folder.glob("*.lock")):
            if (number := int(lock.stem)) != self._number:
                values = self._read(number)
                joined(samples_of(values if self._lives(number) else _counters(values)), total)
        return total

    def close(self) -> None:
        """Leave the number to the next process."""
        if self._descriptor is not None:
            os.close(self._descriptor)  # which releases the lock

    def _lives(self, number: int) -> bool:
        try:
            descriptor = try_lock(self._lock(number))
        except OSError:
            return False
        if descriptor is not None:
            os.close(descriptor)
        return descriptor is None

    def _read(self, number: int) -> Values:
        try:
            return _DECODER.decode(self._file(number).read_bytes())
        except (OSError, *DAMAGED):
            return {}

    def _lock(self, number: int) -> Path:
        assert self._folder is not None
        return self._folder / f"{number}.lock"

    def _file(self, number: int) -> Path:
        assert self._folder is not None
        return self._folder / f"{number}.values"


def _counters(values: Values) -> Values:
    """Those that stay true of a process that has ended."""
    return {
        name: held
        for name, held in values.items()
        if name in BY_NAME and BY_NAME[name].kind != "gauge"
    }


class Meter:
    """Reads the values of this process, and publishes them."""

    def __init__(self, service: Service, app: Application, shared: SharedValues) -> None:
        self.shared = shared
        self._service = service
        self._app = app
        self._delays = Histogram(DELAYS)
        self._datasets = DatasetCache(service)
        self._known: Values = {}
        self._ready = False

    async def run(self) -> None:
        """Measure the delay of the event loop, and publish, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await self._look()
            self.publish()
            for _ in range(PUBLISH_EVERY):
                due = loop.time() + DELAY_SECONDS
                await asyncio.sleep(DELAY_SECONDS)
                self._delays.add(max(0.0, loop.time() - due))

    async def read(self) -> None:
        """Publish what is true now."""
        await self._look()
        self._known = joined(datasets(await self._datasets.read() or {}))
        self.publish()

    async def _look(self) -> None:
        """See whether the service is ready, which takes waiting."""
        state = await readiness(self._service, draining=self._app.draining)
        self._ready = state.status == "ready"

    def publish(self) -> None:
        values = joined(measured(self._service, self._app, self._delays, ready=self._ready))
        self.shared.publish(values | self._known)


def _collected(meter: Meter, loop: asyncio.AbstractEventLoop) -> list[Any]:
    """The metrics of all processes in prometheus-client's types, read in the server's thread."""
    reading = asyncio.run_coroutine_threadsafe(meter.read(), loop)
    with suppress(TimeoutError, RuntimeError):  # of a worker that is busy, or ends
        reading.result(ANSWER_SECONDS)
    values = meter.shared.of_all()
    return [_family(metric, values.get(metric.name, {})) for metric in METRICS]


def _family(metric: Metric, held: dict[tuple[str, ...], Any]) -> Any:
    # imported here: only a server that is scraped needs it
    from prometheus_client import core  # noqa: PLC0415  see above

    kinds = {
        "counter": core.CounterMetricFamily,
        "gauge": core.GaugeMetricFamily,
        "histogram": core.HistogramMetricFamily,
    }
    family = kinds[metric.kind](PREFIX + metric.name, metric.help, labels=metric.labels)
    for labels, value in sorted(held.items()):
        if metric.kind != "histogram":
            family.add_metric(labels, value)
            continue
        *counts, total = value
        edges = [*map(str, metric.bounds), "+Inf"]
        cumulative = [sum(counts[: at + 1]) for at in range(len(counts))]
        family.add_metric(labels, list(zip(edges, cumulative, strict=True)), total)
    return family


def _listening(address: str, collect: Callable[[], list[Any]]) -> Any:
    """A server at the address, which several processes may share."""
    # imported here: only a server that is scraped needs them
    from wsgiref.simple_server import WSGIRequestHandler, make_server  # noqa: PLC0415  see above

    from prometheus_client.exposition import ThreadingWSGIServer, choose_encoder  # noqa: PLC0415  see above

    host, port = host_and_port(address)

    class Collected:
        """What the library's encoders ask."""

        @staticmethod
        def collect() -> list[Any]:
            return collect()

    class Server(ThreadingWSGIServer):
        allow_reuse_port = True
        daemon_threads = True
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

        def server_bind(self) -> None:
            """Without asking the name service what this machine is called."""
            TCPServer.server_bind(self)
            self.server_name, self.server_port = host, port
            self.setup_environ()

    class Handler(WSGIRequestHandler):
        timeout = IDLE_SECONDS

        def log_message(self, *_: object) -> None:
            """Scrapes are not logged."""

    def respond(environ: dict[str, Any], start: Any) -> list[bytes]:
        if environ["PATH_INFO"] != "/metrics":
            start("404 Not Found", [("Content-Type", "text/plain")])
            return [b"There is only /metrics here.\n"]
        encode, kind = choose_encoder(environ.get("HTTP_ACCEPT", ""))
        body = encode(Collected())
        start("200 OK", [("Content-Type", kind), ("Content-Length", str(len(body)))])
        return [body]

    return make_server(host, port, respond, server_class=Server, handler_class=Handler)
