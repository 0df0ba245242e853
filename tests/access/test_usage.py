"""Use of keys by day: what is counted, and that no count is lost or stored twice."""

import json
import signal
from datetime import date, timedelta
from pathlib import Path

import pytest

from location_context.access.quota import DAY, Limit, Limits, MemoryCounter
from location_context.access.usage import KeyUsage, UsedDay
from location_context.storage.access import SqlUsageStore
from location_context.storage.database import Database
from location_context.storage.retention import Retention
from tests.access.memory_store import MemoryUsage
from tests.databases import OwnRedis
from tests.logs import captured_logs
from tests.moved_clock import NOON, MovedClock
from tests.web.commands import Serving, command, serving, with_redis

TODAY = NOON.date()
LIMITS = Limits(Limit("minute", 100, 60), Limit("day", 1000, DAY))


async def test_refund_reduces_the_usage_of_the_day_on_which_the_request_was_counted() -> None:
    clock, store = MovedClock(), MemoryUsage()
    counter, usage = MemoryCounter(clock), KeyUsage(store)
    counted = counter.consume_nowait("a", LIMITS)
    usage.count(counted)
    usage.count(counted)
    await usage.flush()
    clock.advance(DAY)
    usage.count(counted, -1)
    usage.count(counter.consume_nowait("a", LIMITS))
    await usage.flush()
    assert store.requests == {("a", TODAY): 1, ("a", TODAY + timedelta(1)): 1}


async def test_usage_counts_are_kept_until_the_failing_store_works_again() -> None:
    clock, store = MovedClock(), MemoryUsage()
    counter, usage = MemoryCounter(clock), KeyUsage(store)
    store.failing = True
    with captured_logs() as logs:
        for _ in range(3):
            usage.count(counter.consume_nowait("a", LIMITS))
            await usage.flush()
    assert [line["event"] for line in logs] == ["usage_not_stored"] * 3
    store.failing = False
    await usage.flush()
    await usage.flush()
    assert store.requests == {("a", TODAY): 3}


async def test_stored_usage_counts_are_added_up_and_deleted_after_90_days(
    database: Database,
) -> None:
    store, clock = SqlUsageStore(database), MovedClock()
    before = [UsedDay("a", TODAY - timedelta(days), 5) for days in (200, 90, 89, 1)]
    await store.add(before)
    await store.add([UsedDay("a", TODAY, 2), UsedDay("b", TODAY, 1)])
    await store.add([UsedDay("a", TODAY, 3), UsedDay("b", TODAY, -1)])
    await Retention(database, clock).prune()
    assert await store.load(date(2000, 1, 1)) == [
        *before[2:],
        UsedDay("a", TODAY, 5),
        UsedDay("b", TODAY, 0),
    ]


def status(served: Serving, key: str, query: str = "lat=48.85&lng=2.35") -> int:
    return served.status(f"/v1/pulse/astronomy?{query}&start=2027-01-01&end=2027-01-02", key)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_usage_counts_admitted_requests_exactly_over_restarts(
    tmp_path: Path, workers: str, own_redis: OwnRedis
) -> None:
    more = with_redis(own_redis) if workers == "2" else {}
    hotel = json.loads(command(tmp_path, "keys", "create", "Hotel", "--json").stdout)
    narrow = ("keys", "create", "Narrow", "--per-minute", "2", "--json")
    refused = json.loads(command(tmp_path, *narrow).stdout)
    unused = json.loads(command(tmp_path, "keys", "create", "Unused", "--json").stdout)
    answers = []
    for _ in range(2):
        with serving(tmp_path, "--workers", workers, more=more) as served:
            answers += [status(served, hotel["key"]) for _ in range(20)]
            answers.append(status(served, hotel["key"], query="lat=100&lng=0"))
            answers.append(status(served, hotel["key"][:-1] + "!"))
            answers += [status(served, refused["key"]) for _ in range(3)]
            served.signal(signal.SIGTERM)
            served.process.wait(timeout=30)
    assert {code: answers.count(code) for code in set(answers)} in (
        {200: 44, 400: 2, 401: 2, 429: 2},  # quotas in memory: two for each start
        {200: 42, 400: 2, 401: 2, 429: 4},  # in Redis
    )
    used = json.loads(command(tmp_path, "keys", "usage", "--json").stdout)
    admitted = answers.count(200) + answers.count(400)
    assert {key["id"]: sum(day["requests"] for day in key["days"]) for key in used} == {
        hotel["id"]: 42, refused["id"]: admitted - 42, unused["id"]: 0,
    }  # fmt: skip
    one = json.loads(command(tmp_path, "keys", "usage", hotel["id"], "--json").stdout)
    assert one == used[0]
    assert one["name"] == "Hotel"
    shown = command(tmp_path, "keys", "usage").stdout
    assert shown.splitlines()[0].split()[2:] == ["7", "days", "30", "days", "90", "days"]
    assert shown.splitlines()[1].split() == [hotel["id"], "Hotel", "42", "42", "42"]
    assert one["days"][0]["day"] in command(tmp_path, "keys", "usage", hotel["id"]).stdout


def test_usage_of_an_unknown_key_is_an_error(tmp_path: Path) -> None:
    said = command(tmp_path, "keys", "usage", "key_none", fails=True).stderr
    assert "There is no key 'key_none'" in said
