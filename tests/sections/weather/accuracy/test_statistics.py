"""The statistics of the score: against plain loops, and the laws they obey."""

import math
import statistics as plain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from location_context.sections.weather.accuracy import report

KNOWN = st.floats(-40, 45, allow_nan=False).map(lambda value: round(value, 2))
VALUES = arrays(float, (12, 3), elements=st.one_of(KNOWN, st.just(math.nan)))


def pairs(forecast, observed, lead):
    """The pairs at a lead that are known on both sides."""
    both = zip(forecast[:, lead].tolist(), observed[:, lead].tolist(), strict=True)
    return [(f, o) for f, o in both if not (math.isnan(f) or math.isnan(o))]


@given(VALUES, VALUES)
def test_forecast_errors_agree_with_a_plain_loop_over_known_pairs(forecast, observed):
    found = report.errors(forecast, observed)
    for lead in range(3):
        wrong = [f - o for f, o in pairs(forecast, observed, lead)]
        assert found.pairs[lead] == len(wrong)
        if not wrong:
            assert np.isnan([found.mean[lead], found.absolute[lead], found.rmse[lead]]).all()
            continue
        assert found.mean[lead] == pytest.approx(plain.fmean(wrong))
        assert found.absolute[lead] == pytest.approx(plain.fmean(map(abs, wrong)))
        assert found.rmse[lead] ** 2 == pytest.approx(plain.fmean(e * e for e in wrong))


def test_coverage_counts_a_day_on_the_edge_of_its_range_but_no_day_without_a_range():
    low = np.array([[10.0], [10.0], [np.nan], [10.0]])
    observed = np.array([[10.0], [12.1], [11.0], [np.nan]])
    assert report.coverage(low, low + 2, observed).tolist() == [0.5]


@given(arrays(float, (40, 1), elements=st.floats(0, 100)), st.data())
def test_brier_score_equals_uncertainty_plus_reliability_minus_resolution(chance, data):
    """Murphy's decomposition (1973), exact where all chances of a bin are equal."""
    chance = np.round(chance / 25) * 25
    wet = data.draw(arrays(float, (40, 1), elements=st.sampled_from([0.0, 1.0])))
    _, score = report.brier(chance, wet)
    base = float(wet.mean())
    bins = report.reliability(chance, wet)
    assert sum(one.pairs for one in bins) == 40
    reliability = sum(one.pairs * (one.chance - one.wet_share) ** 2 for one in bins) / 40e4
    resolution = sum(one.pairs * (one.wet_share / 100 - base) ** 2 for one in bins) / 40
    assert score[0] == pytest.approx(base * (1 - base) + reliability - resolution)


def test_each_chance_of_rain_falls_into_one_reliability_bin():
    chance = np.array([[0.0], [9.9], [10.0], [99.0], [100.0], [np.nan]])
    found = report.reliability(chance, np.zeros_like(chance))
    assert [one.pairs for one in found] == [2, 1, 2]
