"""Calibrated forecasts: what holds whatever the forecast, the climate and the lead."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.sections.weather.calibration import Z90, Calibration

CALIBRATION = Calibration.load()
HORIZON = 16
LEADS = np.arange(0, HORIZON + 0.01, 0.25)
VARIABLES = ("temperature_max", "temperature_min", "temperature_mean")
PRODUCTS = ("raw", "damped")
DRAWN = 50_000  # chance moves a coverage by 0.0018: 0.01 is over five times that

kinds = st.tuples(st.sampled_from(VARIABLES), st.sampled_from(PRODUCTS))
degrees, spreads = st.floats(-60, 55), st.floats(0, 15)
percents, leads = st.floats(0, 100), st.floats(0, 30)
each_variable = pytest.mark.parametrize("variable", VARIABLES)
each_product = pytest.mark.parametrize("product", PRODUCTS)


def at(kind, forecast, mean, sd, lead=LEADS):
    """The estimate of one forecast at each lead."""
    variable, product = kind
    lead = np.atleast_1d(np.asarray(lead, float))
    row = np.ones_like(lead)
    return CALIBRATION.temperature(variable, forecast * row, mean * row, sd * row, lead, product)


@given(kinds, degrees, degrees, spreads, leads)
def test_best_estimate_lies_between_forecast_and_climatology_and_within_p10_to_p90(
    kind, forecast, mean, sd, lead
):
    best, p10, p90 = (float(one[0]) for one in at(kind, forecast, mean, sd, lead))
    assert min(forecast, mean) - 1e-9 <= best <= max(forecast, mean) + 1e-9
    assert p10 <= best <= p90


@given(kinds, degrees, degrees, spreads)
def test_p10_p90_range_never_narrows_with_lead_time_nor_exceeds_the_climatology_range(
    kind, forecast, mean, sd
):
    _, p10, p90 = at(kind, forecast, mean, sd)
    assert (np.diff(p90 - p10) >= -1e-9).all()
    assert (p90 - p10 <= 2 * Z90 * sd + 1e-9).all()


@given(kinds, degrees, degrees, spreads)
def test_best_estimate_and_p10_p90_range_do_not_jump_between_lead_times(kind, forecast, mean, sd):
    fine = np.linspace(0, HORIZON - 0.01, 4001)
    best, p10, p90 = at(kind, forecast, mean, sd, fine)
    assert np.abs(np.diff(best)).max() <= 0.01 * abs(forecast - mean) + 1e-9
    assert np.diff(p90 - p10).max() <= 0.01 * 2 * Z90 * sd + 1e-9


@given(kinds, degrees, degrees, spreads, st.floats(HORIZON, 400))
def test_calibrated_forecast_equals_the_climatology_from_the_forecast_horizon_on(
    kind, forecast, mean, sd, lead
):
    found = at(kind, forecast, mean, sd, lead)
    np.testing.assert_allclose(found.best, mean)
    np.testing.assert_allclose(found.p90 - found.p10, 2 * Z90 * sd, atol=1e-9)


@each_variable
@each_product
def test_calibration_leaves_unknown_values_unknown_and_does_not_affect_other_values(
    variable, product
):
    kind = (variable, product)
    whole = at(kind, 20.0, 15.0, 4.0, np.full(3, 5.0))
    rows = [np.array([20.0, np.nan, 20.0]), np.array([15.0, 15.0, np.nan]), np.full(3, 4.0)]
    found = CALIBRATION.temperature(variable, *rows, np.full(3, 5.0), product)
    for known, mixed in zip(whole, found, strict=True):
        assert mixed[0] == known[0]
        assert np.isnan(mixed[1:]).all()
    assert np.isnan(at(kind, 20.0, 15.0, np.nan, 5.0)).all()
    chance = CALIBRATION.chance_of_rain(rows[0], rows[1], np.full(3, 5.0))
    assert np.isnan(chance).tolist() == [False, True, True]
    amount = CALIBRATION.precipitation_p90(rows[0], rows[1], np.full(3, 5.0), rows[2])
    assert np.isnan(amount).tolist() == [False, True, True]


@each_variable
@each_product
def test_past_day_keeps_the_issued_value_and_has_no_p10_p90_range(variable, product):
    one = np.ones(1)
    beside = CALIBRATION.temperature(variable, 9 * one, one, one, -one, product)
    alone = CALIBRATION.temperature_alone(variable, 9 * one, -one, product)
    for found in (beside, alone):
        assert found.best == 9
        assert np.isnan(found.p10)
        assert np.isnan(found.p90)


@each_variable
@pytest.mark.parametrize("sd", [0.8, 5.0])
@each_product
def test_p10_p90_range_contains_80_percent_of_days_simulated_from_the_model(variable, sd, product):
    """Outcomes come from the climate, and from them the forecasts that the module describes."""
    skill, damped = getattr(CALIBRATION, variable), CALIBRATION.damped
    noise = (skill.noise / sd) ** 2
    drawn = np.random.default_rng(15)
    for lead in range(HORIZON + 1):
        g = float(skill.at(np.array(float(lead)), HORIZON))
        explained = sd**2 * g**2 / (1 + noise / 2) ** 2
        weight = g / (1 + noise / 2) ** 2
        if product == "damped":
            explained = sd**2 * g**2 / (1 + damped.spread_noise**2 * noise / 2) ** 2
            weight = g**damped.exponent / (1 + (damped.weight_noise**2 * noise) ** 2)
        variance = explained / weight**2 if weight else sd**2  # of the forecast's anomaly
        shared = weight * variance / sd**2
        outcome = drawn.normal(0, sd, DRAWN)
        lost = np.sqrt(max(0.0, variance - shared**2 * sd**2))
        forecast = 15 + shared * outcome + lost * drawn.normal(size=DRAWN)
        _, p10, p90 = at((variable, product), forecast, 15.0, sd, np.full(DRAWN, float(lead)))
        inside = (p10 <= 15 + outcome) & (15 + outcome <= p90)
        assert inside.mean() == pytest.approx(0.80, abs=0.01), lead


@each_variable
@each_product
def test_forecast_without_climatology_keeps_its_value_and_the_range_widens_with_lead(
    variable, product
):
    forecast = np.full_like(LEADS, 21.0)
    best, p10, p90 = CALIBRATION.temperature_alone(variable, forecast, LEADS, product)
    assert (best == forecast).all()
    assert (np.diff(p90 - p10) > 0).all()
    assert p10[0] < 21 < p90[0]


@given(percents, percents, leads)
def test_chance_of_rain_lies_between_the_issued_chance_and_the_share_of_wet_days(
    chance, share, lead
):
    found = float(CALIBRATION.chance_of_rain(*np.array([[chance], [share], [lead]]))[0])
    assert min(chance, share) - 1e-9 <= found <= max(chance, share) + 1e-9
    assert 0 <= found <= 100 + 1e-9


def test_from_day_7_to_16_chance_of_rain_fades_to_the_climatological_share_of_wet_days():
    chance, share = np.full_like(LEADS, 80.0), np.full_like(LEADS, 30.0)
    faded = CALIBRATION.chance_of_rain(chance, share, LEADS)
    assert (faded[LEADS <= 7] == 80).all()
    assert (np.diff(faded[LEADS >= 7]) < 0).all()
    assert faded[-1] == 30


@given(st.floats(0, 300), percents, leads, st.floats(1, 40))
def test_p90_of_rain_grows_with_amount_and_chance_and_is_zero_if_rain_is_unlikely(
    amount, chance, lead, wet_mean
):
    given_ = np.array([[amount], [chance], [lead], [wet_mean]])
    (p90,) = CALIBRATION.precipitation_p90(*given_)
    assert p90 >= 0
    if chance <= 10:
        assert p90 == 0
    (more,) = CALIBRATION.precipitation_p90(given_[0] + 5, *given_[1:])
    (likelier,) = CALIBRATION.precipitation_p90(
        given_[0], np.minimum(given_[1] + 5, 100), *given_[2:]
    )
    assert more >= p90 - 1e-9
    assert likelier >= p90 - 1e-9


def test_calibration_states_which_forecasts_its_coefficients_were_fitted_on():
    assert CALIBRATION.judged_on == (
        "fitted on 317,751 forecasts of 7 sources, 2007 to 2026, leads 0 to 13 days; "
        "from day 9 on New York alone"
    )
    assert CALIBRATION.method
