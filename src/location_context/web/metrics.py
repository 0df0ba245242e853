"""Metrics: serves `/metrics` on METRICS_ADDRESS, for all worker processes together.

All workers listen on METRICS_ADDRESS, and the kernel passes each connection to one of them. The
service counts in plain numbers, which `measured` reads. A worker copies its numbers to the library
prometheus-client each second, and before it answers a scraper. The command `serve` enables the
library's multiprocess mode: each process stores its values in files of a shared folder. An answer
combines the values of all files. Counters of processes that have ended remain.

This module is imported only if METRICS_ADDRESS is set; the extra `metrics` installs the library.
"""

import asyncio
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from socketserver import TCPServer
from typing import Any, Literal, TypeAlias
from wsgiref.simple_server import WSGIRequestHandler, make_server

import prometheus_client
from prometheus_client import (
    CollectorRegistry,
    Gauge,
    disable_created_metrics,
    make_wsgi_app,
)
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from location_context import __version__
from location_context.counters import Histogram, ProviderCalls
from location_context.sections.contract import DatasetState
from location_context.service import Service
from location_context.settings.parsers import MULTIPROCESS_FOLDER, host_and_port
from location_context.web.access_log import REQUEST_SECONDS
from location_context.web.application import Application
from location_context.web.status import DatasetCache, readiness

PREFIX = "location_context_"
DELAYS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
Labels: TypeAlias = tuple[str, ...]
Value: TypeAlias = float | list[float]  # a histogram has the list `Histogram.counts` and its total
Sample: TypeAlias = tuple[str, Labels, Value]
Over: TypeAlias = Literal["livesum", "livemax", "livemin"]


