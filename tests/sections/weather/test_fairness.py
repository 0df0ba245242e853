"""Guests with little patience cost nobody else the answer of a provider that is only slow."""

import asyncio
from datetime import date, timedelta

import pytest

from location_context.stay import Stay
from location_context.storage.datasets import SqlClimateStore
from location_context.upstream.deadline import Deadline
from location_context.upstream.host import Hosts
from location_context.upstream.http import HttpClient
from tests.sections.weather.conftest import World, query, weather_section, write_grid
from tests.sections.weather.test_open_meteo import paid, places

pytestmark = pytest.mark.anyio
TODAY = date(2026, 11, 21)
NEAR = Stay(TODAY + timedelta(2), TODAY + timedelta(8))
FAR = Stay(date(2027, 2, 3), date(2027, 2, 9))


async def test_widgets_that_cannot_wait_cost_keyed_calls_no_forecast(world: World):
    """Slow by 1.2 s, for widgets with 0.4 s and keyed calls with 20 s."""
    write_grid(world.settings.data_dir)
    world.open_meteo.slow_seconds = 1.2
    async with HttpClient(world.settings.user_agent) as client:
        store = SqlClimateStore(world.database)
        section = weather_section(paid(world, contact=""), world.clock, client, store, Hosts())
        asked = places(20)
        for n in range(2):
            guests = [
                section.read(query(NEAR, asked[4 * n + m], public=True), Deadline.after(0.8))
                for m in range(3)
            ]
            await asyncio.gather(*guests)  # none of them had the time
            answer = await section.read(query(NEAR, asked[4 * n + 3]), Deadline.after(20))
            assert answer.body.basis.provider == "Open-Meteo", n
        states = {state.name: state for state in section.providers()}
        await section.close()
    assert states["open_meteo_forecast"].breaker == "closed"
    assert states["open_meteo_forecast"].last_error_code is None


async def test_guests_at_new_places_cost_keyed_calls_no_forecast(world: World):
    """Four guests go on to the next new place at their deadline; the provider takes 2 s."""
    write_grid(world.settings.data_dir)
    world.open_meteo.slow_seconds = 2.0
    async with HttpClient(world.settings.user_agent) as client:
        store = SqlClimateStore(world.database)
        section = weather_section(paid(world, contact=""), world.clock, client, store, Hosts())
        new = iter(places(400))

        async def visit() -> None:
            while True:
                await section.read(query(NEAR, next(new), public=True), Deadline.after(1.75))

        guests = [asyncio.create_task(visit()) for _ in range(4)]
        await asyncio.sleep(0)
        bodies = [
            (await section.read(query(NEAR, next(new)), Deadline.after(3.7))).body for _ in range(6)
        ]
        for guest in guests:
            guest.cancel()
        await asyncio.gather(*guests, return_exceptions=True)
        await section.close()
    assert [body.mode for body in bodies] == ["forecast"] * 6


async def test_a_source_that_was_overtaken_is_not_out_of_order(world: World):
    world.open_meteo.slow_seconds = 9.0
    async with HttpClient(world.settings.user_agent) as client:
        store = SqlClimateStore(world.database)
        section = weather_section(paid(world), world.clock, client, store, Hosts())
        body = (await section.read(query(FAR), Deadline.after(8))).body
        assert body.basis.provider == "NASA POWER"
        states = {state.name: state for state in section.providers()}
        await section.close()
    assert states["open_meteo_archive"].breaker == "closed"
    assert states["open_meteo_archive"].status in {"unknown", "operational"}
