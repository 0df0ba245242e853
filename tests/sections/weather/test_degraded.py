"""Weather says when something lesser was given than what was due, and why."""

from datetime import date, timedelta

import msgspec
import pytest

from location_context.stay import Stay
from location_context.storage.datasets import SqlClimateStore
from location_context.upstream.deadline import Deadline
from location_context.upstream.host import Hosts
from location_context.upstream.http import HttpClient
from tests.fakes.open_meteo import ARCHIVE, ELEVATION, FORECAST
from tests.fakes.server import Answered
from tests.sections.weather.conftest import query, weather_section, write_grid

pytestmark = pytest.mark.anyio
TODAY = date(2026, 11, 21)
NEAR = Stay(TODAY + timedelta(2), TODAY + timedelta(6))
FAR = Stay(date(2027, 2, 3), date(2027, 2, 9))
HANG, DOWN = Answered(fault="hang"), Answered(b"<html>Bad Gateway</html>", 502)


async def told(world, stay: Stay, **more) -> str | None:
    """The reason of the answer, which is degraded when it has one and complete when not."""
    reading = await world.read(query(stay, **more))
    body = reading.body
    assert body.degraded == (body.degraded_reason is not None) == (not reading.complete)
    return body.degraded_reason


@pytest.mark.parametrize("stay", [NEAR, FAR], ids=["near", "far"])
async def test_what_was_due_is_not_degraded(world, stay):
    assert await told(world, stay) is None


@pytest.mark.parametrize("archive", [None, DOWN], ids=["climatology", "monthly mean"])
async def test_anything_but_a_forecast_where_one_was_due_is_forecast_unavailable(world, archive):
    write_grid(world.settings.data_dir)
    world.open_meteo.faults = {FORECAST: DOWN, **({ARCHIVE: archive} if archive else {})}
    world.norway.fault, world.power.fault = DOWN, archive
    assert await told(world, NEAR) == "forecast_unavailable"


async def test_a_monthly_mean_where_climatology_was_due_is_archive_unavailable(world):
    write_grid(world.settings.data_dir)
    world.open_meteo.faults = {ARCHIVE: DOWN}
    world.power.fault = DOWN
    assert await told(world, FAR) == "archive_unavailable"


@pytest.mark.parametrize("stay", [NEAR, FAR], ids=["near", "far"])
async def test_a_second_provider_is_provider_unavailable(world, stay):
    world.open_meteo.faults = {FORECAST: DOWN, ARCHIVE: DOWN}
    assert await told(world, stay) == "provider_unavailable"


async def test_a_stale_forecast_is_provider_unavailable(world):
    await told(world, NEAR)
    world.open_meteo.faults = {FORECAST: DOWN}
    world.clock.advance(3 * 3600)
    assert await told(world, NEAR) == "provider_unavailable"


@pytest.mark.parametrize(
    ("fault", "reason"), [(DOWN, "provider_unavailable"), (HANG, "late")], ids=["down", "silent"]
)
async def test_a_height_that_is_missing_is_told_with_its_cause(world, fault, reason):
    world.open_meteo.faults = {ELEVATION: fault}
    assert await told(world, FAR) == reason


async def test_the_lesser_kind_is_told_before_the_cause(world):
    write_grid(world.settings.data_dir)
    world.open_meteo.faults = {FORECAST: HANG, ARCHIVE: HANG}
    world.norway.fault = world.power.fault = HANG
    assert await told(world, NEAR) == "forecast_unavailable"


async def test_a_silent_first_provider_is_late(world):
    world.open_meteo.faults = {FORECAST: HANG, ARCHIVE: HANG}
    assert await told(world, NEAR) == "late"
    world.power.fault = None
    assert await told(world, FAR) == "late"


async def test_a_spent_budget_is_told_where_a_second_provider_answers(world):
    settings = msgspec.structs.replace(world.settings, open_meteo_budget=("1/day",))
    async with HttpClient(settings.user_agent) as client:
        store = SqlClimateStore(world.database)
        section = weather_section(settings, world.clock, client, store, Hosts())
        for stay in (NEAR, FAR):
            reading = await section.read(query(stay), Deadline.after(4))
            assert reading.body.degraded_reason == "budget_spent"
        await section.close()
