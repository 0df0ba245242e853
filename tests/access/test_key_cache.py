"""The key_cache: revoked keys stop in time, floods cost little, and a lost store is ridden out."""

import asyncio
from datetime import timedelta

import pytest

from location_context.access import key_cache as module
from location_context.access.key_cache import PATIENCE_SECONDS, REFRESH_SECONDS, ApiKeyCache
from location_context.access.keys import ApiKeys, digest, mint
from location_context.errors import ServiceOverloaded
from tests.access.memory_store import MemoryKeys
from tests.logs import captured_logs
from tests.moved_clock import MovedClock

pytestmark = pytest.mark.anyio

PEPPER = b"pepper"


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def store() -> MemoryKeys:
    return MemoryKeys()


@pytest.fixture
def key_cache(store: MemoryKeys, clock: MovedClock) -> ApiKeyCache:
    return ApiKeyCache(store, now=clock.seconds, patience=0.01)


@pytest.fixture
def patient(store: MemoryKeys, clock: MovedClock) -> ApiKeyCache:
    """As it is in the service."""
    return ApiKeyCache(store, now=clock.seconds)


@pytest.fixture
def keys(store: MemoryKeys, clock: MovedClock) -> ApiKeys:
    return ApiKeys(store, PEPPER, clock)


async def test_a_revoked_key_stops_within_five_seconds_on_every_replica(
    store: MemoryKeys, keys: ApiKeys, clock: MovedClock
) -> None:
    assert REFRESH_SECONDS < 5
    replicas = [ApiKeyCache(store, now=clock.seconds) for _ in range(3)]
    minted = await keys.create("Hotel")
    for replica in replicas:
        found = await replica.find(minted.record.digest)
        assert found is not None
        assert found.status(clock()) == "active"
    await keys.revoke(minted.record.id)
    clock.advance(5)
    for replica in replicas:
        found = await replica.find(minted.record.digest)
        assert found is not None
        assert found.status(clock()) == "revoked"


async def test_a_key_made_a_moment_ago_is_found(
    key_cache: ApiKeyCache, keys: ApiKeys, clock: MovedClock
) -> None:
    assert await key_cache.find(digest(PEPPER, mint())) is None
    minted = await keys.create("Hotel")
    clock.advance(0.001)
    assert await key_cache.find_new(minted.record.digest, slowed=False) == minted.record


async def test_the_slowed_share_twenty_look_ups_a_second(
    key_cache: ApiKeyCache, store: MemoryKeys, clock: MovedClock
) -> None:
    for _ in range(1000):
        assert await key_cache.find_new(digest(PEPPER, mint()), slowed=True) is None
        clock.advance(0.001)
    assert store.asked <= 20


async def test_many_who_look_for_a_new_key_share_a_look_up(
    key_cache: ApiKeyCache, store: MemoryKeys, keys: ApiKeys, clock: MovedClock
) -> None:
    await key_cache.find(b"")
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
    assert store.asked == 2


async def test_many_requests_at_once_ask_the_store_once(
    key_cache: ApiKeyCache, store: MemoryKeys, keys: ApiKeys
) -> None:
    minted = await keys.create("Hotel")
    found = await asyncio.gather(*(key_cache.find(minted.record.digest) for _ in range(200)))
    assert set(found) == {minted.record}
    assert store.asked == 1


async def test_a_store_that_is_gone_for_a_minute_stops_nobody(
    key_cache: ApiKeyCache, store: MemoryKeys, keys: ApiKeys, clock: MovedClock
) -> None:
    minted = await keys.create("Hotel")
    await key_cache.find(minted.record.digest)
    store.gone = True
    for _ in range(55):
        clock.advance(1)
        assert await key_cache.find(minted.record.digest) == minted.record
    assert store.asked <= 1 + 55 / 2 + 1
    clock.advance(10)
    with pytest.raises(ServiceOverloaded):
        await key_cache.find(minted.record.digest)
    store.gone = False
    clock.advance(2)
    assert await key_cache.find(minted.record.digest) == minted.record


async def test_nobody_is_called_unknown_while_the_store_is_gone(
    key_cache: ApiKeyCache, store: MemoryKeys, clock: MovedClock
) -> None:
    await key_cache.find(b"")
    store.gone = True
    clock.advance(1)
    with pytest.raises(ServiceOverloaded):
        await key_cache.find_new(b"", slowed=False)


async def test_a_key_made_a_moment_ago_is_found_though_the_store_fails_for_a_moment(
    patient: ApiKeyCache, store: MemoryKeys, keys: ApiKeys, clock: MovedClock
) -> None:
    await patient.find(b"")
    minted = await keys.create("Hotel")
    store.gone = True
    clock.advance(1)
    asking = asyncio.create_task(patient.find_new(minted.record.digest, slowed=False))
    await store.failed.wait()
    store.gone = False
    clock.advance(1)
    assert await asking == minted.record


async def test_the_first_request_is_answered_though_the_store_fails_for_a_moment(
    patient: ApiKeyCache, store: MemoryKeys, keys: ApiKeys, clock: MovedClock
) -> None:
    minted = await keys.create("Hotel")
    store.gone = True
    asking = [asyncio.create_task(patient.find(minted.record.digest)) for _ in range(9)]
    await store.failed.wait()
    store.gone = False
    clock.advance(1)
    assert set(await asyncio.gather(*asking)) == {minted.record}


