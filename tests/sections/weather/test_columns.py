"""Columns are read as arrays, and say the same as when each value is looked at by itself."""

import math
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from location_context.sections.weather.providers.base import UNITS, Native, is_number, read_columns
from location_context.sections.weather.records import FIELDS as ALL_FIELDS

FIRST = date(2016, 2, 27)
FIELDS = ("temperature_max", "weather_code", "sunshine_hours", "wind_direction_dominant")
TABLE = {
    "temperature_max": Native("tmax", "K"),
    "weather_code": Native("code"),
    "sunshine_hours": Native("sun", "s"),
    "uv_index_max": Native("uv"),  # which no test requests
}
ODD = [
    True, False, "12", "nan", [], [1.0], {"a": 1}, 1e9, -1e9, 999_999_999, 10**400, -(10**30),
    float("inf"), float("nan"), -0.0, None,
]  # fmt: skip
values = st.one_of(st.floats(), st.integers(), st.sampled_from(ODD), st.booleans(), st.text())
columns = st.integers(1, 40).flatmap(
    lambda length: st.tuples(
        st.permutations(range(length)),
        st.dictionaries(
            st.sampled_from(["tmax", "code", "sun", "uv", "unknown"]),
            st.none() | st.lists(values, min_size=length, max_size=length),
        ),
    )
)


def value_of(name: str, value: object) -> float:
    """What one value is, looked at alone."""
    factor, offset = UNITS[TABLE[name].unit]
    low, high = ALL_FIELDS[name][:2]
    number = float(value) * factor + offset if is_number(value) else math.nan
    return number if low <= number <= high else math.nan


@given(columns)
@example(([0, 1], {"tmax": [10**400, 280.0], "code": [True, "3"], "sun": [None, -0.0]}))
@example(([1, 0], {"tmax": [10**30, 999_999_999], "code": [3, 1.5]}))
def test_reading_a_whole_column_equals_reading_each_value_alone(given_columns):
    places, native = given_columns
    dates = [FIRST + timedelta(place) for place in places]
    first, read = read_columns(native, dates, TABLE, FIELDS)
    assert (first, list(read)) == (min(dates), list(FIELDS))
    for name, got in read.items():
        column = native.get(TABLE[name].path) if name in TABLE else None
        expected = np.full(len(dates), math.nan)
        for place, value in zip(places, column or [], strict=False):
            expected[place] = value_of(name, value)
        np.testing.assert_array_equal(got, expected)
        assert np.array_equal(np.signbit(got), np.signbit(expected))


@pytest.mark.parametrize(
    ("native", "days", "why"),
    [
        ({}, [], "the answer has no dates, or a date twice"),
        ({}, [0, 1, 0], "the answer has no dates, or a date twice"),
        ({}, [0, 6000], "the first and last date of the answer are more than 6,000 days apart"),
        ({"tmax": [1.0]}, [0, 1], "a column has another number of values than of dates"),
        ({"tmax": "ab"}, [0, 1], "a column has another number of values than of dates"),
        ({"tmax": {"a": 1, "b": 2}}, [0, 1], "a column has another number of values than of dates"),
    ],
)
def test_mismatched_dates_and_columns_are_refused_with_a_reason(native, days, why):
    with pytest.raises(ValueError, match=f"^{why}$"):
        read_columns(native, [FIRST + timedelta(day) for day in days], TABLE, FIELDS)
