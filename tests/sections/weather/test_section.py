"""The weather section over stand-ins of its providers, at the outer edge."""

from __future__ import annotations

from datetime import date, timedelta

import msgspec
import pytest

from location_context.stay import Stay
from tests.sections.weather.conftest import query
from tests.standins.open_meteo import ARCHIVE, FORECAST

pytestmark = pytest.mark.anyio
TODAY = date(2026, 11, 21)
NEAR = Stay(TODAY + timedelta(2), TODAY + timedelta(8))
FAR = Stay(date(2027, 2, 3), date(2027, 2, 9))


async def test_a_stay_within_the_horizon_is_a_forecast_of_its_days(world):
    reading = await world.read(query(NEAR))
    body = reading.body
    print(msgspec.json.format(reading.payload).decode()[:6000])
    assert body.mode == "forecast"
    assert [day.date for day in body.days] == list(NEAR.dates())
    assert reading.complete


async def test_a_stay_beyond_the_horizon_is_climatology_of_its_dates(world):
    reading = await world.read(query(FAR))
    body = reading.body
    print(msgspec.json.format(reading.payload).decode()[:9000])
    assert body.mode == "climatology"
    assert body.basis.years == list(range(2016, 2026))
    assert len(world.open_meteo.calls(ARCHIVE)) == 1
    assert not world.open_meteo.calls(FORECAST)
    assert reading.complete
