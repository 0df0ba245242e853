"""Breaker: opens after failures or one overrun deadline, and lets one probe through."""

import time

import pytest

from location_context.upstream.host import Breaker


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch):
    """A monotonic clock that the test moves."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_it_opens_after_three_failures_in_a_row_and_not_before(clock):
    breaker = Breaker()
    breaker.fail()
    breaker.fail()
    assert breaker.allows()
    breaker.fail()
    assert breaker.state == "open"
    assert not breaker.allows()


def test_a_success_between_failures_forgets_them(clock):
    breaker = Breaker()
    for _ in range(5):
        breaker.fail()
        breaker.fail()
        breaker.succeed()
    assert breaker.state == "closed"


def test_half_open_lets_one_caller_probe_and_a_success_closes_it(clock):
    breaker = Breaker(pause=5, threshold=1)
    breaker.fail()
    clock[0] += 5
    assert breaker.state == "half_open"
    assert [breaker.allows() for _ in range(3)] == [True, False, False]
    breaker.succeed()
    assert breaker.state == "closed"


def test_a_failed_probe_opens_it_for_twice_as_long_up_to_the_longest(clock):
    breaker = Breaker(pause=5, longest=18, threshold=1)
    breaker.fail()
    waits = []
    for _ in range(4):
        waits.append(breaker.retry_in())
        clock[0] += breaker.retry_in()
        assert breaker.allows()
        breaker.fail()
    assert waits == [5, 10, 18, 18]


def test_a_probe_that_never_reports_back_does_not_shut_the_door_for_ever(clock):
    breaker = Breaker(pause=5, threshold=1)
    breaker.fail()
    clock[0] += 5
    assert breaker.allows()
    clock[0] += 5
    assert breaker.allows()
