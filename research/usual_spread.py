"""Fit `estimate.USUAL_SD`: the usual spread where only a monthly mean is stored.

Run: `python -m research.usual_spread [folder of nasa_weather_*.csv.gz]`. From daily series of
NASA POWER (20 cities, 1999-2024): standard deviations of highs and lows around three harmonics of
the year, by month, on latitude and winter; and the share of wet days by the mean amount of a month.
Prints the fitted coefficients beside those shipped, and the residuals.
"""

import argparse
import csv
import gzip
import math
from pathlib import Path

import numpy as np

from location_context.sections.weather import estimate
from location_context.sections.weather.climatology import WET_MM
from research.weather_climatology import Series

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "climate"


def latitude(path: Path) -> float:
    with gzip.open(path, "rt") as lines:
        return float(next(csv.DictReader(lines))["LAT"])


def anomalies(values: np.ndarray, day: np.ndarray) -> np.ndarray:
    """Return what remains after three harmonics of the year."""
    turns = 2 * math.pi * day / estimate.YEAR_DAYS
    waves = [wave(k * turns) for k in (1, 2, 3) for wave in (np.sin, np.cos)]
    columns = np.stack([np.ones_like(turns), *waves], axis=1)
    known = np.isfinite(values)
    found = np.linalg.lstsq(columns[known], values[known], rcond=None)[0]
    return values - columns @ found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    folder = parser.parse_args().folder
    rows, shares = [], []
    for path in sorted(folder.glob("nasa_weather_*.csv.gz")):
        series, lat = Series(path), latitude(path)
        dates = list(series.days)
        month = np.array([one.month for one in dates])
        day = np.array([one.timetuple().tm_yday for one in dates])
        left = [anomalies(series.values[place], day) for place in range(2)]
        poleward = min(abs(lat), 60) / 60
        for number in range(1, 13):
            own = month == number
            turn = 2 * math.pi * (30.4 * (number - 0.5) - estimate.COLDEST_DAY)
            winter = math.copysign(1, lat) * math.cos(turn / estimate.YEAR_DAYS)
            sds = [np.nanstd(one[own]) for one in left]
            rows.append((1, poleward, poleward * winter, *sds))
            rain = series.values[2][own]
            rain = rain[np.isfinite(rain)]
            usual = 1 - math.exp(-rain.mean() / estimate.RAIN_OF_A_WET_DAY)
            shares.append((rain >= WET_MM).mean() - usual)
    table = np.array(rows)
    for place, name in enumerate(estimate.VARIABLES):
        sd = table[:, 3 + place]
        fitted = np.linalg.lstsq(table[:, :3], sd, rcond=None)[0]
        left_over = sd - table[:, :3] @ np.array(estimate.USUAL_SD[name])
        print(f"{name}: fitted {np.round(fitted, 2)}, shipped {estimate.USUAL_SD[name]}; ", end="")
        print(f"{np.sqrt((left_over**2).mean()):.2f} K left over of {sd.std():.2f}")
    print(f"share of wet days: {np.sqrt(np.mean(np.square(shares))):.3f} left over")


if __name__ == "__main__":
    main()
