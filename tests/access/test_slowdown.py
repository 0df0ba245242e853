"""The slow-down of addresses that try unknown keys."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from location_context.access.slowdown import Slowdown
from tests.moved_clock import MovedClock


def test_the_first_attempts_are_free_and_then_one_comes_back_each_few_seconds() -> None:
    clock = MovedClock()
    slowdown = Slowdown(burst=20, seconds=3, now=clock.seconds)
    assert [slowdown.attempt("a") for _ in range(20)] == [0] * 20
    assert slowdown.attempt("a") == 3
    assert slowdown.attempt("b") == 0
    clock.advance(3)
    assert slowdown.attempt("a") == 0
    assert slowdown.attempt("a") == 3


def test_the_number_of_addresses_held_is_bounded() -> None:
    slowdown = Slowdown(addresses=100)
    for number in range(10_000):
        slowdown.attempt(str(number))
    assert len(slowdown) == 100


@given(st.lists(st.floats(0, 10), max_size=200))
def test_waiting_as_told_always_helps_and_no_minute_sees_more_than_its_share(
    pauses: list[float],
) -> None:
    clock = MovedClock()
    slowdown = Slowdown(burst=5, seconds=3, now=clock.seconds)
    passed = []
    for pause in pauses:
        clock.advance(pause)
        if wait := slowdown.attempt("a"):
            clock.advance(wait)
            assert slowdown.attempt("a") == 0
        passed.append(clock.seconds())
    for moment in passed:
        assert sum(moment <= other < moment + 60 for other in passed) <= 5 + 60 / 3 + 1
