"""The order of fallbacks: whatever the providers do, the section answers from the best left."""

import asyncio
import itertools
import threading
from datetime import date, timedelta

import pytest

from location_context.errors import UpstreamUnavailable
from location_context.point import Point
from location_context.stay import Stay
from tests.fakes.failing_store import FailingStore
from tests.fakes.open_meteo import ARCHIVE, ELEVATION, FORECAST, refused
from tests.fakes.server import FakeRequest, FakeResponse
from tests.sections.weather.conftest import (
    CUSTOMER,
    DOWN,
    FAR,
    HANG,
    NEAR,
    query,
    write_grid,
)

FORECASTS = ("forecast", "Open-Meteo"), ("forecast", "MET Norway")
ARCHIVES = ("reanalysis", "Open-Meteo"), ("reanalysis", "NASA POWER")
GRID = ("monthly_mean", "ITU-R")
CLOSED = FakeResponse(fault="drop")


async def degraded_reason(weather, stay: Stay, seconds: float = 4.0, section=None) -> str | None:
    """Return the reason of an answer that is degraded when it has one and complete when not."""
    reading = await weather.read(query(stay), seconds, section)
    body = reading.body
    assert body.degraded == (body.degraded_reason is not None) == (not reading.complete)
    return body.degraded_reason


@pytest.mark.parametrize(
    ("faults", "stay", "basis", "reason"),  # of forecast, MET Norway, archive, NASA POWER
    [
        ((None, None, None, None), NEAR, FORECASTS[0], None),
        ((DOWN, None, DOWN, None), NEAR, FORECASTS[1], "provider_unavailable"),
        ((HANG, None, HANG, None), NEAR, FORECASTS[1], "late"),
        ((DOWN, DOWN, None, None), NEAR, ARCHIVES[0], "forecast_unavailable"),
        ((DOWN, DOWN, DOWN, DOWN), NEAR, GRID, "forecast_unavailable"),
        ((HANG, HANG, HANG, HANG), NEAR, GRID, "forecast_unavailable"),
        ((None, None, None, None), FAR, ARCHIVES[0], None),
        ((DOWN, None, DOWN, None), FAR, ARCHIVES[1], "provider_unavailable"),
        ((HANG, None, HANG, None), FAR, ARCHIVES[1], "late"),
        ((DOWN, DOWN, DOWN, DOWN), FAR, GRID, "archive_unavailable"),
        ((HANG, HANG, HANG, HANG), FAR, GRID, "archive_unavailable"),
        ((CLOSED, CLOSED, CLOSED, CLOSED), NEAR, GRID, "forecast_unavailable"),
        ((CLOSED, CLOSED, CLOSED, CLOSED), FAR, GRID, "archive_unavailable"),
    ],
)
async def test_weather_section_uses_the_best_available_source_and_names_the_reason(
    weather, faults, stay, basis, reason
):
    write_grid(weather.settings.data_dir)
    forecast, weather.met_norway.fault, archive, weather.nasa_power.fault = faults
    weather.open_meteo.faults = {FORECAST: forecast, ARCHIVE: archive}
    assert await degraded_reason(weather, stay, 2.5) == reason  # the widget's deadline
    body = (await weather.read(query(stay), 2.5)).body
    assert body.mode == ("forecast" if basis in FORECASTS else "climatology")
    assert (body.basis.kind, body.basis.provider) == basis


@pytest.mark.parametrize(
    ("fault", "reason"), [(DOWN, "provider_unavailable"), (HANG, "late")], ids=["down", "silent"]
)
async def test_missing_elevation_degrades_the_answer_with_the_reason(weather, fault, reason):
    weather.open_meteo.faults = {ELEVATION: fault}
    assert await degraded_reason(weather, FAR) == reason


async def test_degraded_answer_names_the_spent_budget_of_the_first_provider(weather, build_section):
    section = build_section(open_meteo_budget=("1/day",))
    for stay in (NEAR, FAR):
        assert await degraded_reason(weather, stay, section=section) == "budget_spent"


async def test_met_norway_is_not_configured_and_never_called_without_a_contact(
    weather, build_section
):
    urls = dict.fromkeys(
        ("open_meteo_forecast_url", "open_meteo_archive_url", "nasa_power_url"), ""
    )
    section = build_section(contact="", **urls)
    assert weather.states(section)["met_norway"].status == "not_configured"
    with pytest.raises(UpstreamUnavailable):
        await weather.read(query(NEAR), 2, section)
    assert not weather.met_norway.requests


