"""`doctor` where the disk or rights are not well, and what it must leave alone."""

import json
import os
import re
import resource
import shutil
import ssl
import threading
from collections.abc import Iterator, Mapping
from datetime import date
from http.server import BaseHTTPRequestHandler, HTTPServer
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import redis

from location_context.localisation.language import Languages
from location_context.settings import Settings
from location_context.stay import system_clock
from location_context.widget import png
from tests.cli.test_commands import open_meteo_at
from tests.databases import OwnRedis
from tests.deploy.proxies import certificate
from tests.fakes.met_norway import PATH as MET_PATH
from tests.fakes.met_norway import MetNorwayStandIn
from tests.fakes.open_meteo import OpenMeteo
from tests.fakes.server import FakeResponse
from tests.sections.weather.climate.stores import seasons, write_store
from tests.sections.weather.conftest import write_grid
from tests.serving import free_port
from tests.storage.subprocess_targets import be_bound_by_rights, child
from tests.web.commands import command

DAY = 86_400
Found = dict[str, tuple[str, str]]


def examine(
    folder: Path, more: Mapping[str, str] | None = None, *, fails: bool = False, **settings: str
) -> Found:
    """Outcome and message by check; of several with one name the later ones are numbered."""
    given = {f"LOCATION_CONTEXT_{name}": value for name, value in settings.items()} | (more or {})
    found: Found = {}
    for one in json.loads(command(folder, "doctor", "--json", more=given, fails=fails).stdout):
        name = f"{one['check']} {len(found)}" if one["check"] in found else one["check"]
        found[name] = one["outcome"], one["message"]
    return found


def notices(found: Found) -> str:
    return " ".join(message for check, (_, message) in found.items() if "notice" in check)


def test_doctor_accepts_the_directory_that_setup_created_and_warns_of_missing_data(
    data_dir: Path,
) -> None:
    found = examine(data_dir)
    for check in ("settings", "data directory", "database", "keys", "dataset guide"):
        assert found[check][0] == "ok", found[check]
    assert found["provider open_meteo_forecast"][0] == "warning"
    assert {found[f"section {n}"][0] for n in ("weather", "astronomy", "events")} == {"ok"}
    assert "sample guide" in notices(found)


def test_doctor_warns_of_an_open_meteo_plan_without_archive_access(tmp_path: Path) -> None:
    command(tmp_path, "setup", "--without-fallback")
    write_grid(tmp_path)
    standin = OpenMeteo(system_clock)
    standin.plan_has_archive = False
    with standin.server.running():
        more = open_meteo_at(standin, OPEN_METEO_API_KEY="standard-plan-key")
        found = examine(tmp_path, more)
    assert found["provider open_meteo_forecast"][0] == "ok"
    outcome, message = found["provider open_meteo_archive"]
    assert outcome == "warning"
    assert "upgrade the provider's plan" in message
    assert "LOCATION_CONTEXT_OPEN_METEO_ARCHIVE_URL" in message
    assert "the plan of this API key does not include it" in message
    assert "Professional and Enterprise include it" in notices(found)
    assert "standard-plan-key" not in str(found)


def test_doctor_reports_an_html_answer_of_met_norway(tmp_path: Path) -> None:
    command(tmp_path, "setup", "--without-fallback")
    standin, norway = OpenMeteo(system_clock), MetNorwayStandIn(system_clock)
    norway.fault = FakeResponse(b"<!DOCTYPE html><title>Sign in to the network</title>")
    with standin.server.running(), norway.server.running():
        url = norway.server.url + MET_PATH
        found = examine(tmp_path, open_meteo_at(standin), CONTACT="a@b.example", MET_NORWAY_URL=url)
    outcome, message = found["provider met_norway"]
    assert outcome == "warning"
    assert "HTML page" in message
    assert "LOCATION_CONTEXT_MET_NORWAY_URL" in message


def test_doctor_lists_all_wrong_settings_and_fails(tmp_path: Path) -> None:
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


def test_doctor_suggests_the_setup_command_for_an_empty_directory(tmp_path: Path) -> None:
    done = command(tmp_path / "nothing", "doctor", fails=True)
    assert "location-context setup" in done.stdout


def test_doctor_reports_unconfigured_providers_as_information(data_dir: Path) -> None:
    found = examine(data_dir)
    for name in ("met_norway", "osrm", "ticketmaster", "predicthq", "calendars"):
        assert found[f"provider {name}"] == ("info", "not configured")
    assert found["dataset climate"] == ("info", "no months are stored; the fallback grid exists")
    assert found["dataset events"][0] == "info"
    assert found["dataset guide"][0] == "ok"
    assert found["data directory"][0] == "ok"
    assert str(data_dir) in found["data directory"][1]
    assert "✓ provider osrm" not in command(data_dir, "doctor").stdout


def test_doctor_checks_redis_and_its_memory_bound(data_dir: Path, own_redis: OwnRedis) -> None:
    outcome, message = examine(data_dir)["redis"]
    assert outcome == "info"
    assert "each process counts quotas, calls providers and caches answers on its own" in message
    assert "maxmemory" in examine(data_dir, REDIS_URL=own_redis.url)["redis"][1]
    with redis.Redis.from_url(own_redis.url) as client:
        client.config_set("maxmemory", 256_000_000)
    outcome, message = examine(data_dir, REDIS_URL=own_redis.url)["redis"]
    assert outcome == "ok"
    assert message.endswith("of 256 MB")
    own_redis.kill()
    outcome, message = examine(data_dir, REDIS_URL=own_redis.url)["redis"]
    assert (outcome, message) == ("warning", "Redis does not answer: start it, and check REDIS_URL")


