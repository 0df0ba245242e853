"""Cached: fresh, stale and partial values, one fetch for all, and keyed traffic's due."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from location_context.errors import ProviderBudgetSpent, ProviderUnreachable, StorageError
from location_context.upstream.cached import Cached, Sharing
from location_context.upstream.deadline import Deadline
from location_context.upstream.shared_cache import SharedCache
from tests.moved_clock import NOON, MovedClock

DOWN = ProviderUnreachable("example", "the connection failed")
SPENT = ProviderBudgetSpent("example", "the budget of calls is spent")


class Provider:
    """Counts its calls; answers with their number, or raises `error`, once `go` is set."""

    def __init__(self) -> None:
        self.calls = 0
        self.error: Exception | None = None
        self.go = asyncio.Event()
        self.go.set()

    async def whole(self) -> str:
        self.calls += 1
        answer = f"answer {self.calls}"
        await self.go.wait()
        if self.error:
            raise self.error
        return answer

    async def parts(self):
        """Two parts; `go` and `error` lie between them."""
        self.calls += 1
        yield "a"
        await self.go.wait()
        if self.error:
            raise self.error
        yield "b"


@pytest.fixture
def provider() -> Provider:
    return Provider()


def made(clock: MovedClock, **options) -> Cached[str, str]:
    given = {"fresh": timedelta(minutes=30), "stale": timedelta(hours=6), "max_size": 100}
    return Cached(clock, **{**given, **options})


def joined(one: str, other: str) -> str:
    return "".join(sorted({*one, *other}))


def soon() -> Deadline:
    return Deadline.after(5)


async def until_under_way(source: Cached, provider: Provider) -> None:
    while not provider.calls:  # noqa: ASYNC110  the loop itself is what is waited for
        await asyncio.sleep(0)


async def test_fresh_value_is_reused_and_stale_value_is_fetched_again(clock, provider):
    source = made(clock)
    for minutes, expected in ((0, "answer 1"), (29, "answer 1"), (2, "answer 2")):
        clock.advance(minutes=minutes)
        entry = await source.get("key", provider.whole, soon())
        assert (entry.value, entry.complete, entry.error) == (expected, True, None)
    assert (await source.get("other", provider.whole, soon())).value == "answer 3"


async def test_failed_fetch_returns_the_stale_value_with_the_error(clock, provider):
    source = made(clock)
    await source.get("key", provider.whole, soon())
    provider.error = DOWN
    clock.advance(hours=6)
    entry = await source.get("key", provider.whole, soon())
    assert (entry.value, entry.fetched_at, entry.error) == ("answer 1", NOON, DOWN)
    with pytest.raises(ProviderUnreachable):
        await source.get_fresh("key", provider.whole, soon())
    clock.advance(seconds=1)
    with pytest.raises(ProviderUnreachable):
        await source.get("key", provider.whole, soon())


async def test_lifetime_of_a_cached_value_may_depend_on_the_value(clock, provider):
    source = made(clock, fresh=lambda _, value, at: at + timedelta(hours=value == "answer 1"))
    for minutes in (0, 59, 1):
        clock.advance(minutes=minutes)
        await source.get("key", provider.whole, soon())
    assert provider.calls == 2


async def test_callers_share_one_fetch_that_continues_after_they_time_out(clock, provider):
    source = made(clock)
    provider.go.clear()
    for _ in range(3):
        with pytest.raises(TimeoutError):
            await source.get("key", provider.whole, Deadline.after(0.01))
    waiting = [asyncio.ensure_future(source.get("key", provider.whole, soon())) for _ in range(9)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    provider.go.set()
    entries = await asyncio.gather(*waiting[1:])
    assert {entry.value for entry in entries} == {"answer 1"}
    assert provider.calls == 1


async def test_partial_value_is_returned_if_the_fetch_is_unfinished_at_the_deadline(
    clock, provider
):
    source = made(clock, merge=joined)
    provider.go.clear()
    hasty = await source.get("key", provider.parts, Deadline.after(0.05))
    assert (hasty.value, hasty.complete) == ("a", False)
    assert isinstance(hasty.error, TimeoutError)
    provider.go.set()
    later = await source.get("key", provider.parts, soon())
    assert (later.value, later.complete, provider.calls) == ("ab", True, 1)


async def test_incomplete_value_carries_the_error_of_its_fetch_and_is_refetched_soon(
    clock, provider
):
    source = made(clock, merge=joined)
    provider.error = DOWN
    for _ in range(2):
        entry = await source.get("key", provider.parts, soon())
        assert (entry.value, entry.complete, entry.error) == ("a", False, DOWN)
    assert provider.calls == 1
    provider.error = None
    clock.advance(minutes=5)
    assert (await source.get("key", provider.parts, soon())).value == "ab"


async def test_partial_value_received_before_a_failure_is_merged_into_the_cached_value(
    clock, provider
):
    source = made(clock, merge=joined)
    source.put("key", "bc")
    clock.advance(hours=1)
    provider.error = DOWN
    entry = await source.get("key", provider.parts, soon())
    assert (entry.value, entry.fetched_at, entry.complete) == ("abc", NOON, False)


async def test_incomplete_value_does_not_replace_a_fresh_complete_value(clock, provider):
    source = made(clock, is_complete=lambda value: value != "answer 1", apart=True)
    provider.go.clear()
    public = asyncio.ensure_future(source.get("key", provider.whole, soon(), public=True))
    await until_under_way(source, provider)
    source.put("key", "whole")
    provider.go.set()
    assert (await public).value == "answer 1"
    assert (await source.get("key", provider.whole, soon())).value == "whole"


async def test_caller_with_a_key_gets_no_budget_refusal_of_a_caller_without_a_key(clock, provider):
    source = made(clock)
    provider.go.clear()
    provider.error = SPENT
    public = asyncio.ensure_future(source.get("key", provider.whole, soon(), public=True))
    await until_under_way(source, provider)
    own = Provider()
    keyed = asyncio.ensure_future(source.get("key", own.whole, soon()))
    await asyncio.sleep(0)
    assert own.calls == 0  # it waits for the one that is under way
    provider.go.set()
    with pytest.raises(ProviderBudgetSpent):
        await public
    assert (await keyed).value == "answer 1"
    assert own.calls == 1


async def test_caller_with_a_key_refetches_a_value_left_incomplete_for_a_caller_without_a_key(
    clock, provider
):
    source = made(clock, merge=joined)
    provider.error = SPENT
    assert (await source.get("key", provider.parts, soon(), public=True)).value == "a"
    assert (await source.get("key", provider.parts, soon(), public=True)).value == "a"
    assert provider.calls == 1
    provider.error = None
    assert (await source.get("key", provider.parts, soon())).value == "ab"


async def test_caller_without_a_key_shares_the_fetch_of_a_caller_with_a_key(clock, provider):
    source = made(clock)
    provider.go.clear()
    keyed = asyncio.ensure_future(source.get("key", provider.whole, soon()))
    await until_under_way(source, provider)
    public = asyncio.ensure_future(source.get("key", provider.whole, soon(), public=True))
    await asyncio.sleep(0)
    provider.go.set()
    assert (await keyed).value == (await public).value == "answer 1"


async def test_full_cache_drops_the_least_recently_used_value(clock, provider):
    source = made(clock, max_size=20, size_of=len)
    for key in ("a", "b", "a", "c"):
        await source.get(key, provider.whole, soon())
    assert [key for key in "abc" if source.peek(key)] == ["a", "c"]


async def test_value_of_a_fetch_that_runs_while_the_cache_is_cleared_is_not_cached(clock, provider):
    source = made(clock)
    provider.go.clear()
    waiting = asyncio.ensure_future(source.get("key", provider.whole, soon()))
    await until_under_way(source, provider)
    source.clear()
    provider.go.set()
    assert (await waiting).value == "answer 1"
    assert source.peek("key") is None


class Store:
    """A `CacheStore` in memory."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str], tuple[datetime, bytes]] = {}
        self.broken = False

    async def load(self, provider, key, now):
        if self.broken:
            raise StorageError("down")
        expires_at, data = self.records.get((provider, key), (now, None))
        return data if expires_at > now else None

    async def save(self, records, now):
        if self.broken:
            raise StorageError("down")
        self.records |= {(r.provider, r.key): (r.expires_at, r.data) for r in records}


