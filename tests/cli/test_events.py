"""The `events` commands, run as an operator runs them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from location_context.cli.events import commands
from location_context.errors import OperatorError
from tests.standins.server import Answered, StandIn

ICS = (
    b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSUMMARY:Choir\nDTSTART;VALUE=DATE:%b\n"
    b"RRULE:FREQ=DAILY;COUNT=3\nEND:VEVENT\nEND:VCALENDAR\n"
)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCATION_CONTEXT_DATA_DIR", str(tmp_path / "data"))

    def _run(*arguments: str):
        result = CliRunner().invoke(commands, list(arguments))
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return _run


@pytest.fixture
def calendar(tmp_path):
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415  only here

    file = tmp_path / "town.ics"
    soon = datetime.now(UTC).date() + timedelta(days=5)  # the command's own clock is the system's
    file.write_bytes(ICS % f"{soon:%Y%m%d}".encode())
    return file


def test_an_import_is_told_listed_and_removed(run, calendar):
    told = json.loads(run("import", str(calendar), "--country", "FR", "--json").stdout)
    assert (told["calendar"]["rows"], told["refused"]) == (3, [])
    (listed,) = json.loads(run("feed", "list", "--json").stdout)
    assert listed["source"] == str(calendar)
    assert "3" in run("feed", "list").stdout
    assert json.loads(run("feed", "remove", listed["id"], "--json").stdout) == {
        "removed": listed["id"]
    }
    assert json.loads(run("feed", "list", "--json").stdout) == []


def test_times_without_a_zone_are_on_the_clock_of_the_country(run, tmp_path):
    table = tmp_path / "town.csv"
    table.write_text("title,start\nChoir,2026-12-05T19:30\n")
    told = json.loads(run("import", str(table), "--country", "fr", "--json").stdout)
    assert told["calendar"]["timezone"] == "Europe/Paris"
    assert told["calendar"]["country"] == "FR"


def test_what_is_refused_is_told_with_its_reason(run, calendar):
    result = run("import", str(calendar))
    assert "0 events" in result.stdout
    assert "it names no place" in result.stderr


def test_a_feed_to_a_loopback_address_needs_the_setting(run, calendar, monkeypatch):
    with StandIn(lambda _: Answered(calendar.read_bytes())).running() as server:
        with pytest.raises(OperatorError, match="private"):
            run("feed", "add", server.url + "/a.ics", "--lat", "48.85", "--lng", "2.35")
        monkeypatch.setenv("LOCATION_CONTEXT_FEEDS_ALLOW_PRIVATE", "true")
        result = run("feed", "add", server.url + "/a.ics", "--lat", "48.85", "--lng", "2.35")
        assert "3 events" in result.stdout


@pytest.mark.parametrize(
    "wrong",
    [
        ("--lat", "48"), ("--lat", "98", "--lng", "2"), ("--country", "France"),
        ("--category", "circus"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused_with_what_is_accepted(run, calendar, wrong):
    with pytest.raises(OperatorError):
        run("import", str(calendar), *wrong)


def test_a_file_that_is_not_there_is_said(run, tmp_path):
    with pytest.raises(OperatorError, match="cannot be read"):
        run("import", str(tmp_path / "none.ics"))
    with pytest.raises(OperatorError, match="no feed or import"):
        run("feed", "remove", "none")
