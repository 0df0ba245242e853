"""Stay: its dates, and the horizon seen from today."""

import itertools
from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from location_context.stay import FIRST_DATE, LAST_DATE, Stay, horizon, system_clock

TODAY = date(2026, 11, 21)


def test_stay_includes_its_first_and_last_date():
    stay = Stay(date(2026, 12, 30), date(2027, 1, 2))
    assert stay.days == 4
    assert [d.day for d in stay.dates()] == [30, 31, 1, 2]
    assert date(2026, 12, 30) in stay
    assert date(2027, 1, 2) in stay
    assert date(2027, 1, 3) not in stay


def test_forecast_horizon_is_sixteen_days_including_today():
    assert horizon(TODAY) == TODAY + timedelta(days=15)
    assert Stay(TODAY, TODAY + timedelta(days=15)).within_horizon(TODAY)
    assert not Stay(TODAY, TODAY + timedelta(days=16)).within_horizon(TODAY)


def test_stay_is_past_from_the_day_after_its_last_date():
    assert not Stay(TODAY, TODAY).is_past(TODAY)
    assert Stay(TODAY, TODAY).is_past(TODAY + timedelta(days=1))


@given(st.dates(FIRST_DATE, LAST_DATE), st.integers(0, 91))
def test_dates_of_a_stay_are_consecutive(start: date, more: int):
    stay = Stay(start, start + timedelta(days=more))
    dates = list(stay.dates())
    assert len(dates) == stay.days == more + 1
    assert all(day in stay for day in dates)
    assert all(b - a == timedelta(days=1) for a, b in itertools.pairwise(dates))


def test_system_clock_returns_times_in_utc():
    assert system_clock().utcoffset() == timedelta(0)
