"""The store's statistics, judged on years that they do not know, as the archive's are."""

import math
from datetime import date
from itertools import product

import numpy as np
import pytest

from location_context.sections.weather import climatology
from location_context.sections.weather.calibration import Z90
from location_context.sections.weather.climate import layout
from location_context.sections.weather.climate.tile import build_tile
from location_context.sections.weather.records import ARCHIVE_FIELDS, ROW
from location_context.stay import Stay
from research import weather_climatology

FIELDS = tuple(weather_climatology.COLUMNS)
JUDGED = range(2012, 2025, 4)


def normal_crps(mean: np.ndarray, sd: np.ndarray, truth: np.ndarray) -> float:
    """Return the sum of the CRPS of normal distributions (Gneiting and others 2005)."""
    z = (truth - mean) / sd
    below = np.array([math.erf(one / math.sqrt(2)) for one in z])  # 2 Φ(z) - 1
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return float((sd * (z * below + 2 * density - 1 / math.sqrt(math.pi))).sum())


def judge(series: weather_climatology.Series, year: int, score: weather_climatology.Score) -> None:
    """Judge a year from a store of the ten years before it."""
    known = (date(year, 1, 1) - series.first).days
    values = np.full((1, len(ARCHIVE_FIELDS), known), np.nan)
    values[0, [ROW[name] for name in FIELDS]] = series.values[:, :known]
    years, scales = range(year - 10, year), layout.scales_of(FIELDS)
    stats, _ = build_tile(values, series.first, years, FIELDS)
    unpacked = layout.unpack(stats[0], scales)
    days = [day for month in range(1, 13, 3) for day in quarter(year, month).dates()]
    place = [int(climatology.places(Stay(day, day))[0]) for day in days]
    columns = {scale.name: unpacked[place, row] for row, scale in enumerate(scales)}
    truth = np.stack([series.of(day) for day in days], axis=1)
    raw = np.stack(
        [[series.of(weather_climatology.in_year(day, y)) for y in years] for day in days]
    )
    for row, name in enumerate(FIELDS[:2]):
        low, high = columns[f"{name}_p10"], columns[f"{name}_p90"]
        score.inside += int(((truth[row] >= low) & (truth[row] <= high)).sum())
        score.judged += len(days)
        score.crps += normal_crps(columns[name], (high - low) / (2 * Z90), truth[row])
        score.raw_crps += float(weather_climatology.crps(raw[:, :, row], truth[row]).sum())
    score.rain(columns["precipitation_probability"], raw[:, :, 2], truth[2])


def quarter(year: int, month: int) -> Stay:
    return Stay(date(year, month, 1), date(year, month + 2, 30 if month in {4, 7} else 31))


def test_climate_store_is_as_accurate_as_the_archive_on_years_outside_the_store(shared_data):
    folder = shared_data / "climate"
    score = weather_climatology.Score()
    cities = [weather_climatology.Series(one) for one in sorted(folder.glob("nasa_weather_*"))]
    for series, year in product(cities, JUDGED):
        judge(series, year, score)
    store = score.report()
    api = weather_climatology.evaluate(folder, JUDGED[0], JUDGED[-1], JUDGED.step)
    print(store, api)
    assert store["days"] == pytest.approx(api["days"], abs=100)  # gaps are judged apart
    assert store["coverage"] == pytest.approx(api["coverage"], abs=0.1)
    assert store["brier_ratio"] == pytest.approx(api["brier_ratio"], abs=0.0005)
    assert store["crps_ratio"] <= 0.93  # of the normal that the tenths span; the pool itself: 0.924
