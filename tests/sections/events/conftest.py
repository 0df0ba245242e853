"""What the tests of events share: a gazetteer, a section on a real store, and queries."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest

from location_context.gazetteer.gazetteer import Gazetteer
from location_context.localisation.language import Languages
from location_context.sections.contract import Query, SectionResult
from location_context.sections.events.providers import holidays
from location_context.sections.events.section import Events
from location_context.sections.section import SectionContext
from location_context.settings import Settings
from location_context.stay import Stay
from location_context.storage.database import Database
from location_context.storage.events import SqlEventStore
from location_context.upstream.deadline import Deadline
from location_context.upstream.http import HttpClient

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)


_languages = cache(Languages.load)


class MovableClock:
    """The moment a test says it is."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        self.now += timedelta(**by)


@dataclass
class OpenedSection:
    """A section of real parts, its clock, store and gazetteer."""

    section: Events
    clock: MovableClock
    store: SqlEventStore
    gazetteer: Gazetteer

    def query(self, place: tuple[float, float], first: str, last: str, **changes) -> Query:
        language = _languages().choose(changes.pop("lang", "en"))
        stay = Stay(date.fromisoformat(first), date.fromisoformat(last))
        return Query(self.gazetteer.point(*place), stay, changes.pop("units", "metric"), language,
                     **changes)  # fmt: skip

    async def read(
        self, place, first: str, last: str, seconds: float = 4.0, **changes
    ) -> SectionResult:
        query = self.query(place, first, last, **changes)
        return await self.section.read(query, Deadline.after(seconds))


@pytest.fixture(scope="session", autouse=True)
def _holidays_of_a_year_are_worked_out_once() -> Iterator[None]:
    """They are a third of a second each, and the same for every section that a test opens."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(holidays, "holidays_of_year", cache(holidays.holidays_of_year))
        yield


@pytest.fixture(scope="session")
def gazetteer() -> Gazetteer:
    return Gazetteer.load()


@pytest.fixture
def open_section(tmp_path: Path, gazetteer: Gazetteer) -> Callable[..., object]:
    """Open the section with settings; providers that are not named are switched off."""

    @asynccontextmanager
    async def opened(**given) -> AsyncIterator[OpenedSection]:
        off = {"open_holidays_url": "", "ticketmaster_url": "", "predicthq_url": ""}
        settings = Settings(data_dir=tmp_path, **(off | given))
        database = await Database.open(settings)
        clock, store = MovableClock(), SqlEventStore(database)
        async with HttpClient("test") as client:
            section = Events.build(SectionContext(settings, clock, client, {"events": store}))
            yield OpenedSection(section, clock, store, gazetteer)
            await section.close()
        await database.close()

    return opened
