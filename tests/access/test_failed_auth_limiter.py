"""The slow-down of addresses that try unknown keys."""

from hypothesis import given
from hypothesis import strategies as st

from location_context.access.authenticator import FailedAuthLimiter
from tests.moved_clock import MovedClock


def test_the_first_attempts_are_free_and_then_one_comes_back_each_few_seconds() -> None:
    clock = MovedClock()
    limiter = FailedAuthLimiter(burst=20, seconds=3, now=clock.seconds)
    assert [limiter.attempt("a") for _ in range(20)] == [0] * 20
    assert limiter.attempt("a") == 3
    assert limiter.attempt("b") == 0
    clock.advance(3)
    assert limiter.attempt("a") == 0
    assert limiter.attempt("a") == 3


def test_the_number_of_addresses_held_is_bounded() -> None:
    limiter = FailedAuthLimiter(addresses=100)
    for number in range(10_000):
        limiter.attempt(str(number))
    assert len(limiter) == 100


@given(st.lists(st.floats(0, 10), max_size=200))
def test_waiting_as_told_always_helps_and_no_minute_sees_more_than_its_share(
    pauses: list[float],
) -> None:
    clock = MovedClock()
    limiter = FailedAuthLimiter(burst=5, seconds=3, now=clock.seconds)
    passed = []
    for pause in pauses:
        clock.advance(pause)
        if wait := limiter.attempt("a"):
            clock.advance(wait)
            assert limiter.attempt("a") == 0
        passed.append(clock.seconds())
    for moment in passed:
        assert sum(moment <= other < moment + 60 for other in passed) <= 5 + 60 / 3 + 1
