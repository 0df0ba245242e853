"""Values and locks in Redis: one of all processes fetches, and the others find its value."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta

import pytest
import redis.asyncio

from location_context import errors
from location_context.settings import Secret
from location_context.storage.redis import RedisLink
from location_context.storage.shared import LOCK_MS, MAX_LIFE_MS, RedisSharedStore
from location_context.upstream.cached import Cached
from location_context.upstream.deadline import Deadline
from location_context.upstream.shared_cache import SharedCache
from tests.databases import OwnRedis
from tests.patience import wait_in_loop_until
from tests.storage.proxy import Proxy
from tests.upstream.test_cached import sharing

LONG = 60.0  # seconds of patience, so that a busy machine is not taken for a silent Redis
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DOWN = errors.ProviderUnreachable("example", "the connection failed")


class Process:
    """A process' own source over the store, whose fetches are counted for all of them."""

    def __init__(self, store: RedisSharedStore, calls: list[bool], **more: object) -> None:
        self.store, self.calls = store, calls
        self.error: Exception | None = None
        self.cache = SharedCache(None, lambda: NOW, store)
        self.goes = asyncio.Event()
        self.source: Cached[str, str] = Cached(
            lambda: NOW,
            fresh=timedelta(minutes=30),
            stale=timedelta(hours=6),
            max_size=100,
            sharing=sharing(self.cache),
            **more,
        )

    async def get(self, key: str = "key", *, public: bool = False) -> str:
        async def fetch() -> str:
            self.calls.append(public)
            await self.goes.wait()
            if self.error:
                raise self.error
            return f"answer {len(self.calls)}"

        return (await self.source.get(key, fetch, Deadline.after(LONG), public=public)).value


Make = Callable[..., Process]


@pytest.fixture
async def process(redis_url: str, redis_prefix: str) -> AsyncIterator[Make]:
    links, calls, made = [], list[bool](), list[Process]()

    def make(url: str = redis_url) -> Process:
        links.append(RedisLink(Secret(url), redis_prefix, LONG))
        made.append(Process(RedisSharedStore(links[-1]), calls))
        return made[-1]

    yield make
    for one in made:
        await one.source.close()
    for link in links:
        await link.close()


async def test_one_process_fetches_a_value_and_the_other_processes_receive_it(
    process: Make,
) -> None:
    one, *others = (process() for _ in range(4))
    asking = [asyncio.create_task(one.get())]
    await wait_in_loop_until(lambda: one.calls == [False])
    asking += [asyncio.create_task(other.get(public=True)) for other in others for _ in range(5)]
    await wait_in_loop_until(lambda: all(other.store.looked_up["waited"] for other in others))
    one.goes.set()
    assert set(await asyncio.gather(*asking)) == {"answer 1"}
    assert await process().get() == "answer 1"  # a process that comes later
    assert one.calls == [False]


@pytest.mark.parametrize(
    ("error", "public"),
    [
        (errors.ProviderStatusError("example", 503), False),
        (errors.ProviderBudgetSpent("example", "the budget of calls is spent"), True),
    ],
    ids=["provider failure", "budget refusal without a key"],
)
async def test_caller_with_a_key_fetches_the_value_if_the_fetch_of_another_process_fails(
    process: Make, error: Exception, *, public: bool
) -> None:
    one, other = process(), process()
    one.error = error
    other.goes.set()
    asking = [asyncio.create_task(one.get(public=public))]
    await wait_in_loop_until(lambda: one.calls)
    asking.append(asyncio.create_task(other.get()))
    await wait_in_loop_until(lambda: other.store.looked_up["waited"] == 1)
    one.goes.set()
    failure, value = await asyncio.gather(*asking, return_exceptions=True)
    assert failure is error
    assert value == "answer 2"
    assert one.calls == [public, False]


