"""Traces reach a collector by OTLP, nest as the work did, and tell nothing of a guest."""

import gzip
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from location_context.errors import OperatorError
from location_context.settings import Settings
from location_context.web.traces import OpenTelemetryTracer
from tests.serving import free_port, serve
from tests.web.conftest import STAY, Client, make_key
from tests.web.full_app import STAY as IN_PARIS
from tests.web.full_app import full_app
from tests.web.sections import Broken, FakeSection

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Collector:
    """What came to a collector on loopback."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.bodies: list[bytes] = []

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for body in self.bodies
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]


@contextmanager
def collecting() -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            packed = self.headers.get("content-encoding") == "gzip"
            collector.bodies.append(gzip.decompress(body) if packed else body)
            self.send_response(200 if self.path == "/v1/traces" else 404)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector = Collector(f"http://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield collector
        server.shutdown()


def said(span: Span) -> dict[str, str]:
    return {one.key: one.value.string_value or str(one.value.int_value) for one in span.attributes}


def test_a_calls_span_lies_below_its_sections_and_the_requests_in_the_trace_that_came(
    tmp_path,
) -> None:
    with collecting() as collector, full_app(tmp_path, traces_url=collector.url) as client:
        header = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
        assert client.get("/v1/pulse/weather", IN_PARIS, headers=header).status_code == 200
    (request,) = collector.named("GET /v1/pulse/weather")
    assert request.trace_id.hex() == TRACE
    assert request.parent_span_id.hex() == PARENT
    assert request.kind == Span.SPAN_KIND_SERVER
    assert said(request)["http.response.status_code"] == "200"
    (section,) = collector.named("weather")
    assert section.parent_span_id == request.span_id
    (call,) = collector.named("open_meteo_forecast")
    assert call.trace_id == request.trace_id
    assert call.parent_span_id == section.span_id
    assert call.kind == Span.SPAN_KIND_CLIENT
    assert said(call) == {"server.address": "127.0.0.1", "http.response.status_code": "200"}


def test_no_span_tells_of_a_guest_a_place_or_a_key(tmp_path) -> None:
    with collecting() as collector, full_app(tmp_path, traces_url=collector.url) as client:
        client.get("/v1/pulse/weather", IN_PARIS)
        client.get("/v1/pulse", {**IN_PARIS, "place": "Gasthof"}, key=None)
        client.get("/v1/lc_live_secret")
        key = client.key
    sent = b"".join(collector.bodies)
    assert b"GET other" in sent
    for private in ("48.85", "2.35", "Gasthof", "lc_live", key, IN_PARIS["start"], "lat="):
        assert private.encode() not in sent


def test_a_request_that_brings_no_trace_is_logged_with_the_one_it_begins(tmp_path, capfd) -> None:
    with collecting() as collector:
        settings = Settings(data_dir=tmp_path, traces_url=collector.url)
        with serve(settings, sections=[FakeSection()]) as served:
            Client(served, make_key(settings)).get("/v1/pulse/tides", STAY)
    (request,) = collector.named("GET /v1/pulse/tides")
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line[:1] == "{"]
    (line,) = (one for one in lines if one.get("path") == "/v1/pulse/tides")
    assert line["trace_id"] == request.trace_id.hex()


def test_what_failed_is_marked_as_an_error_without_its_message(tmp_path) -> None:
    with collecting() as collector:
        settings = Settings(data_dir=tmp_path, log_level="critical", traces_url=collector.url)
        with serve(settings, sections=[Broken()]) as served:
            Client(served, make_key(settings)).get("/v1/pulse/broken", STAY)
    (request,), (section,) = collector.named("GET /v1/pulse/broken"), collector.named("broken")
    assert request.status.code == section.status.code == Status.STATUS_CODE_ERROR
    assert said(request)["error.type"] == "500"
    assert not section.events
    assert not section.status.message


def test_a_collector_that_is_gone_costs_no_answer(tmp_path) -> None:
    settings = Settings(
        data_dir=tmp_path, log_level="critical", traces_url=f"http://127.0.0.1:{free_port()}"
    )
    with serve(settings, sections=[FakeSection()]) as served:
        assert Client(served, make_key(settings)).get("/v1/pulse/tides", STAY).status_code == 200


def test_without_the_extra_the_setting_is_refused_with_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(OperatorError, match=r"pip install 'location-context\[traces\]'"):
        OpenTelemetryTracer("http://127.0.0.1:4318")
