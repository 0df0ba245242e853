"""The commands read, warm and setup."""

import json
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import pytest

from location_context.sections import registry
from location_context.sections.open_meteo import FREE_AT_ONCE
from location_context.sections.section import Section
from location_context.stay import system_clock
from location_context.upstream.host import Hosts
from tests.fakes import open_holidays
from tests.fakes.open_meteo import ARCHIVE, FORECAST, OpenMeteo
from tests.fakes.server import FakeRequest, FakeResponse, FakeServer
from tests.web.commands import command

IN_ORDER = [one.name for one in registry.load(registry.SECTIONS, Section)]
PARIS = ("--lat", "48.8566", "--lng", "2.3522")
STAY = ("--start", "2030-12-30", "--end", "2031-01-03")


def test_read_command_prints_a_section_without_a_server(data_dir: Path) -> None:
    answer = json.loads(command(data_dir, "read", "events", *PARIS, *STAY, "--json").stdout)
    assert answer["applicable"] is True
    assert answer["point"]["timezone"] == "Europe/Paris"
    assert any(event["category"] == "public_holiday" for event in answer["events"])


def test_read_all_command_prints_every_section_under_its_name(data_dir: Path) -> None:
    answer = json.loads(command(data_dir, "read", "all", *PARIS, *STAY, "--json").stdout)
    assert list(answer) == IN_ORDER
    assert all(body["applicable"] for body in answer.values())


def test_read_command_needs_no_dates_for_the_guide_section(data_dir: Path) -> None:
    answer = json.loads(command(data_dir, "read", "guide", *PARIS, "--json").stdout)
    assert len(answer["tiers"]) == 5


def test_read_command_reports_the_same_error_messages_as_the_api(data_dir: Path) -> None:
    said = command(
        data_dir, "read", "weather", "--lat", "91", "--lng", "0", *STAY, fails=True
    ).stderr
    assert "lat is '91'" in said
    said = command(data_dir, "read", "tides", *PARIS, *STAY, fails=True).stderr
    assert "weather, astronomy, guide, events, year, all" in said
    assert "Traceback" not in said


def test_warm_command_reads_each_line_of_its_places_file_and_names_invalid_lines(
    data_dir: Path, tmp_path: Path
) -> None:
    file = tmp_path / "places.csv"
    file.write_text(
        "lat,lng,start,end,note\n"
        "48.8566,2.3522,2030-12-30,2031-01-03,Paris\n"
        "41.9,12.5,,,Rome next week\n"
        "91,0,,,nowhere\n"
        "41.9,12.5,2030-01-02,,half a stay\n"
    )
    report = json.loads(command(data_dir, "warm", str(file), "--json", fails=True).stdout)
    assert report["incomplete"] == [2, 3]  # no provider answers
    assert list(report["read"]) == ["weather", "astronomy", "guide", "events"]  # of any widget
    assert report["read"]["astronomy"] == {"complete": 2}
    assert sum(report["read"]["weather"].values()) == 2
    assert ["Line 4" in report["wrong"][0], "Line 5" in report["wrong"][1]] == [True, True]


WIDE = "100000/minute"  # a budget that the tests before have not spent: a command waits for it


def open_meteo_at(standin: OpenMeteo, **more: str) -> dict[str, str]:
    """Settings that put Open-Meteo's addresses at the stand-in."""
    addresses = {"FORECAST": FORECAST, "ARCHIVE": ARCHIVE}
    given = {
        f"OPEN_METEO_{name}_URL": standin.server.url + path for name, path in addresses.items()
    }
    return {f"LOCATION_CONTEXT_{name}": value for name, value in {**given, **more}.items()}


def test_warm_command_with_200_places_keeps_the_concurrency_limit_of_free_access_hosts(
    data_dir: Path, tmp_path: Path
) -> None:
    standin = OpenMeteo(system_clock)
    standin.slow_seconds = 0.01
    file = tmp_path / "places.csv"
    places = [f"{lat},{lng}" for lat in range(-48, 52, 5) for lng in range(-150, 150, 30)]
    file.write_text("\n".join(["lat,lng", *places]))
    with standin.server.running():
        more = open_meteo_at(standin, OPEN_HOLIDAYS_URL="", OPEN_METEO_BUDGET=WIDE)
        done = command(data_dir, "warm", str(file), "--json", more=more)
    assert json.loads(done.stdout)["read"]["weather"] == {"complete": 200}
    assert len(standin.calls(FORECAST)) == 200
    assert standin.refused_for_crowd == 0
    assert standin.most_held <= FREE_AT_ONCE


