"""What one process learns of a provider that fails, the others of all machines hear."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta

import pytest

from location_context.errors import ProviderError
from location_context.settings import Secret
from location_context.storage.redis import RedisLink
from location_context.storage.shared import RedisNews
from location_context.upstream.client import SURE_SECONDS, ProviderClient
from location_context.upstream.host import Hosts
from location_context.upstream.http import http_client
from tests.fakes.server import Answered, StandIn

pytestmark = pytest.mark.anyio
LONG = 60.0  # seconds of patience, so that a busy machine is not taken for a silent Redis
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


class World:
    """One provider, and processes that ask two addresses of it."""

    def __init__(self, redis: str, prefix: str) -> None:
        self.answer = Answered({})
        self.server = StandIn(lambda _: self.answer)
        self._redis, self._prefix = redis, prefix
        self.links: list[RedisLink] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def process(self, http) -> list[ProviderClient]:
        """The clients of another process, once it listens."""
        link = RedisLink(Secret(self._redis), self._prefix, LONG)
        news = RedisNews(link)
        hosts = Hosts(news=news)
        news.follow(hosts)
        host = hosts.get("example", {})
        clients = [
            ProviderClient(name, self.server.url, http, lambda: NOW, host=host)
            for name in ("example", "example_archive")
        ]
        listens = asyncio.Event()

        async def told() -> None:
            listens.set()

        link.on_listening.append(told)
        self.links.append(link)
        self.tasks.append(asyncio.create_task(link.run()))
        await asyncio.wait_for(listens.wait(), LONG)
        return clients

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for link in self.links:
            await link.close()


@pytest.fixture
async def world(redis_url: str, redis_prefix: str) -> AsyncIterator[World]:
    made = World(redis_url, redis_prefix)
    with made.server.running():
        yield made
        await made.close()


async def until(told: Callable[[], bool]) -> None:
    patience = time.monotonic() + LONG
    while not told():
        assert time.monotonic() < patience
        await asyncio.sleep(0.01)


async def fail(client: ProviderClient) -> None:
    for _ in range(client.breaker.threshold):
        with pytest.raises(ProviderError):
            await client.get_json({}, dict)


async def test_a_breaker_that_opens_or_closes_is_heard_by_all_and_those_who_come_later(world):
    async with http_client("a test") as http:
        one, other = await world.process(http), await world.process(http)
        world.answer = Answered(status=500)
        await fail(one[0])
        await until(lambda: other[0].breaker.state == "open")
        assert 0 < other[0].breaker.retry_in() <= one[0].breaker.pause
        assert other[0].calls.breaker_open
        assert [one[1].breaker.state, other[1].breaker.state] == ["closed"] * 2  # of the archive
        assert len(world.server.asked) == one[0].breaker.threshold
        late = await world.process(http)
        await until(lambda: late[0].breaker.state == "open")
        world.answer = Answered({})
        one[0].breaker._until = 0.0  # its pause is over
        await one[0].get_json({}, dict)
        await until(lambda: {other[0].breaker.state, late[0].breaker.state} == {"closed"})
        assert not other[0].calls.breaker_open
        assert (await world.process(http))[0].breaker.state == "closed"


async def test_who_had_an_answer_a_moment_ago_goes_on_asking(world):
    async with http_client("a test") as http:
        one, other, third = [await world.process(http) for _ in range(3)]
        await other[0].get_json({}, dict)
        third[0].answered_at = other[0].answered_at - SURE_SECONDS
        world.answer = Answered(status=500)
        await fail(one[0])
        await until(lambda: third[0].breaker.state == "open")
        assert other[0].breaker.state == "closed"


async def test_the_quiet_that_a_provider_asked_for_holds_for_all_its_addresses_everywhere(world):
    async with http_client("a test") as http:
        one, other = await world.process(http), await world.process(http)
        world.answer = Answered(status=429, headers={"Retry-After": "90"})
        with pytest.raises(ProviderError):
            await one[0].get_json({}, dict)
        await until(lambda: other[1].backoff_until is not None)
        assert other[1].backoff_until == one[1].backoff_until == NOW + timedelta(seconds=90)
        late = await world.process(http)
        await until(lambda: late[0].backoff_until is not None)
        assert late[0].backoff_until <= NOW + timedelta(seconds=90)
        assert len(world.server.asked) == 1


async def test_without_redis_a_breaker_opens_here_alone(world):
    async with http_client("a test") as http:
        link = RedisLink(Secret("redis://127.0.0.1:1/0"), "test:")
        client = ProviderClient(
            "example", world.server.url, http, lambda: NOW,
            host=Hosts(news=RedisNews(link)).get("example", {}),
        )  # fmt: skip
        world.answer = Answered(status=500)
        await fail(client)
        assert client.breaker.state == "open"
        await link.close()
