"""Ledgers: processes that share a database never spend more of a budget than there is."""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

from sqlalchemy import text

from location_context.settings import Secret, Settings
from location_context.storage import budgets
from location_context.storage.budgets import SqlLedger, delete_old
from location_context.storage.database import Database
from location_context.upstream.budget import HOUR, MINUTE, Budget
from location_context.upstream.host import Host, Hosts
from tests.logs import captured_logs
from tests.storage.proxy import Proxy

LIMIT, UNITS = 480, 7
CHILD = """
import asyncio, json, sys, time
from pathlib import Path
from location_context.settings import Secret, Settings
from location_context.storage.budgets import SqlLedger
from location_context.storage.database import Database
from location_context.upstream.budget import Budget

async def main(folder, url, seconds, limit, ahead, calls):
    settings = Settings(data_dir=Path(folder), database_url=Secret(url))
    async with await Database.open(settings) as database:
        ledger = SqlLedger(database, "host")
        budget = Budget({float(seconds): float(limit)}, lambda: time.time() + float(ahead))
        given = [await ledger.take(budget, 7.0, public=False) for _ in range(int(calls))]
    print(json.dumps(sum(given)))

asyncio.run(main(*sys.argv[1:]))
"""


def child(settings: Settings, *, seconds: float = HOUR, ahead: float = 0.0, calls: int = 40):
    url = settings.database_url.reveal()
    arguments = [settings.data_dir, url, seconds, LIMIT, ahead, calls]
    command = [sys.executable, "-c", CHILD, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def granted(process: "subprocess.Popen[bytes]") -> int:
    """Return how many calls it was allowed."""
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return int(json.loads(out.splitlines()[-1]))  # behind lines of the log


async def test_four_processes_together_spend_exactly_the_budget(
    database: Database, database_settings: Settings
) -> None:
    """On PostgreSQL the clock of one process is 90 s ahead, and minutes count."""
    ahead, seconds = (0.0, HOUR) if database.is_sqlite else (90.0, MINUTE)
    began = time.time()
    processes = [
        child(database_settings, seconds=seconds, ahead=ahead if n == 3 else 0.0) for n in range(4)
    ]
    total = sum(await asyncio.to_thread(list, map(granted, processes))) * UNITS
    windows = 1 + int((time.time() - began) / seconds)  # one, but on a very busy machine
    assert LIMIT - UNITS < total <= LIMIT * windows


async def test_restarted_process_continues_with_the_remaining_budget(database_settings) -> None:
    before = await asyncio.to_thread(granted, child(database_settings, calls=40))
    after = await asyncio.to_thread(granted, child(database_settings, calls=60))
    assert before * UNITS == 280
    assert after * UNITS == LIMIT - 280 - LIMIT % UNITS


def host(database: Database, limits: dict[float, float], now=time.time) -> Host:
    """Return the host as a process of its own sees it."""
    return Hosts(lambda name: SqlLedger(database, name), now).get("host", limits)


async def test_process_counts_its_budget_in_memory_without_the_database(
    postgresql_settings: Settings, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(budgets, "RETRY_SECONDS", 0.0)
    async with Proxy(postgresql_settings.database) as proxy:
        settings = Settings(data_dir=tmp_path, database_url=Secret(proxy.url))
        async with await Database.open(settings) as database:
            one = host(database, {HOUR: 10.0})
            assert await one.spend(4, public=False)
            await proxy.stop()
            with captured_logs() as logs:
                assert [await one.spend(3, public=False) for _ in range(3)] == [True, True, False]
            assert [line["event"] for line in logs] == ["budget_not_shared", "budget_spent"]
            await proxy.start()
            assert not await one.spend(1, public=False)
            assert not await host(database, {HOUR: 10.0}).spend(1, public=False)


async def test_spent_budget_shared_in_the_database_is_logged_once_per_window(
    sqlite_settings: Settings,
) -> None:
    now = [1_800_000_000.0]  # PostgreSQL counts by its own clock
    async with await Database.open(sqlite_settings) as database:
        one = host(database, {MINUTE: 10.0}, lambda: now[0])
        with captured_logs() as logs:
            for _ in range(2):
                assert [await one.spend(6, public=False) for _ in range(3)].count(True) == 1
                now[0] += 62
    assert [(line["event"], line["provider"], line["window"], line["limit"]) for line in logs] == [
        ("budget_spent", "host", "minute", 10.0)
    ] * 2
    assert logs[0]["free_in"] == 61


async def test_process_reads_the_budget_spent_and_returned_by_other_processes(
    database: Database,
) -> None:
    one, other = (host(database, {HOUR: 10.0}) for _ in range(2))
    assert await one.spend(6, public=True) is False  # the public half is 5
    assert await one.spend(6, public=False)
    await one.give_back(2, public=False)
    await other.refresh()
    assert [(state.used, state.left) for state in other.budget.states()] == [(4, 6)]
    assert await other.spend(6, public=False)
    assert not await one.spend(1, public=False)


async def test_unlimited_budget_uses_no_database(database: Database) -> None:
    free = host(database, {})
    await database.close()
    assert await free.spend(1e9, public=True)
    await free.refresh()


async def test_old_budget_rows_are_deleted(database: Database) -> None:
    ledger = SqlLedger(database, "host")
    budget = Budget({MINUTE: 10.0, HOUR: 100.0})
    assert await ledger.take(budget, 3, public=True)
    assert await delete_old(database, time.time()) == 0
    assert await delete_old(database, time.time() + 2 * MINUTE) == 1
    rows = await database.rows(text("SELECT seconds, units, public_units FROM provider_units"))
    assert rows == [(HOUR, 3.0, 3.0)]


async def test_process_whose_clock_is_ahead_makes_no_extra_budget_available(
    sqlite_settings: Settings,
) -> None:
    async with await Database.open(sqlite_settings) as database:
        ahead = host(database, {MINUTE: 10.0}, lambda: time.time() + HOUR)
        assert await ahead.spend(10, public=False)
        assert not await host(database, {MINUTE: 10.0}).spend(1, public=False)
