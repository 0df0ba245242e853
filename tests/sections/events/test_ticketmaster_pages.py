"""Ticketmaster: pages are read up to the thousandth event, never too fast."""

import asyncio
import threading
from collections import Counter
from datetime import date, timedelta
from functools import partial

import pytest

from location_context.upstream.budget import Budget
from tests.fakes.server import FakeResponse
from tests.fakes.ticketmaster import at, event, responding

LONDON = (51.5074, -0.1278)
FIRST = date(2026, 12, 1)
DAY = "2026-12-01T00:00:00,2026-12-01T23:59:59"


def _crowd(days: int, a_day: int) -> list[dict]:
    """As many events on each of the days."""
    return [
        event(
            f"{FIRST + timedelta(days=n)} number {m}",
            at(f"{FIRST + timedelta(days=n)}", "20:00:00"),
        )
        for n in range(days)
        for m in range(a_day)
    ]


@pytest.fixture
def open_ticketmaster(open_with):
    """Open the section with Ticketmaster, without the pace of the real one."""
    return partial(open_with, "ticketmaster", ticketmaster_budget=("4000/day",))


async def _fetch(opened, days: int, seconds: float = 60.0):
    last = FIRST + timedelta(days=days - 1)
    return await opened.fetch("ticketmaster", LONDON, f"{FIRST}", f"{last}", seconds)


def _per_day(events) -> Counter[date]:
    return Counter(one.start.day for one in events)


async def test_day_beyond_the_paging_limit_of_ticketmaster_gives_its_first_thousand_events(
    open_ticketmaster,
):
    async with open_ticketmaster(responding(_crowd(1, 1300))) as (opened, provider):
        result = await _fetch(opened, 1)
    assert (len(result.events), result.status) == (1000, "partial")
    assert result.degraded_reason is None  # asking again would not give more
    of_the_day = [one for one in provider.requests if one.query["localStartEndDateTime"] == DAY]
    assert [request.query["page"] for request in of_the_day] == ["0", "1", "2", "3", "4"]


async def test_stay_with_few_events_is_requested_page_by_page(open_ticketmaster):
    async with open_ticketmaster(responding(_crowd(7, 60))) as (opened, provider):
        result = await _fetch(opened, 7)
    assert (len(result.events), result.status) == (420, "ok")
    assert len(provider.requests) == 3


async def test_crowded_week_is_requested_day_by_day_until_complete(open_ticketmaster):
    async with open_ticketmaster(responding(_crowd(8, 160))) as (opened, provider):
        result = await _fetch(opened, 8)
    assert _per_day(result.events) == {FIRST + timedelta(days=n): 160 for n in range(8)}
    assert result.status == "ok"
    assert len(provider.requests) <= 30


@pytest.mark.parametrize("always_by_date", [False, True], ids=["by relevance", "by date"])
async def test_every_day_of_the_longest_stay_in_a_large_city_has_all_its_events(
    open_ticketmaster, always_by_date
):
    answer = responding(_crowd(92, 65), always_by_date=always_by_date)
    async with open_ticketmaster(answer) as (opened, provider):
        result = await _fetch(opened, 92)
    counted = _per_day(result.events)
    assert counted.keys() == {FIRST + timedelta(days=n) for n in range(92)}
    assert set(counted.values()) == {65}
    assert len(provider.requests) <= 14 * 3  # three pages of each week
    assert result.status == "ok"


async def test_events_received_by_the_deadline_are_returned_and_the_rest_at_the_next_request(
    open_ticketmaster,
):
    answer = responding(_crowd(5, 100))
    goes_on, may_go_on = threading.Event(), threading.Event()

    def silent_after_the_first(request):
        if request.query["page"] != "0":
            goes_on.set()
            may_go_on.wait(60)
        return answer(request)

    async with open_ticketmaster(silent_after_the_first) as (opened, _):
        patient = asyncio.create_task(_fetch(opened, 5))
        await asyncio.to_thread(goes_on.wait, 60)
        hasty = await _fetch(opened, 5, 0)
        state = opened.states()["ticketmaster"]
        may_go_on.set()
        whole = await patient
        later = await _fetch(opened, 5, 0)
    assert (hasty.status, len(hasty.events)) == ("partial", 200)
    assert hasty.degraded_reason is not None
    assert state.breaker == "closed"  # it answers: it is only long
    assert (len(whole.events), whole.degraded_reason) == (500, None)
    assert later.events == whole.events


async def test_failure_on_a_later_page_keeps_earlier_events_and_is_retried_soon(open_ticketmaster):
    answer = responding(_crowd(5, 100))

    def broken(request):
        down = FakeResponse(b"<html>down</html>", status=502)
        return down if request.query["page"] == "2" else answer(request)

    async with open_ticketmaster(broken) as (opened, provider):
        first = await _fetch(opened, 5)
        again = await _fetch(opened, 5)
        calls = len(provider.requests)
        provider.respond = answer
        opened.clock.advance(minutes=6)
        later = await _fetch(opened, 5)
    assert (first.status, len(first.events)) == ("partial", 400)
    assert first.degraded_reason is not None
    assert (again.events, calls) == (first.events, 3)
    assert (len(later.events), later.degraded_reason is None) == (500, True)


async def test_daily_call_budget_is_never_exceeded(open_ticketmaster):
    async with open_ticketmaster(responding(_crowd(8, 160))) as (opened, provider):
        upstream = opened.provider("ticketmaster").client
        upstream.host.budget = Budget({86400.0: 5})
        result = await _fetch(opened, 8)
    assert len(provider.requests) == 5
    assert result.events
    assert result.degraded_reason == "budget_spent"


async def test_call_that_would_wait_too_long_for_the_rate_limit_fails_at_once(open_ticketmaster):
    async with open_ticketmaster(responding(_crowd(1, 1))) as (opened, provider):
        budget = opened.provider("ticketmaster").client.host.budget = Budget({30.0: 1})
        assert budget.take(1)
        result = await _fetch(opened, 1)
    assert (result.status, provider.requests) == ("unavailable", [])
