"""Open-Meteo as its server really is: few calls at once, one named height, errors, plans, gaps."""

import asyncio
import math
from datetime import date, timedelta

import msgspec
import pytest

from location_context.point import Point
from location_context.sections.open_meteo import FREE_AT_ONCE, open_meteo_host
from location_context.sections.weather.estimate import Estimator
from location_context.sections.weather.providers.open_meteo import TABLE
from location_context.sections.weather.records import FORECAST_FIELDS
from location_context.sections.weather.section import NO_ARCHIVE
from location_context.settings import Secret, Settings
from location_context.stay import Stay
from location_context.storage.datasets import SqlClimateStore
from location_context.upstream.deadline import Deadline
from location_context.upstream.host import Hosts
from location_context.upstream.http import HttpClient
from tests.fakes import weather_truth
from tests.fakes.open_meteo import ARCHIVE, ELEVATION, FORECAST, OpenMeteo, refused
from tests.fakes.server import Answered, Asked
from tests.sections.weather.conftest import PARIS, World, query, weather_section

pytestmark = pytest.mark.anyio
TODAY = date(2026, 11, 21)
NEAR = Stay(TODAY + timedelta(2), TODAY + timedelta(8))
ALL_16_DAYS = Stay(TODAY, TODAY + timedelta(15))
FAR = Stay(date(2027, 2, 3), date(2027, 2, 9))


def places(count: int) -> list[Point]:
    """Points each in a cell of its own."""
    return [Point(44 + n * 0.3, 2.35, "Europe/Paris", "FR", None) for n in range(count)]


async def test_six_new_places_at_once_cost_six_calls_and_nobody_is_refused(world: World):
    world.open_meteo.slow_seconds = 0.3
    asked = places(7)
    readings = await asyncio.gather(*(world.read(query(NEAR, point), 30) for point in asked[:6]))
    assert [reading.body.mode for reading in readings] == ["forecast"] * 6
    assert all(reading.complete for reading in readings)
    assert (len(world.open_meteo.calls(FORECAST)), len(world.open_meteo.calls(ELEVATION))) == (6, 0)
    assert (world.open_meteo.refused_for_crowd, world.open_meteo.most_held) == (0, FREE_AT_ONCE)
    after = await world.read(query(NEAR, asked[6]))
    assert after.body.basis.provider == "Open-Meteo"


async def test_places_that_only_wait_their_turn_at_a_slow_host_cost_no_archive(world: World):
    """A quarter of a second a call: the sixth of six new places has its forecast after 1.5.

    Without calibration, for which an archive is asked behind the guests.
    """
    world.open_meteo.slow_seconds = 0.25
    world.section._estimator = Estimator(None, world.section.sources.fallback, world.clock)
    readings = await asyncio.gather(*(world.read(query(NEAR, one), 10) for one in places(6)))
    assert {reading.body.mode for reading in readings} == {"forecast"}
    assert not world.open_meteo.calls(ARCHIVE)
    assert not world.power.requests


