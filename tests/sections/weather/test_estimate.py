"""The estimate of each day: heights, leads, past days, and what goes along."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Languages
from location_context.sections.weather import card as weather_card
from location_context.sections.weather import estimate
from location_context.sections.weather.calibration import Z90, Calibration
from location_context.sections.weather.providers.open_meteo import OpenMeteoArchive
from location_context.sections.weather.records import FORECAST_FIELDS, Grid, WeatherSeries
from location_context.sections.weather.response import YearBody
from location_context.sections.weather.summary_text import stay_text
from location_context.stay import Stay
from tests.fakes.open_meteo import FORECAST
from tests.fakes.server import FakeResponse
from tests.sections.weather.conftest import FAR, NEAR, TODAY, query, write_grid

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CALIBRATION = Calibration.load()
degrees = st.floats(-40, 45)


def forecast(days: int, **columns) -> WeatherSeries:
    """As issued, all unknown but these columns."""
    unknown = dict.fromkeys(FORECAST_FIELDS, np.full(days, np.nan))
    given_ = {name: np.broadcast_to(np.asarray(one, float), days) for name, one in columns.items()}
    return WeatherSeries(
        kind="forecast", provider="Skyline", model=None, attribution=(),
        columns=unknown | given_, ttl=timedelta(hours=1), as_of=NOW, grid=Grid(48.9, 2.4, 80.0),
    )  # fmt: skip


def normals(days: int, high: float, low: float, sd: float = 4.0) -> estimate.Normals:
    def row(value: float) -> np.ndarray:
        return np.full(days, float(value))

    return estimate.Normals(
        climatology="archive", mean=(row(high), row(low)), sd=(row(sd), row(sd)),
        wet_share=row(30.0), wet_mean=row(5.0),
    )  # fmt: skip


@settings(max_examples=60)
@given(st.lists(st.tuples(degrees, degrees, degrees), min_size=1, max_size=18), degrees, degrees)
def test_calibrated_low_mean_and_high_temperatures_keep_their_order(issued, one, other):
    lows, means, highs = np.array([sorted(day) for day in issued]).T
    held = normals(len(issued), max(one, other), min(one, other))
    series = forecast(
        len(issued), temperature_max=highs, temperature_min=lows, temperature_mean=means
    )
    lead = np.arange(len(issued), dtype=float)
    found = estimate.calibrated(series, held, lead, CALIBRATION).columns
    low, mean, high = (found[f"temperature_{name}"] for name in ("min", "mean", "max"))
    assert (low <= mean + 1e-9).all()
    assert (mean <= high + 1e-9).all()
    for name in estimate.VARIABLES:
        assert (found[f"{name}_p10"] < found[name]).all()
        assert (found[name] < found[f"{name}_p90"]).all()


def test_past_days_keep_the_issued_values_without_a_p10_p90_range():
    stay = Stay(TODAY - timedelta(3), TODAY + timedelta(1))
    series = forecast(stay.days, temperature_max=20.0, temperature_min=10.0, temperature_mean=14.0)
    lead = estimate.leads(stay, TODAY, TODAY)
    assert lead.tolist() == [-1, -1, -1, 0, 1]
    found = estimate.calibrated(series, normals(5, 5, -2), lead, CALIBRATION).columns
    assert found["temperature_max"][:3].tolist() == [20.0] * 3
    assert found["temperature_mean"][:3] == pytest.approx([14.0] * 3)
    assert np.isnan(found["temperature_max_p10"]).tolist() == [True] * 3 + [False] * 2
    assert np.isnan(found["precipitation_sum_p90"][:3]).all()
    assert (found["temperature_max"][3:] < 20).all()


def test_forecast_issued_yesterday_has_lead_times_one_day_longer():
    stay = Stay(TODAY, TODAY + timedelta(2))
    assert estimate.leads(stay, TODAY - timedelta(1), TODAY).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("forecast_height", "point_height", "kelvin"),
    [(300.0, 100.0, 3.25), (300.0, None, 3.25), (None, 100.0, 4.55), (None, None, 0.0)],
)
def test_climatology_is_corrected_to_the_height_of_the_forecast(
    forecast_height, point_height, kelvin
):
    grids = Grid(48.9, 2.4, forecast_height), Grid(48.75, 2.25, 800.0)
    assert estimate.height_between(*grids, point_height) == pytest.approx(kelvin)


def test_calibrated_high_is_never_below_the_calibrated_low():
    series = forecast(9, temperature_max=30.0, temperature_min=29.5)
    lead = np.full(9, 8.0)
    found = estimate.calibrated(series, normals(9, 1.0, 0.8), lead, CALIBRATION).columns
    assert (found["temperature_max"] >= found["temperature_min"]).all()


def test_date_without_climatology_has_the_usual_range_of_its_lead_time():
    held = normals(3, 15, 8)
    held.mean[0][1] = np.nan
    series = forecast(3, temperature_max=20.0, temperature_min=10.0)
    lead = np.array([5.0, 6.0, 7.0])
    found = estimate.calibrated(series, held, lead, CALIBRATION).columns
    alone = estimate.calibrated(series, None, lead, CALIBRATION).columns
    assert found["temperature_max_p90"][1] == alone["temperature_max_p90"][1]
    assert found["temperature_max"][0] != alone["temperature_max"][0]


def test_usual_spread_of_highs_is_smallest_at_the_equator_and_largest_in_winter_at_60_degrees():
    january, july = (Stay(date(2027, m, 15), date(2027, m, 15)) for m in (1, 7))
    for name in estimate.VARIABLES:
        equator, north, summer, south = (
            estimate.usual_sd(name, lat, stay).item()
            for lat, stay in ((0, january), (60, january), (60, july), (-60, july))
        )
        assert 1.5 < equator < 2.5
        assert equator < summer < north < 6
        assert south == pytest.approx(north, abs=0.05)


async def test_estimate_is_the_weighted_sum_of_forecast_and_climatology_at_the_points_height(
    weather,
):
    await (await weather.read(query(NEAR))).awaits
    body = (await weather.read(query(NEAR))).body
    lead = estimate.leads(NEAR, TODAY, TODAY)
    cell = await weather.section.sources.archives.load(query(NEAR))
    shift = cell.grid.correction(body.basis.point_elevation)
    mean, tenths = (
        cell.columns[name] + shift for name in ("temperature_max", "temperature_max_p90")
    )
    sd = (tenths - cell.columns["temperature_max_p10"] - shift) / (2 * Z90)
    issued = np.array([day.issued.temperature_max for day in body.days])
    expected = CALIBRATION.temperature("temperature_max", issued, mean, sd, lead, "raw")
    assert [day.temperature_max for day in body.days] == pytest.approx(expected.best, abs=0.11)
    assert [day.temperature_max_p90 for day in body.days] == pytest.approx(expected.p90, abs=0.11)
    assert [day.typical.temperature_max for day in body.days] == pytest.approx(mean, abs=0.06)
    highs = [day.temperature_max for day in body.days]
    assert body.summary.temperature_max_mean == pytest.approx(np.mean(highs), abs=0.06)
    wet = sum(day.precipitation_probability for day in body.days) / 100
    assert body.summary.expected_wet_days == pytest.approx(wet, abs=0.06)


async def test_stale_forecast_has_a_wider_p10_p90_range(weather):
    write_grid(weather.settings.data_dir)
    weather.clock.now = datetime(2026, 11, 21, 21, tzinfo=UTC)
    new = (await weather.read(query(NEAR))).body
    weather.open_meteo.faults = {FORECAST: FakeResponse(b"", 502)}
    weather.clock.advance(4 * 3600)  # after midnight in Paris
    old = (await weather.read(query(NEAR))).body
    assert old.stale
    assert old.days[3].issued == new.days[3].issued
    assert old.days[3].temperature_max_p90 == new.days[3].temperature_max_p90  # issued then too
    weather.open_meteo.faults = {}
    newer = (await weather.read(query(NEAR))).body
    width = [
        body.days[3].temperature_max_p90 - body.days[3].temperature_max_p10 for body in (newer, old)
    ]
    assert width[0] < width[1]


def history(means: list[float | None]) -> list[YearBody]:
    """Years whose mean highs over the stay were these."""
    return [
        YearBody(
            year=2016 + n, temperature_max_mean=mean, temperature_min_mean=None,
            precipitation_total=None, wet_days=None,
        )
        for n, mean in enumerate(means)
    ]  # fmt: skip


def test_one_stay_in_five_is_unusual_if_highs_follow_the_climatology():
    """Whatever the days' own spread: what counts is how the mean of such a stay varies."""
    random = np.random.default_rng(5)
    unusual = 0
    for _ in range(3000):
        *years, now = random.normal(20.0, 2.0, 11)
        unusual += estimate.unusual(now, float(np.mean(years)), history(years), 0.0) is not None
    assert 0.17 < unusual / 3000 < 0.23


