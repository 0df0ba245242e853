"""Ledgers: processes and machines that share a budget never spend more of it than there is."""

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import structlog
from redis.asyncio import Redis

from location_context.settings import Secret
from location_context.storage.redis import RedisLedger, RedisLink
from location_context.upstream.budget import HOUR, MINUTE, Budget, FileLedger
from location_context.upstream.host import Host, Hosts
from tests.databases import OwnRedis

pytestmark = pytest.mark.anyio
LIMIT, UNITS = 480, 7
CHILD = """
import asyncio, json, sys, time
from pathlib import Path
from location_context.settings import Secret
from location_context.storage.redis import RedisLedger, RedisLink
from location_context.upstream.budget import Budget, FileLedger

async def main(folder, redis, prefix, seconds, limit, ahead, calls):
    ledger, link = FileLedger(Path(folder), "host"), None
    if redis:
        link = RedisLink(Secret(redis), prefix, 60.0)
        ledger = RedisLedger(link, "host", ledger)
    budget = Budget({float(seconds): float(limit)}, lambda: time.time() + float(ahead))
    given = [await ledger.take(budget, 7.0, public=False) for _ in range(int(calls))]
    if link:
        assert not link.degraded
        await link.close()
    print(json.dumps(sum(given)))

asyncio.run(main(*sys.argv[1:]))
"""


