"""PostgreSQL restarted, silent or not there: what is said, and how soon it is back."""

import asyncio
import os
import time
from pathlib import Path

import pytest
from sqlalchemy import text

from location_context.access.key_cache import ApiKeyCache
from location_context.errors import StorageError
from location_context.settings import Secret, Settings
from location_context.storage.access import SqlApiKeyStore
from location_context.storage.database import Database
from tests.moved_clock import MovedClock
from tests.storage.proxy import Proxy
from tests.storage.subprocess_targets import a_key

pytestmark = pytest.mark.anyio


async def test_postgresql_is_back_at_once_after_its_connections_were_ended(
    postgresql_settings: Settings,
) -> None:
    database = await Database.open(postgresql_settings)
    store = SqlApiKeyStore(database)
    await asyncio.gather(*(store.version() for _ in range(5)))
    async with database.write() as connection:
        await connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    assert await asyncio.gather(*(store.version() for _ in range(5))) == [""] * 5
    await store.add(a_key("after"))
    await database.close()


async def test_postgresql_is_back_within_five_seconds_of_its_return(
    postgresql_settings: Settings, tmp_path: Path
) -> None:
    async with Proxy(postgresql_settings.database) as proxy:
        settings = Settings(data_dir=tmp_path, database_url=Secret(proxy.url))
        database = await Database.open(settings)
        store = SqlApiKeyStore(database)
        await proxy.stop()
        began = time.monotonic()
        with pytest.raises(StorageError, match="cannot be used"):
            await store.version()
        await proxy.start()
        assert await store.version() == ""
        await store.add(a_key("after"))
        assert time.monotonic() - began < 5
        await database.close()


async def test_a_postgresql_that_falls_silent_holds_nobody_longer_than_its_patience(
    postgresql_settings: Settings, tmp_path: Path
) -> None:
    async with Proxy(postgresql_settings.database) as proxy:
        settings = Settings(data_dir=tmp_path, database_url=Secret(proxy.url))
        database = await Database.open(settings)
        clock = MovedClock()
        keyring = ApiKeyCache(SqlApiKeyStore(database), now=clock.seconds)
        await SqlApiKeyStore(database).add(a_key("known"))
        known = await keyring.find(a_key("known").digest)
        proxy.freeze()
        clock.advance(3)
        began = time.monotonic()
        assert await keyring.find(a_key("known").digest) == known
        assert time.monotonic() - began < 2
        proxy.thaw()
        clock.advance(3)
        await SqlApiKeyStore(database).add(a_key("later"))
        assert await keyring.find(a_key("later").digest) is not None
        await database.close()


async def test_a_postgresql_that_is_not_there_is_said_without_its_password(tmp_path: Path) -> None:
    url = Secret("postgresql://someone:pass-word@127.0.0.1:1/nothing")
    with pytest.raises(StorageError, match=r"127\.0\.0\.1:1/nothing") as said:
        await Database.open(Settings(data_dir=tmp_path, database_url=url))
    assert "pass-word" not in said.value.message
    assert os.linesep not in said.value.message