async def test_lock_held_by_a_dead_process_expires(
    process: Make, redis_url: str, redis_prefix: str
) -> None:
    lock = f"{redis_prefix}lock:example:key"
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        one, other = process(), process()
        asking = asyncio.create_task(one.get())
        await wait_in_loop_until(lambda: one.calls)
        assert 0 < await client.pttl(lock) <= LOCK_MS
        other.goes.set()
        waiting = asyncio.create_task(other.get())
        await wait_in_loop_until(lambda: other.store.looked_up["waited"] == 1)
        assert not waiting.done()
        await client.pexpire(lock, 1)
        assert await waiting == "answer 2"
        one.goes.set()
        await asking


async def test_process_whose_lock_expired_does_not_release_the_next_holder_s_lock(
    process: Make, redis_url: str, redis_prefix: str
) -> None:
    lock = f"{redis_prefix}lock:example:key"
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        one = process()
        asking = asyncio.create_task(one.get())
        await wait_in_loop_until(lambda: one.calls)
        await client.set(lock, "another's", px=60_000)
        one.goes.set()
        await asking
        assert await client.get(lock) == b"another's"


async def test_waiting_process_fetches_when_the_fetch_of_another_is_cancelled(
    process: Make,
) -> None:
    one, other = process(), process()
    asking = asyncio.create_task(one.get())
    await wait_in_loop_until(lambda: one.calls)
    waiting = asyncio.create_task(other.get())
    await wait_in_loop_until(lambda: other.store.looked_up["waited"] == 1)
    other.goes.set()
    await one.source.close()
    assert await waiting == "answer 2"
    await asyncio.gather(asking, return_exceptions=True)


async def test_without_redis_each_process_fetches_its_own_values(
    process: Make, redis_url: str
) -> None:
    async with Proxy(redis_url) as proxy:
        one = process(proxy.url)
        one.goes.set()
        assert await one.get("before") == "answer 1"
        await proxy.stop()
        assert await one.get("meanwhile") == "answer 2"
        assert one.store.looked_up["alone"] > 0
        for number in range(100):
            await one.get(f"meanwhile {number}")
        assert len(one.cache._unshared) <= 20  # nothing piles up for when it is back
        await proxy.start()
        one.store._link._retry_at = 0.0
        assert await one.get("after") == "answer 103"
    assert await process().get("after") == "answer 103"


async def test_values_in_redis_expire_within_two_days(
    process: Make, redis_url: str, redis_prefix: str
) -> None:
    one = process()
    one.goes.set()
    await one.get()
    one.error = DOWN
    with pytest.raises(errors.ProviderUnreachable):
        await one.get("other")
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        lives = [await client.pttl(key) async for key in client.scan_iter(f"{redis_prefix}*")]
    assert len(lives) == 1
    assert all(0 < life <= MAX_LIFE_MS for life in lives)


async def test_nearly_full_redis_stores_no_values(own_redis: OwnRedis) -> None:
    async with redis.asyncio.Redis.from_url(own_redis.url) as client:
        used = (await client.info("memory"))["used_memory"]
        await client.config_set("maxmemory", int(used * 1.2))
        link, calls = RedisLink(Secret(own_redis.url), "test:", LONG), list[bool]()
        one = Process(RedisSharedStore(link), calls)
        one.goes.set()
        assert await one.get() == "answer 1"
        assert not [key async for key in client.scan_iter("test:value:*")]
        await link.close()


async def test_values_are_shared_even_if_redis_denies_reading_its_memory_usage(
    own_redis: OwnRedis,
) -> None:
    async with redis.asyncio.Redis.from_url(own_redis.url) as client:
        await client.execute_command("ACL", "SETUSER", "default", "-info")
        link, calls = RedisLink(Secret(own_redis.url), "test:", LONG), list[bool]()
        one, other = (Process(RedisSharedStore(link), calls) for _ in range(2))
        one.goes.set()
        assert [await one.get(), await other.get()] == ["answer 1"] * 2
        assert not link.degraded
        await link.close()
