"""Every command that the documents show is run as it stands there, or says why not."""

import asyncio
import json
import re
import subprocess
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from location_context.cli.main import COMMANDS, load
from location_context.settings import Settings
from location_context.stay import system_clock
from tests.conftest import ROOT
from tests.docs.commands import NOT_RUN, RUN_WHOLE, Shown, shown
from tests.fakes.open_meteo import ARCHIVE, FORECAST, OpenMeteo
from tests.fakes.server import FakeResponse, FakeServer
from tests.sections.weather.climate.stores import seasons, write_store
from tests.web.commands import command
from tests.web.full_app import full_app, load_sample_guide

ALL = shown()
OURS = [one for one in ALL if one.arguments is not None]
REQUESTS = [one for one in ALL if one.text.startswith("curl ") and one.page not in RUN_WHOLE]
LINES = {  # each once
    one.text: one
    for one in OURS
    if not one.is_inline and not one.reason and one.page not in RUN_WHOLE
}
GUIDE = "name,tier,lat,lng\nLa Cuchara,selected,43.3241,-1.9852\nArzak,three_star,43.3216,-1.9508\n"
CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
BEGIN:VEVENT
UID:1@example.org
SUMMARY:Regatta
DTSTART;VALUE=DATE:{day:%Y%m%d}
END:VEVENT
END:VCALENDAR
"""
PLACES = "lat,lng\n43.3183,-1.9812\n"


def test_each_documented_command_is_run_by_a_test_or_has_a_reason_to_be_skipped() -> None:
    run = {*LINES, *(one.text for one in REQUESTS)}
    left = [
        str(one)
        for one in ALL
        if one.text not in run
        and one.page not in RUN_WHOLE
        and not one.reason
        and not (one.is_inline and one.arguments is not None)  # a mention; its options are checked
    ]
    assert left == []
    assert [test for test in RUN_WHOLE.values() if not (ROOT / test).is_file()] == []


def test_every_listed_reason_to_skip_a_documented_command_is_used() -> None:
    assert set(NOT_RUN) - {one.reason for one in ALL} == set()


@pytest.mark.parametrize("one", OURS, ids=str)
def test_every_documented_command_and_option_exists(one: Shown) -> None:
    name, *rest = one.arguments or ["--help"]
    if name == "--help":  # the program itself is spoken of
        return
    assert name in COMMANDS
    found = load(name)
    while groups := getattr(found, "commands", None):
        if one.is_inline and not rest:  # a group is spoken of
            return
        found = groups[rest.pop(0)]
    if not one.is_inline:
        found.make_context(name, rest)  # raises the error that a user would see
    known = {option for parameter in found.params for option in parameter.opts}
    known |= {option for parameter in found.params for option in parameter.secondary_opts}
    assert {word for word in rest if word.startswith("--")} <= known


@pytest.mark.parametrize("one", [one for one in ALL if not one.arguments], ids=str)
def test_documented_commands_name_existing_files(one: Shown) -> None:
    paths = re.findall(r"(?:^|\s)((?:\./)?(?:scripts|tests)/[\w./-]+)", one.text)
    for module in re.findall(r"-m ((?:benchmarks|research|scripts)\.[\w.]+)", one.text):
        paths.append(f"{module.replace('.', '/')}.py")
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    """A folder with the files that the pages name, and providers that answer."""
    folder = tmp_path_factory.mktemp("operator")
    (folder / "backups").mkdir()
    (folder / "my-guide.csv").write_text(GUIDE)
    (folder / "places.csv").write_text(PLACES)
    calendar = CALENDAR.format(day=system_clock())
    (folder / "calendar.ics").write_text(calendar)
    for name in ("programme.csv", "lobby.csv"):
        (folder / name).write_text(f"title,start\nParade,{system_clock():%Y-%m-%d}\n")
    web = FakeServer(lambda _: FakeResponse(calendar.encode()))
    weather = OpenMeteo(system_clock)
    with web.running(), weather.server.running():
        given = {
            "OPEN_METEO_FORECAST_URL": weather.server.url + FORECAST,
            "OPEN_METEO_ARCHIVE_URL": weather.server.url + ARCHIVE,
            "OPEN_METEO_API_KEY": "a customer's",  # without a budget nothing waits
            "OPEN_HOLIDAYS_URL": "",
            "FEEDS_ALLOW_PRIVATE": "true",
        }
        yield folder, {f"LOCATION_CONTEXT_{k}": v for k, v in given.items()} | {"WEB": web.url}


def test_every_documented_command_succeeds(
    prepared: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, given = prepared
    data = folder / "data"
    monkeypatch.chdir(folder)
    command(data, "setup", "--without-fallback", more=given)
    command(data, "guide", "import", "my-guide.csv", "--name", "hotel-mira", more=given)
    first = date(2015, 12, 1)
    write_store(data, {(43.3, -1.98): seasons(first, 3800)}, first)
    assert len(LINES) > 20
    for one in LINES.values():
        arguments = [
            word.replace("https://www.example.org", given["WEB"]).replace("/backups/", "backups/")
            for word in one.arguments or ()
        ]
        if "key_" in one.text:  # stands for a key of the reader's
            made = command(data, "keys", "create", "for this", "--json", more=given).stdout
            key = json.loads(made)["id"]
            arguments = [key if word.startswith("key_") else word for word in arguments]
        where = folder / "another" if arguments[0] == "restore" else data
        command(where, *arguments, more=given)  # fails on any exit code but 0


def test_every_documented_request_that_can_run_here_succeeds(tmp_path: Path) -> None:
    (tmp_path / ".curlrc").write_text("fail\nsilent\nshow-error\noutput = answer\n")
    asyncio.run(load_sample_guide(Settings(data_dir=tmp_path / "data"), name="rooftop"))
    with full_app(tmp_path / "data") as client:
        for text in {one.text for one in REQUESTS if not one.reason}:
            request = text.replace("127.0.0.1:8000", f"127.0.0.1:{client.served.port}")
            done = subprocess.run(
                ["/bin/sh", "-ec", request],
                cwd=tmp_path, capture_output=True, text=True, check=False,
                env={"PATH": "/usr/bin:/bin", "KEY": client.key, "CURL_HOME": str(tmp_path)},
            )  # fmt: skip
            assert done.returncode == 0, request + done.stderr
