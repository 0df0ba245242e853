"""Measurements: every metric of the service, and how a process reads its own.

What is counted is counted in plain numbers where it happens; all of it is read here, once a second
and when somebody scrapes. `metrics.py` joins the values of all processes and serves them.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from location_context import __version__
from location_context.counters import Histogram, ProviderCalls
from location_context.sections.contract import DatasetState
from location_context.service import Service
from location_context.web.application import Application
from location_context.web.logs import REQUEST_SECONDS

PREFIX = "location_context_"
DELAYS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
Labels: TypeAlias = tuple[str, ...]
Value: TypeAlias = float | list[float]  # of a histogram: how many by bound, above all, and the sum
Values: TypeAlias = dict[
    str, dict[Labels, Value]
]  # by a metric's name and the values of its labels
Sample: TypeAlias = tuple[str, Labels, Value]


@dataclass(frozen=True)
class Metric:
    """One metric; its name is without the prefix.

    Attributes:
        over: how the values of several processes become one. A counter's are always added.
        bounds: of a histogram.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: Labels = ()
    over: Literal["sum", "max", "min"] = "sum"
    bounds: Sequence[float] = ()

    def join(self, one: Value, other: Value) -> Value:
        """The value of two processes together."""
        if isinstance(one, list) and isinstance(other, list):
            return [a + b for a, b in zip(one, other, strict=True)]
        assert not isinstance(one, list)
        assert not isinstance(other, list)
        return {"sum": one + other, "max": max(one, other), "min": min(one, other)}[self.over]


METRICS = (
    Metric("build_info", "gauge", "1, with the version.", ("version",), over="max"),
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
           ("provider",), over="max"),
    Metric("provider_units_limit", "gauge", "What a provider may be asked in a window.",
           ("provider", "window"), over="max"),
    Metric("provider_units_left", "gauge", "What is left of it, as far as a process knows.",
           ("provider", "window"), over="min"),
    Metric("breaker_open", "gauge", "Processes that leave a provider alone.", ("provider",)),
    Metric("breaker_opened_total", "counter", "How often a breaker opened.", ("provider",)),
    Metric("dataset_rows", "gauge", "Rows of imported and stored data.", ("dataset",), over="max"),
    Metric("dataset_timestamp_seconds", "gauge", "When it was imported or last added to.",
           ("dataset",), over="max"),
    Metric("keys_age_seconds", "gauge", "Since the database told the API keys, the oldest.",
           over="max"),
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
BY_NAME = {metric.name: metric for metric in METRICS}


def measured(
    service: Service, app: Application, delays: Histogram, *, ready: bool
) -> Iterator[Sample]:
    """Every value of this process; one metric may have several of the same labels, to be added."""
    yield "build_info", (__version__,), 1
    yield "workers", (), 1
    yield "workers_ready", (), float(ready)
    yield "requests_in_flight", (), app.limiter.in_flight
    yield "event_loop_delay_seconds", (), _histogram(delays)
    yield "cpu_seconds_total", (), time.process_time()
    yield "resident_memory_bytes", (), _resident_bytes()
    yield from _requests(app)
    for section in service.sections:
        for kind, count in section.reads.items():
            yield "section_reads_total", (section.name, kind), count
    for limit, count in service.authenticator.refusals.items():
        yield "quota_refusals_total", (limit,), count
    yield "quotas_counted_alone", (), float(service.authenticator.counts_alone)
    yield "keys_age_seconds", (), service.authenticator.keys_age
    for calls in service.measured.calls:
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
    app.log.flush()  # lines are gathered for a moment, and answers counted with them
    for (path, status, code, cache), count in app.log.requests.items():
        yield "requests_total", (path, str(status), code or ""), count
        if cache is not None:
            yield "responses_total", (path, cache), count
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


def joined(samples: Iterable[Sample], into: Values | None = None) -> Values:
    """Samples by their metrics, added to those that are there already."""
    values: Values = {} if into is None else into
    for name, labels, value in samples:
        metric, held = BY_NAME[name], values.setdefault(name, {})
        held[labels] = metric.join(held[labels], value) if labels in held else value
    return values


def samples_of(values: Values) -> Iterator[Sample]:
    """The values one by one; what another version of the service measured is left out."""
    for name, held in values.items():
        if (metric := BY_NAME.get(name)) is None:
            continue
        length = len(metric.bounds) + 2 if metric.kind == "histogram" else None
        for labels, value in held.items():
            if (len(value) if isinstance(value, list) else None) == length:
                yield name, labels, value


def _histogram(one: Histogram) -> list[float]:
    return [*one.counts, one.total]


def _resident_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:  # not Linux
        return 0
    return pages * 4096
