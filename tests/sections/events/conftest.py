"""Fixtures of the tests of events: a gazetteer, a section on a real store, and queries."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path

import pytest

from location_context.gazetteer.gazetteer import Gazetteer
from location_context.localisation.language import Languages
from location_context.sections.contract import ProviderState, Query, SectionResult
from location_context.sections.events.imports.importer import Feeds, ImportedCalendar, calendar_id
from location_context.sections.events.providers import holidays
from location_context.sections.events.providers.base import EventProvider
from location_context.sections.events.records import Calendar
from location_context.sections.events.section import Events
from location_context.sections.section import SectionContext
from location_context.settings import Secret, Settings
from location_context.stay import Stay
from location_context.storage.database import Database
from location_context.storage.events import SqlEventStore
from location_context.upstream.deadline import Deadline
from location_context.upstream.http import HttpClient
from tests.fakes import predicthq, ticketmaster
from tests.fakes.server import FakeResponse, FakeServer, Respond
from tests.moved_clock import MovedClock

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
PARIS, MUNICH, SEA = (48.8566, 2.3522), (48.137, 11.575), (0.0, -30.0)
ICS = (
    b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSUMMARY:%b\nDTSTART:20261202T190000Z\n"
    b"DTEND:20261202T210000Z\nEND:VEVENT\nEND:VCALENDAR\n"
)
SWITCHED_OFF = {
    **dict.fromkeys(("open_holidays_url", "ticketmaster_url", "predicthq_url"), ""),
    "ticketmaster_api_key": Secret(ticketmaster.KEY),
    "predicthq_api_key": Secret(predicthq.TOKEN),
}


_languages = cache(Languages.load)


@dataclass
class OpenedSection:
    """A section of real parts, its clock, store, gazetteer and folder of files."""

    section: Events
    clock: MovedClock
    store: SqlEventStore
    gazetteer: Gazetteer
    folder: Path

    @property
    def feeds(self) -> Feeds:
        return self.section._feeds

    def provider(self, name: str) -> EventProvider:
        return next(one for one in self.section._providers if one.name == name)

    def states(self) -> dict[str, ProviderState]:
        return {state.name: state for state in self.section.providers()}

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

    async def fetch(self, name: str, place, first: str, last: str, seconds: float = 60.0):
        """Fetch the events of one provider."""
        query = self.query(place, first, last)
        return await self.provider(name).fetch_events(query, Deadline.after(seconds))

    async def import_file(
        self, data: bytes, name: str = "town.ics", *, allow_empty: bool = False, **place
    ) -> ImportedCalendar:
        """Write a file and import it, at a place in Paris unless another is given."""
        (self.folder / name).write_bytes(data)
        calendar = calendar_of("import", str(self.folder / name), **place)
        return await self.feeds.import_calendar(calendar, allow_empty=allow_empty)

    async def import_feed(self, server: FakeServer, path: str = "/a.ics") -> ImportedCalendar:
        return await self.feeds.import_calendar(calendar_of("feed", server.url + path))

    async def titles(self) -> list[str]:
        """Return the titles of the events in Paris on the first three days of December."""
        reading = await self.read(PARIS, "2026-12-01", "2026-12-03")
        return [event.title for event in getattr(reading.body, "events", [])]


def calendar_of(kind: str, source: str, **place) -> Calendar:
    place = place or {"lat": PARIS[0], "lng": PARIS[1], "timezone": "Europe/Paris"}
    return Calendar(id=calendar_id(source), kind=kind, source=source, **place)


@pytest.fixture(scope="session", autouse=True)
def _compute_holidays_of_a_year_once() -> Iterator[None]:
    """Cache each year: it takes a third of a second and is the same in every section."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(holidays, "holidays_of_year", cache(holidays.holidays_of_year))
        yield


@pytest.fixture
def open_section(tmp_path: Path, gazetteer: Gazetteer) -> Callable[..., object]:
    """Open the section with settings; providers without an address are switched off."""

    @asynccontextmanager
    async def opened(**given) -> AsyncIterator[OpenedSection]:
        settings = Settings(data_dir=tmp_path, **(SWITCHED_OFF | given))
        database = await Database.open(settings)
        clock, store = MovedClock(NOW), SqlEventStore(database)
        async with HttpClient("test") as client:
            section = Events.build(SectionContext(settings, clock, client, {"events": store}))
            yield OpenedSection(section, clock, store, gazetteer, tmp_path)
            await section.close()
        await database.close()

    return opened


@pytest.fixture
def open_with(open_section) -> Callable[..., object]:
    """Open the section with one fake provider; both are yielded."""

    @asynccontextmanager
    async def opened(
        provider: str, respond: Respond, **settings
    ) -> AsyncIterator[tuple[OpenedSection, FakeServer]]:
        with FakeServer(respond).running() as server:
            async with open_section(**{f"{provider}_url": server.url, **settings}) as made:
                yield made, server

    return opened


@pytest.fixture
async def opened(open_section) -> AsyncIterator[OpenedSection]:
    """A section that knows holidays and imports only, also from private addresses."""
    async with open_section(feeds_allow_private=True) as made:
        yield made


@pytest.fixture
def feed() -> Iterator[FakeServer]:
    """A server of a calendar with a concert on 2 December."""
    with FakeServer(lambda _: FakeResponse(ICS % b"Choir")).running() as server:
        yield server
