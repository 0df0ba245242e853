"""What /v1/status takes with a million and a half months in the climate archive, on both databases.

    python benchmarks/status.py [--rows 1500000] [--rounds 300]
                                [--databases sqlite postgresql://…] [--json]

The archive is filled by the databases themselves, into a temporary file and a temporary database.
The real server is asked over one connection, one request at a time: `/v1/health` (which touches
nothing) for comparison, `/v1/status` as it is (`kept`: datasets are looked up every 30 s), and by a
server that looks them up for each request (`read`). Milliseconds, half and 99 of 100 requests.
`retention` is a pass that finds nothing to delete.
"""

import argparse
import asyncio
import os
import sqlite3
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import psycopg

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from benchmarks import figures  # noqa: E402  found by the line above
from benchmarks.servers import Server  # noqa: E402  likewise
from tests.web.commands import NOWHERE  # noqa: E402  likewise

from location_context.app import Worker, serve_app  # noqa: E402  likewise
from location_context.settings import Secret, Settings  # noqa: E402  likewise
from location_context.storage.database import Database  # noqa: E402  likewise
from location_context.storage.retention import Retention  # noqa: E402  likewise
from location_context.web import status  # noqa: E402  likewise
from location_context.web.application import Application  # noqa: E402  likewise

MONTHS_OF_A_CELL = 120
_INTO = "INSERT INTO climate_months (source, cell, month, year, lat, lng, fetched_at, data)"
_SQLITE = f"""
PRAGMA synchronous = OFF; BEGIN;
{_INTO}
  WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < {{last}})
  SELECT 'filled', 'cell ' || (n / 120), 1 + n % 12, n / 12 % 10, 1.5, 2.5,
         '2026-11-01 00:00:00.000000', randomblob(1100) FROM numbers;
"""
_POSTGRESQL = f"""
{_INTO} SELECT 'filled', 'cell ' || (n / 120), 1 + n % 12, n / 12 % 10, 1.5, 2.5,
  '2026-11-01', decode(repeat(md5(n::text), 68), 'hex') FROM generate_series(0, {{last}}) AS n;
"""
_COUNTED = """
INSERT INTO climate_cells SELECT DISTINCT source, cell, {today} FROM climate_months;
"""


def uncached() -> Application:
    """The application, which looks its datasets up for each request of /v1/status."""
    status.DATASETS_TTL = status.FAILURE_TTL = -1.0
    return serve_app(Worker(checked=True))


def kept() -> Application:
    """The application as it is."""
    return serve_app(Worker(checked=True))


@asynccontextmanager
async def filled(server: str, rows: int, folder: Path) -> AsyncIterator[Settings]:
    """Settings of a database with so many months, dropped at the end."""
    today = f"'{datetime.now(UTC).date()}'"
    if not server:
        settings = Settings(data_dir=folder)
        await (await Database.open(settings)).close()
        await asyncio.to_thread(_fill_sqlite, settings, rows, today)
        yield settings
        return
    name = f"benchmark_status_{uuid.uuid4().hex[:8]}"
    await _administer(f"{server}/postgres", f"CREATE DATABASE {name}")
    try:
        url = Secret(f"{server}/{name}")
        settings = Settings(data_dir=folder, database_url=url, key_pepper=Secret("benchmark"))
        await (await Database.open(settings)).close()
        counted = _COUNTED.format(today=f"date {today}")
        await _administer(url.reveal(), _POSTGRESQL.format(last=rows - 1) + counted)
        await _administer(url.reveal(), "VACUUM ANALYZE")
        yield settings
    finally:
        await _administer(f"{server}/postgres", f"DROP DATABASE {name} WITH (FORCE)")


def _fill_sqlite(settings: Settings, rows: int, today: str) -> None:
    path = settings.database.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        script = _SQLITE.format(last=rows - 1) + _COUNTED.format(today=today)
        connection.executescript(script + "COMMIT;")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    os.sync()  # else the server's first write waits for two gigabytes


async def _administer(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


def asked(settings: Settings, factory: str, path: str, rounds: int) -> dict[str, float]:
    """The milliseconds of so many requests of a new server, after ten others."""
    environ = {
        **NOWHERE, "LOCATION_CONTEXT_DATA_DIR": str(settings.data_dir),
        "LOCATION_CONTEXT_DATABASE_URL": settings.database_url.reveal(),
        "LOCATION_CONTEXT_KEY_PEPPER": settings.key_pepper.reveal(),
    }  # fmt: skip
    spent = []
    with Server.of(factory, environ, settings.data_dir / "log") as server:
        server.wait("/v1/health")
        connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
        for _ in range(rounds + 10):
            began = time.perf_counter()
            connection.request("GET", path)
            response = connection.getresponse()
            body = response.read()
            spent.append((time.perf_counter() - began) * 1000)
            assert response.status == 200, body
        connection.close()
    ordered = sorted(spent[10:])
    at = min(len(ordered) - 1, round(0.99 * len(ordered)))
    return {"p50": statistics.median(ordered), "p99": ordered[at]}


async def measured(server: str, given: argparse.Namespace) -> Mapping[str, Mapping[str, Any]]:
    kind = "PostgreSQL" if server else "SQLite"
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        async with filled(server, given.rows, Path(folder)) as settings:
            took = {"rows": given.rows, "filled in s": time.monotonic() - began}
            found: dict[str, Mapping[str, Any]] = {kind: took}
            async with await Database.open(settings) as database:
                began = time.monotonic()
                await database.check()
                found[f"{kind} check at start"] = {"s": time.monotonic() - began}
            for name, factory, path in (
                ("health", "benchmarks.status:kept", "/v1/health"),
                ("status, kept", "benchmarks.status:kept", "/v1/status"),
                ("status, read", "benchmarks.status:uncached", "/v1/status"),
            ):
                took = await asyncio.to_thread(asked, settings, factory, path, given.rounds)
                found[f"{kind} {name}"] = took
            async with await Database.open(settings) as database:
                began = time.monotonic()
                await Retention(database).prune()
                found[f"{kind} retention"] = {"ms": (time.monotonic() - began) * 1000}
    return found


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=300)
    parser.add_argument("--rows", type=int, default=1_500_000)
    both = ["sqlite", "postgresql://postgres@127.0.0.1:5432"]
    parser.add_argument("--databases", nargs="*", default=both, metavar="sqlite|ADDRESS")
    given = parser.parse_args()
    found: dict[str, Mapping[str, Any]] = {}
    for server in given.databases:
        found |= asyncio.run(measured("" if server == "sqlite" else server, given))
    figures.show(found, given)


if __name__ == "__main__":
    main()
