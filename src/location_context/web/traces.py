"""Traces: spans of requests, sections' reads and providers' calls, sent by OTLP over HTTP.

Only where `TRACES_URL` is set; the libraries are the extra `location-context[traces]`, and read the
standard `OTEL_…` variables too: the sampler, headers for the collector, attributes of the resource.
A span holds routes, names, statuses and hosts: no query, key, address or place. A request's span
continues the trace of its `traceparent`; calls of providers carry none: they are others' services.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Container, Iterator
from contextlib import asynccontextmanager, contextmanager

from starlette.types import Message, Receive, Scope, Send

from location_context import __version__
from location_context.counters import NO_SPANS, Span, Tracer
from location_context.errors import OperatorError
from location_context.settings import Settings
from location_context.web.application import Handle

EXPORT_SECONDS = 2  # that a collector may take; a server that ends waits for no more
_HEADER = b"traceparent"


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Tracer]:
    """The tracer of this process until the end of the block, when it sends what it still holds.

    Raises:
        OperatorError: the setting is there and the libraries are not.
    """
    if not settings.traces_url:
        yield NO_SPANS
        return
    tracer = OpenTelemetryTracer(settings.traces_url)
    try:
        yield tracer
    finally:
        await asyncio.to_thread(tracer.close)


class OpenTelemetryTracer:
    """`counters.Tracer` with OpenTelemetry's SDK; spans are gathered and sent by its thread."""

    def __init__(self, address: str) -> None:
        """`address`: of the collector, without `/v1/traces`."""
        try:  # imported here: most services run without them
            from opentelemetry import trace  # noqa: PLC0415  an extra
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415  an extra
                OTLPSpanExporter,
            )
            from opentelemetry.sdk.resources import Resource  # noqa: PLC0415  an extra
            from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415  an extra
            from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415  an extra
            from opentelemetry.trace.propagation import tracecontext  # noqa: PLC0415  an extra
        except ImportError:
            raise OperatorError(
                "LOCATION_CONTEXT_TRACES_URL needs an extra: pip install 'location-context[traces]'"
            ) from None
        self._trace = trace
        self._context = tracecontext.TraceContextTextMapPropagator()
        about = {
            "service.name": "location-context",
            "service.version": __version__,
            "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
        }
        self._provider = TracerProvider(resource=Resource.create(about))
        exporter = OTLPSpanExporter(f"{address.rstrip('/')}/v1/traces", timeout=EXPORT_SECONDS)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("location_context", __version__)

    @contextmanager
    def span(self, name: str, kind: str = "internal", **attributes: str) -> Iterator[Span]:
        """See `Tracer.span`."""
        with self._tracer.start_as_current_span(
            name,
            kind=self._trace.SpanKind[kind.upper()],
            attributes=attributes,
            record_exception=False,  # a message may quote what came from outside
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                self._fail(span, type(error).__name__)
                raise

    def _fail(self, span: Span, why: str) -> None:
        span.set_attribute("error.type", why)
        span.set_status(self._trace.StatusCode.ERROR)

    def wrap(self, app: Handle, routes: Container[str]) -> Handle:
        """The application with a span for each request; paths beside `routes` are `other`."""

        async def traced(scope: Scope, receive: Receive, send: Send) -> None:
            async def send_noting(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status = message["status"]
                    span.set_attribute("http.response.status_code", status)
                    if status >= 500:
                        self._fail(span, str(status))
                await send(message)

            method = scope["method"]
            route = scope["path"] if scope["path"] in routes else "other"
            header = next((value for name, value in scope["headers"] if name == _HEADER), b"")
            came = {"traceparent": header.decode("latin-1")}
            with self._tracer.start_as_current_span(
                f"{method} {route}",
                context=self._context.extract(came),
                kind=self._trace.SpanKind.SERVER,
                attributes={"http.request.method": method, "http.route": route},
                record_exception=False,
            ) as span:
                own: dict[str, str] = {}
                self._context.inject(own)
                headers = [pair for pair in scope["headers"] if pair[0] != _HEADER]
                # so that the line of log names the trace of a request that brought none, too
                headers.append((_HEADER, own["traceparent"].encode()))
                await app({**scope, "headers": headers}, receive, send_noting)

        return traced

    def close(self) -> None:
        """Send what is held, as far as the collector takes it."""
        self._provider.shutdown()
