"""The commands read, warm, doctor and setup."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sections.weather.conftest import write_grid
from tests.web.commands import command

PARIS = ("--lat", "48.8566", "--lng", "2.3522")
STAY = ("--start", "2030-12-30", "--end", "2031-01-03")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    command(folder, "setup", "--without-fallback")
    write_grid(folder)
    return folder


def test_read_gives_a_section_without_a_server_as_the_server_would(house: Path) -> None:
    answer = json.loads(command(house, "read", "events", *PARIS, *STAY, "--json").stdout)
    assert answer["applicable"] is True
    assert answer["point"]["timezone"] == "Europe/Paris"
    assert any(event["category"] == "public_holiday" for event in answer["events"])


def test_read_all_gives_every_section_by_name(house: Path) -> None:
    answer = json.loads(command(house, "read", "all", *PARIS, *STAY, "--json").stdout)
    assert list(answer) == ["weather", "astronomy", "guide", "events"]
    assert all(body["applicable"] for body in answer.values())


def test_read_of_a_section_without_dates_takes_none(house: Path) -> None:
    answer = json.loads(command(house, "read", "guide", *PARIS, "--json").stdout)
    assert len(answer["tiers"]) == 5


def test_read_says_what_is_wrong_in_the_words_of_the_endpoints(house: Path) -> None:
    said = command(house, "read", "weather", "--lat", "91", "--lng", "0", *STAY, fails=True).stderr
    assert "lat is '91'" in said
    said = command(house, "read", "tides", *PARIS, *STAY, fails=True).stderr
    assert "weather, astronomy, guide, events, all" in said
    assert "Traceback" not in said


def test_warm_reads_every_line_and_names_the_wrong_ones(house: Path, tmp_path: Path) -> None:
    file = tmp_path / "places.csv"
    file.write_text(
        "lat,lng,start,end,note\n"
        "48.8566,2.3522,2030-12-30,2031-01-03,Paris\n"
        "41.9,12.5,,,Rome next week\n"
        "91,0,,,nowhere\n"
        "41.9,12.5,2030-01-02,,half a stay\n"
    )
    told = json.loads(command(house, "warm", str(file), "--json").stdout)
    assert list(told["read"]) == ["weather", "astronomy", "guide", "events"]
    assert told["read"]["astronomy"] == {"complete": 2}
    assert sum(told["read"]["weather"].values()) == 2
    assert ["Line 4" in told["wrong"][0], "Line 5" in told["wrong"][1]] == [True, True]


def test_warm_refuses_a_file_without_coordinates(house: Path, tmp_path: Path) -> None:
    file = tmp_path / "junk.csv"
    file.write_text("name\nParis\n")
    assert "columns lat and lng" in command(house, "warm", str(file), fails=True).stderr
    assert "cannot be read" in command(house, "warm", str(tmp_path / "no"), fails=True).stderr


def test_doctor_finds_a_set_up_house_fit_and_warns_of_what_is_missing(house: Path) -> None:
    findings = json.loads(command(house, "doctor", "--json").stdout)
    told = {finding["check"]: finding for finding in findings}
    for check in ("settings", "data directory", "database", "keys", "dataset guide"):
        assert told[check]["outcome"] == "ok", told[check]
    assert told["provider open_meteo_forecast"]["outcome"] == "warning"
    assert {told[f"section {n}"]["outcome"] for n in ("weather", "astronomy", "events")} == {"ok"}
    notices = [finding["message"] for finding in findings if finding["check"] == "notice"]
    assert any("sample guide" in notice for notice in notices)


def test_doctor_says_all_wrong_settings_and_fails(tmp_path: Path) -> None:
    wrong = {
        "LOCATION_CONTEXT_EVENTS_RADIUS": "far",
        "LOCATION_CONTEXT_REDIS_URL": "http://secret@redis",
    }
    done = command(tmp_path, "doctor", "--json", more=wrong, fails=True)
    findings = json.loads(done.stdout)
    assert [finding["outcome"] for finding in findings] == ["failed"]
    assert "EVENTS_RADIUS" in findings[0]["message"]
    assert "REDIS_URL" in findings[0]["message"]
    assert "secret@" not in done.stdout


def test_doctor_names_the_command_for_a_house_that_was_never_set_up(tmp_path: Path) -> None:
    done = command(tmp_path / "nothing", "doctor", fails=True)
    assert "location-context setup" in done.stdout


def test_a_failed_fallback_is_a_warning_and_setup_goes_on(tmp_path: Path) -> None:
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0"}
    done = command(tmp_path, "setup", "--json", more=nowhere)
    told = json.loads(done.stdout)
    assert "Warning: the fallback climate grid was not made" in done.stderr
    assert told["fallback_made"] is False
    assert told["key"].startswith("lc_live_")
    assert "/v1/pulse/astronomy?" in told["curl"]


def test_setup_tells_people_the_key_once_a_curl_line_and_the_page(tmp_path: Path) -> None:
    options = ("--without-fallback", "--port", "8123", "--workers", "2", "--host", "0.0.0.0")
    first = command(tmp_path, "setup", *options).stdout
    assert first.count("lc_live_") == 2
    assert "http://127.0.0.1:8123/v1/pulse/" in first
    assert first.rstrip().endswith("http://127.0.0.1:8123/")
    second = command(tmp_path, "setup", *options).stdout
    assert "lc_live_" not in second
