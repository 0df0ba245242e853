"""Open-Meteo with the limits of its server: concurrency, heights, errors, plans and gaps."""

import asyncio
from datetime import timedelta

import msgspec
import pytest

from location_context.point import Point
from location_context.sections.open_meteo import FREE_AT_ONCE, open_meteo_host
from location_context.sections.weather.estimate import Estimator
from location_context.sections.weather.providers.open_meteo import TABLE
from location_context.sections.weather.records import FORECAST_FIELDS
from location_context.sections.weather.section import NO_ARCHIVE
from location_context.stay import Stay
from location_context.upstream.deadline import Deadline
from location_context.upstream.host import Hosts
from tests.fakes import weather_truth
from tests.fakes.open_meteo import ARCHIVE, ELEVATION, FORECAST, refused
from tests.fakes.server import FakeRequest, FakeResponse
from tests.sections.weather.conftest import (
    CUSTOMER,
    FAR,
    NEAR,
    PARIS,
    TODAY,
    WeatherFixture,
    places,
    query,
)

FREE = {"minute": 480, "hour": 4000, "day": 8000}
ALL_16_DAYS = Stay(TODAY, TODAY + timedelta(15))


async def test_six_concurrent_new_places_cost_six_forecast_calls_and_none_is_refused(weather):
    weather.open_meteo.slow_seconds = 0.3
    points = places(7)
    readings = await asyncio.gather(*(weather.read(query(NEAR, point), 30) for point in points[:6]))
    assert [reading.body.mode for reading in readings] == ["forecast"] * 6
    assert all(reading.complete for reading in readings)
    calls = [len(weather.open_meteo.calls(path)) for path in (FORECAST, ELEVATION)]
    assert calls == [6, 0]
    assert (weather.open_meteo.refused_for_crowd, weather.open_meteo.most_held) == (0, FREE_AT_ONCE)
    after = await weather.read(query(NEAR, points[6]))
    assert after.body.basis.provider == "Open-Meteo"


async def test_places_waiting_for_a_slow_forecast_host_do_not_fall_back_to_the_archive(weather):
    """A quarter of a second a call: the sixth of six new places has its forecast after 1.5.

    Without calibration, for which an archive is called in the background.
    """
    weather.open_meteo.slow_seconds = 0.25
    weather.section._estimator = Estimator(None, weather.section.sources.fallback, weather.clock)
    readings = await asyncio.gather(*(weather.read(query(NEAR, one), 10) for one in places(6)))
    assert {reading.body.mode for reading in readings} == {"forecast"}
    assert not weather.open_meteo.calls(ARCHIVE)
    assert not weather.nasa_power.requests