YEARS, CALM = [19.0, 21.0] * 5, [19.5, 20.5] * 5


@pytest.mark.parametrize(
    ("now", "means", "error", "unusual"),
    [
        (24.0, YEARS, 0.0, 4.0),
        (16.0, YEARS, 0.0, -4.0),
        (20.0, YEARS, 0.0, None),
        (24.0, [*YEARS[:4], None], 0.0, None),  # four known years
        (22.0, CALM, 0.0, 2.0),
        (22.0, CALM, 1.7, None),
        (24.0, CALM, 1.7, 4.0),
    ],
)
def test_stay_is_unusual_if_its_anomaly_exceeds_past_variation_and_the_grid_cell_error(
    now, means, error, unusual
):
    assert estimate.unusual(now, 20.0, history(means), error) == (
        unusual if unusual is None else pytest.approx(unusual)
    )


async def test_summary_text_says_how_much_warmer_than_usual_the_stay_is(weather):
    await (await weather.read(query(NEAR))).awaits
    plain = (await weather.read(query(NEAR))).body.summary.text
    assert "usual" not in plain
    weather.open_meteo.warmer = 12.0
    weather.clock.advance(3600)
    body = (await weather.read(query(NEAR, units="imperial"))).body
    usual = [day.typical.temperature_max for day in body.days]
    warmer = body.summary.temperature_max_mean - sum(usual) / len(usual)
    assert f" About {warmer:.0f} °F warmer than usual for these dates." in body.summary.text
    words = Formatter(Languages.load().english)
    assert words.plain(stay_text(body, TODAY, words)) == body.summary.text
    rows = weather_card.card(body, None, words, NOW).timeline.rows
    assert all(row.span and row.span[0] < row.span[3] for row in rows)


