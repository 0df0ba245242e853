"""The key cache: revoked keys stop in time, floods cost little, and a lost store is ridden out."""

import asyncio
from datetime import timedelta

import pytest

from location_context.access import key_cache as module
from location_context.access.key_cache import (
    HOLD_SECONDS,
    PATIENCE_SECONDS,
    READ_SECONDS,
    REFRESH_SECONDS,
    ApiKeyCache,
)
from location_context.access.keys import ApiKeys, digest, mint
from location_context.errors import ServiceOverloaded
from tests.access.memory_store import MemoryKeys
from tests.logs import captured_logs
from tests.moved_clock import MovedClock

PEPPER = b"pepper"


@pytest.fixture
def store() -> MemoryKeys:
    return MemoryKeys()


@pytest.fixture
async def key_cache(store: MemoryKeys, clock: MovedClock) -> ApiKeyCache:
    key_cache = ApiKeyCache(store, now=clock.seconds)
    await key_cache.prepare()
    return key_cache


@pytest.fixture
def keys(store: MemoryKeys, clock: MovedClock) -> ApiKeys:
    return ApiKeys(store, PEPPER, clock)


async def test_revoked_key_is_refused_once_the_cache_has_read_the_keys_again(
    store: MemoryKeys, keys: ApiKeys, clock: MovedClock
) -> None:
    replicas = [ApiKeyCache(store, now=clock.seconds) for _ in range(3)]
    minted = await keys.create("Hotel")
    for replica in replicas:
        await replica.prepare()
        found = replica.find(minted.record.digest)
        assert found is not None
        assert found.status(clock()) == "active"
    await keys.revoke(minted.record.id)
    for replica in replicas:
        assert await replica.refresh()
        found = replica.find(minted.record.digest)
        assert found is not None
        assert found.status(clock()) == "revoked"


def test_key_cache_reads_the_keys_again_within_five_seconds() -> None:
    assert REFRESH_SECONDS + READ_SECONDS + REFRESH_SECONDS < 5


async def test_key_cache_task_rereads_the_keys(
    monkeypatch: pytest.MonkeyPatch, key_cache: ApiKeyCache, keys: ApiKeys
) -> None:
    monkeypatch.setattr(module, "REFRESH_SECONDS", 0.0)
    minted = await keys.create("Hotel")
    following = asyncio.create_task(key_cache.run())
    while (found := key_cache.find(minted.record.digest)) is None:  # noqa: ASYNC110  the task's turn
        await asyncio.sleep(0)
    assert found.id == minted.record.id
    following.cancel()


async def test_key_created_after_the_cache_last_read_the_keys_is_found(
    key_cache: ApiKeyCache, keys: ApiKeys, clock: MovedClock
) -> None:
    assert key_cache.find(digest(PEPPER, mint())) is None
    minted = await keys.create("Hotel")
    clock.advance(0.001)
    assert await key_cache.find_new(minted.record.digest, slowed=False) == minted.record


async def test_rate_limited_clients_share_twenty_key_look_ups_a_second(
    key_cache: ApiKeyCache, store: MemoryKeys, clock: MovedClock
) -> None:
    for _ in range(1000):
        assert await key_cache.find_new(digest(PEPPER, mint()), slowed=True) is None
        clock.advance(0.001)
    assert store.requests <= 1 + 20


async def test_concurrent_callers_share_one_key_look_up(
    key_cache: ApiKeyCache, store: MemoryKeys, keys: ApiKeys, clock: MovedClock
) -> None:
    minted = await keys.create("Hotel")
    clock.advance(0.001)
    store.answering.clear()
    callers = [
        asyncio.create_task(key_cache.find_new(minted.record.digest, slowed=False))
        for _ in range(200)
    ]
    await asyncio.sleep(0)
    store.answering.set()
    assert set(await asyncio.gather(*callers)) == {minted.record}
    assert store.requests == 2


async def test_cached_keys_work_for_a_minute_while_the_key_store_fails(
    key_cache: ApiKeyCache, store: MemoryKeys, keys: ApiKeys, clock: MovedClock
) -> None:
    minted = await keys.create("Hotel")
    assert await key_cache.refresh()
    store.failing = True
    clock.advance(HOLD_SECONDS)
    assert not await key_cache.refresh()
    assert key_cache.find(minted.record.digest) == minted.record
    clock.advance(1)
    with pytest.raises(ServiceOverloaded):
        key_cache.find(minted.record.digest)
    store.failing = False
    assert await key_cache.refresh()
    assert key_cache.find(minted.record.digest) == minted.record


