"""A running section stores, verifies and reports forecasts without changing an answer."""

from dataclasses import dataclass
from datetime import timedelta

import msgspec
import numpy as np
import pytest

from location_context.sections.weather.accuracy.records import unpack_forecasts
from location_context.sections.weather.section import Weather
from location_context.stay import Stay
from location_context.storage.database import Database
from location_context.storage.datasets import SqlAccuracyStore, SqlClimateStore
from location_context.upstream.deadline import Deadline
from location_context.upstream.host import Hosts
from location_context.upstream.http import HttpClient
from tests.fakes.open_meteo import ARCHIVE, FORECAST
from tests.sections.weather.conftest import PARIS, query, weather_section

ERROR = 2.0


@dataclass
class Scored:
    """A section that scores its forecasts, with its clock, provider and database."""

    section: Weather
    clock: object
    open_meteo: object
    database: Database

    async def read(self, first: int = 0, last: int = 15, point=PARIS, **more):
        """Read the answer for the days from `first` to `last` days ahead."""
        today = self.clock().date()
        stay = Stay(today + timedelta(first), today + timedelta(last))
        reading = await self.section.read(query(stay, point, **more), Deadline.after(20))
        if reading.awaits is not None:
            await reading.awaits
        return reading.body

    async def days(self, count: int) -> None:
        """Read a forecast a day, for so many days."""
        for _ in range(count):
            await self.read(1, 3)
            await self.section.score.flush()
            self.clock.advance(86_400)

    async def rows(self):
        since = self.clock().date() - timedelta(400)
        return await SqlAccuracyStore(self.database).load_forecasts(since)


@pytest.fixture
async def scored(clock, fakes, weather_settings):
    settings = msgspec.structs.replace(weather_settings, met_norway_url="", nasa_power_url="")
    async with await Database.open(settings) as database, HttpClient(settings.user_agent) as client:
        store = SqlClimateStore(database)
        accuracy = SqlAccuracyStore(database)
        hosts = Hosts(now=clock.seconds)  # whose budgets a day gives back
        section = weather_section(settings, clock, client, store, hosts, accuracy=accuracy)
        yield Scored(section, clock, fakes[0], database)
        await section.close()


async def test_measured_errors_of_past_forecasts_do_not_change_new_forecasts(scored):
    scored.open_meteo.forecast_error = ERROR
    await scored.days(40)
    before = await scored.read()
    assert await scored.section.score.pass_once()
    assert (await scored.section.score.report()).verified
    scored.clock.advance(3_700)
    after = await scored.read()
    assert after.days == before.days


async def test_forecast_stored_for_scoring_equals_the_answer_on_all_sixteen_days(scored):
    await scored.read()  # the climatology comes behind
    scored.clock.advance(86_400)
    body = await scored.read(units="metric")
    await scored.section.score.flush()
    row = (await scored.rows())[-1]
    given = {name: values[0] for name, values in unpack_forecasts([row]).items()}
    kelvin = body.basis.temperature_correction
    for lead, day in enumerate(body.days):
        for short in ("max", "min"):
            name = f"temperature_{short}"
            for column, value in (
                (f"issued_{short}", getattr(day.issued, name)),
                (short, getattr(day, name)),
                (f"{short}_p10", getattr(day, f"{name}_p10")),
                (f"{short}_p90", getattr(day, f"{name}_p90")),
                (f"typical_{short}", getattr(day.typical, name)),
            ):
                assert given[column][lead] + kelvin == pytest.approx(value, abs=0.11), column
        assert given["chance"][lead] == pytest.approx(day.precipitation_probability, abs=0.51)
        assert given["issued_chance"][lead] == day.issued.precipitation_probability


async def test_scoring_a_forecast_makes_no_provider_call(scored):
    await scored.read()
    scored.clock.advance(86_400)
    before = len(scored.open_meteo.requests)
    await scored.read()
    await scored.section.score.flush()
    assert [one.path for one in scored.open_meteo.requests[before:]] == [FORECAST]


async def test_report_shows_the_error_of_the_forecast_and_of_climatology(scored):
    scored.open_meteo.forecast_error = ERROR
    await scored.days(40)
    archive_calls = len(scored.open_meteo.calls(ARCHIVE))
    await scored.section.score.pass_once()
    assert len(scored.open_meteo.calls(ARCHIVE)) == archive_calls + 1
    (score,) = (await scored.section.score.report()).providers
    nearest = score.temperature_max[0]
    assert nearest.pairs == 35
    assert nearest.issued_mean_error == pytest.approx(ERROR, abs=0.15)
    assert nearest.typical_pairs >= 33  # the first day had no climatology yet
    assert nearest.typical_rmse > 1
    assert np.isfinite([one.brier for one in score.rain]).all()
