"""Units: conversion and rounding come last, and are those of the contract."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.sections.units import Measure

METRIC, IMPERIAL = Measure("metric"), Measure("imperial")


@pytest.mark.parametrize(
    ("kind", "value", "metric", "imperial"),
    [
        ("temperature", 21.349, 21.3, 70.4),
        ("temperature", -40, -40.0, -40.0),
        ("temperature_difference", 1.0, 1.0, 1.8),
        ("precipitation", 12.34, 12.3, 0.49),
        ("snowfall", 2.54, 2.5, 1.0),
        ("wind_speed", 100, 100.0, 62.1),
        ("distance", 1.60934, 1.61, 1.0),
        ("elevation", 1609.344, 1609, 5280),
        ("angle", 359.94, 359.9, 359.9),
        ("percent", 49.6, 50, 50),
        ("hours", 7.26, 7.3, 7.3),
        ("count", 2.44, 2.4, 2.4),
    ],
)
def test_unit_system_converts_each_quantity(kind, value, metric, imperial):
    assert getattr(METRIC, kind)(value) == metric
    assert getattr(IMPERIAL, kind)(value) == imperial


@given(st.one_of(st.none(), st.sampled_from([math.nan, math.inf, -math.inf])))
def test_unit_conversion_of_a_missing_or_infinite_or_nan_number_is_none(value):
    assert METRIC.temperature(value) is None
    assert IMPERIAL.distance(value) is None


@given(st.floats(-0.049, 0))
def test_unit_conversion_never_returns_minus_zero(value: float):
    assert math.copysign(1, METRIC.temperature(value)) > 0


def test_units_have_the_names_of_the_api_contract():
    assert METRIC.body.precipitation == "mm"
    assert (IMPERIAL.body.precipitation, IMPERIAL.body.snowfall) == ("inch", "inch")
    assert (IMPERIAL.body.wind_speed, IMPERIAL.body.distance) == ("mph", "mi")