async def test_sections_that_share_the_hosts_share_calls_at_once_and_one_budget(world: World):
    world.open_meteo.slow_seconds = 0.02
    hosts, store = Hosts(), SqlClimateStore(world.database)
    async with HttpClient("test") as client:
        # as issued: else an archive is asked behind the guests, and cut off at the end
        settings = msgspec.structs.replace(world.settings, calibrate_forecast=False)
        two = [weather_section(settings, world.clock, client, store, hosts) for _ in range(2)]
        asked = places(10)
        stays = [(two[n % 2], query((NEAR, FAR)[n // 5], asked[n])) for n in range(10)]
        await asyncio.gather(*(section.read(one, Deadline.after(60)) for section, one in stays))
        for section in two:
            await section.close()
    assert world.open_meteo.most_held <= FREE_AT_ONCE
    assert world.open_meteo.refused_for_crowd == 0
    spent = [one.used for one in open_meteo_host(hosts, world.settings).budgets()]
    assert spent == [pytest.approx(sum(world.open_meteo.units))] * 3


async def test_too_many_at_once_is_a_pause_of_one_call_and_no_silence(world: World):
    well = world.open_meteo.respond
    crowded = [refused("Too many concurrent requests", 429)]
    world.open_meteo.server.respond = lambda asked: crowded.pop() if crowded else well(asked)
    first = await world.read(query(NEAR))
    assert first.body.basis.provider == "Open-Meteo"
    assert first.complete
    assert all(state.last_error_code is None for state in world.section.providers())
    second = await world.read(query(NEAR, places(1)[0]))
    assert second.body.basis.provider == "Open-Meteo"


def alpine(world: World) -> Point:
    """A valley 1,000 m under the cells of three models, each with a height of its own."""
    world.open_meteo.terrain = lambda *_: 620.0
    world.open_meteo.models = [
        (3, lambda *_: 1450.0), (8, lambda *_: 1620.0), (99, lambda *_: 1980.0)
    ]  # fmt: skip
    return Point(46.5, 8.2, "Europe/Zurich", "CH", "CH-VS")


async def test_a_valley_under_three_models_is_within_half_a_degree_on_all_16_days(world: World):
    valley = alpine(world)
    body = (await world.read(query(ALL_16_DAYS, valley))).body
    assert len(body.days) == 16
    for day in body.days:
        truth = weather_truth.day(valley.lat, valley.lng, day.date, 620.0)
        assert day.temperature_max == pytest.approx(truth["temperature_2m_max"], abs=0.5)
        assert day.temperature_min == pytest.approx(truth["temperature_2m_min"], abs=0.5)
    assert [one.path for one in world.open_meteo.requests] == [FORECAST]


async def test_a_neighbour_on_the_mountain_shares_the_forecast_and_is_corrected_once(world: World):
    valley = alpine(world)
    world.open_meteo.terrain = lambda lat, _: 620.0 if lat <= 46.5 else 2300.0
    await world.read(query(ALL_16_DAYS, valley))
    peak = Point(46.51, 8.2, "Europe/Zurich", "CH", "CH-VS")
    body = (await world.read(query(ALL_16_DAYS, peak))).body
    for day in body.days:
        truth = weather_truth.day(peak.lat, peak.lng, day.date, 2300.0)
        assert day.temperature_max == pytest.approx(truth["temperature_2m_max"], abs=0.5)
    assert body.basis.temperature_correction == pytest.approx((620 - 2300) * 0.0065, abs=0.05)
    assert [one.path for one in world.open_meteo.requests] == [FORECAST, ELEVATION]


async def test_a_coast_takes_no_height_from_a_cell_in_the_sea(world: World):
    world.open_meteo.terrain = lambda *_: 85.0
    world.open_meteo.models = [(99, lambda *_: 0.0)]
    body = (await world.read(query(NEAR))).body
    truth = weather_truth.day(PARIS.lat, PARIS.lng, NEAR.start, 85.0)
    assert body.days[0].temperature_max == pytest.approx(truth["temperature_2m_max"], abs=0.06)
    assert body.basis.grid_elevation == body.basis.point_elevation == 85.0


async def test_the_height_of_each_point_is_one_call_of_one_unit(world: World):
    points = [Point(45 + n / 10_000, 7.0, "Europe/Rome", "IT", None) for n in range(30)]
    fetched = (
        world.section.sources.elevations.fetch(point, Deadline.after(30), public=False)
        for point in points * 2
    )
    expected = [weather_truth.terrain(point.lat, point.lng) for point in points * 2]
    assert await asyncio.gather(*fetched) == expected
    assert len(world.open_meteo.calls(ELEVATION)) == 30


@pytest.mark.parametrize("point", [
    Point(90.0, 0.0, "Etc/GMT", None, None), Point(10.0, 180.0, "Etc/GMT-12", None, None),
])  # fmt: skip
async def test_where_the_terrain_model_ends_a_height_is_still_found(world: World, point: Point):
    for stay in (NEAR, FAR):
        basis = (await world.read(query(stay, point))).body.basis
        assert basis.point_elevation is not None
        assert abs(basis.temperature_correction) < 12


async def test_a_forecast_without_one_known_day_is_a_failed_forecast(world: World):
    world.open_meteo.missing = {TODAY + timedelta(n) for n in range(-100, 20)}
    body = (await world.read(query(NEAR))).body
    assert body.basis.provider == "MET Norway"
    forecast = world.section.providers()[0]
    assert forecast.last_error_code == "invalid_answer"
    assert forecast.status == "degraded"


async def test_hours_of_precipitation_are_not_known_where_precipitation_is_not(world: World):
    world.open_meteo.missing = {NEAR.start}
    first, second = (await world.read(query(NEAR))).body.days[:2]
    assert first.precipitation_sum is None
    assert first.precipitation_hours is None
    assert second.precipitation_hours is not None


@pytest.mark.parametrize("path", [FORECAST, ARCHIVE])
async def test_a_column_that_a_provider_leaves_out_is_null_and_no_fault(world: World, path: str):
    well, left_out = world.open_meteo.respond, ""

    def respond(asked: Asked) -> Answered:
        answer = well(asked)
        for block in answer.body if isinstance(answer.body, list) else [answer.body]:
            if isinstance(block, dict) and "daily" in block:
                block["daily"].pop(left_out, None)
        return answer

    world.open_meteo.server.respond = respond
    stay = NEAR if path == FORECAST else FAR
    counted = {"precipitation_probability"} if path == ARCHIVE else set()  # from the sums
    async with HttpClient("test") as client:
        store = SqlClimateStore(world.database)
        section = weather_section(paid(world), world.clock, client, store, Hosts())
        for field, point in zip(FORECAST_FIELDS, places(len(FORECAST_FIELDS)), strict=True):
            left_out = TABLE[field].path
            body = (await section.read(query(stay, point), Deadline.after(10))).body
            assert len(body.days) == 7, field
            if field not in {"temperature_max", "temperature_min", "weather_code", *counted}:
                assert all(getattr(day, field) is None for day in body.days), field
        await section.close()


@pytest.mark.parametrize("body", [
    b'{"daily":{"time":["2026-11-21"]}}Unexpected error while streaming data',
    b"null", b'{"error": true, "reason": "x"}',
])  # fmt: skip
async def test_a_200_that_is_no_forecast_counts_against_every_provider(world: World, body: bytes):
    page = Answered(body, 200)
    for path in (FORECAST, ARCHIVE, ELEVATION):
        world.open_meteo.faults[path] = page
    world.norway.fault = world.power.fault = page
    for stay in (NEAR, FAR):
        for _ in range(3):
            with pytest.raises(Exception, match="no fallback grid"):
                await world.read(query(stay))
    states = {state.name: state for state in world.section.providers()}
    for name in ("open_meteo_forecast", "met_norway", "open_meteo_archive", "nasa_power"):
        assert states[name].last_error_code == "invalid_answer", name
        assert states[name].breaker == "open", name
        assert states[name].status == "outage", name


@pytest.mark.parametrize(
    ("fault", "code"), [(None, None), (Answered(b"<html>Sign in", 200), "invalid_answer")]
)
async def test_a_probe_asks_for_a_height_too_which_no_forecast_needs(
    world: World, fault: Answered | None, code: str | None
):
    if fault:
        world.open_meteo.faults[ELEVATION] = fault
    await world.read(query(NEAR))
    assert world.open_meteo.calls(ELEVATION) == []
    await world.section.probe(query(NEAR))
    assert len(world.open_meteo.calls(ELEVATION)) == 1
    states = {state.name: state for state in world.section.providers()}
    assert states["open_meteo_elevation"].last_error_code == code
    assert states["open_meteo_elevation"].status == ("degraded" if fault else "operational")


def paid(world: World, **more) -> Settings:
    return msgspec.structs.replace(world.settings, open_meteo_api_key=Secret("k3y"), **more)


async def test_a_customer_has_no_budget_of_ours_unless_the_operator_sets_one(world: World):
    def limits(settings: Settings) -> dict[float, float]:
        return {w.window: w.limit for w in open_meteo_host(Hosts(), settings).budgets()}

    free = {"minute": 480, "hour": 4000, "day": 8000}
    assert limits(world.settings) == free
    assert limits(paid(world)) == {}
    assert limits(paid(world, open_meteo_budget=("20000/day",))) == {"day": 20_000}
    own = msgspec.structs.replace(
        world.settings, open_meteo_budget=("60/minute", "4000/hour", "8000/day")
    )
    assert limits(own) == {**free, "minute": 60}


async def test_a_customer_reads_more_places_in_a_minute_than_free_access_has_units_for(
    world: World,
):
    async with HttpClient("test") as client:
        store = SqlClimateStore(world.database)
        section = weather_section(paid(world), world.clock, client, store, Hosts())
        for point in places(10):  # a cold week of typical days costs about 66 units
            assert (await section.read(query(FAR, point), Deadline.after(30))).complete
        await section.close()
    assert sum(world.open_meteo.units) > 480


async def test_a_plan_without_the_archive_is_learned_once_and_power_answers(world: World):
    world.open_meteo.plan_has_archive = False
    async with HttpClient("test") as client:
        store = SqlClimateStore(world.database)
        section = weather_section(paid(world), world.clock, client, store, Hosts())
        bodies = [
            (await section.read(query(FAR, point), Deadline.after(30))).body for point in places(4)
        ]
        assert {body.basis.provider for body in bodies} == {"NASA POWER"}
        assert len(world.open_meteo.calls(ARCHIVE)) == 1
        assert (await section.read(query(FAR, places(5)[4]), Deadline.after(30))).complete
        state = next(s for s in section.providers() if s.name == "open_meteo_archive")
        assert (state.status, state.last_error_code) == ("not_configured", "not_in_plan")
        assert NO_ARCHIVE in section.warnings()
        near = (await section.read(query(NEAR), Deadline.after(30))).body
        assert near.basis.provider == "Open-Meteo"  # the forecast is in the plan
        world.clock.advance(86_500)
        await section.read(query(FAR, places(6)[5]), Deadline.after(30))
        assert len(world.open_meteo.calls(ARCHIVE)) == 2
        world.open_meteo.plan_has_archive = True
        world.clock.advance(86_500)
        body = (await section.read(query(FAR, places(7)[6]), Deadline.after(30))).body
        assert body.basis.provider == "Open-Meteo"
        assert NO_ARCHIVE not in section.warnings()
        await section.close()


def test_the_stand_in_ends_at_north_and_east_as_the_terrain_model_does(clock):
    standin = OpenMeteo(clock)
    standin.server.close()
    assert math.isnan(standin._terrain(90, 0))
    assert math.isnan(standin._terrain(0, 180))
    assert standin._terrain(-90, -180) is not None
