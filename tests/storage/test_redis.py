"""Quotas in Redis: shared by replicas, ended by themselves, and counted here while it is gone."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest
import redis.asyncio
import structlog

from location_context.access.quota import Limit
from location_context.settings import Secret
from location_context.storage.redis import RedisCounter
from tests.moved_clock import MovedClock
from tests.storage.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

pytestmark = pytest.mark.anyio

MINUTE = Limit("minute", 10, 60)


@pytest.fixture
def prefix() -> str:
    return f"location-context-test:{uuid.uuid4().hex}:"


@pytest.fixture
async def replica(redis_url: str, prefix: str) -> AsyncIterator[Callable[[], RedisCounter]]:
    counters: list[RedisCounter] = []
    clock = MovedClock()

    def make(url: str = redis_url) -> RedisCounter:
        counters.append(RedisCounter(Secret(url), clock, prefix=prefix))
        return counters[-1]

    yield make
    for counter in counters:
        await counter.close()


async def test_replicas_share_one_count_and_one_secret(
    replica: Callable[[], RedisCounter],
) -> None:
    one, two = replica(), replica()
    for _ in range(5):
        assert (await one.take("key", (MINUTE,))).allowed
        assert (await two.take("key", (MINUTE,))).allowed
    assert not (await one.take("key", (MINUTE,))).allowed
    assert await one.secret("address:today") == await two.secret("address:today")


async def test_everything_in_redis_ends_by_itself(
    replica: Callable[[], RedisCounter], redis_url: str, prefix: str
) -> None:
    counter = replica()
    await counter.take("widget:someone", (MINUTE,))
    await counter.secret("address:today")
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        lives = {key: await client.pttl(key) async for key in client.scan_iter(f"{prefix}*")}
    assert len(lives) == 2
    assert all(0 < life <= 2 * 86_400_000 for life in lives.values())
    assert lives[f"{prefix}widget:someone".encode()] <= 61_000


async def test_when_redis_goes_this_process_counts_on_and_says_so(
    replica: Callable[..., RedisCounter], redis_url: str
) -> None:
    async with Proxy(redis_url) as proxy:
        counter = replica(proxy.url)
        for _ in range(6):
            assert (await counter.take("key", (MINUTE,))).allowed
        await proxy.stop()
        with structlog.testing.capture_logs() as logs:
            allowed = [(await counter.take("key", (MINUTE,))).allowed for _ in range(10)]
        assert allowed == [True] * 4 + [False] * 6
        assert counter.degraded
        assert [line["event"] for line in logs] == ["quota_store_gone"]
        await proxy.start()
        counter.ask_again()
        assert (await counter.take("key", (MINUTE,))).allowed
        assert not counter.degraded


async def test_a_redis_that_was_never_there_stops_nobody(
    replica: Callable[..., RedisCounter],
) -> None:
    counter = replica("redis://127.0.0.1:1/0")
    taken = await counter.take("key", (MINUTE,))
    assert taken.allowed
    assert counter.degraded
    await counter.give_back("key", taken)
    assert await counter.secret("address:today")