async def test_sections_of_shared_hosts_share_concurrency_and_budget(weather, build_section):
    weather.open_meteo.slow_seconds = 0.02
    hosts = Hosts()
    # as issued: else an archive is called in the background, and cancelled at the end
    two = [build_section(hosts=hosts, calibrate_forecast=False) for _ in range(2)]
    stays = [query((NEAR, FAR)[n // 5], point) for n, point in enumerate(places(10))]
    reads = (weather.read(one, 60, two[n % 2]) for n, one in enumerate(stays))
    await asyncio.gather(*reads)
    assert weather.open_meteo.most_held <= FREE_AT_ONCE
    assert weather.open_meteo.refused_for_crowd == 0
    spent = [one.used for one in open_meteo_host(hosts, weather.settings).budget.states()]
    assert spent == [pytest.approx(sum(weather.open_meteo.units))] * 3


async def test_status_429_for_concurrency_delays_one_call_but_does_not_pause_the_host(weather):
    well = weather.open_meteo.respond
    crowded = [refused("Too many concurrent requests", 429)]
    weather.open_meteo.server.respond = lambda request: crowded.pop() if crowded else well(request)
    first = await weather.read(query(NEAR))
    assert first.body.basis.provider == "Open-Meteo"
    assert first.complete
    assert all(state.last_error_code is None for state in weather.section.providers())
    second = await weather.read(query(NEAR, places(1)[0]))
    assert second.body.basis.provider == "Open-Meteo"


def alpine(weather: WeatherFixture) -> Point:
    """A valley 1,000 m under the cells of three models, each with a height of its own."""
    weather.open_meteo.terrain = lambda *_: 620.0
    weather.open_meteo.models = [
        (3, lambda *_: 1450.0), (8, lambda *_: 1620.0), (99, lambda *_: 1980.0)
    ]  # fmt: skip
    return Point(46.5, 8.2, "Europe/Zurich", "CH", "CH-VS")


async def test_valley_temperatures_are_within_half_a_degree_of_the_truth_on_all_16_days(weather):
    valley = alpine(weather)
    body = (await weather.read(query(ALL_16_DAYS, valley))).body
    assert len(body.days) == 16
    for day in body.days:
        truth = weather_truth.day(valley.lat, valley.lng, day.date, 620.0)
        assert day.temperature_max == pytest.approx(truth["temperature_2m_max"], abs=0.5)
        assert day.temperature_min == pytest.approx(truth["temperature_2m_min"], abs=0.5)
    assert [one.path for one in weather.open_meteo.requests] == [FORECAST]


async def test_higher_point_of_a_grid_cell_uses_the_cell_forecast_corrected_once_for_elevation(
    weather,
):
    valley = alpine(weather)
    weather.open_meteo.terrain = lambda lat, _: 620.0 if lat <= 46.5 else 2300.0
    await weather.read(query(ALL_16_DAYS, valley))
    peak = Point(46.51, 8.2, "Europe/Zurich", "CH", "CH-VS")
    body = (await weather.read(query(ALL_16_DAYS, peak))).body
    for day in body.days:
        truth = weather_truth.day(peak.lat, peak.lng, day.date, 2300.0)
        assert day.temperature_max == pytest.approx(truth["temperature_2m_max"], abs=0.5)
    assert body.basis.temperature_correction == pytest.approx((620 - 2300) * 0.0065, abs=0.05)
    assert [one.path for one in weather.open_meteo.requests] == [FORECAST, ELEVATION]


async def test_coastal_point_is_not_corrected_to_the_elevation_of_a_sea_grid_cell(weather):
    weather.open_meteo.terrain = lambda *_: 85.0
    weather.open_meteo.models = [(99, lambda *_: 0.0)]
    body = (await weather.read(query(NEAR))).body
    truth = weather_truth.day(PARIS.lat, PARIS.lng, NEAR.start, 85.0)
    assert body.days[0].temperature_max == pytest.approx(truth["temperature_2m_max"], abs=0.06)
    assert body.basis.grid_elevation == body.basis.point_elevation == 85.0


async def test_elevation_of_each_point_is_fetched_once(weather):
    points = [Point(45 + n / 10_000, 7.0, "Europe/Rome", "IT", None) for n in range(30)]
    fetched = (
        weather.section.sources.elevations.fetch(point, Deadline.after(30), public=False)
        for point in points * 2
    )
    expected = [weather_truth.terrain(point.lat, point.lng) for point in points * 2]
    assert await asyncio.gather(*fetched) == expected
    assert len(weather.open_meteo.calls(ELEVATION)) == 30


@pytest.mark.parametrize("point", [
    Point(90.0, 0.0, "Etc/GMT", None, None), Point(10.0, 180.0, "Etc/GMT-12", None, None),
])  # fmt: skip
async def test_temperature_correction_stays_small_where_the_terrain_model_ends(weather, point):
    for stay in (NEAR, FAR):
        basis = (await weather.read(query(stay, point))).body.basis
        assert abs(basis.temperature_correction) < 12


async def test_forecast_without_any_known_value_counts_as_a_provider_failure(weather):
    weather.open_meteo.missing = {TODAY + timedelta(n) for n in range(-100, 20)}
    body = (await weather.read(query(NEAR))).body
    assert body.basis.provider == "MET Norway"
    forecast = weather.section.providers()[0]
    assert forecast.last_error_code == "invalid_answer"
    assert forecast.status == "degraded"


async def test_precipitation_hours_are_null_if_the_precipitation_sum_is_null(weather):
    weather.open_meteo.missing = {NEAR.start}
    first, second = (await weather.read(query(NEAR))).body.days[:2]
    assert first.precipitation_sum is None
    assert first.precipitation_hours is None
    assert second.precipitation_hours is not None


@pytest.mark.parametrize("path", [FORECAST, ARCHIVE])
async def test_column_missing_in_a_providers_answer_is_null_and_not_an_error(
    weather, build_section, path
):
    well, left_out = weather.open_meteo.respond, ""

    def respond(request: FakeRequest) -> FakeResponse:
        answer = well(request)
        for block in answer.body if isinstance(answer.body, list) else [answer.body]:
            if isinstance(block, dict) and "daily" in block:
                block["daily"].pop(left_out, None)
        return answer

    weather.open_meteo.server.respond = respond
    stay = NEAR if path == FORECAST else FAR
    counted = {"precipitation_probability"} if path == ARCHIVE else set()  # from the sums
    section = build_section(**CUSTOMER)
    for field, point in zip(FORECAST_FIELDS, places(len(FORECAST_FIELDS)), strict=True):
        left_out = TABLE[field].path
        body = (await weather.read(query(stay, point), 10, section)).body
        assert len(body.days) == 7, field
        if field not in {"temperature_max", "temperature_min", "weather_code", *counted}:
            assert all(getattr(day, field) is None for day in body.days), field


@pytest.mark.parametrize("body", [
    b'{"daily":{"time":["2026-11-21"]}}Unexpected error while streaming data',
    b"null", b'{"error": true, "reason": "x"}',
])  # fmt: skip
async def test_response_200_with_an_invalid_body_counts_as_a_failure_of_each_provider(
    weather, body
):
    page = FakeResponse(body, 200)
    weather.break_all(page)
    weather.open_meteo.faults[ELEVATION] = page
    for stay in (NEAR, FAR):
        for _ in range(3):
            with pytest.raises(Exception, match="no fallback grid"):
                await weather.read(query(stay))
    states = weather.states()
    for name in ("open_meteo_forecast", "met_norway", "open_meteo_archive", "nasa_power"):
        found = states[name].last_error_code, states[name].breaker, states[name].status
        assert found == ("invalid_answer", "open", "outage"), name


@pytest.mark.parametrize(
    ("fault", "code"), [(None, None), (FakeResponse(b"<html>Sign in", 200), "invalid_answer")]
)
async def test_provider_probe_calls_the_elevation_api_though_no_forecast_needs_the_elevation(
    weather, fault, code
):
    if fault:
        weather.open_meteo.faults[ELEVATION] = fault
    await weather.read(query(NEAR))
    assert weather.open_meteo.calls(ELEVATION) == []
    await weather.section.probe(query(NEAR))
    assert len(weather.open_meteo.calls(ELEVATION)) == 1
    state = weather.states()["open_meteo_elevation"]
    assert (state.last_error_code, state.status) == (
        (code, "degraded") if fault else (None, "operational")
    )


@pytest.mark.parametrize(
    ("changes", "limits"),
    [
        ({}, FREE),
        ({"open_meteo_budget": ("60/minute", "4000/hour", "8000/day")}, {**FREE, "minute": 60}),
        ({"budget_share": 0.25}, {window: limit / 4 for window, limit in FREE.items()}),
        (CUSTOMER, {}),
        ({**CUSTOMER, "open_meteo_budget": ("20000/day",)}, {"day": 20_000}),
    ],
)
async def test_call_budget_is_as_configured_else_each_worker_has_its_share_of_the_free_units(
    weather, changes, limits
):
    settings = msgspec.structs.replace(weather.settings, **changes)
    assert {w.window: w.limit for w in open_meteo_host(Hosts(), settings).budget.states()} == limits


async def test_open_meteo_customer_may_spend_more_call_units_a_minute_than_free_access(
    weather, build_section
):
    section = build_section(**CUSTOMER)
    for point in places(10):  # a cold week of typical days costs about 66 units
        assert (await weather.read(query(FAR, point), 30, section)).complete
    assert sum(weather.open_meteo.units) > 480


async def test_archive_that_the_open_meteo_plan_excludes_is_tried_once_a_day(
    weather, build_section
):
    weather.open_meteo.plan_has_archive = False
    section, new = build_section(**CUSTOMER), iter(places(7))

    async def provider_of(stay: Stay) -> str:
        reading = await weather.read(query(stay, next(new)), 30, section)
        assert reading.complete
        return reading.body.basis.provider

    assert [await provider_of(FAR) for _ in range(4)] == ["NASA POWER"] * 4
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1
    state = weather.states(section)["open_meteo_archive"]
    assert (state.status, state.last_error_code) == ("not_configured", "not_in_plan")
    assert NO_ARCHIVE in section.warnings()
    assert await provider_of(NEAR) == "Open-Meteo"  # the forecast is in the plan
    weather.clock.advance(86_500)
    assert await provider_of(FAR) == "NASA POWER"
    assert len(weather.open_meteo.calls(ARCHIVE)) == 2
    weather.open_meteo.plan_has_archive = True
    weather.clock.advance(86_500)
    assert await provider_of(FAR) == "Open-Meteo"
    assert NO_ARCHIVE not in section.warnings()
