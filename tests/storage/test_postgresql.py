"""PostgreSQL restarted, silent or not there: what is said, and how soon it is back."""

import asyncio
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from benchmarks.copies import empty_database
from location_context.access.key_cache import ApiKeyCache
from location_context.errors import StorageError
from location_context.settings import Secret, Settings
from location_context.storage.access import SqlApiKeyStore
from location_context.storage.database import Database
from location_context.storage.datasets import SqlClimateStore
from tests.conftest import ROOT
from tests.databases import administer, missing
from tests.storage.proxy import Proxy
from tests.storage.subprocess_targets import a_key
from tests.storage.test_retention import months


async def test_database_recovers_from_terminated_connections(
    postgresql_settings: Settings,
) -> None:
    database = await Database.open(postgresql_settings)
    store = SqlApiKeyStore(database)
    await asyncio.gather(*(store.version() for _ in range(5)))
    await database.rows(
        text(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    )
    assert await asyncio.gather(*(store.version() for _ in range(5))) == [""] * 5
    await store.add(a_key("after"))
    await database.close()


async def test_first_query_after_a_restart_of_postgresql_succeeds(
    postgresql_settings: Settings, tmp_path: Path
) -> None:
    async with Proxy(postgresql_settings.database) as proxy:
        settings = Settings(data_dir=tmp_path, database_url=Secret(proxy.url))
        database = await Database.open(settings)
        store = SqlApiKeyStore(database)
        await proxy.stop()
        with pytest.raises(StorageError, match="cannot be used"):
            await store.version()
        await proxy.start()
        assert await store.version() == ""
        await store.add(a_key("after"))
        await database.close()


async def test_refresh_of_api_keys_times_out_when_postgresql_does_not_answer(
    postgresql_settings: Settings, tmp_path: Path
) -> None:
    async with Proxy(postgresql_settings.database) as proxy:
        settings = Settings(data_dir=tmp_path, database_url=Secret(proxy.url))
        database = await Database.open(settings)
        key_cache = ApiKeyCache(SqlApiKeyStore(database))
        await SqlApiKeyStore(database).add(a_key("known"))
        assert await key_cache.refresh()
        known = key_cache.find(a_key("known").digest)
        proxy.freeze()
        assert not await key_cache.refresh()
        assert key_cache.find(a_key("known").digest) == known
        proxy.thaw()
        await SqlApiKeyStore(database).add(a_key("later"))
        assert await key_cache.find_new(a_key("later").digest, slowed=False) is not None
        await database.close()


async def test_unreachable_postgresql_is_reported_without_its_password(tmp_path: Path) -> None:
    url = Secret("postgresql://someone:pass-word@127.0.0.1:1/nothing")
    with pytest.raises(StorageError, match=r"127\.0\.0\.1:1/nothing") as said:
        await Database.open(Settings(data_dir=tmp_path, database_url=url))
    assert "pass-word" not in said.value.message
    assert os.linesep not in said.value.message


@pytest.fixture
def empty_url(postgresql_url: str) -> Iterator[str]:
    """The address of another database, without a schema."""
    with empty_database(postgresql_url.rpartition("/")[0]) as address:
        yield address


async def test_documented_dump_restores_each_row(
    postgresql_settings: Settings, empty_url: str, tmp_path: Path
) -> None:
    if shutil.which("pg_dump") is None:
        missing("There is no pg_dump (apt-get install postgresql-client)")
    async with await Database.open(postgresql_settings) as database:
        await SqlApiKeyStore(database).add(a_key("stored"))
        await SqlClimateStore(database).save(months("cell", datetime(2026, 1, 1, tzinfo=UTC)))
        stored = await rows_of(database)
    environ = {
        **os.environ, "NEW_DATABASE_URL": empty_url,
        "LOCATION_CONTEXT_DATABASE_URL": postgresql_settings.database,
    }  # fmt: skip
    lines = re.findall(
        "^pg_(?:dump|restore) .*$", (ROOT / "docs/operate.md").read_text(), re.MULTILINE
    )
    assert len(lines) == 2
    for line in lines:
        done = await asyncio.to_thread(
            subprocess.run, line, shell=True, env=environ, cwd=tmp_path, capture_output=True
        )
        assert done.returncode == 0, done.stderr
    settings = Settings(data_dir=tmp_path, database_url=Secret(empty_url))
    async with await Database.open(settings) as database:
        assert await rows_of(database) == stored


async def rows_of(database: Database) -> dict[str, list[str]]:
    found = {}
    for table in ("api_keys", "climate_months", "climate_cells", "facts"):
        rows = await database.rows(text(f"SELECT * FROM {table}"))
        found[table] = sorted(map(repr, rows))
    return found


async def test_server_needs_only_rights_to_read_and_write_rows(
    postgresql_settings: Settings, postgresql_url: str, tmp_path: Path
) -> None:
    await (await Database.open(postgresql_settings)).close()
    role = f"location_context_test_{uuid.uuid4().hex[:12]}"
    rights = f"SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"
    await administer(f"CREATE ROLE {role} LOGIN PASSWORD 'p'", postgresql_url)
    await administer(f"GRANT {rights}", postgresql_url)
    try:
        url = postgresql_url.replace("postgres@", f"{role}:p@", 1)
        settings = Settings(data_dir=tmp_path, database_url=Secret(url))
        async with await Database.open(settings) as database:
            await SqlApiKeyStore(database).add(a_key("made"))
            store = SqlClimateStore(database)
            await store.save(months("cell", datetime(2026, 1, 1, tzinfo=UTC), years=1))
            assert (await store.extent())[0] == 12
            assert [key.id for key in await SqlApiKeyStore(database).all()] == ["made"]
    finally:
        await administer(f"DROP OWNED BY {role}; DROP ROLE {role}", postgresql_url)
