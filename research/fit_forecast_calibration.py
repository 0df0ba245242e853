"""Fit the coefficients of calibrated forecasts, and judge each on sources left out of it.

Run: `python -m research.fit_forecast_calibration --pairs FILE [FILE …] [--write]`, with files as
`forecast_pairs.py` describes, of the sources below. It prints the table of `forecast_spread.py` for
each source with coefficients fitted on all others; `--write` stores those fitted on all sources in
the section's `calibration.json`.

The fit minimises the mean CRPS over that of the climatology, so that sources, leads and climates
count alike, with a ridge towards plausible values: few sources must not bend a coefficient far.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from scipy.optimize import minimize

from location_context.sections.weather import calibration as section
from location_context.sections.weather.calibration import (
    Z90,
    Calibration,
    Curve,
    Damped,
    Product,
    Rain,
    Skill,
)
from location_context.sections.weather.records import Floats
from research import forecast_pairs, forecast_rain, forecast_spread
from research.forecast_pairs import Climate, Pairs, Unreadable

DATA_FILE = Path(section.__file__).with_suffix(".json")


class Source(NamedTuple):
    """A source's kind of forecast and its weight.

    Attributes:
        product: as declared by providers.
        weight: more for many places, less for few days or a truth that is a model's.
        early: the share of it that leads below 4 count: the truth was fetched before the high.
        place: named where the longest leads come from this source alone.
    """

    product: Product
    weight: float
    early: float = 1.0
    place: str = ""


SOURCES = {
    "nyc_openmeteo14": Source("raw", 1.0, place="New York"),
    "us10_openmeteo_2526": Source("raw", 1.5, early=0.5),
    "us10_nws_2526": Source("damped", 0.5, early=0.5),
    "nws_us160_2021": Source("damped", 2.5),
    "meteostat_europe_2020": Source("damped", 0.7),
    "hannover_ecmwf_t2m": Source("damped", 1.0),
    "frankfurt_ecmwf_rain": Source("raw", 4.0),
}
MOST_ROWS = 600  # of a source, variable and lead: neighbouring days add little
TODAY_SHARE = 0.3  # of lead 0, which is not judged
CALM_SD, CALM_SHARE = 1.8, 0.1  # where the climate hardly varies a tenth counts again
RIDGE = 0.002
AMOUNT_RIDGE = 0.005

# Value to start from and how far it may plausibly go.
TEMPERATURE = {
    "temperature_max": {"midpoint": (9.0, 1.0), "scale": (2.5, 0.4), "noise": (1.5, 0.1)},
    "temperature_min": {"midpoint": (10.0, 1.0), "scale": (2.9, 0.4), "noise": (1.9, 0.1)},
    "temperature_mean": {"midpoint": (9.7, 1.0), "scale": (2.5, 0.4), "noise": (1.0, 0.1)},
    "damped": {"exponent": (0.5, 0.05), "weight_noise": (0.7, 0.1), "spread_noise": (0.88, 0.05)},
}
AMOUNT = {
    "midpoint": (6.0, 2.0),
    "scale": (3.0, 1.0),
    "amount_share": (0.85, 0.1),
    "shape": (0.7, 0.05),
    "certain_shape": (1.25, 0.3),
}
RELIABLE_DAYS = 7.0  # a chance fades from here to nothing: New York's is best as issued until then
HORIZON = 16.0


class Sample(NamedTuple):
    """A source's rows of temperatures, each with what it counts."""

    source: str
    pairs: Pairs
    climate: Climate
    weight: Floats


