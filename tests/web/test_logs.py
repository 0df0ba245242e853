"""What the logs hold, and what they must never hold, with the real command on a real socket."""

import asyncio
import contextlib
import io
import json
import os
import sys
import threading

import pytest

from location_context.settings import Settings
from location_context.web import logs
from tests.logs import captured_logs
from tests.moved_clock import MovedClock
from tests.serving import serve
from tests.web.conftest import STAY, Client, make_key
from tests.web.full_app import load_sample_guide
from tests.web.sections import Broken, Empty, FakeSection, Slow

CANARY = "lc_live_CANARYcanaryCANARYcanaryCANARYcanaryCANARYcanary1"


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """Drive a key and a canary through every path, and give what was written meanwhile."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("logs"), log_level="debug")
    written = io.StringIO()
    key = make_key(settings)
    with (
        contextlib.redirect_stderr(written),
        serve(settings, sections=[FakeSection(), Broken(), Empty()]) as served,
    ):
        logs.configure(settings)
        drive(Client(served, key), key)
        drive(Client(served, CANARY), CANARY)
    return key, written.getvalue()


def drive(client: Client, key: str) -> None:
    for section in ("tides", "broken", "empty", key):
        client.get(f"/v1/pulse/{section}", STAY)
        for name in (*STAY, "lang", "units", "place", "api_key", key):
            client.get(f"/v1/pulse/{section}", {**STAY, name: key})
    client.get(f"/{key}")
    client.get("/v1/health", {"key": key}, headers={"X-Forwarded-For": key, "Cookie": key})
    client.get("/v1/pulse/tides", STAY, headers={"If-None-Match": key, "Accept-Language": key})
    client.get(f"/v1/pulse/tides?%zz={key}")
    client.get("/v1/pulse/tides", STAY, key=None, headers={"Authorization": key})
    client.get("/v1/pulse/tides", STAY, key=None, headers={"Authorization": f"Basic {key}"})
    client.get("/v1/pulse/tides", STAY, method="DELETE")


def test_log_contains_no_api_key(lines) -> None:
    key, written = lines
    assert len(written.splitlines()) > 60
    assert key not in written
    assert "CANARY" not in written
    assert key[8:30] not in written


def test_log_line_contains_rounded_coordinates_but_no_query_and_no_ip_address(lines) -> None:
    _, written = lines
    assert "2026-11-28" not in written
    assert "48.8566" not in written
    assert "127.0.0.1" not in written
    assert '"near":"48.9,2.4"' in written


def test_log_line_is_json_with_request_id_and_path(lines) -> None:
    _, written = lines
    events = [json.loads(line) for line in written.splitlines()]
    answered = [event for event in events if event["event"] == "answered"]
    assert {event["path"] for event in answered} >= {"/v1/pulse/tides", "/v1/health", "other"}
    assert all(event["request_id"].startswith("req_") for event in answered)


def test_log_names_type_and_code_line_of_an_exception_without_its_message(lines) -> None:
    _, written = lines
    failed = [json.loads(line) for line in written.splitlines() if "RuntimeError" in line]
    assert failed
    assert all("inside of the house" not in json.dumps(event) for event in failed)
    assert any("sections.py" in place for event in failed for place in event["at"])


def test_log_masks_a_text_that_looks_like_a_key() -> None:
    event = logs.without_keys(None, "", {"event": f"oops {CANARY}", "n": 1})
    assert event == {"event": "oops ***", "n": 1}


def test_log_omits_messages_of_exceptions() -> None:
    try:
        int(CANARY)
    except ValueError as error:
        for info in (True, error, sys.exc_info()):
            event = logs.without_messages(None, "", {"event": "x", "exc_info": info})
            assert event["error"] == "ValueError"
            assert CANARY not in str(event)
    assert logs.without_messages(None, "", {"event": "x"}) == {"event": "x"}


TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


def answers(settings: Settings, sections: list, work, **more) -> list[dict]:
    """The lines about answers that are written while `work` asks a server."""
    written = io.StringIO()
    key = make_key(settings)
    with contextlib.redirect_stderr(written), serve(settings, sections=sections, **more) as served:
        logs.configure(settings)
        work(Client(served, key))
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    return [line for line in lines if line["event"] == "answered"]


def test_log_line_contains_error_code_and_cache_state_and_process_id(tmp_path) -> None:
    clock = MovedClock()
    tides, lacking = FakeSection(clock), Empty(clock)

    def work(client: Client) -> None:
        for moved in (0, 0, 930, 61):  # cached whole, too old, read anew behind that
            clock.advance(moved)
            client.get("/v1/pulse/tides", STAY)
        client.get("/v1/pulse/empty", STAY)
        client.get("/v1/pulse/tides", {**STAY, "lat": "91"})
        client.get("/v1/pulse/tides", STAY, key=None)
        client.get("/v1/pulse", STAY, key=None)

    settings = Settings(data_dir=tmp_path)
    lines = answers(settings, [tides, lacking], work, clock=clock)
    assert [(line["cache"], line["code"]) for line in lines] == [
        ("miss", None),
        ("response", None),
        ("revalidating", None),
        ("fresh", None),
        (None, "upstream_unavailable"),
        (None, "invalid_latitude"),
        (None, "missing_api_key"),
        ("failed", None),
    ]
    assert {line["worker"] for line in lines} == {os.getpid()}


def test_log_line_of_a_caller_that_shares_a_running_read_has_the_cache_state_joined(
    tmp_path,
) -> None:
    slow = Slow()

    def work(client: Client) -> None:
        first = threading.Thread(target=client.get, args=("/v1/pulse/slow", STAY))
        first.start()
        assert slow.entered.wait(10)
        second = threading.Thread(target=client.get, args=("/v1/pulse/slow", STAY))
        second.start()
        while client.served.app.limiter.in_flight < 2:
            pass
        slow.let_go()
        first.join()
        second.join()

    lines = answers(Settings(data_dir=tmp_path), [slow], work)
    assert sorted(line["cache"] for line in lines) == ["joined", "miss"]


def test_log_line_has_the_trace_id_of_a_valid_traceparent_header(tmp_path) -> None:
    wrong = (
        "",
        TRACE,
        TRACEPARENT.upper(),
        TRACEPARENT + "-more",  # of version 00
        TRACEPARENT.replace("00-4", "ff-4"),
        TRACEPARENT.replace(TRACE, "0" * 32),
        TRACEPARENT.replace("00f067aa0ba902b7", "0" * 16),
        TRACEPARENT + '"',
    )

    def work(client: Client) -> None:
        for path in ("/v1/pulse/tides", "/v1/pulse/tides", "/v1/docs", "/nothing"):
            client.get(path, STAY, headers={"traceparent": TRACEPARENT})
        client.get("/v1/docs", headers={"traceparent": "01" + TRACEPARENT[2:] + "-more"})
        for one in wrong:
            client.get("/v1/docs", headers={"traceparent": one})

    lines = answers(Settings(data_dir=tmp_path), [FakeSection()], work)
    assert [line["trace_id"] for line in lines] == [TRACE] * 5 + [None] * len(wrong)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("form", [None, "json", "console"])
@pytest.mark.parametrize("stderr", [Terminal, io.StringIO])
def test_log_on_a_terminal_has_readable_lines_unless_json_is_configured(
    tmp_path, stderr, form
) -> None:
    settings = Settings(data_dir=tmp_path, log_format=form)
    written = stderr()
    with contextlib.redirect_stderr(written), serve(settings, sections=[]) as served:
        logs.configure(settings)
        Client(served, "none").get("/v1/status")
    line = next(one for one in written.getvalue().splitlines() if "/v1/status" in one)
    for_people = form == "console" or (form is None and written.isatty())
    assert line.startswith("{") is not for_people


@pytest.mark.parametrize(
    ("level", "report"), [("debug", ["debug"] * 2 + ["info"]), ("info", ["info"])]
)
@pytest.mark.parametrize("form", ["json", "console"])
def test_health_probes_are_logged_at_debug_level(
    tmp_path, level: str, report: list[str], form: str
) -> None:
    def work(client: Client) -> None:
        for path in ("/v1/health", "/v1/ready", "/v1/status"):
            client.get(path)

    settings = Settings(data_dir=tmp_path, log_level=level, log_format=form)
    if form == "json":
        lines = [one for one in answers(settings, [], work) if one["path"] != "/v1/health"]
        assert [line["level"] for line in lines] == report[-2:]
        return
    written = io.StringIO()
    with contextlib.redirect_stderr(written), serve(settings, sections=[]) as served:
        logs.configure(settings)
        work(Client(served, "none"))
    assert ("/v1/ready" in written.getvalue()) is (level == "debug")
    assert "/v1/status" in written.getvalue()


def test_guide_import_is_logged_with_its_row_count(tmp_path) -> None:
    with captured_logs() as lines:
        asyncio.run(load_sample_guide(Settings(data_dir=tmp_path)))
    done = [(line["kind"], line["rows"]) for line in lines if line["event"] == "import_done"]
    assert done == [("guide", 577)]
