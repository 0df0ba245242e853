"""A scorekeeper over a real database and the stand-in of an archive at a real socket."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np
import pytest

from location_context.sections.section import SectionContext
from location_context.sections.weather.accuracy.records import LEADS
from location_context.sections.weather.accuracy.scorekeeper import Scorekeeper
from location_context.sections.weather.providers.open_meteo import OpenMeteoArchive
from location_context.sections.weather.records import Cell
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.sections.weather.retrieval.archives import Archives
from location_context.storage.database import Database
from location_context.storage.datasets import SqlAccuracyStore, SqlClimateStore
from location_context.upstream.host import Hosts
from location_context.upstream.http import HttpClient
from tests.fakes import weather_truth
from tests.fakes.open_meteo import ARCHIVE, OpenMeteo
from tests.moved_clock import MovedClock

HERE = Cell(48.9, 2.4, "Europe/Paris")
ARCHIVE_CELL = (49.0, 2.5)  # of a quarter of a degree
PROVIDER = "Open-Meteo"


@dataclass
class Scoring:
    """A scorekeeper with its archive and database."""

    clock: MovedClock
    open_meteo: OpenMeteo
    database: Database
    archive: OpenMeteoArchive
    context: SectionContext
    keeper: Scorekeeper = field(init=False)
    others: list[Scorekeeper] = field(default_factory=list)

    def another(self, store=None) -> Scorekeeper:
        """A scorekeeper of another process, over the same database."""
        store = store or SqlAccuracyStore(self.database)
        repository = ArchiveRepository(SqlClimateStore(self.database), self.clock)
        shared = self.context.shared_cache()
        archives = Archives([self.archive], repository, self.clock, shared)
        made = Scorekeeper(store, archives, self.clock)
        self.others.append(made)
        return made

    @property
    def today(self) -> date:
        return self.clock().date()

    def record(
        self, cell: Cell = HERE, wrong: float = 0.0, keeper: Scorekeeper | None = None, **columns
    ) -> None:
        """Record a forecast of today that is `wrong` K above the later observation."""

        async def given():
            return {**self.forecast(wrong), **columns}

        keeper = keeper or self.keeper
        keeper.record(PROVIDER, cell, self.today, self.height, given)

    @property
    def height(self) -> float:
        """Of the forecasts in m: 100 m lower than the archive's cell."""
        return weather_truth.terrain(*ARCHIVE_CELL) - 100

    def forecast(self, wrong: float = 0.0):
        came = [self.came(self.today + timedelta(lead)) for lead in range(LEADS)]
        high, low = (np.array([day[name] for day in came]) + wrong for name in ("max", "min"))
        return {
            "issued_max": high, "issued_min": low, "max": high, "min": low,
            "max_p10": high - 2, "max_p90": high + 2, "min_p10": low - 2, "min_p90": low + 2,
            "issued_chance": np.array([100.0 * (day["rain"] >= 1) for day in came]),
            "chance": np.array([100.0 * (day["rain"] >= 1) for day in came]),
        }  # fmt: skip

    def came(self, day: date) -> dict[str, float]:
        """Return the observed day at the forecast's height."""
        values = weather_truth.day(*ARCHIVE_CELL, day, weather_truth.terrain(*ARCHIVE_CELL))
        return {
            "max": values["temperature_2m_max"] + 0.65,
            "min": values["temperature_2m_min"] + 0.65,
            "rain": values["precipitation_sum"],
        }

    @property
    def requests(self) -> int:
        """The number of calls to the archive."""
        return len(self.open_meteo.calls(ARCHIVE))

    async def record_days(self, count: int, wrong: float = 0.0) -> None:
        """Record a forecast a day."""
        for _ in range(count):
            self.record(wrong=wrong)
            await self.next_day()

    async def next_day(self, days: int = 1) -> None:
        """Write the recorded forecasts and advance the clock."""
        await self.keeper.flush()
        self.clock.advance(days * 86_400)


@asynccontextmanager
async def scorekeeping(clock, open_meteo, settings, database):
    """A scorekeeper over a database."""
    async with HttpClient(settings.user_agent) as client:
        context = SectionContext(settings, clock, client, {}, Hosts())
        made = Scoring(clock, open_meteo, database, OpenMeteoArchive(context), context)
        made.keeper = made.another()
        yield made
        for keeper in made.others:
            await keeper.close()


@pytest.fixture
async def scoring(clock, fakes, weather_settings, database):
    """On SQLite and on PostgreSQL."""
    async with scorekeeping(clock, fakes[0], weather_settings, database) as made:
        yield made


@pytest.fixture
async def sqlite_scoring(clock, fakes, weather_settings):
    """On SQLite alone, for what does not hang on the database."""
    async with (
        await Database.open(weather_settings) as database,
        scorekeeping(clock, fakes[0], weather_settings, database) as made,
    ):
        yield made
