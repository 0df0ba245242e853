"""The store keeps versions of the guide whole, on SQLite and on PostgreSQL."""

import asyncio

import pytest
from sqlalchemy import text

from location_context.errors import OperatorError, StorageError
from location_context.storage.database import Database
from location_context.storage.datasets import STORED_VERSIONS, SqlGuideStore
from tests.moved_clock import NOON
from tests.sections.guide.samples import METADATA, PROVENANCE, open_csv, open_row, restaurant
from tests.sections.guide.subprocess_targets import import_and_die
from tests.storage.subprocess_targets import child, plain

STATEMENTS = 5  # of an import


@pytest.fixture
def store(database: Database) -> SqlGuideStore:
    return SqlGuideStore(database)


async def save(store: SqlGuideStore, *numbers: int, name: str = "") -> int:
    rows = [restaurant(number) for number in numbers]
    return (await store.replace(PROVENANCE, rows, NOON, name)).number


async def test_guide_version_is_loaded_as_saved(store):
    full = restaurant(
        1, cuisine=("Modern", "Soup"), price_level=4, price="€€€€", address="1 rue X", city="Paris",
        country="FR", url="https://g.example/a", website="https://a.example", phone="+33142000000",
        award_year=2024,
    )  # fmt: skip
    version = await store.replace(PROVENANCE, [full, restaurant(2)], NOON)
    assert await store.active() == {"": version}
    assert sorted(await store.load(version.number), key=lambda r: r.id) == [full, restaurant(2)]
    assert (version.rows, version.imported_at, version.replaces) == (2, NOON, None)


async def test_empty_store_has_no_active_version(store):
    assert await store.active() == {}
    assert await store.versions() == []
    assert await store.load(7) == []


async def test_rollback_returns_to_the_version_that_was_replaced(store):
    first, second = await save(store, 1), await save(store, 2)
    assert (await store.rollback()).number == first
    third = await save(store, 3)
    assert (await store.rollback()).number == first
    with pytest.raises(OperatorError, match="no earlier version"):
        await store.rollback()
    versions = [(version.number, version.active) for version in await store.versions()]
    assert versions == [(third, False), (second, False), (first, True)]
    assert [r.id for r in await store.load(first)] == [restaurant(1).id]


async def test_store_keeps_the_newest_guide_versions_and_the_version_before_the_active_one(store):
    numbers = [await save(store, n) for n in range(STORED_VERSIONS + 4)]
    for _ in range(STORED_VERSIONS - 1):
        await store.rollback()
    oldest = (await store.active())[""]
    newest = await save(store, 99)
    stored = [version.number for version in await store.versions()]
    assert stored == [newest, *reversed(numbers[-STORED_VERSIONS + 1 :]), oldest.number]
    assert (await store.rollback()).number == oldest.number
    assert len(await store.load(oldest.number)) == 1


async def active_numbers(store: SqlGuideStore) -> dict[str, int]:
    return {name: version.number for name, version in (await store.active()).items()}


async def test_import_of_a_named_guide_does_not_change_the_other_guides(store):
    unnamed, house = await save(store, 1), await save(store, 2, name="house")
    assert await active_numbers(store) == {"": unnamed, "house": house}
    newer = await save(store, 1, 3)
    assert await active_numbers(store) == {"": newer, "house": house}
    assert [r.id for r in await store.load(house)] == [restaurant(2).id]


async def test_rollback_of_a_named_guide_does_not_change_the_other_guides(store):
    first, _, unnamed = (
        await save(store, 1, name="house"),
        await save(store, 2, name="house"),
        await save(store, 3),
    )
    rolled = await store.rollback("house")
    assert (rolled.number, rolled.name) == (first, "house")
    assert await active_numbers(store) == {"": unnamed, "house": first}
    for name, message in (("house", "of the guide 'house'"), ("", "version of the guide to")):
        with pytest.raises(OperatorError, match=message):
            await store.rollback(name)


async def test_removal_of_a_named_guide_does_not_change_the_other_guides(store):
    first = await save(store, 1, name="house")
    await save(store, 2, name="house")
    unnamed = await save(store, 3)
    assert await store.remove("house") == 2
    assert await active_numbers(store) == {"": unnamed}
    assert await store.load(first) == []
    assert await store.remove("house") == 0


async def test_versions_of_each_guide_are_stored_separately(store):
    house = await save(store, 1, name="house")
    numbers = [await save(store, n) for n in range(STORED_VERSIONS + 4)]
    versions = [(one.number, one.name) for one in await store.versions()]
    newest = [(number, "") for number in reversed(numbers[-STORED_VERSIONS:])]
    assert versions == [*newest, (house, "house")]
    assert len(await store.load(house)) == 1


async def test_guide_version_that_the_database_refuses_changes_nothing(store):
    before = await save(store, 1)
    with pytest.raises(StorageError):
        await save(store, *range(1500), 3)  # an id twice: refused in the second batch
    assert (await store.active())[""].number == before
    assert len(await store.versions()) == 1


async def test_concurrent_imports_run_one_after_another(store):
    numbers = await asyncio.gather(*(save(store, n) for n in range(4)))
    versions = await store.versions()
    assert sorted(numbers) == sorted(version.number for version in versions)
    assert [version.active for version in versions].count(True) == 1
    assert versions[0].active


async def test_killed_import_keeps_the_old_guide_and_the_next_import_succeeds(
    database_settings, database, importer
):
    """Killed in turn after each statement of the import."""
    store = SqlGuideStore(database)
    old = await save(store, 1, 2, 3)
    with child(import_and_die, *plain(database_settings)) as (_, pipe):
        for number in range(STATEMENTS):
            pipe.send(number + 1)
            assert await asyncio.to_thread(pipe.recv) == -9
            assert (await store.active())[""].number == old
            assert len(await store.load(old)) == 3
            assert [version.number for version in await store.versions()] == [old]
    assert await database.scalar(text("SELECT count(*) FROM guide_restaurants")) == 3
    importer._store = store
    version, _ = await importer.run(open_csv(open_row(1), open_row(2)), METADATA)
    assert await store.active() == {"": version}
