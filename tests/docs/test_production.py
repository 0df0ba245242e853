"""docs/production.md is true: its commands are run, up to a service behind TLS and a backup."""

import asyncio
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import OwnRedis, administer
from tests.docs.machine import Machine, machine

PROGRAMS = ("nginx", "openssl", "curl", "psql", "pg_dump", "pg_restore", "redis-cli")


@pytest.fixture
def name(postgresql_url: str) -> Iterator[str]:
    """Of a role and a database of this test's own, where PostgreSQL answers."""
    name = f"production_{uuid.uuid4().hex[:12]}"
    yield name
    for database in (name, f"{name}_restored"):
        asyncio.run(administer(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)"))
    asyncio.run(administer(f"DROP ROLE IF EXISTS {name}"))


@pytest.fixture
def made(
    name: str, postgresql_url: str, own_redis: OwnRedis, tmp_path: Path, ci: bool
) -> Iterator[Machine]:
    search = f"{os.environ['PATH']}:/usr/sbin"
    if missing := [one for one in PROGRAMS if shutil.which(one, path=search) is None]:
        sentence = f"There is no {', '.join(missing)} (apt-get install nginx curl postgresql redis)"
        pytest.fail(sentence) if ci else pytest.skip(sentence)
    nginx = shutil.which("nginx", path=search) or ""
    server = postgresql_url.rpartition("/")[0]
    with machine(tmp_path, server, own_redis.url, name, nginx) as one:
        yield one


def test_the_production_page_sets_up_a_service_behind_tls_with_a_backup(made: Machine) -> None:
    code, said = made.follow()
    assert code == 0, "".join(path.read_text()[-3000:] for path in made.root.glob("*.log"))
    assert len(re.findall(r"^\s*(lc_live_\w+)$", said, re.MULTILINE)) == 2  # setup's, and one made
    assert said.count('{"status":"ready","awaited":[]}') == 5  # both, through TLS, both upgraded
    for name in ("/weather", "/astronomy", "/guide", "/events", ""):
        assert f"/v1/pulse{name}: 200 " in said
    assert re.search(r"key_\w+ +live +first key +revoked", said)
    assert re.search(r"✓ keys: 2 stored, ", said)
    assert re.search(r"✓ database: PostgreSQL", said)
    assert re.search(r"✓ redis: Redis uses \d+ of 268 MB", said)
    shared = made.root / "var/lib/location-context"  # of root's commands and the replicas
    assert f"✓ data directory: {shared} has " in said
    assert "the fallback grid exists" in said
    started = [path.read_text() for path in made.root.glob("location-context@*.log")]
    assert len(started) == 2
    assert all(f"data directory {shared}" in log for log in started)
    private = [made.root / "etc/location-context/key_pepper", made.root / "etc/location-context"]
    assert [path.stat().st_mode & 0o077 for path in private] == [0, 0]
    assert re.search(r"^ first key\n our website\n", said, re.MULTILINE)  # in what was restored
    assert "apt-get install" in (made.root / "done").read_text()