@dataclass(frozen=True)
class Metric:
    """A metric; the field `name` does not include the prefix `location_context_`.

    Attributes:
        over: how a gauge is aggregated over processes (a mode of prometheus-client).
        bounds: the upper bounds of a histogram's buckets.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: Labels = ()
    over: Over = "livesum"
    bounds: Sequence[float] = ()


METRICS = (
    Metric("build_info", "gauge", (
        "Always 1; the version is a label."
    ), ("version",), over="livemax"),
    Metric("workers", "gauge", "Number of worker processes."),
    Metric("workers_ready", "gauge", "Number of processes that answer 200 on /v1/ready."),
    Metric("requests_total", "counter",
           "Answers, labelled with the error's code if there is one; to test keys, route `test`.",
           ("route", "status", "code")),
    Metric("request_duration_seconds", "histogram", (
        "Time from the request until the answer is passed to the HTTP server."
    ),
           ("route",), bounds=REQUEST_SECONDS),
    Metric("requests_in_flight", "gauge", "Requests in progress."),
    Metric("responses_total", "counter",
           "Answers of sections and the widget by cache outcome: of the response cache, else the "
           "worst of the sections.",
           ("route", "cache")),
    Metric("section_reads_total", "counter",
           "Section results by cache outcome: fresh, revalidating, stale, joined, miss, failed.",
           ("section", "cache")),
    Metric("quota_refusals_total", "counter",
           "Requests rejected by a limit: a live key's minute or day, test, widget, unknown_keys.",
           ("limit",)),
    Metric("quotas_counted_alone", "gauge", "Processes that count quotas without Redis."),
    Metric("upstream_calls_total", "counter", "Calls to providers, by outcome.",
           ("provider", "outcome")),
    Metric("upstream_call_duration_seconds", "histogram", "Duration of calls to providers.",
           ("provider",), bounds=ProviderCalls.BOUNDS),
    Metric("upstream_refused_total", "counter",
           "Calls not made: off, quiet (provider asked for a pause), breaker, queue, budget.",
           ("provider", "reason")),
    Metric("upstream_success_timestamp_seconds", "gauge", "Time of a provider's last good answer.",
           ("provider",), over="livemax"),
    Metric("provider_units_limit", "gauge", "A provider's budget in each window.",
           ("provider", "window"), over="livemax"),
    Metric("provider_units_left", "gauge", (
        "Units of the budget that are left, as far as the process knows."
    ),
           ("provider", "window"), over="livemin"),
    Metric("breaker_open", "gauge", (
        "Processes that have suspended calls to a provider."
    ), ("provider",)),
    Metric("breaker_opened_total", "counter", (
        "Number of times that a breaker opened."
    ), ("provider",)),
    Metric("dataset_rows", "gauge", "Rows of imported and stored data.", ("dataset",),
           over="livemax"),
    Metric("dataset_timestamp_seconds", "gauge", "Time of the dataset's import or last addition.",
           ("dataset",), over="livemax"),
    Metric("keys_age_seconds", "gauge", "Age of the oldest API keys in memory.",
           over="livemax"),
    Metric("shared_reads_total", "counter",
           "Values looked up in Redis: hit, miss, waited for another process, alone (Redis "
           "unavailable).",
           ("outcome",)),
    Metric("unwritten_rows", "gauge", "Rows waiting to be written to the database."),
    Metric("database_connections", "gauge", "Connections to the database in use."),
    Metric("database_connections_limit", "gauge", (
        "Maximum number of connections; 0 means no limit."
    )),
    Metric("event_loop_delay_seconds", "histogram", "Delay with which the event loop runs a timer.",
           bounds=DELAYS),
    Metric("cpu_seconds_total", "counter", "CPU time of the serving processes."),
    Metric("resident_memory_bytes", "gauge",
           "Memory of the serving processes; shared memory counts for each (Linux)."),
)  # fmt: skip


def measured(service: Service, app: Application, *, ready: bool) -> Iterator[Sample]:
    """Yield the samples of this process that need no database query.

    `ready` says whether the process is ready; it is the value of the sample `workers_ready`.
    """
    yield "build_info", (__version__,), 1
    yield "workers", (), 1
    yield "workers_ready", (), float(ready)
    yield "requests_in_flight", (), app.limiter.in_flight
    yield "cpu_seconds_total", (), time.process_time()
    yield "resident_memory_bytes", (), _resident_bytes()
    yield from _requests(app)
    for section in service.sections:
        for kind, count in section.reads.items():
            yield "section_reads_total", (section.name, kind), count
    for limit, count in service.authenticator.refusals.items():
        yield "quota_refusals_total", (limit,), count
    yield "quotas_counted_alone", (), float(service.authenticator.counter.degraded)
    yield "keys_age_seconds", (), service.authenticator.key_cache.age
    for calls in service.measured.calls.values():
        yield from _provider(calls)
    for host in service.hosts:
        for state in host.budget.states():
            yield "provider_units_limit", (host.name, state.window), state.limit
            yield "provider_units_left", (host.name, state.window), state.left
    for outcome, count in service.measured.looked_up.items():
        yield "shared_reads_total", (outcome,), count
    yield "unwritten_rows", (), sum(count() for count in service.measured.unwritten)
    used, limit_of_all = service.measured.connections()
    yield "database_connections", (), used
    yield "database_connections_limit", (), limit_of_all


def _requests(app: Application) -> Iterator[Sample]:
    requests: Counter[Labels] = Counter()
    responses: Counter[Labels] = Counter()
    for (path, status, code, cache), count in app.log.requests.items():
        requests[path, str(status), code or ""] += count
        if cache is not None:
            responses[path, cache] += count
    for labels, count in requests.items():
        yield "requests_total", labels, count
    for labels, count in responses.items():
        yield "responses_total", labels, count
    for path, seconds in app.log.seconds.items():
        yield "request_duration_seconds", (path,), _histogram(seconds)


def _provider(calls: ProviderCalls) -> Iterator[Sample]:
    name = calls.provider
    for outcome, count in {"ok": 0, **calls.outcomes}.items():
        yield "upstream_calls_total", (name, outcome), count
    for reason, count in {"budget": 0, **calls.refused}.items():
        yield "upstream_refused_total", (name, reason), count
    yield "upstream_call_duration_seconds", (name,), _histogram(calls.seconds)
    yield "upstream_success_timestamp_seconds", (name,), calls.succeeded_at
    yield "breaker_open", (name,), float(calls.breaker_open)
    yield "breaker_opened_total", (name,), calls.breaker_opened


def datasets(found: Mapping[str, DatasetState | None]) -> Iterator[Sample]:
    """Yield the samples about datasets; `found` has their states by name."""
    for name, state in found.items():
        yield "dataset_rows", (name,), state.rows if state else 0
        if state and state.imported_at:
            yield "dataset_timestamp_seconds", (name,), state.imported_at.timestamp()


def _histogram(one: Histogram) -> list[float]:
    return [*one.counts, one.total]


def _resident_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:  # not Linux
        return 0
    return pages * 4096


DELAY_SECONDS = 0.25  # between two measurements of the event loop's delay
COPY_EVERY = 4  # all values are copied after this number of measurements
ANSWER_SECONDS = 2.0  # time for a worker to copy its values; then the last copies are served
IDLE_SECONDS = 10  # time for a scraper to send its request
disable_created_metrics()  # the multiprocess mode does not support them


@asynccontextmanager
async def served(service: Service, app: Application) -> AsyncIterator[None]:
    """Serve `/metrics` until the block ends.

    Raises:
        OSError: the server cannot listen on METRICS_ADDRESS.
    """
    own = CollectorRegistry()
    meter = Meter(service, app, own)
    refresh = partial(_refresh, meter, asyncio.get_running_loop())
    scraped = own
    if folder := os.environ.get(MULTIPROCESS_FOLDER):  # set by `serve`
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


class CopiedCounter(prometheus_client.Counter):
    """A prometheus-client counter that can be set to a growing value, not only incremented."""

    _copied = 0.0

    def set(self, value: float) -> None:
        """Increase the counter by the growth of `value` since the last call."""
        if value != self._copied:
            self.inc(value - self._copied)
            self._copied = value


class CopiedHistogram(prometheus_client.Histogram):
    """A prometheus-client histogram that can be set to the values of a `counters.Histogram`."""

    _copied: Sequence[float] = ()

    def set(self, values: Sequence[float]) -> None:
        """Increase the buckets and the sum by the growth of `values` since the last call.

        `values` has the total of each bucket and, last, the sum of all observed values.
        """
        before = self._copied or [0.0] * len(values)
        cells = [*self._buckets, self._sum]
        for cell, now, then in zip(cells, values, before, strict=True):
            if now != then:  # most have not changed, and each write takes 2 us
                cell.inc(now - then)
        self._copied = values


def _declared(metric: Metric, registry: CollectorRegistry) -> Any:
    """Create the metric in prometheus-client, register it in `registry`, and return it."""
    name, labels = PREFIX + metric.name, metric.labels
    if metric.kind == "counter":
        return CopiedCounter(name, metric.help, labels, registry=registry)
    if metric.kind == "histogram":
        bounds = metric.bounds
        return CopiedHistogram(name, metric.help, labels, registry=registry, buckets=bounds)
    return Gauge(name, metric.help, labels, registry=registry, multiprocess_mode=metric.over)


class Meter:
    """Copies the counts of this process to metrics of prometheus-client."""

    def __init__(self, service: Service, app: Application, registry: CollectorRegistry) -> None:
        self._service = service
        self._app = app
        self._metrics = {metric.name: _declared(metric, registry) for metric in METRICS}
        self._datasets = DatasetCache(service)

    async def run(self) -> None:
        """Measure the delay of the event loop and copy all values each second, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self.copy()
            for _ in range(COPY_EVERY):
                expected = loop.time() + DELAY_SECONDS
                await asyncio.sleep(DELAY_SECONDS)
                self._metrics["event_loop_delay_seconds"].observe(max(0.0, loop.time() - expected))

    async def refresh(self) -> None:
        """Copy the counts and the states of datasets to the metrics.

        The states are read from the database if the last ones read are older than 30 s.
        """
        self._set(datasets(await self._datasets.read() or {}))
        self.copy()

    def copy(self) -> None:
        """Set the metrics to this process's current counts, without a query to the database."""
        ready = readiness(self._service, draining=self._app.draining).status == "ready"
        self._set(measured(self._service, self._app, ready=ready))

    def _set(self, samples: Iterable[Sample]) -> None:
        for name, labels, value in samples:
            metric = self._metrics[name]
            (metric.labels(*labels) if labels else metric).set(value)


