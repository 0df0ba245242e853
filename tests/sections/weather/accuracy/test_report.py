"""The report: recomputed from the stored rows in plain Python, with an arithmetic of its own."""

import math
import struct
from collections import defaultdict
from datetime import timedelta
from statistics import fmean

import msgspec
import numpy as np
import pytest

from location_context.sections.weather.accuracy.report import (
    LEAD_BANDS,
    coverage,
    make_report,
    reliability,
)
from tests.sections.weather.accuracy.drawn import drawn

ISSUED, BEST, TYPICAL = {"max": 0, "min": 1}, {"max": 3, "min": 6}, {"max": 10, "min": 11}
P10, P90 = 1, 2  # behind the best estimate
ISSUED_CHANCE, CHANCE, TYPICAL_CHANCE = 2, 9, 12


def unpacked(data):
    """13 columns of 16 values in hundredths, None where unknown."""
    numbers = struct.unpack(f"<{len(data) // 2}h", data)
    values = [None if number == -32768 else number / 100 for number in numbers]
    return [values[start : start + 16] for start in range(0, len(values), 16)]


@pytest.fixture(scope="module")
def forecasts():
    rows, came = drawn(60)
    more, _ = drawn(40, "MET Norway", seed=2)
    return rows + more, came


@pytest.fixture(scope="module")
def report(forecasts):
    rows, came = forecasts
    return make_report(rows, came.get)


def outcomes(forecasts, provider):
    """Each forecast value with what came, as (lead, columns at it, high, low, rain)."""
    rows, came = forecasts
    for row in rows:
        if row.provider != provider:
            continue
        columns, days = unpacked(row.data), came[row.cell]
        for lead in range(16):
            place = (row.issued_on + timedelta(lead) - days.first).days
            if not 0 <= place < days.values.shape[1]:
                continue
            high, low, rain = (float(value) for value in days.values[:, place])
            lift = 0.0065 * (days.elevation - row.elevation)
            yield lead, [column[lead] for column in columns], high + lift, low + lift, rain


@pytest.mark.parametrize("provider", ["Open-Meteo", "MET Norway"])
@pytest.mark.parametrize("name", ["max", "min"])
def test_report_figures_of_daily_highs_and_lows_follow_from_the_stored_forecasts(
    forecasts, report, provider, name
):
    wrong, issued, typical, inside = (defaultdict(list) for _ in range(4))
    for lead, at, high, low, _ in outcomes(forecasts, provider):
        came = high if name == "max" else low
        wrong[lead].append(at[BEST[name]] - came)
        issued[lead].append(at[ISSUED[name]] - came)
        typical[lead].append(at[TYPICAL[name]] - came)
        inside[lead].append(at[BEST[name] + P10] <= came <= at[BEST[name] + P90])
    (score,) = (one for one in report.providers if one.provider == provider)
    for one in getattr(score, f"temperature_{name}"):
        errors = wrong[one.lead]
        assert one.pairs == one.typical_pairs == len(errors) > 0
        for figure, expected in (
            (one.mean_error, fmean(errors)),
            (one.mae, fmean(map(abs, errors))),
            (one.rmse, root_mean_square(errors)),
            (one.issued_mean_error, fmean(issued[one.lead])),
            (one.issued_rmse, root_mean_square(issued[one.lead])),
            (one.typical_mae, fmean(map(abs, typical[one.lead]))),
            (one.typical_rmse, root_mean_square(typical[one.lead])),
            (one.coverage, fmean(inside[one.lead])),
        ):
            assert figure == pytest.approx(expected, abs=0.002)


def root_mean_square(errors):
    return math.sqrt(sum(error * error for error in errors) / len(errors))


def test_report_figures_of_rain_follow_from_stored_forecasts_and_observed_rain(forecasts, report):
    pairs = defaultdict(list)
    for lead, at, _, _, rain in outcomes(forecasts, "Open-Meteo"):
        pairs[lead].append(
            (at[CHANCE] / 100, at[ISSUED_CHANCE] / 100, at[TYPICAL_CHANCE] / 100, rain >= 1.0)
        )
    score = report.providers[0]
    for one in score.rain:
        given = pairs[one.lead]
        assert one.pairs == len(given)
        assert one.wet_share == pytest.approx(sum(wet for *_, wet in given) / len(given), abs=0.001)
        for place, name in enumerate(("brier", "issued_brier", "typical_brier")):
            brier = sum((pair[place] - pair[3]) ** 2 for pair in given) / len(given)
            assert getattr(one, name) == pytest.approx(brier, abs=0.001)
    for band, (first, last) in zip(score.reliability, LEAD_BANDS, strict=True):
        given = [
            (100 * pair[0], pair[3]) for lead in range(first, last + 1) for pair in pairs[lead]
        ]
        assert sum(one.pairs for one in band.bins) == len(given)
        for one in band.bins:
            low, high = next(
                edges for edges in ((0, 10), (10, 30), (30, 50), (50, 70), (70, 90), (90, 100.1))
                if edges[0] <= one.chance < edges[1]
            )  # fmt: skip
            held = [wet for chance, wet in given if low <= chance < high]
            assert one.pairs == len(held)
            assert one.wet_share == pytest.approx(100 * sum(held) / len(held), abs=0.06)


def test_report_without_observations_counts_forecasts_but_no_verified_pairs(forecasts):
    rows, _ = forecasts
    report = make_report(rows, lambda _: None)
    assert not report.verified
    assert [one.forecasts for one in report.providers] == [120, 80]
    assert {one.pairs for one in report.providers[0].rain} == {0}
    body = msgspec.json.decode(msgspec.json.encode(report))
    assert body["providers"][0]["rain"][0]["brier"] is None
    assert make_report([], lambda _: None).providers == []


def test_coverage_counts_a_day_on_the_edge_of_its_range_and_leaves_out_days_without_a_range():
    low = np.array([[10.0], [10.0], [np.nan], [10.0]])
    observed = np.array([[10.0], [12.1], [11.0], [np.nan]])
    assert coverage(low, low + 2, observed).tolist() == [0.5]


def test_each_chance_of_rain_is_counted_in_exactly_one_reliability_bin():
    chance = np.array([[0.0], [9.9], [10.0], [99.0], [100.0], [np.nan]])
    found = reliability(chance, np.zeros_like(chance))
    assert [one.pairs for one in found] == [2, 1, 2]
