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


def test_breaker_opens_after_three_failures_in_a_row(clock):
    breaker = Breaker()
    breaker.fail()
    breaker.fail()
    assert breaker.allows()
    breaker.fail()
    assert breaker.state == "open"
    assert not breaker.allows()


def test_success_resets_the_failure_count_of_the_breaker(clock):
    breaker = Breaker()
    for _ in range(5):
        breaker.fail()
        breaker.fail()
        breaker.succeed()
    assert breaker.state == "closed"


def test_half_open_breaker_admits_one_probe_and_closes_on_success(clock):
    breaker = Breaker(pause=5, threshold=1)
    breaker.fail()
    clock[0] += 5
    assert breaker.state == "half_open"
    assert [breaker.allows() for _ in range(3)] == [True, False, False]
    breaker.succeed()
    assert breaker.state == "closed"


def test_failed_probe_doubles_the_pause_of_the_breaker_up_to_its_maximum(clock):
    breaker = Breaker(pause=5, longest=18, threshold=1)
    breaker.fail()
    waits = []
    for _ in range(4):
        waits.append(breaker.retry_in())
        clock[0] += breaker.retry_in()
        assert breaker.allows()
        breaker.fail()
    assert waits == [5, 10, 18, 18]


def test_breaker_admits_another_probe_if_the_first_probe_never_reports_its_result(clock):
    breaker = Breaker(pause=5, threshold=1)
    breaker.fail()
    clock[0] += 5
    assert breaker.allows()
    clock[0] += 5
    assert breaker.allows()
