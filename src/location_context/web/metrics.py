"""Metrics: `/metrics` on an address of its own, for all processes of one server together.

Each worker listens on METRICS_ADDRESS; the kernel gives each connection to one of them. A worker
copies what it has counted to the metrics of prometheus-client, each second and before it answers.
`serve` turns on the multiprocess mode of that library: each process keeps its values in files of
one folder, which outlive it, and an answer adds up the files of all processes.

Only a server that is scraped imports this module: the extra `metrics` installs the library.
"""

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from socketserver import TCPServer
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    make_wsgi_app,
)
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from location_context.service import Service
from location_context.settings.parsers import MULTIPROCESS_FOLDER, host_and_port
from location_context.web.application import Application
from location_context.web.measurements import METRICS, PREFIX, Metric, Sample, datasets, measured
from location_context.web.status import DatasetCache, readiness

DELAY_SECONDS = 0.25  # between two measurements of the event loop's delay
COPY_EVERY = 4  # of these
ANSWER_SECONDS = 2.0  # for a busy worker to read its values; then the last copies are served
IDLE_SECONDS = 10  # for a scraper to send its request
disable_created_metrics()  # the multiprocess mode has none


@asynccontextmanager
async def served(service: Service, app: Application) -> AsyncIterator[None]:
    """Serve `/metrics` until the end of the block.

    Raises:
        OSError: the address cannot be listened on.
    """
    own = CollectorRegistry()
    meter = Meter(service, app, own)
    refresh = partial(_refresh, meter, asyncio.get_running_loop())
    scraped = own
    if folder := os.environ.get(MULTIPROCESS_FOLDER):  # of `serve`
        scraped = CollectorRegistry()
        scraped.register(AllProcesses(Path(folder)))
    server = _listening(service.settings.metrics_address, refresh, scraped)
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    copying = asyncio.create_task(meter.run())
    try:
        yield
    finally:
        copying.cancel()
        await asyncio.to_thread(server.shutdown)
        server.server_close()
        meter.copy()


class CopiedCounter(Counter):
    """A counter that follows a plain number; it goes on from what the files of the process hold."""

    _copied = 0.0

    def set(self, value: float) -> None:
        """Add what the number has grown by since the last call."""
        if value != self._copied:
            self.inc(value - self._copied)
            self._copied = value


class CopiedHistogram(Histogram):
    """A histogram that follows one of ours."""

    _copied: Sequence[float] = ()

    def set(self, values: Sequence[float]) -> None:
        """Add what the numbers by bucket and the sum, which is last, have grown by."""
        before = self._copied or [0.0] * len(values)
        cells = [*self._buckets, self._sum]
        for cell, now, then in zip(cells, values, before, strict=True):
            if now != then:  # most are equal, and writing one takes 2 us
                cell.inc(now - then)
        self._copied = values


def _declared(metric: Metric, registry: CollectorRegistry) -> Any:
    """Return the metric in the type of prometheus-client."""
    name, labels = PREFIX + metric.name, metric.labels
    if metric.kind == "counter":
        return CopiedCounter(name, metric.help, labels, registry=registry)
    if metric.kind == "histogram":
        bounds = metric.bounds
        return CopiedHistogram(name, metric.help, labels, registry=registry, buckets=bounds)
    return Gauge(name, metric.help, labels, registry=registry, multiprocess_mode=metric.over)


class Meter:
    """Measures this process, and copies what it has counted to metrics of prometheus-client."""

    def __init__(self, service: Service, app: Application, registry: CollectorRegistry) -> None:
        self._service = service
        self._app = app
        self._metrics = {metric.name: _declared(metric, registry) for metric in METRICS}
        self._datasets = DatasetCache(service)

    async def run(self) -> None:
        """Measure the delay of the event loop, and copy all values, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self.copy()
            for _ in range(COPY_EVERY):
                due = loop.time() + DELAY_SECONDS
                await asyncio.sleep(DELAY_SECONDS)
                self._metrics["event_loop_delay_seconds"].observe(max(0.0, loop.time() - due))

    async def refresh(self) -> None:
        """Copy all values as they are now, with those of the imported data."""
        self._set(datasets(await self._datasets.read() or {}))
        self.copy()

    def copy(self) -> None:
        """Copy all values that are read without waiting."""
        ready = readiness(self._service, draining=self._app.draining).status == "ready"
        self._set(measured(self._service, self._app, ready=ready))

    def _set(self, samples: Iterable[Sample]) -> None:
        for name, labels, value in samples:
            metric = self._metrics[name]
            (metric.labels(*labels) if labels else metric).set(value)


class AllProcesses(Collector):
    """The metrics of all workers of `serve`: the sum of the files in their folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Any:
        """Add up all files, except the gauges of workers that have ended."""
        for file in self._folder.glob("gauge_live*.db"):
            process = int(file.stem.rpartition("_")[2])
            if not _lives(process):
                with suppress(FileNotFoundError):  # another worker removes them too
                    mark_process_dead(process, str(self._folder))
        files = [str(file) for file in self._folder.glob("*.db") if _is_filled(file)]
        return MultiProcessCollector.merge(files)


def _is_filled(file: Path) -> bool:
    """Whether a worker has sized the file, before which prometheus-client cannot read it.

    A worker that is killed at that moment leaves it empty: client_python, issue 1199.
    """
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:  # another worker has removed it
        return False


def _lives(process: int) -> bool:
    """Whether this process of our user runs."""
    try:
        os.kill(process, 0)  # sends no signal, and fails if there is no such process
    except OSError:
        return False
    return True


def _refresh(meter: Meter, loop: asyncio.AbstractEventLoop) -> None:
    """Copy the values of this process, on its event loop."""
    refreshing = asyncio.run_coroutine_threadsafe(meter.refresh(), loop)
    with suppress(TimeoutError, RuntimeError):  # of a worker that is busy, or ends
        refreshing.result(ANSWER_SECONDS)


def _listening(address: str, refresh: Callable[[], None], registry: CollectorRegistry) -> Any:
    """Return a server at the address, which several processes may share."""
    host, port = host_and_port(address)
    expose = make_wsgi_app(registry)

    class Server(ThreadingWSGIServer):
        allow_reuse_port = True
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

    def respond(environ: dict[str, Any], start: Any) -> Any:
        if environ["PATH_INFO"] != "/metrics":
            start("404 Not Found", [("Content-Type", "text/plain")])
            return [b"There is only /metrics here.\n"]
        refresh()
        return expose(environ, start)

    return make_server(host, port, respond, server_class=Server, handler_class=Handler)
