"""Judge the calibrated forecast: coverage, CRPS and Brier score by source and lead.

Run: `python -m research.forecast_spread --pairs FILE [FILE …] [--out FILE]`, with files as
`forecast_pairs.py` says. The coefficients are the shipped ones, the functions are the section's.

The goals, for each source, variable and band of leads: 72 to 93 % of days lie in the 80 % band;
CRPS is at most 1.02 of the climatology's (1.08 where its σ is below 1.5 °C), at most 0.70 of the
forecast as a point from day 4, and below that of the forecast ± its RMSE at each lead. A chance of
rain has no lower Brier skill than the issued one to day 7, and at least -0.01 after. Whatever
calls a stay dry comes true in 70 % of the stays of which it is said, at each lead and length.
"""

import argparse
import csv
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from location_context.sections.weather.accuracy import report
from location_context.sections.weather.calibration import Z90, Calibration, Estimate, Variable
from location_context.sections.weather.records import Floats, Product
from research import forecast_pairs, forecast_rain
from research.forecast_pairs import Climate, Pairs, Unreadable

VARIABLES: dict[str, Variable] = {
    "tmax": "temperature_max",
    "tmin": "temperature_min",
    "t2m": "temperature_mean",
}
BANDS = ((0, 0), (1, 3), (4, 7), (8, 10), (11, 13), (14, 16))
JUDGED = BANDS[1:5]
SMALL_SD = 1.5  # °C: where the climate hardly varies the climatology is hard to equal
OUT = (
    "source", "station", "issued_date", "valid_date", "lead_days", "variable", "best", "p10",
    "p90", "climatology_mean", "climatology_sd", "observed",
)  # fmt: skip


def crps(mean: Floats, sd: Floats, observed: Floats) -> Floats:
    """Return the CRPS of a normal distribution (Gneiting and Raftery 2007, section 4.2)."""
    z = (observed - mean) / sd
    error_function = np.vectorize(math.erf, otypes=[float])(z / math.sqrt(2))
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    scored: Floats = sd * (z * error_function + 2 * density - 1 / math.sqrt(math.pi))
    return scored


def calibrate(
    calibration: Calibration, pairs: Pairs, climate: Climate, product: Product
) -> Estimate:
    """Return best estimate and band of each temperature's row, NaN for other variables.

    Without a climatology it is the forecast with its usual error, as in the section.
    """
    columns = [np.full(len(pairs), np.nan) for _ in Estimate._fields]
    for name, variable in VARIABLES.items():
        rows = pairs.variable == name
        given, lead = pairs.forecast[rows], pairs.lead[rows]
        mean, sd = climate.mean[rows], climate.sd[rows]
        beside = calibration.temperature(variable, given, mean, sd, lead, product)
        alone = calibration.temperature_alone(variable, given, lead, product)
        for column, held, not_held in zip(columns, beside, alone, strict=True):
            column[rows] = np.where(np.isfinite(mean), held, not_held)
    return Estimate(*columns)


class Row(NamedTuple):
    """One line of the table: a source's variable in a band of leads."""

    source: str
    variable: str
    band: tuple[int, int]
    pairs: int
    coverage: float
    crps: float
    climatology: float
    point: float
    normal: float
    sd: float

    @property
    def failed(self) -> list[str]:
        """The goals that this row misses."""
        if self.band not in JUDGED:
            return []
        limit = 1.08 if self.sd < SMALL_SD else 1.02
        goals = {
            "coverage": 0.72 <= self.coverage <= 0.93,
            "climatology": self.crps <= limit * self.climatology,
            "point": self.band[0] < 4 or self.crps <= 0.70 * self.point,
            "± RMSE": self.crps < self.normal,
        }
        return [goal for goal, met in goals.items() if not met]


