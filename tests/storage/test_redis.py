"""Quotas in Redis: shared by replicas, expired by Redis, and counted in the process without it."""

import asyncio
import math
import time
import uuid
from collections.abc import AsyncIterator, Callable
from datetime import timedelta

import pytest
import redis.asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from location_context.access.quota import Limit, Limits, MemoryCounter
from location_context.settings import Secret
from location_context.storage.redis import TIMEOUT, RedisCounter, RedisLink
from tests.logs import captured_logs
from tests.moved_clock import NOON, MovedClock, skipped_waits
from tests.storage.proxy import Proxy

MINUTE = Limit("minute", 10, 60)
LONG = 60.0  # seconds of patience, so that a busy machine is not result for a silent Redis


@pytest.fixture
async def replica(redis_url: str, redis_prefix: str) -> AsyncIterator[Callable[[], RedisCounter]]:
    links: list[RedisLink] = []
    clock = MovedClock()

    def make(url: str = redis_url, patience: float = LONG) -> RedisCounter:
        links.append(RedisLink(Secret(url), redis_prefix, patience))
        return RedisCounter(links[-1], clock)

    yield make
    for link in links:
        await link.close()


async def test_replicas_share_quota_counters_and_one_common_secret_through_redis(
    replica: Callable[[], RedisCounter],
) -> None:
    one, two = replica(), replica()
    for _ in range(5):
        assert (await one.consume("key", Limits(MINUTE))).allowed
        assert (await two.consume("key", Limits(MINUTE))).allowed
    assert not (await one.consume("key", Limits(MINUTE))).allowed
    assert await one.secret("address:today") == await two.secret("address:today")


async def test_counters_in_redis_expire(
    replica: Callable[[], RedisCounter], redis_url: str, redis_prefix: str
) -> None:
    counter = replica()
    await counter.consume("widget:someone", Limits(MINUTE))
    await counter.secret("address:today")
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        lives = {key: await client.pttl(key) async for key in client.scan_iter(f"{redis_prefix}*")}
    assert len(lives) == 2
    assert all(0 < life <= 2 * 86_400_000 for life in lives.values())
    assert lives[f"{redis_prefix}widget:someone".encode()] <= 61_000


async def test_process_counts_quotas_in_memory_while_redis_is_stopped(
    replica: Callable[..., RedisCounter], redis_url: str
) -> None:
    async with Proxy(redis_url) as proxy:
        counter = replica(proxy.url)
        for _ in range(6):
            assert (await counter.consume("key", Limits(MINUTE))).allowed
        await proxy.stop()
        with captured_logs() as logs:
            allowed = [(await counter.consume("key", Limits(MINUTE))).allowed for _ in range(10)]
        assert allowed == [True] * 4 + [False] * 6
        assert counter.degraded
        assert [line["event"] for line in logs] == ["quota_store_unavailable"]
        await proxy.start()
        counter._link._retry_at = 0.0
        assert (await counter.consume("key", Limits(MINUTE))).allowed
        assert not counter.degraded


async def test_redis_that_does_not_answer_delays_all_callers_together_by_one_timeout_only(
    replica: Callable[..., RedisCounter], redis_url: str
) -> None:
    async with Proxy(redis_url) as proxy:
        counter = replica(proxy.url, TIMEOUT)
        await counter.consume("key", Limits(MINUTE))
        proxy.freeze()
        with skipped_waits() as clock:
            began = clock()
            at_once = await asyncio.gather(
                *(counter.consume("key", Limits(MINUTE)) for _ in range(500))
            )
            assert clock() - began == pytest.approx(TIMEOUT)
        assert sum(result.allowed for result in at_once) == 9
        counter._link._retry_at = 0.0
        trying = asyncio.create_task(counter.consume("key", Limits(MINUTE)))
        await asyncio.sleep(0)
        for _ in range(100):
            with pytest.raises(StopIteration):  # it ends without waiting for anything
                counter.consume("another", Limits(MINUTE)).send(None)
        await trying
        proxy.thaw()


LIMITS = Limits(Limit("minute", 5, 60), Limit("day", 12, 86400))
steps = st.lists(
    st.one_of(
        st.just("take"),
        st.just("give back"),
        st.integers(-7_200_000, 7_200_000),
        st.sampled_from([1000, 30_000, 60_000, 86_400_000, -3_600_000, -86_400_000]),
    ),
    max_size=60,
)


