"""The order of resort: whatever the providers do, the section answers from the best left."""

import asyncio
import socket
import time
from datetime import date, timedelta

import msgspec
import pytest

from location_context.errors import StorageError, UpstreamUnavailable
from location_context.point import Point
from location_context.settings import Settings
from location_context.stay import Stay
from location_context.storage.datasets import SqlClimateStore
from location_context.upstream.deadline import Deadline
from location_context.upstream.host import Hosts
from location_context.upstream.http import HttpClient
from tests.fakes.open_meteo import ARCHIVE, ELEVATION, FORECAST, refused
from tests.fakes.server import Answered, Asked
from tests.sections.weather.conftest import PARIS, query, weather_section, write_grid

pytestmark = pytest.mark.anyio
TODAY = date(2026, 11, 21)
NEAR = Stay(TODAY + timedelta(2), TODAY + timedelta(6))
FAR = Stay(date(2027, 2, 3), date(2027, 2, 9))
HANG, DOWN = Answered(fault="hang"), Answered(b"<html>Bad Gateway</html>", 502)


def break_all(world, fault: Answered) -> None:
    world.open_meteo.faults = {FORECAST: fault, ARCHIVE: fault}
    world.norway.fault = world.power.fault = fault


@pytest.mark.parametrize("stay", [NEAR, FAR], ids=["near", "far"])
async def test_with_everything_silent_the_fallback_grid_answers_within_the_deadline(world, stay):
    write_grid(world.settings.data_dir)
    break_all(world, HANG)
    began = time.monotonic()
    reading = await world.read(query(stay, public=True), 2.5)  # the widget's deadline
    assert time.monotonic() - began < 2.5
    body = reading.body
    assert (body.applicable, body.mode, body.basis.kind) == (True, "climatology", "monthly_mean")
    assert not reading.complete


@pytest.mark.parametrize("stay", [NEAR, FAR], ids=["near", "far"])
async def test_with_everything_closed_the_fallback_grid_answers_at_once(
    tmp_path, clock, database, stay
):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
    settings = Settings(
        data_dir=tmp_path, contact="a@b.example", open_meteo_forecast_url=closed,
        open_meteo_archive_url=closed, met_norway_url=closed, nasa_power_url=closed,
    )  # fmt: skip
    async with HttpClient("test") as client:
        section = weather_section(settings, clock, client, SqlClimateStore(database), Hosts())
        with pytest.raises(UpstreamUnavailable):
            await section.read(query(stay), Deadline.after(4))
        write_grid(tmp_path)
        began = time.monotonic()
        reading = await section.read(query(stay), Deadline.after(4))
        assert time.monotonic() - began < 2
        assert reading.body.basis.kind == "monthly_mean"
        await section.close()


async def test_the_second_forecast_provider_answers_when_the_first_is_down(world):
    world.open_meteo.faults = {FORECAST: DOWN}
    reading = await world.read(query(NEAR))
    assert reading.body.mode == "forecast"
    assert reading.body.basis.provider == "MET Norway"
    assert not reading.complete
    assert world.norway.requests[0].headers["user-agent"].endswith("(test@example.org)")


async def test_a_silent_first_provider_leaves_time_for_the_second(world):
    world.open_meteo.faults = {FORECAST: HANG}
    began = time.monotonic()
    reading = await world.read(query(NEAR), 2.5)
    assert reading.body.basis.provider == "MET Norway"
    assert time.monotonic() - began < 2.5


async def test_without_a_contact_met_norway_is_not_configured_and_never_asked(world):
    settings = Settings(
        data_dir=world.settings.data_dir, open_meteo_forecast_url="", open_meteo_archive_url="",
        met_norway_url=world.settings.met_norway_url, nasa_power_url="",
    )  # fmt: skip
    async with HttpClient("test") as client:
        section = weather_section(
            settings, world.clock, client, SqlClimateStore(world.database), Hosts()
        )
        states = {state.name: state.status for state in section.providers()}
        assert states["met_norway"] == "not_configured"
        with pytest.raises(UpstreamUnavailable):
            await section.read(query(NEAR), Deadline.after(2))
    assert not world.norway.requests