def judge(pairs: Pairs, climate: Climate, estimate: Estimate) -> list[Row]:
    """Return the table of temperatures; rows without band or climatology do not count."""
    spread = (estimate.p90 - estimate.p10) / (2 * Z90)
    known = np.isfinite(spread) & np.isfinite(climate.mean) & (climate.sd > 0) & (spread > 0)
    ours, usual, normal = (np.full(len(pairs), np.nan) for _ in range(3))
    ours[known] = crps(estimate.best[known], spread[known], pairs.observed[known])
    usual[known] = crps(climate.mean[known], climate.sd[known], pairs.observed[known])
    error = np.abs(pairs.forecast - pairs.observed)
    inside = (estimate.p10 <= pairs.observed) & (pairs.observed <= estimate.p90)
    found = []
    for source, variable, band, rows in _groups(pairs, known):
        for lead in np.unique(pairs.lead[rows]):
            at_lead = rows[pairs.lead[rows] == lead]
            rmse = np.full(len(at_lead), max(1e-6, np.sqrt(np.mean(error[at_lead] ** 2))))
            normal[at_lead] = crps(pairs.forecast[at_lead], rmse, pairs.observed[at_lead])
        columns = (inside, ours, usual, error, normal)
        means = [float(column[rows].mean()) for column in columns]
        sd = float(np.median(climate.sd[rows]))
        found.append(Row(source, variable, band, len(rows), *means, sd))
    return found


def _groups(
    pairs: Pairs, chosen: NDArray[np.bool_]
) -> Iterator[tuple[str, str, tuple[int, int], NDArray[np.intp]]]:
    for source in np.unique(pairs.source):
        for variable in np.unique(pairs.variable[pairs.source == source]):
            own = chosen & (pairs.source == source) & (pairs.variable == variable)
            for band in BANDS:
                rows = np.flatnonzero(own & (band[0] <= pairs.lead) & (pairs.lead < band[1] + 1))
                if len(rows):
                    yield str(source), str(variable), band, rows


def show(rows: list[Row]) -> None:
    """Print the table of temperatures with what each row misses."""
    wide = max(len(row.source) for row in rows)
    print(
        f"{'source':{wide}} variable  lead        n  cover   CRPS  climate  point  ± RMSE  (ratios)"
    )
    for row in rows:
        band = f"{row.band[0]}-{row.band[1]}"
        ratios = "".join(
            f"{row.crps / other if other else math.nan:8.3f}"
            for other in (row.climatology, row.point, row.normal)
        )
        print(
            f"{row.source:{wide}} {row.variable:8} {band:>5} {row.pairs:8} {row.coverage:6.3f}"
            f"{row.crps:7.3f} {ratios}  {verdict(row.band in JUDGED, row.failed)}"
        )


def verdict(judged: bool, failed: list[str]) -> str:
    if not judged:
        return "not judged"
    return "FAIL " + ", ".join(failed) if failed else "pass"


def show_chances(pairs: Pairs, climate: Climate, chance: Floats) -> None:
    """Print Brier scores and skills by lead, and the reliability of each source's chances."""
    rows = list(forecast_rain.judge_chances(pairs, climate, chance))
    if not rows:
        return
    print("\nChance of rain: Brier score, and skill beside the climatology's share of wet days")
    wide = max(len(row.source) for row in rows)
    print(f"{'source':{wide}} lead      n    ours  issued  climate   skill  as issued")
    for row in rows:
        print(
            f"{row.source:{wide}} {row.lead:4.0f} {row.pairs:6} {row.ours:7.3f} {row.issued:7.3f}"
            f" {row.climatology:8.3f} {row.skill:7.3f} {row.issued_skill:10.3f}"
            f"  {verdict(True, row.failed)}"
        )
    print("\nReliability, all leads: of days with this chance so many were wet (ours; as issued)")
    for source in np.unique(pairs.source[np.isfinite(chance)]):
        own = np.isfinite(chance) & (pairs.source == source)
        for name, said in (("ours", chance), ("issued", pairs.forecast)):
            for part in report.reliability(100 * said[own], pairs.observed[own]):
                print(
                    f"{source} {name:6} n {part.pairs:6}  said {part.chance:5.1f} %"
                    f"  wet {part.wet_share:5.1f} %"
                )


