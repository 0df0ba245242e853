"""MET Norway, NASA POWER and providers that give less: followed, named, answered with nulls."""

from __future__ import annotations

import dataclasses
from datetime import date, timedelta

import numpy as np
import pytest
import structlog

from location_context.sections.weather.providers.base import Forecast
from location_context.sections.weather.records import Grid
from location_context.stay import Stay
from tests.fakes.met_norway import PATH as MET_PATH
from tests.fakes.open_meteo import ARCHIVE, FORECAST
from tests.fakes.server import Answered, Asked
from tests.sections.weather.conftest import World, query
from tests.sections.weather.test_open_meteo import places

pytestmark = pytest.mark.anyio
TODAY = date(2026, 11, 21)
NEAR = Stay(TODAY + timedelta(2), TODAY + timedelta(8))
FAR = Stay(date(2027, 2, 3), date(2027, 2, 9))


class Sparse:
    """A forecast provider that knows highs and lows and nothing else."""

    title, model, cell_degrees, at_point, attribution = "Sparse", None, 0.1, False, ()

    def __init__(self, world: World) -> None:
        self.client = world.section._forecasts.providers[0].client
        self._clock = world.clock

    async def fetch_forecast(self, cell, today, past_days, *, public) -> Forecast:
        values = np.full(16, 11.0)
        columns = {"temperature_max": values, "temperature_min": values - 4}
        now = self._clock()
        return Forecast(today, columns, Grid(cell.lat, cell.lng, None), now, now + timedelta(1))


async def test_a_provider_of_highs_and_lows_alone_is_answered_with_nulls(world: World):
    world.section._forecasts.providers = [Sparse(world)]
    body = (await world.read(query(NEAR))).body
    assert body.days[0].temperature_max == 11.0
    assert {day.precipitation_sum for day in body.days} == {None}
    assert (body.summary.precipitation_total, body.summary.expected_wet_days) == (None, None)


async def test_met_norway_is_followed_within_its_host_and_a_203_is_logged_once(world: World):
    world.open_meteo.faults[FORECAST] = Answered(b"down", 502)
    well = world.norway.respond

    def respond(asked: Asked) -> Answered:
        if asked.path == MET_PATH:
            return Answered(status=301, headers={"Location": "/new?" + asked.target.split("?")[1]})
        answer = well(dataclasses.replace(asked, path=MET_PATH))
        return dataclasses.replace(answer, status=203 if answer.status == 200 else answer.status)

    world.norway.server.respond = respond
    with structlog.testing.capture_logs() as logged:
        for point in places(3):
            body = (await world.read(query(NEAR, point))).body
            assert body.basis.provider == "MET Norway"
    assert [entry["event"] for entry in logged].count("product_deprecated") == 1


async def test_a_redirect_of_met_norway_to_another_host_is_refused(world: World):
    world.open_meteo.faults[FORECAST] = Answered(b"down", 502)
    elsewhere = {"Location": f"http://localhost:{world.power.server.url.rpartition(':')[2]}/x"}
    world.norway.fault = Answered(status=301, headers=elsewhere)
    body = (await world.read(query(NEAR))).body
    assert body.mode == "climatology"
    assert not any(asked.path == "/x" for asked in world.power.asked)


@pytest.mark.parametrize(
    ("expires", "error_code"),
    [
        ("Fri, 31 Dec 9999 23:59:59 GMT", None),
        ("Fri, 31 Dec 9999 23:59:59 -2359", None),
        ("Fri, 31 Dec 99999999999999999999 23:59:59 GMT", "invalid_answer"),
        ("Fri, 31 Dec 2026 23:59:59 +99999999999999999999", "invalid_answer"),
    ],
)
async def test_an_expires_of_met_norway_far_away_is_bounded_or_its_own_failing(
    world: World, expires: str, error_code: str | None
):
    world.open_meteo.faults[FORECAST] = Answered(b"down", 502)
    well = world.norway.respond

    def respond(asked: Asked) -> Answered:
        answer = well(asked)
        return dataclasses.replace(answer, headers={**answer.headers, "Expires": expires})

    world.norway.server.respond = respond
    body = (await world.read(query(NEAR))).body
    assert body.mode == ("forecast" if error_code is None else "climatology")
    states = {state.name: state for state in world.section.providers()}
    assert states["met_norway"].last_error_code == error_code
    world.clock.advance(3 * 3600)
    await world.read(query(NEAR))
    assert len(world.norway.asked) == 2  # nothing is held for ever


async def test_nasa_power_is_named_with_its_service_version_and_date(world: World):
    world.open_meteo.faults[ARCHIVE] = Answered(b"down", 502)
    body = (await world.read(query(FAR))).body
    text = next(one.text for one in body.attribution if one.name == "NASA POWER")
    assert "POWER Project's Daily 2.9.7 version on 2026/11/21." in text
