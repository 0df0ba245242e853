"""Budget: no stretch of a window's length ever holds more than its limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.upstream.budget import DAY, MINUTE, Budget
from tests.logs import captured_logs

calls = st.lists(
    st.tuples(st.floats(0, 30), st.floats(0.1, 20), st.booleans()), min_size=1, max_size=200
)


@given(calls)
def test_calls_in_any_sliding_minute_never_exceed_the_budget(wanted):
    now = [0.0]
    budget = Budget({MINUTE: 60.0, DAY: 500.0}, now=lambda: now[0])
    taken: list[tuple[float, float, bool]] = []
    for wait, units, public in wanted:
        now[0] += wait
        if budget.take(units, public=public):
            taken.append((now[0], units, public))
    for at, _, _ in taken:
        inside = [(units, public) for t, units, public in taken if at - MINUTE < t <= at]
        assert sum(units for units, _ in inside) <= 60.0 + 1e-6
        assert sum(units for units, public in inside if public) <= 30.0 + 1e-6
    assert sum(units for _, units, _ in taken) <= 500.0 + 1e-6


def test_spent_budget_is_available_again_after_its_window():
    now = [0.0]
    budget = Budget({MINUTE: 10.0}, now=lambda: now[0])
    assert budget.take(10)
    assert not budget.take(1)
    now[0] = 62.0
    assert budget.take(10)


def test_calls_without_a_key_leave_half_of_the_budget_to_calls_with_a_key():
    budget = Budget({DAY: 100.0}, now=lambda: 0.0)
    while budget.take(1, public=True):
        pass
    assert [one.used for one in budget.states()] == [50.0]
    assert all(budget.take(1) for _ in range(50))
    assert not budget.take(1)


def test_refused_call_spends_no_budget_in_any_window():
    budget = Budget({MINUTE: 5.0, DAY: 100.0}, now=lambda: 0.0)
    assert not budget.take(6)
    assert [(one.window, one.used) for one in budget.states()] == [("minute", 0), ("day", 0)]


def test_spent_share_of_a_budget_is_that_of_its_most_spent_window():
    budget = Budget({60.0: 10.0, 3600.0: 100.0})
    assert budget.spent_share() == 0
    budget.take(4)
    assert budget.spent_share() == 0.4
    assert Budget({}).spent_share() == 0


def test_budget_without_limits_allows_everything():
    assert Budget({}).take(1e9)


def test_processes_share_a_budget():
    shared = [Budget({DAY: 100.0}, lambda: 0.0, share=0.25) for _ in range(4)]
    for budget in shared:
        while budget.take(1):
            pass
    assert sum(budget.states()[0].used for budget in shared) == 100


def wait_of(budget: Budget, units: float) -> float:
    (window,), now = budget.windows, budget.now()
    window.forget(now)
    return window.wait(now, units)


@pytest.mark.parametrize("units", [1, 60, 61, 100, 5000])
def test_reported_wait_for_a_budget_ends_when_enough_units_are_free(units):
    now = [1000.0]
    budget = Budget({MINUTE: 100.0}, lambda: now[0])
    assert wait_of(budget, 100) == 0
    assert budget.take(60)
    now[0] += 20
    assert budget.take(40)
    pause = wait_of(budget, units)  # more than a window holds waits for the whole window
    now[0] += pause - 2
    assert not budget.take(min(units, 100))
    now[0] += 2.001
    assert wait_of(budget, units) == 0
    assert budget.take(min(units, 100))


def test_even_a_small_budget_gives_callers_without_a_key_enough_for_one_answer():
    def public_part(limit: float) -> float:
        budget = Budget({MINUTE: limit}, lambda: 0.0, least=100.0)
        while budget.take(1, public=True):
            pass
        return budget.states()[0].used

    assert [public_part(limit) for limit in (480.0, 150.0, 100.0)] == [240.0, 100.0, 100.0]


def test_setting_the_clock_back_does_not_change_the_budget():
    now = [100_000.0]
    budget = Budget({MINUTE: 10.0}, lambda: now[0])
    assert budget.take(10)
    now[0] -= 3600
    assert not budget.take(1)
    assert wait_of(budget, 1) <= 62
    now[0] += 62
    assert budget.take(10)


def test_spent_budget_is_logged_once_per_window_and_kind_of_traffic():
    now = [1_800_000_000.0]
    budget = Budget({MINUTE: 10.0}, lambda: now[0])
    with captured_logs() as logs:
        for _ in range(3):
            budget.take(6, public=True)
        assert budget.take(10)
        for _ in range(2):
            assert not budget.take(1)
    assert [(line["window"], line["share"]) for line in logs] == [
        ("minute", "the widget's"), ("minute", "all"),
    ]  # fmt: skip


def test_returned_budget_units_may_be_spent_again():
    budget = Budget({MINUTE: 10.0}, lambda: 0.0)
    assert budget.take(10)
    budget.give_back(10)
    assert [one.used for one in budget.states()] == [0]
