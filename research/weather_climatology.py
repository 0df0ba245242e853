"""Judge the climatology: trained on ten years, judged on the next, on real daily series.

Run: `python -m research.weather_climatology [folder of nasa_weather_*.csv.gz]`. Every month of
every year from 2011 to 2024 is answered as a stay from the ten years before it with the shipped
statistics; no value of the judged year is seen. Ten raw same-day values are the measure.

A guest is at a place and not in a cell of half a degree: the second table judges the cells against
the stations near their cities (`--stations`: files as `forecast_pairs.py` describes; only the
observations count), without and with the error that NASA POWER states for its cells.
"""

import argparse
import csv
import gzip
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from location_context.sections.weather import climatology, estimate
from location_context.sections.weather.calibration import Calibration
from location_context.sections.weather.climatology import windows
from location_context.sections.weather.providers.nasa_power import NasaPower
from location_context.sections.weather.records import (
    ARCHIVE_FIELDS,
    ROW,
    Grid,
    Month,
    WeatherSeries,
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
FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
STATIONS = ("nws_us160_2021.csv.gz", "meteostat_europe_2020.csv.gz")  # whose truth is a station's
NEAR_DEGREES = 0.5  # in latitude and longitude: half a cell and more of NASA POWER's
WEEK = 7


class Series:
    """One city's daily values by date, hidden from `judged` on."""

    def __init__(self, path: Path) -> None:
        self.days: dict[date, tuple[float, ...]] = {}
        self.place = (NAN, NAN)
        with gzip.open(path, "rt") as lines:
            for row in csv.DictReader(lines):
                day = date(int(row["YEAR"]), 1, 1) + timedelta(int(row["DOY"]) - 1)
                self.days[day] = tuple(float(row[name]) for name in COLUMNS.values())
                self.place = (float(row["LAT"]), float(row["LON"]))
        self.values = plausible(tuple(COLUMNS), np.array(list(self.days.values())).T)
        self.first = min(self.days)

    def month(self, year: int, month: int, hidden_from: date) -> Month:
        first, last = month_span(year, month)
        values = np.full((len(ARCHIVE_FIELDS), (last - first).days + 1), NAN, np.float32)
        begin = (first - self.first).days
        end = min((last - self.first).days + 1, (hidden_from - self.first).days)
        part = self.values[:, max(0, begin) : max(0, end)]
        shift = max(0, -begin)
        values[ROWS, shift : shift + part.shape[1]] = part
        return Month(year, month, Grid(0, 0, None), datetime(2026, 1, 1, tzinfo=UTC), values)

    def of(self, day: date) -> np.ndarray:
        return self.values[:, (day - self.first).days] if day in self.days else np.full(3, NAN)


def crps(members: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the CRPS of each row's members (NaN: missing) against the truth."""
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


def in_year(day: date, year: int) -> date:
    """Return the same date in another year; 28 February if that year has no 29th."""
    try:
        return day.replace(year=year)
    except ValueError:
        return date(year, 2, 28)


def judge(series: Series, year: int, month: int, score: Score) -> None:
    """Judge one month of one city as a stay."""
    start = date(year, month, 1)
    end = date(year + month // 12, month % 12 + 1, 1) - timedelta(1)
    stay, hidden = Stay(start, end), date(year, 1, 1)
    find = cache(lambda y, m: series.month(y, m, hidden))
    years = range(year - 10, year)
    values = windows(stay, years, find)
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
    """Return the figures over all cities in the folder."""
    score = Score()
    for path in sorted(folder.glob("nasa_weather_*.csv.gz")):
        series = Series(path)
        for year in range(first, last + 1, step):
            for month in range(1, 13):
                judge(series, year, month, score)
    return score.report()


class Station(NamedTuple):
    """A station, and its highs and lows by day."""

    name: str
    lat: float
    lng: float
    days: dict[date, list[float]]


class Verdict(NamedTuple):
    """Shares of days within the range, and of weeks that are called warmer than usual.

    Attributes:
        warmer: judged by what came.
        said: by the estimate of a forecast that says what came, issued on the week's first day.
    """

    high: float
    low: float
    warmer: float
    said: float


def read_stations(files: Sequence[Path]) -> list[Station]:
    """Read what came at each station of files of forecasts."""
    found: dict[tuple[str, float, float], dict[date, list[float]]] = {}
    for path in files:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
            for row in csv.DictReader(lines):
                if row["variable"] in {"tmax", "tmin"} and row["observed"] and row["lat"]:
                    key = (row["station"], float(row["lat"]), float(row["lon"]))
                    days = found.setdefault(key, defaultdict(lambda: [NAN, NAN]))
                    day = days[date.fromisoformat(row["valid_date"])]
                    day[row["variable"] == "tmin"] = float(row["observed"])
    return [Station(*key, days) for key, days in found.items()]


def climate_of(series: Series, stay: Stay, error: tuple[float, float]) -> WeatherSeries:
    """Return the climatology of a stay from the ten years before it, as an archive gives it."""
    years = range(stay.start.year - 10, stay.start.year)
    find = cache(lambda year, month: series.month(year, month, date(stay.start.year, 1, 1)))
    values = windows(stay, years, find)
    return WeatherSeries(
        kind="reanalysis", provider="", model=None, attribution=(),
        columns=climatology.summarise(values), ttl=timedelta(1), as_of=None, years=years,
        history=climatology.history(stay, years, values), representativeness=error,
    )  # fmt: skip


def judge_place(series: Series, station: Station, error: tuple[float, float]) -> Verdict:
    """Judge a cell's climatology of each week that the station knows whole."""
    calibration, lead = Calibration.load(), np.arange(float(WEEK))
    inside: tuple[list[bool], list[bool]] = ([], [])
    warmer: list[list[bool]] = []
    for stay in weeks(station):
        typical = climate_of(series, stay, error)
        columns = estimate.at_place(typical)
        came = np.array([station.days[day] for day in stay.dates()]).T
        for held, name, values in zip(inside, estimate.VARIABLES, came, strict=True):
            low, high = columns[f"{name}_p10"], columns[f"{name}_p90"]
            held.extend(((low <= values) & (values <= high))[np.isfinite(values)].tolist())
        usual = estimate.Normals.of_archive(typical, 0.0)
        said = calibration.temperature(
            "temperature_max", came[0], usual.mean[0], usual.sd[0], lead, "raw", error[0]
        )
        mean = float(typical.columns["temperature_max"].mean())
        off = [
            estimate.unusual(float(highs.mean()), mean, typical.history, error[0])
            for highs in (came[0], said.best)
        ]
        warmer.append([kelvin is not None and kelvin > 0 for kelvin in off])
    high, low = (float(np.mean(held)) for held in inside)
    return Verdict(high, low, *np.mean(warmer, axis=0).tolist())


def weeks(station: Station) -> Iterator[Stay]:
    """Yield the weeks, in turn, with all highs known."""
    day = min(station.days)
    while day <= max(station.days):
        stay = Stay(day, day + timedelta(WEEK - 1))
        highs = [station.days[one][0] for one in stay.dates() if one in station.days]
        if len(highs) == WEEK and np.isfinite(highs).all():
            yield stay
            day += timedelta(WEEK)
        else:
            day += timedelta(1)


def show_places(folder: Path, files: Sequence[Path]) -> None:
    """Print how the cells do as the places of the stations in them."""
    stations = read_stations(files)
    error = NasaPower.representativeness
    print(f"\nCells against stations: as they are, then with an error of {error} K (highs, lows)")
    print(f"{'':43}in the range (0.80)  warmer weeks (0.10)")
    print(f"{'station':28}   days  weeks   {'highs':9}  {'lows':9}  {'came':9}  said")
    for path in sorted(folder.glob("nasa_weather_*.csv.gz")):
        series = Series(path)
        for station in stations:
            away = max(abs(station.lat - series.place[0]), abs(station.lng - series.place[1]))
            if away > NEAR_DEGREES or not (count := len(list(weeks(station)))):
                continue
            bare, held = (judge_place(series, station, one) for one in ((0.0, 0.0), error))
            pairs = "  ".join(f"{a:.2f} {b:.2f}" for a, b in zip(bare, held, strict=True))
            print(f"{station.name:28} {len(station.days):6} {count:6}  {pairs}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER / "climate")
    default = [FOLDER / "forecasts" / name for name in STATIONS]
    parser.add_argument("--stations", type=Path, nargs="+", default=default, metavar="FILE")
    given = parser.parse_args()
    for name, value in evaluate(given.folder).items():
        print(f"{name:12} {value:.4f}")
    show_places(given.folder, given.stations)


if __name__ == "__main__":
    main()
