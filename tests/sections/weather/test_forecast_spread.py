"""The benchmark of calibrated forecasts, run as a command over files of pairs."""

import csv
import gzip
import io
import os
import subprocess
import sys
from datetime import date, timedelta

import numpy as np
import pytest

from location_context.sections.weather.calibration import Calibration
from research import forecast_pairs, forecast_rain, forecast_spread
from tests.conftest import ROOT

HEADER = (*forecast_pairs.COLUMNS[:-2], "forecast", "ensemble_mean", "observed")


def season(day: date) -> float:
    return 15 - 9 * float(np.cos(2 * np.pi * day.timetuple().tm_yday / 365.25))


def rows(days: int, leads=(0, 2, 5, 9, 14), station: str = "Hill, North"):
    """Made-up pairs: a season, its weather, and forecasts that know less of it further ahead."""
    drawn = np.random.default_rng(4)
    weather = drawn.normal(0, 4, days + 30)
    for number in range(days):
        issued = date(2023, 3, 1) + timedelta(number)
        for lead in leads:
            valid, ahead = issued + timedelta(lead), np.exp(-lead / 6)
            anomaly = weather[number + lead]
            wet = float(anomaly > 3)
            said = ahead * anomaly + np.sqrt(1 - ahead**2) * drawn.normal(0, 4)
            of = {
                "tmax": (season(valid) + said, season(valid) + anomaly),
                "pop": (round(float(np.clip(0.2 + ahead * (wet - 0.2), 0, 1)), 2), wet),
                "precip24": (6 * wet * ahead, 6 * wet),
            }
            for variable, (forecast, observed) in of.items():
                yield ("made_up", station, issued, valid, lead, variable, forecast, "", observed)


def write(path, lines, header=HEADER) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([header, *lines])
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def run(*options, name: str = "forecast_spread") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"research.{name}", *map(str, options)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_forecast_pairs_from_files_are_evaluated_with_the_shipped_coefficients(tmp_path):
    packed, plain, out = (tmp_path / name for name in ("a.csv.gz", "b.csv", "out.csv"))
    write(packed, rows(760))
    gap = [row for row in rows(40, leads=(1, 2), station="Shore") if row[3].day % 5]
    write(plain, [*gap, ("made_up", "Shore", "2023-03-01", "2023-03-02", 1, "tmax", "", "", 9)])
    done = run("--pairs", packed, plain, "--out", out, "--product", "damped", "--wet-mm", 0.5)
    assert done.returncode == 0, done.stderr
    parts = "tmax", "4-7", "pass", "Chance of rain", "Reliability", "9 days in 10", "Headlines"
    assert [part for part in parts if part not in done.stdout] == []
    with out.open() as file:
        written = list(csv.DictReader(file))
    assert tuple(written[0]) == forecast_spread.OUT
    assert len(written) == 760 * 5 * 3 + len(gap)
    for row in written:
        if row["variable"] == "tmax":
            assert float(row["p10"]) < float(row["best"]) < float(row["p90"])
            if row["climatology_mean"]:
                names = "best", "climatology_mean", "climatology_sd", "lead_days"
                given = (np.array([float(row[name])]) for name in names)
                forecast = Calibration.load().temperature("temperature_max", *given, "damped")
                width = float(row["p90"]) - float(row["p10"])
                assert width == pytest.approx(float(forecast.p90[0] - forecast.p10[0]), abs=0.001)
        if row["variable"] == "pop":
            assert 0 <= float(row["best"]) <= 1
            assert [row[name] for name in forecast_spread.OUT[7:11]] == [""] * 4


def test_evaluation_compares_the_rain_headline_with_observed_wet_days_of_the_stay():
    outcomes = {1: (0, 0), 2: (0, 1), 3: (0, 0), 4: (1, 1)}
    chances = {1: (0.05, 0.1), 2: (0.1, 0.1), 3: (0.2, 0.2), 4: (0.9, 0.9)}
    lines = [
        ("s", "p", f"2023-01-0{day}", "2023-01-09", lead, "pop", chances[day][lead], wet)
        for day, both in outcomes.items()
        for lead, wet in enumerate(both)
    ]
    dtypes = None, None, "datetime64[D]", "datetime64[D]", None, None, None, None
    pairs = forecast_pairs.Pairs(*map(np.array, zip(*lines, strict=True), dtypes))
    found = {row.claim: row for row in forecast_rain.judge_headlines(pairs, pairs.forecast)
             if row.days == 2}  # fmt: skip
    assert {said: (row.first, row.said, row.true) for said, row in found.items()} == {
        "probably_dry": ((0, 1), 2, 1),
        "possible": ((0, 1), 1, 1),
        "most_days": ((0, 1), 1, 1),
    }
    assert {row.verdict for row in found.values()} == {"too few", ""}
    many = found["probably_dry"]
    assert many._replace(said=100, true=69).verdict == "FAIL"
    assert many._replace(said=100, true=70).verdict == "pass"


def test_climatology_used_for_evaluation_excludes_the_year_or_fortnight_being_evaluated():
    days = np.datetime64("2021-01-01") + np.arange(2 * 365)
    warm = np.where(days < np.datetime64("2022-01-01"), 10.0, 20.0)
    mean, _, years = forecast_pairs.Series(days, warm).climate()
    assert mean[100] == pytest.approx(20)
    assert mean[500] == pytest.approx(10)
    assert set(years[20:340]) == {1}
    alone = np.zeros(365)
    alone[100:115] = 50.0  # a hot fortnight is not its own climatology
    mean, sd, years = forecast_pairs.Series(days[:365], alone).climate()
    assert mean[107] == pytest.approx(0, abs=0.5)
    assert not years.any()
    assert (sd[90:125] > 0).all()


@pytest.mark.parametrize(
    ("name", "lines", "header", "message"),
    [
        ("none.csv", None, HEADER, "none.csv cannot be read: No such file or directory"),
        ("short.csv", [], HEADER[:-1], "has no column observed"),
        ("empty.csv", [], HEADER, "no row with a forecast and an observation"),
        ("words.csv", [("s", "p", "2023-01-01", "2023-01-02", 1, "tmax", "warm", "", 3)], HEADER,
         "row 2: could not convert string to float: 'warm'"),
        ("dates.csv", [("s", "p", "01.01.2023", "2023-01-02", 1, "tmax", 4, "", 3)], HEADER,
         "row 2: Invalid isoformat string"),
        ("percent.csv", [("s", "p", "2023-01-01", "2023-01-02", 1, "pop", 40, "", 1)], HEADER,
         "row 2: a chance of rain is 0 to 1, not 40"),
    ],
)  # fmt: skip
def test_invalid_forecast_pairs_file_is_refused_with_a_message(
    tmp_path, name, lines, header, message
):
    if lines is not None:
        write(tmp_path / name, lines, header)
    done = run("--pairs", tmp_path / name)
    assert done.returncode == 1
    assert message in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
    assert name in done.stderr


def test_calibration_is_not_fitted_on_a_source_that_the_script_does_not_describe(tmp_path):
    write(tmp_path / "pairs.csv", rows(3))
    done = run("--pairs", tmp_path / "pairs.csv", name="fit_forecast_calibration")
    assert done.returncode == 1
    assert done.stderr == "SOURCES must say what product and weight made_up has\n"
