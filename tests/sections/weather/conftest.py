"""A weather section over stand-ins of all its providers, with a moved clock and a real database."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from location_context.localisation.language import Languages
from location_context.point import Point
from location_context.sections.contract import Query, SectionResult
from location_context.sections.section import SectionContext
from location_context.sections.weather import fallback_grid as grid
from location_context.sections.weather.fallback_grid import SHAPE
from location_context.sections.weather.section import Weather
from location_context.settings import Settings
from location_context.stay import Stay
from location_context.storage.database import Database
from location_context.storage.datasets import SqlClimateStore
from location_context.upstream.deadline import Deadline
from location_context.upstream.host import Hosts
from location_context.upstream.http import HttpClient
from tests.fakes.met_norway import PATH as MET_PATH
from tests.fakes.met_norway import MetNorwayStandIn
from tests.fakes.nasa_power import PATH as POWER_PATH
from tests.fakes.nasa_power import NasaPowerStandIn
from tests.fakes.open_meteo import ARCHIVE, FORECAST, OpenMeteo
from tests.moved_clock import MovedClock

PARIS = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
ENGLISH = Languages({}).english


class NoForecasts:
    """An `AccuracyStore` that keeps nothing."""

    async def save_forecasts(self, rows):
        pass

    async def load_forecasts(self, since):
        return []

    async def cells(self):
        return {}

    async def prune(self, oldest, dropped):
        pass


def weather_section(settings, clock, client, climate, hosts=None, **stores) -> Weather:
    """The section over a store of climate data, and what other `stores` it is given."""
    stores = {"climate": climate, "accuracy": NoForecasts(), **stores}
    return Weather.build(SectionContext(settings, clock, client, stores, hosts or Hosts()))


def query(stay: Stay, point: Point = PARIS, **more) -> Query:
    return Query(point, stay, more.pop("units", "metric"), more.pop("language", ENGLISH), **more)


def write_grid(data_dir: Path) -> None:
    """A grid that has 10 °C and 60 mm in January, and a degree and 1 mm more each month."""
    values = np.zeros(SHAPE, np.int16)
    values[0] = (100 + 10 * np.arange(12))[:, None, None]
    values[1] = (600 + 10 * np.arange(12))[:, None, None]
    grid.write(values, data_dir)


@dataclass
class World:
    """The stand-ins, the clock, and a section that reads them."""

    clock: MovedClock
    open_meteo: OpenMeteo
    norway: MetNorwayStandIn
    power: NasaPowerStandIn
    settings: Settings
    section: Weather
    database: Database

    async def read(self, asked: Query, seconds: float = 4.0) -> SectionResult:
        return await self.section.read(asked, Deadline.after(seconds))


@pytest.fixture
def clock():
    return MovedClock()


@pytest.fixture
def fakes(clock):
    with ExitStack() as stack:
        made = OpenMeteo(clock), MetNorwayStandIn(clock), NasaPowerStandIn(clock)
        for one in made:
            stack.enter_context(one.server.running())
        yield made


@pytest.fixture
def weather_settings(fakes, tmp_path):
    open_meteo, norway, power = fakes
    return Settings(
        data_dir=tmp_path,
        contact="test@example.org",
        open_meteo_forecast_url=open_meteo.server.url + FORECAST,
        open_meteo_archive_url=open_meteo.server.url + ARCHIVE,
        met_norway_url=norway.server.url + MET_PATH,
        nasa_power_url=power.server.url + POWER_PATH,
    )


@pytest.fixture
async def world(clock, fakes, weather_settings):
    open_meteo, norway, power = fakes
    database = await Database.open(weather_settings)
    async with HttpClient(weather_settings.user_agent) as client:
        section = weather_section(
            weather_settings, clock, client, SqlClimateStore(database), Hosts()
        )
        yield World(clock, open_meteo, norway, power, weather_settings, section, database)
        await section.close()
    await database.close()