async def test_a_store_that_is_late_is_waited_for_and_not_asked_again(
    monkeypatch: pytest.MonkeyPatch,
    patient: ApiKeyCache,
    store: MemoryKeys,
    keys: ApiKeys,
    clock: MovedClock,
) -> None:
    monkeypatch.setattr(module, "READ_TIMEOUT", 0.01)
    await patient.find(b"")
    minted = await keys.create("Hotel")
    store.answering.clear()
    clock.advance(1)
    asking = asyncio.create_task(patient.find_new(minted.record.digest, slowed=False))
    while not patient._failing:  # noqa: ASYNC110  until the store is late
        await asyncio.sleep(0)
    store.answering.set()
    assert await asking == minted.record
    assert store.asked == 2


async def test_a_reading_that_does_not_end_is_given_up_in_time_for_a_revoked_key(
    monkeypatch: pytest.MonkeyPatch,
    patient: ApiKeyCache,
    store: MemoryKeys,
    keys: ApiKeys,
    clock: MovedClock,
) -> None:
    monkeypatch.setattr(module, "READ_TIMEOUT", 0.01)
    minted = await keys.create("Hotel")
    await patient.find(minted.record.digest)
    await keys.revoke(minted.record.id)
    store.answering.clear()
    clock.advance(2)
    await patient.find(minted.record.digest)
    store.answering = asyncio.Event()  # the next connection is not silent
    store.answering.set()
    clock.advance(2)
    found = await patient.find(minted.record.digest)
    assert found is not None
    assert found.status(clock()) == "revoked"


async def test_a_store_that_has_been_gone_for_a_while_holds_no_request(
    patient: ApiKeyCache, store: MemoryKeys, clock: MovedClock
) -> None:
    store.gone = True
    assert await patient.awaited() == "keys"
    clock.advance(PATIENCE_SECONDS)
    async with asyncio.timeout(PATIENCE_SECONDS / 2):
        for _ in range(20):
            with pytest.raises(ServiceOverloaded):
                await patient.find(b"")


async def test_keys_are_read_before_the_first_request_though_the_store_fails_at_first(
    patient: ApiKeyCache, store: MemoryKeys, keys: ApiKeys
) -> None:
    minted = await keys.create("Hotel")
    store.gone = True
    preparing = asyncio.create_task(patient.prepare())
    await store.failed.wait()
    store.gone = False
    await preparing
    store.gone = True
    assert await patient.find(minted.record.digest) == minted.record


async def test_a_store_that_accepts_and_never_answers_costs_one_request_its_patience(
    key_cache: ApiKeyCache, store: MemoryKeys, keys: ApiKeys, clock: MovedClock
) -> None:
    minted = await keys.create("Hotel")
    await key_cache.find(minted.record.digest)
    store.answering.clear()
    clock.advance(3)
    trying = asyncio.create_task(key_cache.find(minted.record.digest))
    await asyncio.sleep(0)
    for _ in range(100):
        with pytest.raises(StopIteration) as ended:  # it ends without waiting for anything
            key_cache.find(minted.record.digest).send(None)
        assert ended.value.value == minted.record
    assert await trying == minted.record
    clock.advance(3)
    trying = asyncio.create_task(key_cache.find(minted.record.digest))
    await asyncio.sleep(0)
    with pytest.raises(StopIteration):
        key_cache.find(minted.record.digest).send(None)
    store.answering.set()
    assert await trying == minted.record


async def test_a_caller_that_goes_away_leaves_the_look_up_to_the_next(
    key_cache: ApiKeyCache, store: MemoryKeys, keys: ApiKeys
) -> None:
    minted = await keys.create("Hotel")
    store.answering.clear()
    callers = [asyncio.create_task(key_cache.find(minted.record.digest)) for _ in range(3)]
    await asyncio.sleep(0)
    callers[0].cancel()
    store.answering.set()
    found = await asyncio.gather(*callers, return_exceptions=True)
    assert isinstance(found[0], asyncio.CancelledError)
    assert found[1:] == [minted.record, minted.record]


async def test_keys_are_awaited_until_they_are_read_and_the_database_once_it_is_gone_too_long(
    store: MemoryKeys, clock: MovedClock
) -> None:
    held = ApiKeyCache(store, now=clock.seconds, hold=30, patience=0.01)
    store.gone = True
    assert await held.awaited() == "keys"
    store.gone = False
    clock.advance(2)
    assert await held.awaited() is None
    store.gone = True
    clock.advance(29)
    assert await held.awaited() is None
    clock.advance(2)
    assert await held.awaited() == "database"
    with pytest.raises(ServiceOverloaded):
        await held.find(b"")
    store.gone = False
    clock.advance(2)
    assert await held.awaited() is None


async def test_keys_made_rotated_and_revoked_are_logged_by_their_ids(
    key_cache: ApiKeyCache, store: MemoryKeys, keys: ApiKeys, clock: MovedClock
) -> None:
    first = await keys.create("Hotel")
    with captured_logs() as lines:
        await key_cache.find(b"")  # what was there before is not news
        second = await keys.create("Inn")
        clock.advance(3)
        await key_cache.find(b"")
        await keys.revoke(first.record.id)
        clock.advance(3)
        await key_cache.find(b"")
        third = await keys.rotate(second.record.id, timedelta(hours=24))
        clock.advance(3)
        await key_cache.find(b"")
    assert [(line["event"], line["key_id"]) for line in lines] == [
        ("key_made", second.record.id),
        ("key_revoked", first.record.id),
        ("key_rotated", second.record.id),
        ("key_made", third.record.id),
    ]
    assert first.secret not in str(lines)