async def test_api_key_requests_get_forecasts_while_widget_requests_time_out_at_new_places(
    weather, build_section
):
    """Each call of the provider outlasts four guests, who go on to the next place."""
    write_grid(weather.settings.data_dir)
    section = build_section(**CUSTOMER, contact="")
    new = (Point(44 + n % 120 * 0.3, 2.35 + n // 120, "Europe/Paris") for n in itertools.count())
    given_up, changed = [0], threading.Condition()
    respond = weather.open_meteo.server.respond

    def respond_late(request: FakeRequest) -> FakeResponse:
        with changed:
            begun = given_up[0]
            assert changed.wait_for(lambda: given_up[0] >= begun + 4, 30)
        return respond(request)

    async def visit() -> None:
        while True:
            await weather.read(query(NEAR, next(new), public=True), 0.2, section)
            with changed:
                given_up[0] += 1
                changed.notify_all()

    weather.open_meteo.server.respond = respond_late
    guests = [asyncio.create_task(visit()) for _ in range(4)]
    await asyncio.sleep(0)
    bodies = [(await weather.read(query(NEAR, next(new)), 30, section)).body for _ in range(6)]
    states = weather.states(section)
    for guest in guests:
        guest.cancel()
    await asyncio.gather(*guests, return_exceptions=True)
    with changed:
        given_up[0] += 100
        changed.notify_all()
    assert {body.basis.provider for body in bodies} == {"Open-Meteo"}
    forecast = states["open_meteo_forecast"]
    assert (forecast.breaker, forecast.last_error_code) == ("closed", None)


async def test_slow_provider_is_not_marked_as_failed_if_the_next_provider_answers_first(
    weather, build_section
):
    weather.open_meteo.slow_seconds = 9.0
    section = build_section(**CUSTOMER)
    body = (await weather.read(query(FAR), 8, section)).body
    assert body.basis.provider == "NASA POWER"
    archive = weather.states(section)["open_meteo_archive"]
    assert archive.breaker == "closed"
    assert archive.status in {"unknown", "operational"}


async def test_stale_forecast_is_reused_for_six_hours_while_its_provider_is_down(weather):
    await weather.read(query(NEAR))
    weather.open_meteo.faults = {FORECAST: DOWN}
    weather.clock.advance(3 * 3600)
    reading = await weather.read(query(NEAR))
    assert (reading.body.basis.provider, reading.body.stale) == ("Open-Meteo", True)
    assert reading.body.degraded_reason == "provider_unavailable"
    weather.clock.advance(3 * 3600 + 1)
    reading = await weather.read(query(NEAR))
    assert reading.body.basis.provider == "MET Norway"


async def test_forecast_is_refreshed_after_thirty_minutes(weather):
    await weather.read(query(NEAR))
    weather.clock.advance(29 * 60)
    await weather.read(query(NEAR))
    assert len(weather.open_meteo.calls(FORECAST)) == 1
    weather.clock.advance(2 * 60)
    await weather.read(query(NEAR))
    assert len(weather.open_meteo.calls(FORECAST)) == 2


async def test_nasa_power_replaces_the_archive_with_one_call_for_all_months(weather):
    weather.open_meteo.faults = {ARCHIVE: DOWN}
    reading = await weather.read(query(FAR))
    body = reading.body
    assert (body.basis.provider, body.basis.model) == ("NASA POWER", "MERRA-2")
    assert all(day.condition for day in body.days)
    assert not reading.complete
    assert len(weather.nasa_power.requests) == 1
    summer = Stay(date(2027, 7, 3), date(2027, 7, 9))
    await weather.read(query(summer))
    assert len(weather.nasa_power.requests) == 1  # ten whole years came with the first


async def test_widgets_spend_at_most_half_the_budget_and_leave_the_rest_to_api_keys(weather):
    write_grid(weather.settings.data_dir)
    spread = [Point(-60 + n, 3 * n - 170, "UTC") for n in range(8)]
    for one in spread:
        await weather.read(query(FAR, one, public=True))
    assert sum(weather.open_meteo.units) <= 240
    reading = await weather.read(query(FAR))
    assert reading.body.basis.provider == "Open-Meteo"
    assert sum(weather.open_meteo.units) <= 480


@pytest.mark.parametrize(
    "answer",
    [
        FakeResponse({"error": True, "reason": "No data is available for this location"}),
        FakeResponse({"daily": {"time": ["2026-11-23"], "temperature_2m_max": [1, 2]}}),
        FakeResponse({"daily": {"time": ["2026-13-23"], "temperature_2m_max": [1]}}),
        FakeResponse({"daily": {"time": ["2016-11-23"], "temperature_2m_max": [1]}}),
        FakeResponse({"daily": {"time": ["2026-11-23"], "temperature_2m_max": [900]}}),
        FakeResponse({"daily": {"time": [], "temperature_2m_max": []}}),
        FakeResponse({"daily": None}),
    ],
)
async def test_invalid_answer_is_replaced_by_the_next_source(weather, answer):
    """Faults of any provider are tried on each by the kit (tests/test_conformance.py)."""
    weather.open_meteo.faults = {FORECAST: answer, ARCHIVE: answer}
    reading = await weather.read(query(NEAR))
    assert reading.body.basis.provider == "MET Norway"
    reading = await weather.read(query(FAR))
    assert reading.body.basis.provider == "NASA POWER"
    assert b"NaN" not in reading.payload


async def test_archive_answer_with_only_nulls_is_not_stored_permanently(weather):
    weather.open_meteo.missing = {date(2000, 1, 1) + timedelta(n) for n in range(366 * 30)}
    assert (await weather.read(query(FAR))).body.basis.provider == "NASA POWER"
    weather.open_meteo.missing = set()
    weather.clock.advance(86_401)
    assert (await weather.read(query(FAR))).body.basis.provider == "Open-Meteo"


async def test_failing_archive_store_costs_additional_calls_but_no_answers(weather, build_section):
    section = build_section(store=FailingStore(None))
    for stay in (NEAR, FAR):
        reading = await weather.read(query(stay), section=section)
        assert reading.body.basis.provider == "Open-Meteo"
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1
    assert (await section.dataset()).rows == 0


async def test_provider_that_rejects_the_time_zone_is_called_again_with_automatic_time_zone(
    weather,
):
    well = weather.open_meteo.respond

    def respond(request):
        if request.query.get("timezone") == "Europe/Kyiv":
            return refused("Invalid timezone")
        return well(FakeRequest(request.path, {**request.query, "timezone": "Europe/Paris"}, {}))

    weather.open_meteo.server.respond = respond
    kyiv = Point(50.45, 30.52, "Europe/Kyiv", "UA", None)
    for stay in (NEAR, FAR):
        assert (await weather.read(query(stay, kyiv))).body.basis.provider == "Open-Meteo"
    assert weather.open_meteo.calls(ARCHIVE)[-1].query["timezone"] == "auto"