def child(folder: Path, redis: str, prefix: str, *, seconds=HOUR, ahead=0.0, calls=40):
    arguments = [folder, redis, prefix, seconds, LIMIT, ahead, calls]
    command = [sys.executable, "-c", CHILD, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def granted(process: "subprocess.Popen[bytes]") -> int:
    """How many calls it was allowed."""
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return int(json.loads(out))


@pytest.mark.parametrize("kind", ["one machine", "two machines with Redis"])
def test_four_processes_together_spend_the_budget_and_no_more(kind, tmp_path, request):
    """Two machines of two; with Redis the clock of one process is 90 s ahead, and minutes count."""
    redis, prefix, ahead, seconds = "", "", 0.0, HOUR
    if "Redis" in kind:
        redis, prefix = map(request.getfixturevalue, ("redis_url", "redis_prefix"))
        ahead, seconds = 90.0, MINUTE
    began = time.time()
    processes = [
        child(
            tmp_path / str(n % 2 if redis else 0), redis, prefix,
            seconds=seconds, ahead=ahead if n == 3 else 0.0,
        )
        for n in range(4)
    ]  # fmt: skip
    total = sum(map(granted, processes)) * UNITS
    windows = 1 + int((time.time() - began) / seconds)  # one, but on a very busy machine
    assert LIMIT - UNITS < total <= LIMIT * windows


def test_a_restart_goes_on_where_the_process_before_ended(tmp_path):
    before = granted(child(tmp_path, "", "", calls=40)) * UNITS
    after = granted(child(tmp_path, "", "", calls=60)) * UNITS
    assert (before, after) == (280, LIMIT - 280 - LIMIT % UNITS)


class Machine:
    """Two processes of a machine, as this test runs them in one."""

    def __init__(
        self, folder: Path, redis: str, prefix: str = "test:", *, ahead: float = 0.0
    ) -> None:
        self.links = [RedisLink(Secret(redis), prefix, 60.0) for _ in range(2)]
        self.ledgers = [RedisLedger(one, "host", FileLedger(folder, "host")) for one in self.links]
        clock = lambda: time.time() + ahead  # noqa: E731  a clock of two lines would be no clearer
        self.budgets = [Budget({HOUR: float(LIMIT)}, clock) for _ in range(2)]

    async def take(self, process: int, units: float) -> float:
        taken = await self.ledgers[process].take(self.budgets[process], units, public=False)
        return units if taken else 0.0

    async def refresh(self) -> None:
        for ledger, budget in zip(self.ledgers, self.budgets, strict=True):
            await ledger.refresh(budget)

    def retry_now(self) -> None:
        for link in self.links:
            link.retry_now()

    async def close(self) -> None:
        for link in self.links:
            await link.close()


async def spend(machines: list[Machine], calls: int, chance: random.Random) -> float:
    """Units that so many calls spent, of one or another process."""
    spent = [
        await chance.choice(machines).take(chance.randrange(2), chance.uniform(1, 9))
        for _ in range(calls)
    ]
    return sum(spent)


@pytest.mark.parametrize("seed", range(4))
async def test_a_redis_that_is_killed_and_comes_back_empty_costs_no_unit_twice(
    own_redis: OwnRedis, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    machines = [Machine(tmp_path / str(n), own_redis.url) for n in range(3)]
    total = await spend(machines, 30, chance)
    for machine in machines:
        await machine.refresh()
    assert {one.machines for machine in machines for one in machine.budgets} == {3}
    own_redis.kill()
    without = await spend(machines, 60, chance)
    assert 0 < without <= LIMIT - total
    own_redis.start()
    for machine in machines:
        machine.retry_now()
    again = await spend(machines, 200, chance)
    assert total + without + again <= LIMIT
    for machine in machines:
        await machine.close()


async def test_a_process_that_starts_while_redis_is_gone_knows_what_its_machine_knew(
    own_redis: OwnRedis, tmp_path: Path
) -> None:
    first, other = (Machine(tmp_path / name, own_redis.url) for name in ("a", "b"))
    for machine in (first, other):
        assert await machine.take(0, 100) == 100
    await first.refresh()
    own_redis.kill()
    late = Machine(tmp_path / "a", own_redis.url)
    assert await late.take(0, 150) == 0  # of 280 that are left, 140 are this machine's
    assert await late.take(0, 140) == 140
    assert await late.take(0, 1) == 0
    for machine in (first, other, late):
        await machine.close()


async def test_a_machine_whose_clock_is_ahead_counts_by_that_of_redis_when_it_is_gone_too(
    own_redis: OwnRedis, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, own_redis.url, ahead=2 * HOUR)
    assert await machine.take(0, LIMIT) == LIMIT
    own_redis.kill()
    assert await machine.take(0, 1) == 0
    await machine.close()


async def test_what_is_counted_in_redis_ends_by_itself(redis_url: str, redis_prefix: str, tmp_path):
    machine = Machine(tmp_path, redis_url, redis_prefix)
    await machine.take(0, 7)
    async with Redis.from_url(redis_url) as client:
        lives = {key: await client.pttl(key) async for key in client.scan_iter(f"{redis_prefix}*")}
    assert len(lives) == 2
    assert all(0 < life <= 3_700_000 for life in lives.values())
    await machine.close()


async def test_asking_what_was_spent_writes_nothing_to_redis(redis_url, redis_prefix, tmp_path):
    machine = Machine(tmp_path, redis_url, redis_prefix)
    await machine.refresh()
    async with Redis.from_url(redis_url) as client:
        assert not await client.exists(f"{redis_prefix}budget:host")
    await machine.close()


async def test_without_limits_nothing_is_asked_of_redis(tmp_path):
    link = RedisLink(Secret("redis://127.0.0.1:1/0"), "test:")
    host = Host(name="host", ledger=RedisLedger(link, "host", FileLedger(tmp_path, "host")))
    assert await host.spend(1e9, public=True)
    await host.refresh()
    assert not link.degraded
    assert not list(tmp_path.iterdir())


@contextmanager
def logged() -> Iterator[list]:
    with structlog.testing.capture_logs() as logs:
        yield logs


async def test_where_the_folder_cannot_be_written_to_the_process_counts_alone_and_says_so(tmp_path):
    (tmp_path / "file").write_text("in the way")
    ledger, budget = FileLedger(tmp_path / "file" / "budgets", "host"), Budget({HOUR: 10.0})
    with logged() as logs:
        given = [await ledger.take(budget, 1, public=False) for _ in range(12)]
    assert given == [True] * 10 + [False] * 2
    assert [line["event"] for line in logs] == ["budget_not_shared"]
    assert ledger.machine != FileLedger(tmp_path / "file" / "budgets", "host").machine


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can give a file away")
async def test_what_a_command_of_root_s_makes_is_the_folder_owner_s_who_serves_from_it(tmp_path):
    os.chown(tmp_path, 10_001, 10_001)
    ledger, budget = FileLedger(tmp_path / "budgets", "host"), Budget({HOUR: 10.0})
    assert await ledger.take(budget, 1, public=False)
    assert ledger.machine
    made = [tmp_path / "budgets", *(tmp_path / "budgets").iterdir()]
    assert {path.name for path in made} == {"budgets", "host.lock", "host.json", "machine"}
    assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == {(10_001, 10_001)}


@pytest.mark.parametrize("damaged", [b"\0" * 100, b'{"windows": {"min\xffte": {}}}'])
async def test_a_damaged_file_is_told_and_written_anew(tmp_path, damaged):
    ledger, budget = FileLedger(tmp_path, "host"), Budget({HOUR: 10.0})
    assert await ledger.take(budget, 4, public=False)
    (tmp_path / "host.json").write_bytes(damaged)
    with logged() as logs:
        assert await ledger.take(budget, 4, public=False)
    assert [line["event"] for line in logs] == ["budget_file_damaged"]
    other = Budget({HOUR: 10.0})
    assert not await FileLedger(tmp_path, "host").take(other, 4, public=False)
    assert other.states()[0].used == 8


async def test_a_spent_budget_is_logged_once_a_window_over_all_processes(tmp_path):
    now = [1_800_000_000.0]
    processes = [
        Hosts(make_ledger=lambda name: FileLedger(tmp_path, name), now=lambda: now[0]).get(
            "host", {MINUTE: 10.0}
        )
        for _ in range(2)
    ]
    with logged() as logs:
        for _ in range(2):
            for host in processes:
                assert [await host.spend(6, public=False) for _ in range(3)].count(True) <= 1
            now[0] += 62
    assert [(line["event"], line["provider"], line["window"], line["limit"]) for line in logs] == [
        ("budget_spent", "host", "minute", 10.0)
    ] * 2
    assert logs[0]["free_in"] == 61


async def test_a_server_learns_what_other_processes_spent(tmp_path):
    one, other = (
        Hosts(make_ledger=lambda name: FileLedger(tmp_path, name)).get("host", {HOUR: 10.0})
        for _ in range(2)
    )
    assert await one.spend(4, public=False)
    await other.refresh()
    assert [(state.used, state.left) for state in other.budgets()] == [(4, 6)]


async def test_calls_wait_for_the_pace_that_all_share(tmp_path):
    hosts = [
        Hosts(make_ledger=lambda name: FileLedger(tmp_path, name)).get("host", {1.0: 20.0})
        for _ in range(2)
    ]
    began = time.monotonic()
    given = await asyncio.gather(*(hosts[n % 2].spend(1, public=False) for n in range(6)))
    assert given == [True] * 6
    assert time.monotonic() - began >= 5 * 0.05 - 0.002
