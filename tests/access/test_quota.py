"""Quotas, counted in memory and in Redis by the same rules: every test here runs on both."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from location_context.access.quota import Counter, Limit, Limits, MemoryCounter, Windows
from location_context.settings import Secret
from location_context.storage.redis import RedisCounter, RedisLink
from tests.moved_clock import NOON, MovedClock

MINUTE, DAY = Limit("minute", 100, 60), Limit("day", 1000, 86400)


@pytest.fixture(params=["memory", "redis"])
async def counter(request: pytest.FixtureRequest, clock: MovedClock) -> AsyncIterator[Counter]:
    if request.param == "memory":
        yield MemoryCounter(clock)
        return
    url = Secret(request.getfixturevalue("redis_url"))
    prefix = request.getfixturevalue("redis_prefix")
    link = RedisLink(url, prefix, timeout=60)  # a busy machine is not a silent Redis
    yield RedisCounter(link, clock)
    assert not link.degraded
    await link.close()


async def spend(counter: Counter, requests: int, *limits: Limit) -> int:
    """How many of so many requests at once are allowed."""
    result = await asyncio.gather(
        *(counter.consume("key", Limits(*limits)) for _ in range(requests))
    )
    return sum(each.allowed for each in result)


async def test_counter_admits_exactly_the_quota_of_concurrent_requests(counter: Counter) -> None:
    assert await spend(counter, 500, MINUTE, DAY) == 100


async def test_request_refused_by_one_quota_window_counts_in_no_other_window(
    counter: Counter,
) -> None:
    await spend(counter, 500, MINUTE, DAY)
    result = await counter.consume("key", Limits(MINUTE, DAY))
    assert result.used == (100, 100)


async def test_quota_counter_counts_each_key_or_client_separately(counter: Counter) -> None:
    await spend(counter, 100, MINUTE)
    assert (await counter.consume("another", Limits(MINUTE))).allowed


async def test_quota_headers_are_the_documented_ones(counter: Counter, clock: MovedClock) -> None:
    limits = (Limit("minute", 600, 60), Limit("day", 50_000, 86400))
    await counter.consume("key", Limits(*limits))
    clock.advance(48)
    result = await counter.consume("key", Limits(*limits))
    state = f'"minute";r=598;t=12, "day";r=49998;t={12 * 3600 - 48}'
    assert result.headers == [
        (b"ratelimit-policy", b'"minute";q=600;w=60, "day";q=50000;w=86400'),
        (b"ratelimit", state.encode()),
    ]


@pytest.mark.parametrize("limit", [MINUTE, DAY])
@pytest.mark.parametrize("late", [0.0, 0.001, 12.3456, 59.9994])
async def test_refused_request_succeeds_once_its_retry_after_time_has_passed(
    counter: Counter, clock: MovedClock, limit: Limit, late: float
) -> None:
    await spend(counter, limit.quota, limit)
    clock.advance(late)
    refused = await counter.consume("key", Limits(limit))
    assert not refused.allowed
    clock.advance(refused.retry_after)
    assert (await counter.consume("key", Limits(limit))).allowed


async def test_retry_after_lasts_until_the_end_of_the_longest_window_whose_quota_is_spent(
    counter: Counter,
) -> None:
    small_day = replace(DAY, quota=100)
    await spend(counter, 100, MINUTE, small_day)
    refused = await counter.consume("key", Limits(MINUTE, small_day))
    assert refused.retry_after == 12 * 3600


async def test_day_window_ends_at_midnight_utc(counter: Counter, clock: MovedClock) -> None:
    await spend(counter, DAY.quota, DAY)
    clock.now = datetime(2026, 11, 21, 23, 59, 59, 999_000, tzinfo=UTC)
    assert not (await counter.consume("key", Limits(DAY))).allowed
    clock.now = datetime(2026, 11, 22, tzinfo=UTC)
    assert (await counter.consume("key", Limits(DAY))).allowed


async def test_quota_unit_of_a_refunded_request_can_be_used_again(counter: Counter) -> None:
    result = [await counter.consume("key", Limits(MINUTE, DAY)) for _ in range(100)]
    await counter.refund(result[0])
    again = await counter.consume("key", Limits(MINUTE, DAY))
    assert again.allowed
    assert again.used == (100, 100)


async def test_request_that_costs_several_quota_units_uses_all_of_them_or_none(
    counter: Counter,
) -> None:
    limits = Limits(MINUTE, DAY)
    assert await spend(counter, 90, MINUTE, DAY) == 90
    refused = await counter.consume("key", limits, 11)
    assert (refused.allowed, refused.used, refused.used_up) == (False, (90, 90), MINUTE)
    counted = await counter.consume("key", limits, 10)
    assert (counted.allowed, counted.used) == (True, (100, 100))
    await counter.refund(counted)
    assert (await counter.consume("key", limits)).used == (91, 91)


async def test_concurrent_requests_that_cost_several_quota_units_never_exceed_the_quota(
    counter: Counter,
) -> None:
    limits, costs = Limits(MINUTE, DAY), [7, 1, 13] * 20
    found = await asyncio.gather(*(counter.consume("key", limits, cost) for cost in costs))
    spent = sum(one.cost for one in found if one.allowed)
    assert spent <= 100
    assert (await counter.consume("key", limits, 100)).used == (spent, spent)


async def test_request_that_costs_several_quota_units_succeeds_after_its_retry_after_time(
    counter: Counter, clock: MovedClock
) -> None:
    await spend(counter, 60, MINUTE)
    refused = await counter.consume("key", Limits(MINUTE), 50)
    clock.advance(refused.retry_after)
    assert (await counter.consume("key", Limits(MINUTE), 50)).allowed


async def test_refund_for_an_ended_quota_window_does_not_change_the_next_window(
    counter: Counter, clock: MovedClock
) -> None:
    old = await counter.consume("key", Limits(MINUTE, DAY))
    clock.advance(61)
    await counter.consume("key", Limits(MINUTE, DAY))
    await counter.refund(old)
    assert (await counter.consume("key", Limits(MINUTE, DAY))).used == (2, 2)


@pytest.mark.parametrize("back", [3600, 86400, 400 * 86400])
async def test_setting_the_clock_back_changes_no_quota(
    counter: Counter, clock: MovedClock, back: int
) -> None:
    assert await spend(counter, 60, MINUTE, DAY) == 60
    clock.advance(-back)
    assert await spend(counter, 500, MINUTE, DAY) == 40
    refused = await counter.consume("key", Limits(MINUTE, DAY))
    assert refused.retry_after <= 60
    clock.advance(refused.retry_after)
    assert (await counter.consume("key", Limits(MINUTE, DAY))).allowed
    assert DAY.max_remaining <= 26 * 3600


async def test_setting_the_clock_back_over_midnight_gives_no_second_daily_quota(
    counter: Counter, clock: MovedClock
) -> None:
    clock.now = datetime(2026, 11, 22, 0, 10, tzinfo=UTC)
    await spend(counter, DAY.quota, DAY)
    clock.advance(-3600)
    refused = await counter.consume("key", Limits(DAY))
    assert not refused.allowed
    assert refused.retry_after <= 26 * 3600
    clock.now = datetime(2026, 11, 22, 0, 10, tzinfo=UTC)
    assert not (await counter.consume("key", Limits(DAY))).allowed


async def test_changed_quota_applies_immediately(counter: Counter) -> None:
    await spend(counter, 100, MINUTE)
    assert (await counter.consume("key", Limits(replace(MINUTE, quota=101)))).allowed
    assert not (await counter.consume("key", Limits(replace(MINUTE, quota=50)))).allowed


async def test_quota_counter_returns_the_same_random_secret_for_the_same_name(
    counter: Counter,
) -> None:
    today = await counter.secret("address:2026-11-21")
    assert len(today) >= 32
    assert await counter.secret("address:2026-11-21") == today
    assert await counter.secret("address:2026-11-22") != today


async def test_in_memory_counter_bounds_the_number_of_widget_clients_but_not_of_keys(
    clock: MovedClock,
) -> None:
    counter = MemoryCounter(clock, subjects=100)
    await spend(counter, 100, MINUTE, DAY)
    for number in range(1000):
        await counter.consume(f"widget:{number}", Limits(MINUTE))
    assert len(counter) == 101
    assert not (await counter.consume("key", Limits(MINUTE, DAY))).allowed


async def test_in_memory_counter_drops_ended_windows(clock: MovedClock) -> None:
    counter = MemoryCounter(clock)
    for number in range(50):
        await counter.consume(f"widget:{number}", Limits(MINUTE))
    clock.advance(61)
    await counter.consume("widget:new", Limits(MINUTE))
    assert len(counter) == 1


@given(st.integers(0, 200), st.floats(-1e8, 1e8), st.sampled_from([MINUTE, DAY]))
def test_quota_window_is_correct_if_the_clock_jumps(used: int, shift: float, limit: Limit) -> None:
    clock = MovedClock(NOON)
    limits = Limits(limit)
    end = limit.end(clock.seconds())
    windows = Windows(limits, (used,), (end,))
    clock.advance(shift)
    windows.advance(limits, clock.seconds())
    assert 0 < windows.ends[0] - clock.seconds() <= limit.max_remaining
    assert windows.used == (0 if clock.seconds() >= end else used,)
    assert clock.seconds() < windows.until
