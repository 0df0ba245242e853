"""PgBouncer in transaction mode: the whole service behind it, with two connections for everyone."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from benchmarks.copies import empty_database
from location_context.settings import Settings
from location_context.storage.database import Database
from tests.databases import SERVER, OwnRedis
from tests.web.commands import Serving, command, serving, with_redis

CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//test//EN
BEGIN:VEVENT
UID:1
SUMMARY:A market
DTSTART;VALUE=DATE:{day}
GEO:48.8566;2.3522
END:VEVENT
END:VCALENDAR
"""


@pytest.fixture
def behind(pgbouncer: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The settings of a new database behind PgBouncer, as an operator gives them."""
    with empty_database(SERVER) as address:
        yield {
            "LOCATION_CONTEXT_DATABASE_URL": f"{pgbouncer}/{address.rpartition('/')[2]}",
            "LOCATION_CONTEXT_KEY_PEPPER": "a test's pepper",
        }


def ask(served: Serving, key: str, count: int, answers: Counter[int]) -> None:
    for number in range(count):
        place = f"lat={number % 60}.{threading.get_ident() % 9973:04}&lng={number % 170}.5"
        for section in ("guide", "events"):
            path = f"/v1/pulse/{section}?{place}&start=2027-06-01&end=2027-06-03"
            answers[served.status(path, key)] += 1


def test_commands_and_server_work_behind_pgbouncer(
    behind: dict[str, str], tmp_path: Path, own_redis: OwnRedis
) -> None:
    folder = tmp_path / "data"
    assert "now has schema" in command(folder, "migrate", more=behind).stdout
    assert "can use" in command(folder, "migrate", "--check", more=behind).stdout
    limits = ("--per-minute", "100000", "--per-day", "100000")
    made = command(folder, "keys", "create", "guest", *limits, "--json", more=behind)
    key = json.loads(made.stdout)["key"]
    command(folder, "guide", "import", "--sample", more=behind)
    calendar = tmp_path / "market.ics"
    calendar.write_text(CALENDAR.format(day=f"{datetime.now(UTC):%Y%m%d}"))
    assert "1 event" in command(folder, "events", "import", str(calendar), more=behind).stdout
    answers: Counter[int] = Counter()
    with serving(folder, "--workers", "2", more=behind | with_redis(own_redis)) as served:
        with ThreadPoolExecutor(8) as pool:
            guests = [pool.submit(ask, served, key, 15, answers) for _ in range(8)]
            for number in range(3):
                command(folder, "keys", "create", f"another {number}", more=behind)
        assert [guest.exception() for guest in guests] == [None] * 8
    assert answers == {200: 8 * 15 * 2}
    assert len(json.loads(command(folder, "keys", "list", "--json", more=behind).stdout)) == 4
    refused = command(folder, "backup", str(tmp_path / "b.tar"), more=behind, fails=True)
    assert "pg_dump" in refused.stderr


async def test_pooled_connections_never_mix_prepared_statements_of_clients(
    pgbouncer_settings: Settings,
) -> None:
    """Many clients on two connections, each with other statements, and migrations' locks."""
    opened = [await Database.open(pgbouncer_settings) for _ in range(4)]

    async def read(database: Database, number: int) -> None:
        for turn in range(8):
            columns = ", ".join(f"{value} AS c{value}" for value in range(1 + (number + turn) % 9))
            rows = await database.rows(text(f"SELECT {columns}, CAST(:n AS int)"), n=number)
            assert rows == [(*range(1 + (number + turn) % 9), number)]
        await database.migrate()

    await asyncio.gather(*(read(database, n) for n, database in enumerate(opened * 3)))
    for database in opened:
        await database.close()