class AllProcesses(Collector):
    """Reads the metrics of all workers of `serve` from the files that they write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Any:
        """Return each metric, combined over all files; gauges of exited workers are left out."""
        for file in self._folder.glob("gauge_live*.db"):
            process = int(file.stem.rpartition("_")[2])
            if not _lives(process):
                with suppress(FileNotFoundError):  # another worker removes them too
                    mark_process_dead(process, str(self._folder))
        files = [str(file) for file in self._folder.glob("*.db") if _is_filled(file)]
        return MultiProcessCollector.merge(files)


def _is_filled(file: Path) -> bool:
    """Return False for an empty file, which prometheus-client cannot read.

    A worker that is killed while it creates a file leaves it empty: client_python, issue 1199.
    """
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:  # another worker has removed it
        return False


def _lives(process: int) -> bool:
    """Return True if a process with this id is running under the same user as this process."""
    try:
        os.kill(process, 0)  # sends no signal, and fails if there is no such process
    except OSError:
        return False
    return True


def _refresh(meter: Meter, loop: asyncio.AbstractEventLoop) -> None:
    """Bring the metrics of this process up to date, on its event loop; wait at most two seconds."""
    refreshing = asyncio.run_coroutine_threadsafe(meter.refresh(), loop)
    with suppress(TimeoutError, RuntimeError):  # the worker is busy, or is shutting down
        refreshing.result(ANSWER_SECONDS)


def _listening(address: str, refresh: Callable[[], None], registry: CollectorRegistry) -> Any:
    """Return an HTTP server for `/metrics`; several processes can listen on its address.

    For each request, the server calls `refresh` and returns the values in `registry`.
    """
    host, port = host_and_port(address)
    expose = make_wsgi_app(registry)

    class Server(ThreadingWSGIServer):
        allow_reuse_port = True
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

        def server_bind(self) -> None:
            """Bind the socket without looking up this machine's name."""
            TCPServer.server_bind(self)
            self.server_name, self.server_port = host, port
            self.setup_environ()

    class Handler(WSGIRequestHandler):
        timeout = IDLE_SECONDS

        def log_message(self, *_: object) -> None:
            """Log nothing: scrapes are not logged."""

    def respond(environ: dict[str, Any], start: Any) -> Any:
        if environ["PATH_INFO"] != "/metrics":
            start("404 Not Found", [("Content-Type", "text/plain")])
            return [b"There is only /metrics here.\n"]
        refresh()
        return expose(environ, start)

    return make_server(host, port, respond, server_class=Server, handler_class=Handler)