def sample(source: str, pairs: Pairs, climate: Climate) -> Sample:
    """Evenly thinned rows, weighted so that variables and bands of leads count alike."""
    known = np.isfinite(climate.mean) & (climate.sd > 0)
    weight = np.zeros(len(pairs))
    for variable in forecast_spread.VARIABLES:
        for low, high in forecast_spread.BANDS:
            in_band = known & (pairs.variable == variable)
            in_band &= (low <= pairs.lead) & (pairs.lead <= high)
            leads = np.unique(pairs.lead[in_band])
            for lead in leads:
                rows = np.flatnonzero(in_band & (pairs.lead == lead))
                rows = rows[:: -(-len(rows) // MOST_ROWS)]
                part = _of(pairs, climate, rows)
                usual = forecast_spread.crps(part[1].mean, part[1].sd, part[0].observed)
                counts = SOURCES[source].weight / len(leads) / len(rows) / usual.mean()
                counts *= TODAY_SHARE if lead == 0 else 1.0
                counts *= SOURCES[source].early if lead < 4 else 1.0
                weight[rows] = counts * np.where(part[1].sd < CALM_SD, 1 + CALM_SHARE, 1)
    chosen = np.flatnonzero(weight)
    return Sample(source, *_of(pairs, climate, chosen), weight[chosen])


def _of(pairs: Pairs, climate: Climate, rows: np.ndarray) -> tuple[Pairs, Climate]:
    columns = (climate.mean[rows], climate.sd[rows], climate.years[rows])
    return pairs.where(rows), Climate(*columns)


def _priors(table: dict[str, dict[str, tuple[float, float]]]) -> np.ndarray:
    return np.array([prior for part in table.values() for prior in part.values()])


def with_temperatures(start: Calibration, values: Sequence[float]) -> Calibration:
    """Return the calibration with these coefficients, in the order of `TEMPERATURE`."""
    left = iter(values)
    parts = {
        name: msgspec.structs.replace(
            getattr(start, name), **{part: float(next(left)) for part in priors}
        )
        for name, priors in TEMPERATURE.items()
    }
    return msgspec.structs.replace(start, **parts)


def temperature_loss(calibration: Calibration, samples: Sequence[Sample]) -> float:
    """CRPS over the climatology's, by the samples' weights."""
    total = weights = 0.0
    for source, pairs, climate, weight in samples:
        said = forecast_spread.calibrate(calibration, pairs, climate, SOURCES[source].product)
        spread = (said.p90 - said.p10) / (2 * Z90)
        total += float(weight @ forecast_spread.crps(said.best, spread, pairs.observed))
        weights += SOURCES[source].weight
    return total / weights


def fit_temperatures(start: Calibration, samples: Sequence[Sample]) -> Calibration:
    """Return the coefficients of least loss."""
    plausible, reach = _priors(TEMPERATURE).T

    def loss(shift: np.ndarray) -> float:
        values = plausible + shift * reach
        if values.min() <= 0.05:
            return 9.0
        made = with_temperatures(start, values)
        return temperature_loss(made, samples) + RIDGE * float(np.mean(shift**2))

    found = minimize(
        loss, np.zeros(len(reach)), method="Powell", options={"xtol": 0.01, "ftol": 1e-6}
    )
    return with_temperatures(start, np.round(plausible + found.x * reach, 3))


def fit_amounts(start: Calibration, parts: Sequence[tuple[str, Pairs, Climate]]) -> Calibration:
    """Return the coefficients of rain amounts with the least loss over the climatology's."""
    plausible, reach = np.array(list(AMOUNT.values())).T
    held = [(name, *rows, forecast_rain.chances(start, *rows)) for name, *rows in parts]

    def made(values: np.ndarray) -> Calibration:
        found = dict(zip(AMOUNT, np.round(values, 3).tolist(), strict=True))
        curve = Curve(found.pop("midpoint"), found.pop("scale"))
        return msgspec.structs.replace(
            start, rain=msgspec.structs.replace(start.rain, amount=curve, **found)
        )

    usual: dict[str, list[float]] = {}

    def loss(shift: np.ndarray) -> float:
        values = plausible + shift * reach
        if values.min() <= 0.2:
            return 9.0
        total = weights = 0.0
        for name, pairs, climate, chance in held:
            said = forecast_rain.amounts(made(values), pairs, climate, chance)
            rows = list(forecast_rain.judge_amounts(pairs, said))
            usual.setdefault(name, [row.climatology for row in rows])
            ratios = [row.ours / of for row, of in zip(rows, usual[name], strict=True)]
            total += SOURCES[name].weight * float(np.mean(ratios))
            weights += SOURCES[name].weight
        return total / weights + AMOUNT_RIDGE * float(np.mean(shift**2))

    found = minimize(
        loss, np.zeros(len(reach)), method="Powell", options={"xtol": 0.02, "ftol": 1e-5}
    )
    return made(plausible + found.x * reach)


def beginning(parts: Sequence[tuple[str, Pairs, Climate]]) -> Calibration:
    """Return the coefficients that are not fitted, and plausible values of the rest."""
    skills = {}
    for name, variable in forecast_spread.VARIABLES.items():
        spreads = [
            float(np.nanmedian(climate.sd[pairs.variable == name]))
            for _, pairs, climate in parts
            if (pairs.variable == name).any()
        ]
        skills[variable] = Skill(9, 2.5, 1, general_sd=round(float(np.median(spreads)), 1))
    wet = [
        float(pairs.observed[(pairs.variable == "precip24") & (pairs.observed >= 1)].mean())
        for _, pairs, _ in parts
        if (pairs.variable == "precip24").any()
    ]
    amount = {name: value for name, (value, _) in AMOUNT.items()}
    curve = Curve(amount.pop("midpoint"), amount.pop("scale"))
    rain = Rain(RELIABLE_DAYS, curve, **amount, general_wet_mean=round(float(np.median(wet)), 1))
    start = Calibration("", "", HORIZON, **skills, damped=Damped(0.5, 0.4, 0.9), rain=rain)
    return with_temperatures(start, _priors(TEMPERATURE)[:, 0])


def described(parts: Sequence[tuple[str, Pairs, Climate]]) -> Iterator[dict[str, object]]:
    """Describe each source, for the data file."""
    for source, pairs, _ in parts:
        yield {
            "source": source,
            "product": SOURCES[source].product,
            "weight": SOURCES[source].weight,
            "stations": len(np.unique(pairs.station)),
            "pairs": len(pairs),
            "variables": np.unique(pairs.variable).tolist(),
            "issued": [str(pairs.issued.min()), str(pairs.issued.max())],
            "leads": [int(pairs.lead.min()), int(pairs.lead.max())],
        }


def alone(parts: Sequence[tuple[str, Pairs, Climate]]) -> str:
    """Return from which lead on there was a single source, and its place; nothing if never."""
    *others, (reach, source) = sorted((float(pairs.lead.max()), name) for name, pairs, _ in parts)
    if not others or others[-1][0] == reach:
        return ""
    return f"; from day {others[-1][0] + 1:.0f} on {SOURCES[source].place or source} alone"


def load(paths: Sequence[Path]) -> list[tuple[str, Pairs, Climate]]:
    """Each source's pairs of temperatures, chances and amounts, with their climatology."""
    pairs = forecast_pairs.read(list(paths))
    unknown = sorted(set(np.unique(pairs.source).tolist()) - set(SOURCES))
    if unknown:
        raise Unreadable(f"SOURCES must say what product and weight {', '.join(unknown)} has")
    found = []
    for source in np.unique(pairs.source).tolist():
        own = pairs.where(pairs.source == source)
        found.append((source, own, forecast_pairs.climate(own)))
    return found


def run(given: argparse.Namespace) -> None:
    parts = load(given.pairs)
    samples = [one for one in (sample(*part) for part in parts) if len(one.pairs)]
    start = beginning(parts)
    rows = []
    for left_out, pairs, climate in parts if len(samples) > 1 else ():
        others = [one for one in samples if one.source != left_out]
        if len(others) == len(samples):
            continue
        made = fit_temperatures(start, others)
        said = forecast_spread.calibrate(made, pairs, climate, SOURCES[left_out].product)
        rows += forecast_spread.judge(pairs, climate, said)
    if rows:
        print("Each source with coefficients fitted on the others")
        forecast_spread.show(rows)
    made = fit_temperatures(start, samples)
    rainy = [part for part in parts if {"pop", "precip24"} <= set(part[1].variable.tolist())]
    if rainy:
        made = fit_amounts(made, rainy)
    sources = list(described(parts))
    issued = [day for one in parts for day in (one[1].issued.min(), one[1].issued.max())]
    judged_on = (
        f"fitted on {sum(len(part[1]) for part in parts):,} forecasts of {len(parts)} sources,"
        f" {min(issued).astype(object).year} to {max(issued).astype(object).year},"
        f" leads {min(one[1].lead.min() for one in parts):.0f}"
        f" to {max(one[1].lead.max() for one in parts):.0f} days{alone(parts)}"
    )
    method = "normal distribution between forecast and climatology, by lead"
    made = msgspec.structs.replace(made, method=method, judged_on=judged_on)
    data = {**msgspec.to_builtins(made), "fitted_on": sources}
    text = msgspec.json.format(msgspec.json.encode(data), indent=1).decode() + "\n"
    print(f"\n{text}")
    if given.write:
        DATA_FILE.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--write", action="store_true", help="write the section's data file")
    try:
        run(parser.parse_args())
    except Unreadable as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