def show_amounts(pairs: Pairs, found: forecast_rain.Amounts) -> None:
    """Print how the amounts do that nine days in ten should stay below."""
    rows = list(forecast_rain.judge_amounts(pairs, found))
    if rows:
        print("\nAmount that 9 days in 10 stay below: coverage (0.90) and quantile loss, mm")
    for row in rows:
        print(
            f"{row.source} lead {row.lead:2.0f} n {row.pairs:5}  cover {row.coverage:.3f}"
            f"  ours {row.ours:.3f}  climatology {row.climatology:.3f}  issued {row.issued:.3f}"
        )


def show_headlines(pairs: Pairs, chance: Floats) -> None:
    """Print what is said of how many stays, and in which share of them it comes true."""
    rows = list(forecast_rain.judge_headlines(pairs, chance))
    if rows:
        print("\nHeadlines of rain\nsource           claim           days  first day    said  true")
    for row in sorted(rows, key=lambda row: (row.source, row.claim, row.days, row.first)):
        print(
            f"{row.source:16} {row.claim:15} {row.days:4}  {row.first[0]:3}-{row.first[1]:<2}"
            f" {row.said:9}  {row.true / row.said:.2f}  {row.verdict}"
        )
    for source, said in sorted({(row.source, row.claim) for row in rows}):
        own = [row for row in rows if (row.source, row.claim) == (source, said)]
        total = [sum(getattr(row, name) for row in own) for name in ("said", "true")]
        print(f"{source:16} {said:15}  all {total[0]:16}  {total[1] / total[0]:.2f}")


def write(path: Path, pairs: Pairs, climate: Climate, said: Estimate) -> None:
    """One row of `OUT` for each pair; what is unknown stays empty."""
    try:
        opened = path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise Unreadable(f"{path} cannot be written: {error.strerror}") from error
    with opened as file:
        writer = csv.writer(file)
        writer.writerow(OUT)
        names = (pairs.source, pairs.station, pairs.issued, pairs.valid)
        for row in range(len(pairs)):
            figures = (*(column[row] for column in said), climate.mean[row], climate.sd[row])
            if pairs.variable[row] == forecast_rain.CHANCE:
                figures = (figures[0], *[math.nan] * 4)
            writer.writerow(
                [
                    *(str(column[row]) for column in names),
                    f"{pairs.lead[row]:g}",
                    pairs.variable[row],
                    *("" if math.isnan(value) else f"{value:.4f}" for value in figures),
                    f"{pairs.observed[row]:g}",
                ]
            )


def run(given: argparse.Namespace) -> None:
    pairs = forecast_pairs.read(given.pairs)
    if given.wet_mm is not None:
        pairs = forecast_rain.at_wet_limit(pairs, given.wet_mm)
    climate = forecast_pairs.climate(pairs)
    calibration = Calibration.load()
    said = calibrate(calibration, pairs, climate, given.product)
    chance = forecast_rain.chances(calibration, pairs, climate)
    amounts = forecast_rain.amounts(calibration, pairs, climate, chance)
    print(f"{len(pairs)} pairs; product: {given.product}; coefficients: {calibration.judged_on}\n")
    if rows := judge(pairs, climate, said):
        show(rows)
    show_chances(pairs, climate, chance)
    show_amounts(pairs, amounts)
    show_headlines(pairs, chance)
    if given.out:
        issued = np.where(pairs.variable == forecast_rain.AMOUNT, pairs.forecast, np.nan)
        best = np.where(
            np.isfinite(chance), chance, np.where(np.isfinite(said.best), said.best, issued)
        )
        p90 = np.where(np.isfinite(said.p90), said.p90, amounts.p90)
        write(given.out, pairs, climate, Estimate(best, said.p10, p90))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="CSV of what was made of each pair"
    )
    parser.add_argument("--product", choices=("raw", "damped"), default="raw")
    parser.add_argument(
        "--wet-mm",
        type=float,
        metavar="X",
        help="a wet day has at least so much, where the amount is known; default: as the file says",
    )
    try:
        run(parser.parse_args())
    except Unreadable as error:
        sys.exit(str(error))
    except BrokenPipeError:
        sys.stderr.close()  # whoever read has seen enough


if __name__ == "__main__":
    main()