WINTER = "2030-12-30,2031-01-03"


def far_places(folder: Path, count: int) -> Path:
    """A file of places each in a cell of its own, for a stay that needs climatology."""
    file = folder / "far.csv"
    lines = [f"{lat},10,{WINTER}" for lat in range(30, 30 + count)]
    file.write_text("\n".join(["lat,lng,start,end", *lines]))
    return file


@pytest.fixture
def paused(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What `warm` waited, by a clock of its budgets that goes on only then."""
    moved, report = [1000.0], list[float]()

    async def pause(seconds: float) -> None:
        report.append(seconds)
        moved[0] += seconds

    monkeypatch.setattr("location_context.app.Hosts", partial(Hosts, now=lambda: moved[0]))
    monkeypatch.setattr("location_context.cli.warm.sleep", pause)
    return report


def test_warm_command_waits_for_the_call_budget_and_resumes(
    tmp_path: Path, paused: list[float]
) -> None:
    """A week over New Year costs about 99 units, and its elevation one; 200 a minute."""
    command(tmp_path, "setup", "--without-fallback")
    standin, file = OpenMeteo(system_clock), far_places(tmp_path, 7)
    standin.slow_seconds = 0.05
    with standin.server.running():
        more = open_meteo_at(standin, OPEN_HOLIDAYS_URL="", OPEN_METEO_BUDGET="200/minute")
        stopped = command(tmp_path, "warm", str(file), "--json", "--no-wait", more=more, fails=True)
        first = len(standin.calls(ARCHIVE))
        assert 0 < first < 7
        assert len(json.loads(stopped.stdout)["incomplete"]) == 7 - first
        done = command(tmp_path, "warm", str(file), more=more)
        assert len(standin.calls(ARCHIVE)) == 7  # none was fetched twice
        assert sum(paused) > 60
        assert "the next attempt is in a minute" in " ".join(done.stderr.split())
        assert "7 of 7 places" in done.stderr
        request = len(standin.requests)
        again = command(tmp_path, "warm", str(file), "--json", more=more)
    assert json.loads(again.stdout)["read"]["weather"] == {"complete": 7}
    assert len(standin.requests) == request


def test_warm_command_waits_for_a_call_budget_spent_by_failed_calls(
    tmp_path: Path, paused: list[float]
) -> None:
    command(tmp_path, "setup", "--without-fallback")
    standin, file = OpenMeteo(system_clock), far_places(tmp_path, 2)
    respond, failures = standin.server.respond, [FakeResponse(b"<p>A moment, please.</p>")] * 2
    standin.server.respond = lambda request: (
        failures.pop() if request.path == ARCHIVE and failures else respond(request)
    )
    with standin.server.running():
        more = open_meteo_at(standin, OPEN_HOLIDAYS_URL="", OPEN_METEO_BUDGET="200/minute")
        done = command(tmp_path, "warm", str(file), "--json", more=more)
    assert json.loads(done.stdout)["read"]["weather"] == {"complete": 2}
    assert 60 in paused


def test_warm_command_names_the_provider_that_fails(data_dir: Path, tmp_path: Path) -> None:
    more = {"LOCATION_CONTEXT_OPEN_METEO_BUDGET": WIDE}
    said = command(data_dir, "warm", str(far_places(tmp_path, 1)), more=more, fails=True).stderr
    assert "open_meteo_archive: the connection failed" in " ".join(said.split())


def test_warm_command_retries_failed_places_at_the_end(tmp_path: Path) -> None:
    command(tmp_path, "setup", "--without-fallback")
    standin, file = OpenMeteo(system_clock), far_places(tmp_path, 3)
    respond, failures = standin.server.respond, [FakeResponse(b"<p>A moment, please.</p>")]

    def respond_later(request: FakeRequest) -> FakeResponse:
        first = request.path == ARCHIVE and request.query["latitude"].startswith("30")
        return failures.pop() if first and failures else respond(request)

    standin.server.respond = respond_later
    with standin.server.running():
        more = open_meteo_at(standin, OPEN_HOLIDAYS_URL="", OPEN_METEO_BUDGET="1000/minute")
        done = command(tmp_path, "warm", str(file), "--json", more=more)
    assert json.loads(done.stdout)["read"]["weather"] == {"complete": 3}
    assert not failures


def test_warm_command_shares_forecasts_and_school_holidays_with_other_processes(
    tmp_path: Path,
) -> None:
    command(tmp_path, "setup", "--without-fallback")
    file = tmp_path / "places.csv"
    file.write_text("lat,lng\n48.1372,11.5755\n")
    standin = OpenMeteo(system_clock)
    with standin.server.running(), FakeServer(open_holidays.respond).running() as holidays:
        more = open_meteo_at(standin, OPEN_HOLIDAYS_URL=holidays.url)
        for _ in range(2):
            done = command(tmp_path, "warm", str(file), "--json", more=more)
            report = json.loads(done.stdout)["read"]
            assert report["weather"] == {"complete": 1}
            assert (len(standin.calls(FORECAST)), len(holidays.requests)) == (1, 1)
        munich = ("--lat", "48.1372", "--lng", "11.5755")
        first = date.today() + timedelta(days=2)  # noqa: DTZ011  the command reads the real clock
        stay = ("--start", f"{first}", "--end", f"{first + timedelta(days=2)}")
        read = command(tmp_path, "read", "weather", *munich, *stay, "--json", more=more)
        assert json.loads(read.stdout)["basis"]["provider"] == "Open-Meteo"
        assert len(standin.calls(FORECAST)) == 1


def test_warm_command_refuses_a_file_without_coordinates(data_dir: Path, tmp_path: Path) -> None:
    file = tmp_path / "junk.csv"
    for header, lacking in {"name": "lat and lng", "name,lat": "lng"}.items():
        file.write_text(f"{header}\nParis\n")
        said = " ".join(command(data_dir, "warm", str(file), fails=True).stderr.split())
        assert f"the header lacks {lacking}; it has: {', '.join(header.split(','))}" in said
    said = command(data_dir, "warm", str(tmp_path / "no"), fails=True).stderr
    assert "cannot be read: No such file or directory" in " ".join(said.split())


def test_setup_does_not_bring_back_a_sample_guide_that_was_removed(tmp_path: Path) -> None:
    command(tmp_path, "setup", "--without-fallback")
    command(tmp_path, "guide", "remove")
    command(tmp_path, "setup", "--without-fallback")
    assert json.loads(command(tmp_path, "guide", "list", "--json").stdout) == []


def test_first_setup_imports_the_sample_guide_even_if_api_keys_already_exist(
    tmp_path: Path,
) -> None:
    command(tmp_path, "keys", "create", "mine")
    report = json.loads(command(tmp_path, "setup", "--without-fallback", "--json").stdout)
    assert report["guide_imported"] is True


def test_setup_warns_and_continues_if_the_fallback_climate_grid_cannot_be_built(
    tmp_path: Path,
) -> None:
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0"}
    done = command(tmp_path, "setup", "--json", more=nowhere)
    report = json.loads(done.stdout)
    assert "Warning: the fallback grid was not built" in done.stderr
    assert report["fallback_made"] is False
    assert report["key"].startswith("lc_live_")
    assert "/v1/pulse/astronomy?" in report["curl"]


def test_setup_prints_the_key_only_once_with_a_curl_command_and_the_url_of_the_builder(
    tmp_path: Path,
) -> None:
    options = ("--without-fallback", "--port", "8123", "--workers", "2", "--host", "0.0.0.0")
    first = command(tmp_path, "setup", *options).stdout
    assert first.count("lc_live_") == 2
    assert "http://127.0.0.1:8123/v1/pulse/" in first
    assert first.rstrip().endswith("http://127.0.0.1:8123/")
    second = command(tmp_path, "setup", *options).stdout
    assert "lc_live_" not in second
