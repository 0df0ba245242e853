"""Fixtures of the guide's tests: a database of each kind, and an importer into it."""

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest

from location_context.gazetteer.gazetteer import Gazetteer
from location_context.sections.guide.imports.importer import Importer
from location_context.sections.guide.imports.reading import read
from location_context.sections.guide.records import Restaurant
from location_context.settings import Settings
from location_context.storage.database import Database
from location_context.storage.datasets import SqlGuideStore
from tests.moved_clock import MovedClock
from tests.sections.guide.samples import METADATA, country_at


@pytest.fixture
async def guides(sqlite_settings: Settings) -> AsyncIterator[SqlGuideStore]:
    """The store on a fresh SQLite database."""
    database = await Database.open(sqlite_settings)
    yield SqlGuideStore(database)
    await database.close()


@pytest.fixture
def importer(guides: SqlGuideStore) -> Importer:
    return Importer(guides, MovedClock(), partial(read, country_at=country_at))


@pytest.fixture
def world_importer(guides: SqlGuideStore, gazetteer: Gazetteer) -> Importer:
    """An importer that knows the real countries."""
    return Importer(guides, MovedClock(), partial(read, country_at=gazetteer.country))


@pytest.fixture
def import_rows(importer: Importer, guides: SqlGuideStore) -> Callable[[bytes], Any]:
    """Import a file and return its restaurants from west to east."""

    async def work(data: bytes) -> list[Restaurant]:
        version, _ = await importer.run(data, METADATA)
        return sorted(await guides.load(version.number), key=lambda one: one.lng)

    return work
