"""How well the climatology does: trained on ten years, judged on the next, on real daily series.

Run: `python benchmarks/weather_climatology.py [folder of nasa_weather_*.csv.gz]`. Every month of
every year from 2011 to 2024 is answered as a stay from the ten years before it with the shipped
statistics; no value of the judged year is seen. Ten raw same-day values are the measure.
"""

import csv
import gzip
import sys
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path

import numpy as np

from location_context.sections.weather import climatology
from location_context.sections.weather.climatology import in_year, windows
from location_context.sections.weather.records import (
    FIELDS,
    ROW,
    Grid,
    Month,
    month_span,
    plausible,
)
from location_context.stay import Stay

COLUMNS = {
    "temperature_max": "T2M_MAX",
    "temperature_min": "T2M_MIN",
    "precipitation_sum": "PRECTOTCORR",
}
ROWS = [ROW[name] for name in COLUMNS]
NAN = float("nan")


class Series:
    """One city's daily values by date, hidden from `judged` on."""

    def __init__(self, path: Path) -> None:
        self.days: dict[date, tuple[float, ...]] = {}
        with gzip.open(path, "rt") as lines:
            for row in csv.DictReader(lines):
                day = date(int(row["YEAR"]), 1, 1) + timedelta(int(row["DOY"]) - 1)
                self.days[day] = tuple(float(row[name]) for name in COLUMNS.values())
        self.values = plausible(tuple(COLUMNS), np.array(list(self.days.values())).T)
        self.first = min(self.days)

    def month(self, year: int, month: int, hidden_from: date) -> Month:
        first, last = month_span(year, month)
        values = np.full((len(FIELDS), (last - first).days + 1), NAN, np.float32)
        begin = (first - self.first).days
        end = min((last - self.first).days + 1, (hidden_from - self.first).days)
        part = self.values[:, max(0, begin) : max(0, end)]
        shift = max(0, -begin)
        values[ROWS, shift : shift + part.shape[1]] = part
        return Month(year, month, Grid(0, 0, None), datetime(2026, 1, 1, tzinfo=UTC), values)

    def of(self, day: date) -> np.ndarray:
        return self.values[:, (day - self.first).days] if day in self.days else np.full(3, NAN)


def crps(members: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """CRPS of each row's members (NaN where there is none) against the truth."""
    ordered = np.sort(members, axis=1)
    count = np.isfinite(ordered).sum(axis=1)
    rank = np.arange(1, ordered.shape[1] + 1)
    weight = 2 * rank[None, :] - count[:, None] - 1
    spread = np.nansum(ordered * weight, axis=1) / count**2
    return np.nanmean(np.abs(ordered - truth[:, None]), axis=1) - spread


class Score:
    """Sums over all cities, years and dates."""

    def __init__(self) -> None:
        self.inside, self.judged = 0, 0
        self.crps, self.raw_crps = 0.0, 0.0
        self.brier, self.raw_brier, self.rain_days = 0.0, 0.0, 0

    def temperature(self, pooled: np.ndarray, raw: np.ndarray, truth: np.ndarray) -> None:
        keep = np.isfinite(truth)
        pooled, raw, truth = pooled[keep], raw[keep], truth[keep]
        low, high = climatology.quantiles(pooled, 0.1, 0.9)
        self.inside += int(((truth >= low) & (truth <= high)).sum())
        self.judged += len(truth)
        self.crps += float(crps(pooled, truth).sum())
        self.raw_crps += float(crps(raw, truth).sum())

    def rain(self, chance: np.ndarray, raw: np.ndarray, truth: np.ndarray) -> None:
        keep = np.isfinite(truth)
        wet = (truth[keep] >= 1).astype(float)
        known = np.isfinite(raw[keep])
        share = ((raw[keep] >= 1) & known).sum(axis=1) / known.sum(axis=1)
        self.brier += float(((chance[keep] / 100 - wet) ** 2).sum())
        self.raw_brier += float(((share - wet) ** 2).sum())
        self.rain_days += len(wet)

    def report(self) -> dict[str, float]:
        return {
            "coverage": 100 * self.inside / self.judged,
            "crps_ratio": self.crps / self.raw_crps,
            "brier_ratio": self.brier / self.raw_brier,
            "days": self.judged,
        }


def judge(series: Series, year: int, month: int, score: Score) -> None:
    """One month of one city as a stay."""
    start = date(year, month, 1)
    end = date(year + month // 12, month % 12 + 1, 1) - timedelta(1)
    stay, hidden = Stay(start, end), date(year, 1, 1)
    find = cache(lambda y, m: series.month(y, m, hidden))
    years = range(year - 10, year)
    values = climatology.remove_outliers(windows(stay, years, find))
    truth = np.stack([series.of(day) for day in stay.dates()], axis=1)
    raw = np.stack(
        [[series.of(in_year(day, y)) for y in years] for day in stay.dates()]
    )  # dates x years x 3
    for number, name in enumerate(("temperature_max", "temperature_min")):
        score.temperature(
            climatology.pooled_samples(values[ROW[name]]), raw[:, :, number], truth[number]
        )
    chance = climatology.summarise(values)["precipitation_probability"]
    score.rain(chance, raw[:, :, 2], truth[2])


def evaluate(folder: Path, first: int = 2011, last: int = 2024, step: int = 1) -> dict[str, float]:
    """The figures over all cities in the folder."""
    score = Score()
    for path in sorted(folder.glob("nasa_weather_*.csv.gz")):
        series = Series(path)
        for year in range(first, last + 1, step):
            for month in range(1, 13):
                judge(series, year, month, score)
    return score.report()


if __name__ == "__main__":
    default = Path(__file__).parents[2] / "shared" / "data" / "climate"
    for name, value in evaluate(Path(sys.argv[1]) if len(sys.argv) > 1 else default).items():
        print(f"{name:12} {value:.4f}")
