"""Measurements: every metric of the service, and how a process reads its own.

The service counts in plain numbers where things happen. `metrics.py` reads all of them here, once a
second and at each scrape, and serves the sum over all processes.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from location_context import __version__
from location_context.counters import Histogram, ProviderCalls
from location_context.sections.contract import DatasetState
from location_context.service import Service
from location_context.web.access_log import REQUEST_SECONDS
from location_context.web.application import Application

PREFIX = "location_context_"
DELAYS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
Labels: TypeAlias = tuple[str, ...]
Value: TypeAlias = float | list[float]  # of a histogram: how many by bound, above all, and the sum
Sample: TypeAlias = tuple[str, Labels, Value]
Over: TypeAlias = Literal["livesum", "livemax", "livemin"]


@dataclass(frozen=True)
class Metric:
    """One metric; its name is without the prefix.

    Attributes:
        over: of a gauge: which value of the processes that live is served, as prometheus-client
            names it.
        bounds: of a histogram.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: Labels = ()
    over: Over = "livesum"
    bounds: Sequence[float] = ()


METRICS = (
    Metric("build_info", "gauge", "1, with the version.", ("version",), over="livemax"),
    Metric("workers", "gauge", "Processes that serve."),
    Metric("workers_ready", "gauge", "Processes that answer 200 on /v1/ready."),
    Metric("requests_total", "counter", "Answers, by the error's code if there is one.",
           ("route", "status", "code")),
    Metric("request_duration_seconds", "histogram", "Time until an answer was handed over.",
           ("route",), bounds=REQUEST_SECONDS),
    Metric("requests_in_flight", "gauge", "Requests that are worked on."),
    Metric("responses_total", "counter",
           "Answers of sections and widget by cache: response, or the worst of sections.",
           ("route", "cache")),
    Metric("section_reads_total", "counter",
           "Results of sections by cache: fresh, revalidating, stale, joined, miss, failed.",
           ("section", "cache")),
    Metric("quota_refusals_total", "counter",
           "Requests over a limit: minute or day of a key, widget, unknown_keys.", ("limit",)),
    Metric("quotas_counted_alone", "gauge", "Processes that count alone since Redis is gone."),
    Metric("upstream_calls_total", "counter", "Calls of providers by outcome.",
           ("provider", "outcome")),
    Metric("upstream_call_duration_seconds", "histogram", "Time of calls of providers.",
           ("provider",), bounds=ProviderCalls.BOUNDS),
    Metric("upstream_refused_total", "counter",
           "Calls that were not made: off, quiet, breaker, queue, budget.", ("provider", "reason")),
    Metric("upstream_joined_total", "counter", "Callers who waited for a call under way.",
           ("provider",)),
    Metric("upstream_success_timestamp_seconds", "gauge", "When a provider last answered well.",
           ("provider",), over="livemax"),
    Metric("provider_units_limit", "gauge", "What a provider may be asked in a window.",
           ("provider", "window"), over="livemax"),
    Metric("provider_units_left", "gauge", "What is left of it, as far as a process knows.",
           ("provider", "window"), over="livemin"),
    Metric("breaker_open", "gauge", "Processes that leave a provider alone.", ("provider",)),
    Metric("breaker_opened_total", "counter", "How often a breaker opened.", ("provider",)),
    Metric("dataset_rows", "gauge", "Rows of imported and stored data.", ("dataset",),
           over="livemax"),
    Metric("dataset_timestamp_seconds", "gauge", "When it was imported or last added to.",
           ("dataset",), over="livemax"),
    Metric("keys_age_seconds", "gauge", "Since the database told the API keys, the oldest.",
           over="livemax"),
    Metric("shared_reads_total", "counter",
           "Values looked up in Redis: hit, miss, waited for another process, alone (it is gone).",
           ("outcome",)),
    Metric("unwritten_rows", "gauge", "Rows that are still to be written to the database."),
    Metric("database_connections", "gauge", "Connections to the database in use."),
    Metric("database_connections_limit", "gauge", "How many there may be; 0: no limit."),
    Metric("event_loop_delay_seconds", "histogram", "How late the event loop runs what is due.",
           bounds=DELAYS),
    Metric("cpu_seconds_total", "counter", "Processor time of the processes that serve."),
    Metric("resident_memory_bytes", "gauge",
           "Their memory; what they share is counted for each (Linux)."),
)  # fmt: skip


def measured(service: Service, app: Application, *, ready: bool) -> Iterator[Sample]:
    """Yield every value of this process that is read without waiting."""
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
        for state in host.budgets():
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
    yield "upstream_joined_total", (name,), calls.joined
    yield "upstream_success_timestamp_seconds", (name,), calls.succeeded_at
    yield "breaker_open", (name,), float(calls.breaker_open)
    yield "breaker_opened_total", (name,), calls.breaker_opened


def datasets(found: Mapping[str, DatasetState | None]) -> Iterator[Sample]:
    """What was imported, as `/v1/status` tells it."""
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
