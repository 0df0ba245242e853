"""API keys in the database, on SQLite and PostgreSQL."""

from datetime import timedelta, timezone

import pytest

from location_context.access.keys import ApiKey
from location_context.errors import StorageError
from location_context.storage.access import SqlApiKeyStore
from location_context.storage.database import Database
from tests.databases import pooled_settings as database_settings  # noqa: F401  a fixture
from tests.moved_clock import NOON


def record(number: int) -> ApiKey:
    return ApiKey(
        id=f"key_{number}",
        name="Hotel Zürich 東京",
        digest=bytes([number]) * 32,
        per_minute=2_000_000_000,
        created_at=NOON.astimezone(timezone(timedelta(hours=9))),
    )


async def test_api_key_record_is_read_from_the_database_as_it_was_stored(
    database: Database,
) -> None:
    store = SqlApiKeyStore(database)
    await store.add(record(1))
    [stored] = await store.all()
    assert stored == record(1)
    assert stored.created_at.utcoffset() == timedelta(0)


async def test_each_change_of_a_key_changes_the_version_of_the_key_store(
    database: Database,
) -> None:
    store = SqlApiKeyStore(database)
    versions = [await store.version()]
    await store.add(record(1))
    versions.append(await store.version())
    await store.retire("key_1", NOON, "key_2")
    versions.append(await store.version())
    await store.revoke("key_1", NOON)
    versions.append(await store.version())
    assert len(set(versions)) == 4
    assert await store.version() == versions[-1]


async def test_key_store_refuses_a_second_key_with_the_same_digest(database: Database) -> None:
    store = SqlApiKeyStore(database)
    await store.add(record(1))
    before = await store.version()
    with pytest.raises(StorageError, match="refused a row"):
        await store.add(record(1))
    assert await store.version() == before


async def test_revoking_an_unknown_key_returns_none(database: Database) -> None:
    assert await SqlApiKeyStore(database).revoke("key_none", NOON) is None