def sharing(cache: SharedCache) -> Sharing[str, str]:
    return Sharing(
        cache,
        name=lambda key: ("example", key),
        pack=lambda value, at: f"{at.isoformat()} {value}".encode(),
        unpack=lambda data: (
            data.decode().partition(" ")[2],
            datetime.fromisoformat(data.decode().partition(" ")[0]),
        ),
    )


async def test_fresh_value_that_another_process_fetched_costs_no_provider_call():
    clock, provider, store = MovedClock(), Provider(), Store()
    first = made(clock, sharing=sharing(SharedCache(store, clock)))
    await first.get("key", provider.whole, soon())
    await first.close()
    clock.advance(minutes=29)
    second = made(clock, sharing=sharing(SharedCache(store, clock)))
    entry = await second.get("key", provider.whole, soon())
    assert (entry.value, entry.fetched_at, provider.calls) == ("answer 1", NOON, 1)
    clock.advance(hours=5)
    provider.error = DOWN
    third = made(clock, sharing=sharing(SharedCache(store, clock)))
    assert (await third.get("key", provider.whole, soon())).value == "answer 1"
    assert provider.calls == 2


async def test_incomplete_value_is_not_shared_with_other_processes():
    clock, provider, store = MovedClock(), Provider(), Store()
    source = made(clock, sharing=sharing(SharedCache(store, clock)), merge=joined)
    provider.error = DOWN
    await source.get("key", provider.parts, soon())
    await source.close()
    assert not store.records


async def test_failing_shared_store_causes_a_fetch_instead_of_an_error():
    clock, provider, store = MovedClock(), Provider(), Store()
    store.broken = True
    source = made(clock, sharing=sharing(SharedCache(store, clock)))
    assert (await source.get("key", provider.whole, soon())).value == "answer 1"
    await source.close()


async def test_value_is_not_packed_for_sharing_if_no_shared_store_exists():
    clock, provider, packed = MovedClock(), Provider(), list[str]()
    ways = sharing(SharedCache(Store(), clock))
    for stored in (True, False):  # the second is for Redis alone, and there is none
        way = replace(ways, stored=stored, pack=lambda value, _: packed.append(value) or b"")
        source = made(clock, sharing=way)
        await source.get("key", provider.whole, soon())
        await source.close()
    assert packed == ["answer 1"]
