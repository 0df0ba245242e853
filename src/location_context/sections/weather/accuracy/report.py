"""The report: the accuracy of this installation's forecasts, by provider and lead.

It pools all stored cells. The archive supplies the observed values of a day, corrected to the
height of the forecast. Errors are in °C, forecast minus observed; chances in percent.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from itertools import groupby
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from location_context.sections.weather.accuracy.records import (
    LEADS,
    ForecastRow,
    unpack_forecasts,
)
from location_context.sections.weather.accuracy.verification import OBSERVED, ObservedDays
from location_context.sections.weather.climatology import WET_MM
from location_context.sections.weather.records import LAPSE_K_PER_M, Floats

LEAD_BANDS = ((0, 2), (3, 5), (6, 9), (10, 15))  # of reliability: few pairs fall on one lead

BINS = np.array([0.0, 10.0, 30.0, 50.0, 70.0, 90.0, 100.0])  # of the chance of rain, in percent


class Errors(NamedTuple):
    """The errors (forecast minus observed) by lead: the number of pairs, and means or NaN."""

    pairs: NDArray[np.int_]
    mean: Floats
    absolute: Floats
    squared: Floats

    @property
    def rmse(self) -> Floats:
        root: Floats = np.sqrt(self.squared)
        return root


def errors(forecast: Floats, observed: Floats) -> Errors:
    """Return the errors of forecasts (rows x leads) against the observed values."""
    wrong = forecast - observed
    return Errors(
        np.isfinite(wrong).sum(axis=0),
        _mean(wrong),
        _mean(np.abs(wrong)),
        _mean(wrong**2),
    )


def coverage(low: Floats, high: Floats, observed: Floats) -> tuple[NDArray[np.int_], Floats]:
    """Return by lead the number of pairs, and the share (0 to 1) of them from `low` to `high`."""
    with np.errstate(invalid="ignore"):
        inside = ((low <= observed) & (observed <= high)).astype(float)
    known = np.isfinite(low) & np.isfinite(high) & np.isfinite(observed)
    return known.sum(axis=0), _mean(np.where(known, inside, np.nan))


def brier(chance: Floats, wet: Floats) -> tuple[NDArray[np.int_], Floats]:
    """Return the number of pairs and the Brier score by lead; chance in percent, `wet` 0 or 1."""
    wrong = chance / 100 - wet
    return np.isfinite(wrong).sum(axis=0), _mean(wrong**2)


def reliability(chance: Floats, wet: Floats) -> list["ReliabilityBin"]:
    """Return those bins of chance (`BINS`) that hold pairs, over all rows and leads together."""
    known = np.isfinite(chance) & np.isfinite(wet)
    chances, outcomes = chance[known], wet[known]
    place = np.clip(np.searchsorted(BINS, chances, side="right") - 1, 0, len(BINS) - 2)
    found = []
    for number in np.unique(place).tolist():
        held = place == number
        share = 100 * float(outcomes[held].mean())
        mean = float(chances[held].mean())
        found.append(ReliabilityBin(pairs=int(held.sum()), chance=mean, wet_share=share))
    return found


def _mean(values: Floats) -> Floats:
    known = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Floats = np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0)
    return mean


class TemperatureScore(msgspec.Struct, frozen=True, kw_only=True):
    """The accuracy of highs, or of lows, at one lead.

    Attributes:
        lead: days from the day of issue; 0 is the same day.
        pairs: the number of forecasts whose day has been observed.
        coverage: the share of days within the 80 % band.
        mean_error, mae, rmse: the errors of the best estimate.
        issued_mean_error, issued_rmse: the errors of the provider's own forecast.
        typical_pairs: how many of the pairs have a stored climatology.
        typical_mae, typical_rmse: the errors of the climatology, over `typical_pairs`.
    """

    lead: int
    pairs: int
    coverage: float | None
    mean_error: float | None
    mae: float | None
    rmse: float | None
    issued_mean_error: float | None
    issued_rmse: float | None
    typical_pairs: int
    typical_mae: float | None
    typical_rmse: float | None


class RainScore(msgspec.Struct, frozen=True, kw_only=True):
    """The accuracy of the chance of a wet day at one lead, as Brier scores (0 is perfect)."""

    lead: int
    pairs: int
    wet_share: float | None
    brier: float | None
    issued_brier: float | None
    typical_pairs: int
    typical_brier: float | None


class ReliabilityBin(msgspec.Struct, frozen=True, kw_only=True):
    """The chances in one bin: their mean, and the share of days that were wet, in percent."""

    pairs: int
    chance: float
    wet_share: float


class Reliability(msgspec.Struct, frozen=True, kw_only=True):
    """The bins of all leads from `first_lead` to `last_lead` together."""

    first_lead: int
    last_lead: int
    bins: list[ReliabilityBin]


class ProviderScore(msgspec.Struct, frozen=True, kw_only=True):
    """The accuracy of one provider's forecasts."""

    provider: str
    cells: int
    forecasts: int
    first_issued: date
    last_issued: date
    temperature_max: list[TemperatureScore]
    temperature_min: list[TemperatureScore]
    rain: list[RainScore]
    reliability: list[Reliability]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The score of an installation; `providers` is empty while no forecasts are stored."""

    wet_mm: float
    providers: list[ProviderScore]

    @property
    def verified(self) -> bool:
        """True if at least one day of a stored forecast has been observed."""
        return any(score.pairs for one in self.providers for score in one.temperature_max)


FindDays = Callable[[str], ObservedDays | None]  # by the key of a forecast's cell


def make_report(rows: Sequence[ForecastRow], find: FindDays) -> Report:
    """Return the report on stored forecasts; `rows` must be in order of provider."""
    providers = [
        _provider_score(provider, list(group), find)
        for provider, group in groupby(rows, lambda row: row.provider)
    ]
    return Report(wet_mm=WET_MM, providers=providers)


def observed_at(rows: Sequence[ForecastRow], find: FindDays) -> Mapping[str, Floats]:
    """Return the observed `max`, `min` (at the forecast's height) and `rain`, each rows x leads."""
    known: dict[str, ObservedDays | None] = {}
    values = np.full((len(rows), len(OBSERVED), LEADS), np.nan)
    for place, row in enumerate(rows):
        if row.cell not in known:
            known[row.cell] = find(row.cell)
        days = known[row.cell]
        if days is not None:
            values[place] = days.on(row.issued_on, LEADS)
            if days.elevation is not None and row.elevation is not None:
                values[place, :2] += (days.elevation - row.elevation) * LAPSE_K_PER_M
    return {name: values[:, place] for place, name in enumerate(("max", "min", "rain"))}


def _provider_score(provider: str, rows: Sequence[ForecastRow], find: FindDays) -> ProviderScore:
    given, came = unpack_forecasts(rows), observed_at(rows, find)
    issued = [row.issued_on for row in rows]
    wet = np.where(np.isfinite(came["rain"]), came["rain"] >= WET_MM, np.nan)
    return ProviderScore(
        provider=provider,
        cells=len({row.cell for row in rows}),
        forecasts=len(rows),
        first_issued=min(issued),
        last_issued=max(issued),
        temperature_max=_temperature_scores("max", given, came["max"]),
        temperature_min=_temperature_scores("min", given, came["min"]),
        rain=_rain_scores(given, wet),
        reliability=_reliability(given["chance"], wet),
    )


def _temperature_scores(
    name: str, given: Mapping[str, Floats], observed: Floats
) -> list[TemperatureScore]:
    best = errors(given[name], observed)
    issued = errors(given[f"issued_{name}"], observed)
    typical = errors(given[f"typical_{name}"], observed)
    _, inside = coverage(given[f"{name}_p10"], given[f"{name}_p90"], observed)
    columns = {
        "pairs": best.pairs,
        "coverage": inside,
        "mean_error": best.mean,
        "mae": best.absolute,
        "rmse": best.rmse,
        "issued_mean_error": issued.mean,
        "issued_rmse": issued.rmse,
        "typical_pairs": typical.pairs,
        "typical_mae": typical.absolute,
        "typical_rmse": typical.rmse,
    }
    return [TemperatureScore(lead=lead, **_at(columns, lead)) for lead in range(LEADS)]


def _rain_scores(given: Mapping[str, Floats], wet: Floats) -> list[RainScore]:
    pairs, best = brier(given["chance"], wet)
    _, issued = brier(given["issued_chance"], wet)
    typical_pairs, typical = brier(given["typical_chance"], wet)
    columns = {
        "pairs": pairs,
        "wet_share": _mean(np.where(np.isfinite(given["chance"]), wet, np.nan)),
        "brier": best,
        "issued_brier": issued,
        "typical_pairs": typical_pairs,
        "typical_brier": typical,
    }
    return [RainScore(lead=lead, **_at(columns, lead)) for lead in range(LEADS)]


def _at(columns: Mapping[str, NDArray[Any]], lead: int) -> dict[str, Any]:
    """Return the value of each column at a lead, None where it is NaN."""
    found = {name: values[lead].item() for name, values in columns.items()}
    return {name: value if np.isfinite(value) else None for name, value in found.items()}


def _reliability(chance: Floats, wet: Floats) -> list[Reliability]:
    bands = ((first, last, slice(first, last + 1)) for first, last in LEAD_BANDS)
    return [
        Reliability(first_lead=first, last_lead=last, bins=reliability(chance[:, of], wet[:, of]))
        for first, last, of in bands
    ]
