"""Throw-away databases and Redis for tests: `database` runs each test on SQLite and PostgreSQL.

A test session makes one PostgreSQL database of its own and drops it at the end; each test gets it
with empty tables. What is not there is skipped with how to get it, and fails when CI is true.
"""

import asyncio
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

import msgspec
import psycopg
import pytest
import redis

from location_context.settings import Secret, Settings
from location_context.storage import schema
from location_context.storage.database import Database
from tests.serving import free_port

SERVER = os.environ.get("TEST_POSTGRESQL_URL", "postgresql://postgres@127.0.0.1:5432")
_REDIS = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/0")

_EMPTY = """
DO $$ DECLARE names text; BEGIN
  SELECT string_agg(quote_ident(tablename), ', ') INTO names FROM pg_tables
    WHERE schemaname = 'public' AND tablename <> 'schema_version';
  IF names IS NOT NULL THEN EXECUTE 'TRUNCATE ' || names || ' CASCADE'; END IF;
END $$
"""


def missing(sentence: str) -> NoReturn:
    """Skip the test, or fail it where CI is true."""
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


async def administer(statement: str, database: str = f"{SERVER}/postgres") -> None:
    with psycopg.connect(database, connect_timeout=5, autocommit=True) as connection:
        connection.execute(statement)


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """The address of a PostgreSQL database of this session's own."""
    name = f"location_context_test_{uuid.uuid4().hex[:12]}"
    try:
        asyncio.run(administer(f"CREATE DATABASE {name}"))
    except psycopg.Error:
        missing("PostgreSQL does not answer on 127.0.0.1:5432 (apt-get install postgresql)")
    yield f"{SERVER}/{name}"
    asyncio.run(administer(f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture(scope="session")
def pgbouncer() -> Iterator[str]:
    """The address of a PgBouncer in transaction mode before the server, without a database.

    It has two connections for each database, so that its clients take turns on them.
    """
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
    if program is None:
        missing("There is no pgbouncer (apt-get install pgbouncer)")
    parts, port = urlsplit(SERVER), free_port()
    given = {"host": parts.hostname, "port": parts.port or 5432, "user": parts.username}
    target = " ".join(f"{key}={value}" for key, value in given.items())
    target += f" password={parts.password}" if parts.password else ""
    with tempfile.TemporaryDirectory(prefix="pgbouncer-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # it gives up the rights of root
        config = folder / "pgbouncer.ini"
        config.write_text(
            f"[databases]\n* = {target}\n[pgbouncer]\npool_mode = transaction\n"
            "default_pool_size = 2\nmax_client_conn = 200\nauth_type = any\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        )
        user = [] if os.getuid() else ["-u", "nobody"]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([str(program), *user, str(config)], stdout=log, stderr=log)
        try:
            _wait_for_port(port, process, folder / "log")
            yield f"postgresql://{parts.username}@127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def _wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert process.poll() is None, log.read_text()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("PgBouncer did not start")


@pytest.fixture(scope="session")
def redis_url() -> str:
    """The address of a Redis or Valkey; tests use keys under a prefix of their own."""
    try:
        client = redis.Redis.from_url(_REDIS, socket_connect_timeout=2)
        client.ping()
        client.close()
    except (OSError, redis.RedisError):
        missing("Redis does not answer on 127.0.0.1:6379 (apt-get install redis-server)")
    return _REDIS


@pytest.fixture
def redis_prefix(redis_url: str) -> Iterator[str]:
    """A prefix of this test's own for keys in Redis; they are deleted at the end."""
    prefix = f"location-context-test:{uuid.uuid4().hex}:"
    yield prefix
    with redis.Redis.from_url(redis_url) as client:
        for key in client.scan_iter(f"{prefix}*", count=1000):
            client.delete(key)


class OwnRedis:
    """A Redis of one test's own, which it may kill and start again; it keeps nothing on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.port = folder, free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = ["--port", f"{self.port}", "--save", "", "--bind", "127.0.0.1"]
        self._process = subprocess.Popen(
            ["redis-server", *options, "--dir", str(self._folder)], stdout=subprocess.DEVNULL
        )
        with redis.Redis.from_url(self.url) as client:
            for _ in range(600):
                try:
                    client.ping()
                except redis.ConnectionError:
                    time.sleep(0.05)
                else:
                    return
        raise RuntimeError("Redis did not start")

    def kill(self) -> None:
        """End it at once, with all it knows."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)
            self._process = None


@pytest.fixture
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnRedis]:
    """A running Redis that no other test uses."""
    if shutil.which("redis-server") is None:
        missing("There is no redis-server (apt-get install redis-server)")
    started = OwnRedis(tmp_path_factory.mktemp("redis"))
    started.start()
    yield started
    started.kill()


@pytest.fixture
def sqlite_settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


@pytest.fixture
def postgresql_settings(tmp_path: Path, postgresql_url: str) -> Settings:
    asyncio.run(administer(_EMPTY, postgresql_url))
    return Settings(
        data_dir=tmp_path, database_url=Secret(postgresql_url), key_pepper=Secret("a test's pepper")
    )


@pytest.fixture
def pgbouncer_settings(
    postgresql_settings: Settings, postgresql_url: str, pgbouncer: str
) -> Settings:
    """Settings of the same database through PgBouncer."""
    url = Secret(f"{pgbouncer}/{postgresql_url.rpartition('/')[2]}")
    return msgspec.structs.replace(postgresql_settings, database_url=url)


@pytest.fixture(params=["sqlite", "postgresql", "pgbouncer"])
def pooled_settings(request: pytest.FixtureRequest) -> Settings:
    """As `database_settings`, and through PgBouncer; modules import it by that name."""
    return request.getfixturevalue(f"{request.param}_settings")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_settings(request: pytest.FixtureRequest) -> Settings:
    """Settings that name an empty database, once on SQLite and once on PostgreSQL."""
    return request.getfixturevalue(f"{request.param}_settings")


EMPTY_SCHEMA = (  # as PostgreSQL makes it, with the right of all roles to use it
    "DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO PUBLIC"
)


OLDER = Path(__file__).parent / "storage/older"  # a folder for each revision, with its databases


def make_older(settings: Settings, revision: str = schema.BEFORE_FIRST) -> None:
    """Fill a new database as the last version with the schema `revision` left it."""
    script = OLDER / revision
    if settings.database_url:
        with psycopg.connect(settings.database, autocommit=True) as connection:
            connection.execute(EMPTY_SCHEMA)
            connection.execute((script / "postgresql.sql").read_text(encoding="utf-8"))
        return
    path = Path(settings.database.removeprefix("sqlite:///"))
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((script / "sqlite.sql").read_text(encoding="utf-8"))


@pytest.fixture
async def database(database_settings: Settings) -> AsyncIterator[Database]:
    """An open database with empty tables, once on SQLite and once on PostgreSQL."""
    opened = await Database.open(database_settings)
    yield opened
    await opened.close()
