"""What the logs hold, and what they must never hold, with the real command on a real socket."""

import contextlib
import io
import json
import sys

import pytest

from location_context.settings import Settings
from location_context.web import logs
from tests.serving import serve
from tests.web.conftest import STAY, Client, make_key
from tests.web.sections import Broken, Empty, FakeSection

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


def test_no_key_ever_stands_in_a_log(lines) -> None:
    key, written = lines
    assert len(written.splitlines()) > 60
    assert key not in written
    assert "CANARY" not in written
    assert key[8:30] not in written


def test_a_line_holds_no_query_no_address_and_coordinates_at_one_decimal(lines) -> None:
    _, written = lines
    assert "2026-11-28" not in written
    assert "48.8566" not in written
    assert "127.0.0.1" not in written
    assert '"near":"48.9,2.4"' in written


def test_every_line_is_json_and_an_answer_s_has_its_request_id_and_path(lines) -> None:
    _, written = lines
    events = [json.loads(line) for line in written.splitlines()]
    answered = [event for event in events if event["event"] == "answered"]
    assert {event["path"] for event in answered} >= {"/v1/pulse/tides", "/v1/health", "other"}
    assert all(event["request_id"].startswith("req_") for event in answered)


def test_an_exception_is_logged_by_its_type_and_place_not_by_its_message(lines) -> None:
    _, written = lines
    failed = [json.loads(line) for line in written.splitlines() if "RuntimeError" in line]
    assert failed
    assert all("inside of the house" not in json.dumps(event) for event in failed)
    assert any("sections.py" in place for event in failed for place in event["at"])


def test_whatever_looks_like_a_key_is_struck_out() -> None:
    event = logs.without_keys(None, "", {"event": f"oops {CANARY}", "n": 1})
    assert event == {"event": "oops ***", "n": 1}


def test_messages_of_exceptions_are_left_out_however_they_are_handed_over() -> None:
    try:
        int(CANARY)
    except ValueError as error:
        for info in (True, error, sys.exc_info()):
            event = logs.without_messages(None, "", {"event": "x", "exc_info": info})
            assert event["error"] == "ValueError"
            assert CANARY not in str(event)
    assert logs.without_messages(None, "", {"event": "x"}) == {"event": "x"}