async def test_without_any_forecast_the_stay_is_climatology_and_says_so(world):
    world.open_meteo.faults = {FORECAST: DOWN}
    world.norway.fault = DOWN
    reading = await world.read(query(NEAR))
    assert reading.body.mode == "climatology"
    assert reading.body.basis.kind == "reanalysis"
    assert not reading.complete


async def test_a_forecast_of_up_to_six_hours_ago_serves_while_the_provider_is_down(world):
    await world.read(query(NEAR))
    world.open_meteo.faults = {FORECAST: DOWN}
    world.clock.advance(3 * 3600)
    reading = await world.read(query(NEAR))
    assert (reading.body.basis.provider, reading.body.stale) == ("Open-Meteo", True)
    assert not reading.complete
    world.clock.advance(3 * 3600 + 1)
    reading = await world.read(query(NEAR))
    assert reading.body.basis.provider == "MET Norway"


async def test_a_fresh_forecast_is_asked_for_again_after_thirty_minutes(world):
    await world.read(query(NEAR))
    world.clock.advance(29 * 60)
    await world.read(query(NEAR))
    assert len(world.open_meteo.calls(FORECAST)) == 1
    world.clock.advance(2 * 60)
    await world.read(query(NEAR))
    assert len(world.open_meteo.calls(FORECAST)) == 2


@pytest.mark.parametrize(
    ("said", "quiet"), [("Minutely", 60), ("Hourly", 3600), ("Daily", 12 * 3600)]
)
async def test_a_429_is_obeyed_for_as_long_as_its_words_say(world, said, quiet):
    world.open_meteo.faults = {ARCHIVE: refused(f"{said} API request limit exceeded.", 429)}
    reading = await world.read(query(FAR))
    assert reading.body.basis.provider == "NASA POWER"
    world.open_meteo.faults = {}
    world.clock.advance(quiet - 2)
    other = Point(52.0, 13.0, "Europe/Berlin")
    assert (await world.read(query(FAR, other))).body.basis.provider == "NASA POWER"
    assert len(world.open_meteo.calls(ARCHIVE)) == 1
    world.clock.advance(70)
    assert (await world.read(query(FAR, other))).body.basis.provider == "Open-Meteo"


async def test_nasa_power_answers_for_the_archive_and_says_so(world):
    world.open_meteo.faults = {ARCHIVE: DOWN}
    reading = await world.read(query(FAR))
    body = reading.body
    assert (body.basis.provider, body.basis.model) == ("NASA POWER", "MERRA-2")
    assert all(day.condition for day in body.days)
    assert not reading.complete
    assert len(world.power.requests) == 1
    summer = Stay(date(2027, 7, 3), date(2027, 7, 9))
    await world.read(query(summer))
    assert len(world.power.requests) == 1  # ten whole years came with the first


async def test_two_hundred_cold_stays_in_one_cell_cost_one_request_and_survive_their_leader(world):
    world.power.fault = DOWN
    points = [Point(48.80 + n / 10_000, 2.25, "Europe/Paris") for n in range(200)]
    leader = asyncio.ensure_future(world.read(query(FAR, points[0]), 30))
    others = [asyncio.ensure_future(world.read(query(FAR, one), 30)) for one in points[1:]]
    await asyncio.sleep(0)
    leader.cancel()
    readings = await asyncio.gather(*others)
    assert {reading.body.basis.kind for reading in readings} == {"reanalysis"}
    assert len(world.open_meteo.calls(ARCHIVE)) == 1


async def test_a_flood_of_widgets_never_exceeds_half_the_budget_and_keyed_calls_keep_theirs(world):
    write_grid(world.settings.data_dir)
    spread = [Point(-60 + n, 3 * n - 170, "UTC") for n in range(8)]
    for one in spread:
        await world.read(query(FAR, one, public=True))
    assert sum(world.open_meteo.units) <= 240
    reading = await world.read(query(FAR))
    assert reading.body.basis.provider == "Open-Meteo"
    assert sum(world.open_meteo.units) <= 480


