"""Building the archive ahead: one request a cell, and where it broke off it goes on."""

import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import msgspec
import pytest

from location_context.app import open_hosts
from location_context.cli.warm import read_places
from location_context.errors import OperatorError
from location_context.point import Point
from location_context.sections.section import SectionContext
from location_context.sections.weather.providers.open_meteo import OpenMeteoArchive
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.sections.weather.retrieval.archives import ArchiveBuilder, all_months
from location_context.stay import Stay
from location_context.storage.database import Database
from location_context.storage.datasets import SqlClimateStore
from location_context.upstream.host import Hosts
from location_context.upstream.http import HttpClient
from tests.fakes.open_meteo import ARCHIVE, refused
from tests.fakes.server import FakeResponse
from tests.sections.weather.conftest import query

PLACES = [Point(48.0, 2.0, "UTC"), Point(48.01, 2.01, "UTC"), Point(50.0, 2.0, "UTC")]


def places_file(folder: Path, text: str) -> Path:
    file = folder / "places.csv"
    file.write_text(text)
    return file


@pytest.fixture
async def builder(weather):
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)
        weather.clock.advance(seconds)
        weather.open_meteo.faults = {}

    async with HttpClient("test") as client:
        hosts = Hosts()
        hosts.get("open_meteo", {}, at_once=None)  # without limits of ours
        context = SectionContext(weather.settings, weather.clock, client, hosts=hosts)
        archive = OpenMeteoArchive(context)
        repository = ArchiveRepository(SqlClimateStore(weather.database), weather.clock)
        yield ArchiveBuilder(archive, repository, weather.clock, lambda _: None, pause), waits


async def test_building_a_grid_cell_costs_one_archive_call_and_a_second_run_none(builder, weather):
    built = await builder[0].build(PLACES[:2])
    assert (built.cells, built.fetched) == (1, 1)
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1
    assert sum(weather.open_meteo.units) < 420
    again = await builder[0].build(PLACES[:2])
    assert (again.held, again.fetched) == (1, 0)
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1


async def test_stay_in_a_prebuilt_grid_cell_needs_no_archive_call(builder, weather):
    await builder[0].build(PLACES[:1])
    for start, end in (
        (date(2027, 3, 1), date(2027, 5, 31)),
        (date(2027, 12, 28), date(2028, 1, 4)),
    ):
        body = (await weather.read(query(Stay(start, end), PLACES[0]))).body
        assert body.basis.kind == "reanalysis"
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1


async def test_build_fetches_a_grid_cell_of_which_only_februaries_are_stored(builder, weather):
    await weather.read(query(Stay(date(2027, 2, 8), date(2027, 2, 12)), PLACES[0]))
    await weather.section.sources.archives.repository.flush()
    built = await builder[0].build(PLACES[:1])
    assert (built.fetched, built.failed) == (1, 0)
    again = await builder[0].build(PLACES[:1])
    assert (again.held, again.fetched) == (1, 0)


async def test_build_waits_as_long_as_the_provider_says_and_continues(builder, weather):
    build, waits = builder
    weather.open_meteo.faults[ARCHIVE] = refused("Minutely API request limit exceeded.", 429)
    built = await build.build(PLACES[2:])
    assert built.fetched == 1
    assert waits == [pytest.approx(60, abs=1)]


async def test_failed_grid_cell_is_counted_and_the_next_cell_is_built(builder, weather):
    served = iter([FakeResponse(b"<html>", 200)] * 3)

    def respond(request, well=weather.open_meteo.respond):
        return next(served, None) or well(request)

    weather.open_meteo.server.respond = respond
    built = await builder[0].build(PLACES[1:])
    assert (built.fetched, built.failed) == (1, 1)


def test_months_to_build_end_with_the_last_month_whose_data_are_final():
    months = all_months(date(2026, 11, 21))
    assert months[0] == (2016, 1)
    assert months[-1] == (2026, 3)
    assert len(months) == 123
    assert all_months(date(2027, 1, 20))[-1] == (2026, 12)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("lat,lng\n1,x\n", "line 2"), ("a,b\n1,2\n", "line 1"), ("lat,lng\n1,2\n91,0\n", "line 3")],
)
def test_file_with_a_wrong_line_is_refused_before_any_call(tmp_path, text, sentence):
    with pytest.raises(OperatorError, match=sentence):
        read_places(places_file(tmp_path, text))


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-name.invalid"])
async def test_warm_command_fails_and_spends_no_budget_if_the_archive_host_is_unreachable(
    weather, tmp_path, host
):
    file = places_file(tmp_path, "lat,lng\n48.0,2.0\n50.0,2.0\n52.0,2.0\n")
    archive = f"http://{host}:9/v1/archive"
    settings = msgspec.structs.replace(weather.settings, open_meteo_archive_url=archive)
    done = command(settings, "warm", str(file), "--climate-only")
    assert done.returncode == 1
    assert f"{host} could not be reached 3 times" in " ".join(done.stderr.split())
    async with await Database.open(settings) as database:
        host = open_hosts(database).get("open_meteo", settings.limits("open_meteo"))
        await host.refresh()
        assert [state.used for state in host.budget.states()] == [0, 0, 0]


async def test_warm_command_builds_grid_cells_and_prints_their_counts(weather, tmp_path):
    file = places_file(tmp_path, "lat,lng\n48.0,2.0\n48.02,2.02\n")
    done = command(weather.settings, "warm", str(file), "--climate-only", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"cells": 1, "held": 0, "fetched": 1, "failed": 0}


def command(settings, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {
        **{name: value for name, value in os.environ.items() if "LOCATION_CONTEXT" not in name},
        "LOCATION_CONTEXT_DATA_DIR": str(settings.data_dir),
        "LOCATION_CONTEXT_OPEN_METEO_ARCHIVE_URL": settings.open_meteo_archive_url,
    }
    return subprocess.run(
        [sys.executable, "-m", "location_context", *words],
        env=environ, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
