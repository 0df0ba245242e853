"""A weather section over stand-ins of all its providers, with a moved clock and a real database."""

from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import msgspec
import numpy as np
import pytest

from location_context.localisation.language import Languages
from location_context.point import Point
from location_context.sections.contract import ProviderState, Query, SectionResult
from location_context.sections.section import SectionContext
from location_context.sections.weather import fallback_grid as grid
from location_context.sections.weather.fallback_grid import SHAPE
from location_context.sections.weather.section import Weather
from location_context.settings import Secret, Settings
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
from tests.fakes.server import FakeResponse
from tests.moved_clock import MovedClock

PARIS = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
ENGLISH = Languages({}).english
TODAY = date(2026, 11, 21)
NEAR = Stay(TODAY + timedelta(2), TODAY + timedelta(8))  # within the horizon of forecasts
FAR = Stay(date(2027, 2, 3), date(2027, 2, 9))  # beyond it
CUSTOMER = {"open_meteo_api_key": Secret("k3y")}
DOWN, HANG = FakeResponse(b"<html>Bad Gateway</html>", 502), FakeResponse(fault="hang")


def places(count: int) -> list[Point]:
    """Return points, each in a cell of its own."""
    return [Point(44 + n * 0.3, 2.35, "Europe/Paris", "FR", None) for n in range(count)]


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
    grid.write(values, data_dir / grid.GRID_FILE)


@dataclass
class WeatherFixture:
    """The fake providers, the clock, the database, and a section that reads them."""

    clock: MovedClock
    open_meteo: OpenMeteo
    met_norway: MetNorwayStandIn
    nasa_power: NasaPowerStandIn
    settings: Settings
    section: Weather
    database: Database

    async def read(
        self, wanted: Query, seconds: float = 4.0, section: Weather | None = None
    ) -> SectionResult:
        """Read a section, by default the one of the fixture."""
        return await (section or self.section).read(wanted, Deadline.after(seconds))

    def break_all(self, fault: FakeResponse) -> None:
        """Let every provider of forecasts and archives answer with the fault."""
        self.open_meteo.faults = {FORECAST: fault, ARCHIVE: fault}
        self.met_norway.fault = self.nasa_power.fault = fault

    def states(self, section: Weather | None = None) -> dict[str, ProviderState]:
        """The state of each provider by its name."""
        return {state.name: state for state in (section or self.section).providers()}


@pytest.fixture
def fakes(clock):
    with ExitStack() as stack:
        made = OpenMeteo(clock), MetNorwayStandIn(clock), NasaPowerStandIn(clock)
        for one in made:
            stack.enter_context(one.server.running())
        yield made


@pytest.fixture
def weather_settings(fakes, tmp_path):
    open_meteo, met_norway, nasa_power = fakes
    return Settings(
        data_dir=tmp_path,
        contact="test@example.org",
        open_meteo_forecast_url=open_meteo.server.url + FORECAST,
        open_meteo_archive_url=open_meteo.server.url + ARCHIVE,
        met_norway_url=met_norway.server.url + MET_PATH,
        nasa_power_url=nasa_power.server.url + POWER_PATH,
    )


@pytest.fixture
async def weather(clock, fakes, weather_settings):
    database = await Database.open(weather_settings)
    async with HttpClient(weather_settings.user_agent) as client:
        section = weather_section(weather_settings, clock, client, SqlClimateStore(database))
        yield WeatherFixture(clock, *fakes, weather_settings, section, database)
        await section.close()
    await database.close()


@pytest.fixture
async def build_section(weather):
    """Build more sections over the same providers, as other processes have them."""
    made = []
    async with HttpClient(weather.settings.user_agent) as client:

        def build(*, store=None, hosts=None, **changes) -> Weather:
            settings = msgspec.structs.replace(weather.settings, **changes)
            store = store or SqlClimateStore(weather.database)
            made.append(weather_section(settings, weather.clock, client, store, hosts))
            return made[-1]

        yield build
        for section in made:
            await section.close()