async def test_new_key_is_found_after_a_short_failure_of_the_key_store(
    key_cache: ApiKeyCache, store: MemoryKeys, keys: ApiKeys, clock: MovedClock
) -> None:
    minted = await keys.create("Hotel")
    store.failing = True
    clock.advance(1)
    asking = [
        asyncio.create_task(key_cache.find_new(minted.record.digest, slowed=False))
        for _ in range(9)
    ]
    await store.failed.wait()
    store.failing = False
    assert set(await asyncio.gather(*asking)) == {minted.record}


async def test_key_look_up_reports_overload_while_the_key_store_fails(
    key_cache: ApiKeyCache, store: MemoryKeys, clock: MovedClock
) -> None:
    store.failing = True
    clock.advance(1)
    assert not await key_cache.refresh()
    clock.advance(PATIENCE_SECONDS)
    request = store.requests
    for _ in range(20):
        with pytest.raises(ServiceOverloaded):
            await key_cache.find_new(b"", slowed=False)
    assert store.requests == request


async def test_read_of_the_keys_that_hangs_is_abandoned(
    monkeypatch: pytest.MonkeyPatch, key_cache: ApiKeyCache, store: MemoryKeys, keys: ApiKeys
) -> None:
    minted = await keys.create("Hotel")
    assert await key_cache.refresh()
    monkeypatch.setattr(module, "READ_SECONDS", 0.01)
    store.answering.clear()
    assert not await key_cache.refresh()
    assert key_cache.find(minted.record.digest) == minted.record
    store.answering.set()
    assert await key_cache.refresh()


async def test_key_cache_startup_retries_a_failing_key_store(
    store: MemoryKeys, keys: ApiKeys, clock: MovedClock
) -> None:
    key_cache, minted = ApiKeyCache(store, now=clock.seconds), await keys.create("Hotel")
    store.failing = True
    preparing = asyncio.create_task(key_cache.prepare())
    await store.failed.wait()
    store.failing = False
    await preparing
    assert key_cache.find(minted.record.digest) == minted.record


async def test_cancelled_caller_does_not_cancel_a_shared_key_look_up(
    key_cache: ApiKeyCache, store: MemoryKeys, keys: ApiKeys, clock: MovedClock
) -> None:
    minted = await keys.create("Hotel")
    clock.advance(1)
    store.answering.clear()
    callers = [
        asyncio.create_task(key_cache.find_new(minted.record.digest, slowed=False))
        for _ in range(3)
    ]
    await asyncio.sleep(0)
    callers[0].cancel()
    store.answering.set()
    found = await asyncio.gather(*callers, return_exceptions=True)
    assert isinstance(found[0], asyncio.CancelledError)
    assert found[1:] == [minted.record, minted.record]


async def test_key_cache_reports_whether_it_waits_for_the_first_keys_or_for_the_database(
    store: MemoryKeys, clock: MovedClock
) -> None:
    key_cache = ApiKeyCache(store, now=clock.seconds)
    store.failing = True
    assert not await key_cache.refresh()
    assert key_cache.awaited == "keys"
    store.failing = False
    assert await key_cache.refresh()
    assert key_cache.awaited is None
    clock.advance(HOLD_SECONDS)
    assert key_cache.awaited is None
    clock.advance(1)
    assert key_cache.awaited == "database"
    assert await key_cache.refresh()
    assert key_cache.awaited is None


async def test_changes_of_keys_are_logged_with_the_key_ids(
    store: MemoryKeys, keys: ApiKeys, clock: MovedClock
) -> None:
    key_cache, first = ApiKeyCache(store, now=clock.seconds), await keys.create("Hotel")
    with captured_logs() as lines:
        await key_cache.prepare()  # what was there before is not news
        second = await keys.create("Inn")
        await key_cache.refresh()
        await keys.revoke(first.record.id)
        clock.advance(1)
        await key_cache.refresh()
        third = await keys.rotate(second.record.id, timedelta(hours=24))
        clock.advance(1)
        await key_cache.refresh()
    assert [(line["event"], line["key_id"]) for line in lines] == [
        ("key_created", second.record.id),
        ("key_revoked", first.record.id),
        ("key_rotated", second.record.id),
        ("key_created", third.record.id),
    ]
    assert first.secret not in str(lines)