@pytest.fixture
def untrusted(tmp_path: Path) -> Iterator[str]:
    """The address of a server whose certificate nobody trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(tmp_path))
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_doctor_says_why_the_server_is_unreachable(data_dir: Path, untrusted: str) -> None:
    reasons = {
        "http://no-such-host.invalid": "the host has no address",
        f"http://127.0.0.1:{free_port()}": "the connection failed",
        untrusted: "its certificate is not trusted",
    }
    for address, reason in reasons.items():
        said = examine(data_dir, PUBLIC_URL=address)["server"]
        sentence = f"no server answers at {address}: {reason}; name another address with --server"
        assert said == ("info", sentence)


def test_doctor_does_not_repeat_the_provider_name_in_its_message(data_dir: Path) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}/v1/forecast"
    said = examine(data_dir, OPEN_METEO_FORECAST_URL=nowhere, OPEN_METEO_BUDGET="9999/minute")
    assert said["provider open_meteo_forecast"][1].startswith("the connection failed: check")


def test_doctor_does_not_blame_the_budget_for_unreachable_providers(tmp_path: Path) -> None:
    command(tmp_path, "setup", "--without-fallback")
    write_grid(tmp_path)
    for _ in range(4):
        said = examine(tmp_path)
        for name in ("open_meteo_forecast", "open_meteo_archive", "nasa_power"):
            assert said[f"provider {name}"][1].startswith("the connection failed: check")


def test_doctor_names_the_languages_whose_letters_the_picture_fonts_lack(data_dir: Path) -> None:
    lacking = png.missing_letters(Languages.load())
    fine = ("ok", "SVG and PNG can be drawn, with fonts for every language")
    assert examine(data_dir)["pictures"] == (("warning", lacking) if lacking else fine)


def test_doctor_names_only_settings_that_exist(data_dir: Path) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}/v1/forecast"
    said = examine(data_dir, OPEN_METEO_FORECAST_URL=nowhere, OPEN_METEO_BUDGET="9999/minute")
    messages = " ".join(message for _, message in said.values())
    named = set(re.findall(r"LOCATION_CONTEXT_(\w+)", messages))
    assert "LOCATION_CONTEXT_OPEN_METEO_FORECAST_URL" in said["provider open_meteo_elevation"][1]
    assert {name.lower() for name in named} <= set(Settings.__struct_fields__)


def test_doctor_warns_of_a_misspelt_setting(data_dir: Path) -> None:
    outcome, message = examine(data_dir, OSRM_ULR="http://127.0.0.1:5000")["settings"]
    assert outcome == "warning"
    assert message == (
        "LOCATION_CONTEXT_OSRM_ULR is not a setting; did you mean LOCATION_CONTEXT_OSRM_URL?"
    )


def test_doctor_ends_with_the_number_of_failures_and_warnings(data_dir: Path) -> None:
    lines = command(data_dir, "doctor").stdout.splitlines()
    warnings = sum(line.startswith("!") for line in lines)
    assert warnings > 1
    assert lines[-1] == f"{len(lines) - 1} checks: none failed, {warnings} warnings."


def test_doctor_warns_of_missing_climate_data_and_names_the_command_to_fetch_it(
    tmp_path: Path,
) -> None:
    command(tmp_path, "setup", "--without-fallback")
    found = examine(tmp_path, fails=True)
    assert found["dataset climate"][0] == "warning"
    assert "location-context climate fallback" in found["dataset climate"][1]


def test_doctor_names_the_climate_stores_and_the_damaged_ones(data_dir: Path) -> None:
    first = date(2015, 12, 1)
    folder = write_store(data_dir, {(48.86, 2.35): seasons(first, 3800)}, first)
    damaged = folder.with_name("era5-2016-2025")
    damaged.mkdir()
    try:
        found = examine(data_dir)
    finally:
        shutil.rmtree(folder.parent)
    assert found["dataset climate"] == ("ok", f"climate stores: {folder.name}")
    assert "The climate store era5-2016-2025 cannot be used" in found["notice"][1]


def examine_a_full_disk(pipe: Connection, folder: str) -> None:
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
    pipe.send(examine(Path(folder), fails=True))


def test_doctor_detects_a_full_disk(data_dir: Path) -> None:
    with child(examine_a_full_disk, str(data_dir)) as (_, pipe):
        outcome, said = pipe.recv()["data directory"]
    assert outcome == "failed"
    assert "has no space left" in said


def examine_bound_by_rights(pipe: Connection, folder: str, settings: dict[str, str]) -> None:
    if os.getuid() == 0:
        be_bound_by_rights()
    pipe.send(examine(Path(folder), fails=not settings, **settings))


def test_doctor_accepts_a_read_only_directory_only_with_postgresql(
    postgresql_settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "read only"
    command(folder, "setup", "--without-fallback")
    write_grid(folder)
    postgresql = {
        "DATABASE_URL": postgresql_settings.database_url.reveal(),
        "KEY_PEPPER": postgresql_settings.key_pepper.reveal(),
    }
    folder.chmod(0o555)
    try:
        with child(examine_bound_by_rights, str(folder), {}) as (_, pipe):
            outcome, said = pipe.recv()["data directory"]
        assert (outcome, "cannot be written to" in said) == ("failed", True)
        with child(examine_bound_by_rights, str(folder), postgresql) as (_, pipe):
            outcome, said = pipe.recv()["data directory"]
        assert (outcome, "enough with PostgreSQL" in said) == ("ok", True)
    finally:
        folder.chmod(0o755)