@pytest.mark.parametrize(
    "answer",
    [
        Answered({"error": True, "reason": "No data is available for this location"}),
        Answered({"daily": {"time": ["2026-11-23"], "temperature_2m_max": [1, 2]}}),
        Answered({"daily": {"time": ["2026-13-23"], "temperature_2m_max": [1]}}),
        Answered({"daily": {"time": ["2016-11-23"], "temperature_2m_max": [1]}}),
        Answered({"daily": {"time": ["2026-11-23"], "temperature_2m_max": [900]}}),
        Answered({"daily": {"time": [], "temperature_2m_max": []}}),
        Answered({"daily": None}),
    ],
)
async def test_an_answer_that_is_not_a_forecast_goes_to_the_next_source(world, answer):
    """Faults of any provider are tried on each by the kit (tests/test_conformance.py)."""
    world.open_meteo.faults = {FORECAST: answer, ARCHIVE: answer}
    reading = await world.read(query(NEAR))
    assert reading.body.basis.provider == "MET Norway"
    reading = await world.read(query(FAR))
    assert reading.body.basis.provider == "NASA POWER"
    assert b"NaN" not in reading.payload


async def test_an_archive_of_nothing_but_nulls_is_not_kept_for_good(world):
    world.open_meteo.missing = {date(2000, 1, 1) + timedelta(n) for n in range(366 * 30)}
    assert (await world.read(query(FAR))).body.basis.provider == "NASA POWER"
    world.open_meteo.missing = set()
    world.clock.advance(86_401)
    assert (await world.read(query(FAR))).body.basis.provider == "Open-Meteo"


async def test_a_store_that_cannot_be_read_or_written_costs_nothing_but_requests(world):
    class Broken:
        async def load(self, *_):
            raise StorageError("gone")

        save = touch = load_elevation = save_elevations = extent = load

    async with HttpClient(world.settings.user_agent) as client:
        section = weather_section(world.settings, world.clock, client, Broken(), Hosts())
        for stay in (NEAR, FAR):
            reading = await section.read(query(stay), Deadline.after(4))
            assert reading.body.basis.provider == "Open-Meteo"
        assert len(world.open_meteo.calls(ARCHIVE)) == 1
        dataset = await section.dataset()
        assert dataset.rows == 0
        await section.close()


async def test_the_height_of_paris_is_asked_for_once(world):
    for stay in (FAR, NEAR, FAR):
        await world.read(query(stay))
    heights = world.open_meteo.calls(ELEVATION)
    assert len(heights) == 1
    assert heights[0].query["latitude"] == f"{PARIS.lat:.4f}"


async def test_a_zone_the_provider_does_not_know_is_left_to_it(world):
    well = world.open_meteo.respond

    def respond(asked):
        if asked.query.get("timezone") == "Europe/Kyiv":
            return refused("Invalid timezone")
        return well(Asked(asked.path, {**asked.query, "timezone": "Europe/Paris"}, {}))

    world.open_meteo.server.respond = respond
    kyiv = Point(50.45, 30.52, "Europe/Kyiv", "UA", None)
    for stay in (NEAR, FAR):
        assert (await world.read(query(stay, kyiv))).body.basis.provider == "Open-Meteo"
    assert world.open_meteo.calls(ARCHIVE)[-1].query["timezone"] == "auto"


async def test_a_worker_spends_no_more_than_its_part_of_the_budget(world):
    write_grid(world.settings.data_dir)
    shared = msgspec.structs.replace(world.settings, budget_share=0.25)
    async with HttpClient("test") as client:
        section = weather_section(
            shared, world.clock, client, SqlClimateStore(world.database), Hosts()
        )
        for lat in range(8):
            await section.read(query(FAR, Point(float(lat), 10.0, "UTC")), Deadline.after(4))
        await section.close()
    assert 60 < sum(world.open_meteo.units) <= 120