@pytest.mark.parametrize(("units", "factor"), [("metric", 1.0), ("imperial", 1.8)])
async def test_climatology_range_includes_the_error_of_its_grid_cell(
    weather, monkeypatch, units, factor
):
    far = query(FAR, units=units)
    coarse = (await weather.read(far)).body
    assert coarse.basis.representativeness.temperature_max == pytest.approx(0.7 * factor, abs=0.05)
    monkeypatch.setattr(OpenMeteoArchive, "representativeness", (0.0, 0.0))
    exact = (await weather.read(far)).body
    for held, bare in zip(coarse.days, exact.days, strict=True):
        assert held.temperature_max == bare.temperature_max
        for name in estimate.VARIABLES:
            widths = [getattr(d, f"{name}_p90") - getattr(d, f"{name}_p10") for d in (held, bare)]
            expected = np.hypot(widths[1], 2 * Z90 * 0.7 * factor)
            assert widths[0] == pytest.approx(expected, abs=0.11)


async def test_typical_range_of_a_forecast_includes_the_grid_cell_error_of_nasa_power(weather):
    del weather.section.sources.archives.providers[0]  # NASA POWER is left
    first = await weather.read(query(NEAR))
    assert first.body.basis.representativeness is None
    await first.awaits
    body = (await weather.read(query(NEAR))).body
    assert body.basis.representativeness.temperature_max == 1.7
    for day in body.days:
        assert day.typical.temperature_max_p90 - day.typical.temperature_max_p10 >= 2 * Z90 * 1.7


def test_climatology_error_widens_the_range_only_at_long_lead_times():
    lead = np.array([0.0, CALIBRATION.horizon])
    known = CALIBRATION.temperature("temperature_max", *np.full((3, 2), 3.0), lead, "raw")
    held = CALIBRATION.temperature("temperature_max", *np.full((3, 2), 3.0), lead, "raw", 1.7)
    assert held.best.tolist() == known.best.tolist()
    near, far = (held.p90 - held.p10) / (known.p90 - known.p10)
    assert near < 1.05
    assert far == pytest.approx(np.hypot(3.0, 1.7) / 3.0)


async def test_one_past_year_without_data_does_not_prevent_the_sentence_on_unusual_weather(weather):
    weather.open_meteo.missing = {day.replace(year=2020) for day in NEAR.dates()}
    await (await weather.read(query(NEAR))).awaits
    weather.open_meteo.warmer = 12.0
    weather.clock.advance(3600)
    body = (await weather.read(query(NEAR))).body
    assert [year.year for year in body.history if year.temperature_max_mean is None] == [2020]
    assert "warmer than usual" in body.summary.text


async def test_monthly_mean_climatology_shifts_the_high_and_low_of_a_late_day_equally(weather):
    write_grid(weather.settings.data_dir)  # 20 °C in November, where highs of 8 °C are forecast
    stay = Stay(TODAY, TODAY + timedelta(15))
    body = (await weather.read(query(stay))).body
    assert body.basis.spread.climatology == "monthly_mean"
    for day in body.days:
        issued = day.issued.temperature_max - day.issued.temperature_min
        assert day.temperature_max - day.temperature_min == pytest.approx(issued, abs=0.21)
    last = body.days[-1]
    assert (last.temperature_max + last.temperature_min) / 2 == pytest.approx(20, abs=2)


def test_fields_without_a_calibration_keep_the_issued_values():
    series = forecast(4, temperature_max=20.0, temperature_min=10.0, wind_speed_max=30.0)
    series = replace(series, columns={**series.columns, "precipitation_sum": np.full(4, 7.0)})
    found = estimate.calibrated(series, normals(4, 10, 2), np.arange(4.0), CALIBRATION)
    for name in ("wind_speed_max", "precipitation_sum", "sunshine_hours", "weather_code"):
        assert found.columns[name] is series.columns[name]