@given(steps)
@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)  # each example has a prefix of its own
def test_redis_and_memory_counters_agree(
    redis_url: str, redis_prefix: str, steps: list[str | int]
) -> None:
    async def both() -> None:
        clock = MovedClock()
        prefix = f"{redis_prefix}{uuid.uuid4().hex}:"
        link = RedisLink(Secret(redis_url), prefix, LONG)
        shared, here = RedisCounter(link, clock), MemoryCounter(clock)
        result = []
        for step in steps:
            if isinstance(step, int):
                clock.advance(step / 1000)
            elif step == "take":
                one, other = await shared.consume("key", LIMITS), await here.consume("key", LIMITS)
                assert one.allowed == other.allowed
                assert one.headers == other.headers
                result += [(one, other)] if one.allowed else []
            elif result:
                one, other = result.pop(0)
                await shared.refund(one)
                await here.refund(other)
        await link.close()

    asyncio.run(both())


@given(st.lists(st.lists(st.integers(0, 2), max_size=25), max_size=6), st.integers(1, 60))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)  # each example has a prefix of its own
def test_replicas_together_admit_exactly_as_many_requests_as_the_quota_allows(
    redis_url: str, redis_prefix: str, rounds: list[list[int]], quota: int
) -> None:
    async def ask() -> None:
        clock, prefix = MovedClock(), f"{redis_prefix}{uuid.uuid4().hex}:"
        links = [RedisLink(Secret(redis_url), prefix, LONG) for _ in range(3)]
        replicas = [RedisCounter(link, clock) for link in links]
        limits = Limits(Limit("minute", quota, 60), Limit("day", quota + 5, 86400))
        results = []
        for at_once in rounds:  # by the replica that each one reaches
            results += await asyncio.gather(
                *(replicas[one].consume("key", limits) for one in at_once)
            )
        request = sum(map(len, rounds))
        used = [one.used[0] for one in results if one.allowed]
        assert sorted(used) == list(range(1, min(request, quota) + 1))
        results = [await replicas[n % 3].consume("key", limits) for n in range(quota + 9 - request)]
        assert len(used) + sum(one.allowed for one in results) == quota
        for link in links:
            await link.close()

    asyncio.run(ask())


@pytest.mark.parametrize("ahead", [90, 3600, -90])
async def test_replica_with_a_wrong_clock_changes_no_quota(
    redis_url: str, redis_prefix: str, ahead: int
) -> None:
    link, limits = RedisLink(Secret(redis_url), redis_prefix, LONG), Limits(MINUTE)
    wrong_clock = MovedClock(NOON + timedelta(seconds=ahead))
    right = RedisCounter(link, MovedClock())
    wrong = RedisCounter(link, wrong_clock, lambda: time.time() + ahead)
    results = [
        await counter.consume("key", limits) for _ in range(20) for counter in (wrong, right)
    ]
    assert [result.allowed for result in results] == [True] * 10 + [False] * 30
    assert all(0 < result.retry_after <= 60 for result in results)
    await wrong.refund(results[8])
    link.degraded, link._retry_at = True, math.inf  # alone, it goes on from there
    assert [(await wrong.consume("key", limits)).allowed for _ in range(2)] == [True, False]
    await link.close()


async def test_cancelled_request_harms_no_other_request(
    replica: Callable[[], RedisCounter],
) -> None:
    counter, limits = replica(), Limits(MINUTE)
    asking = [asyncio.create_task(counter.consume("key", limits)) for _ in range(6)]
    await asyncio.sleep(0)
    asking.pop(2).cancel()
    results = await asyncio.gather(*asking, counter.consume("another", limits))
    assert all(result.allowed for result in results)
    assert len({result.used[0] for result in results[:-1]}) == 5


async def test_unreachable_redis_fails_no_request(
    replica: Callable[..., RedisCounter],
) -> None:
    counter = replica("redis://127.0.0.1:1/0")
    result = await counter.consume("key", Limits(MINUTE))
    assert result.allowed
    assert counter.degraded
    await counter.refund(result)
    assert await counter.secret("address:today")
