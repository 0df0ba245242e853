"""docs/production.md is true: its commands are run, up to a service behind TLS and a backup."""

import asyncio
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import _SERVER, OwnRedis, _administer, _missing
from tests.docs.machine import Machine, machine


@pytest.fixture
def name(postgresql_url: str) -> Iterator[str]:
    """Of a role and a database of this test's own, where PostgreSQL answers."""
    name = f"production_{uuid.uuid4().hex[:12]}"
    yield name
    for database in (name, f"{name}_restored"):
        asyncio.run(_administer(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)"))
    asyncio.run(_administer(f"DROP ROLE IF EXISTS {name}"))


@pytest.fixture
def made(name: str, own_redis: OwnRedis, tmp_path: Path) -> Iterator[Machine]:
    search = f"{os.environ['PATH']}:/usr/sbin"
    for program in ("nginx", "openssl", "curl", "psql", "pg_dump", "pg_restore"):
        if shutil.which(program, path=search) is None:
            _missing(f"There is no {program} (apt-get install nginx openssl curl postgresql)")
    nginx = shutil.which("nginx", path=search) or ""
    with machine(tmp_path, _SERVER, own_redis.url, name, nginx) as one:
        yield one


def test_the_page_leads_from_nothing_to_a_service_behind_tls_with_a_backup(made: Machine) -> None:
    code, said = made.follow()
    assert code == 0, "".join(path.read_text()[-3000:] for path in made.root.glob("*.log"))
    assert len(re.findall(r"^\s*(lc_live_\w+)$", said, re.MULTILINE)) == 2  # setup's, and one made
    assert said.count('{"status":"ready","awaited":[]}') == 5  # both, through TLS, both upgraded
    assert re.search(r"✓ keys: 1 in all", said)
    assert re.search(r"✓ database: PostgreSQL", said)
    private = [made.root / "etc/location-context/key_pepper", made.root / "etc/location-context"]
    assert [path.stat().st_mode & 0o077 for path in private] == [0, 0]
    [dump] = (made.root / "var/backups/location-context").glob("*.dump")
    assert dump.stat().st_size > 50_000  # the sample guide is in it
    assert "apt-get install" in (made.root / "done").read_text()
