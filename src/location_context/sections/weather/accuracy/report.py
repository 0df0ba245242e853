"""The accuracy report: how close the forecasts of this installation were to the observed weather.

Results are by provider and by lead: the number of days ahead. Forecasts for all grid cells are
taken together. The observed values come from a weather archive, corrected to the elevation of the
forecast. Errors are in °C, forecast minus observed; chances are in percent.
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

LEAD_BANDS = ((0, 2), (3, 5), (6, 9), (10, 15))  # for reliability, as one lead has few pairs

BINS = np.array([0.0, 10.0, 30.0, 50.0, 70.0, 90.0, 100.0])  # of the chance of rain, in percent


class Errors(NamedTuple):
    """The errors (forecast minus observed) for each lead, the number of days ahead.

    Attributes:
        pairs: the number of forecasts that have an observed value.
        mean, absolute, rmse: the mean error, the mean absolute error and the root mean square
            error for each lead; NaN if there are no pairs.
    """

    pairs: NDArray[np.int_]
    mean: Floats
    absolute: Floats
    rmse: Floats


def errors(forecast: Floats, observed: Floats) -> Errors:
    """Return the mean errors of forecasts for each number of days ahead.

    Both arguments are arrays of forecasts x days ahead.
    """
    wrong = forecast - observed
    return Errors(
        np.isfinite(wrong).sum(axis=0),
        _mean(wrong),
        _mean(np.abs(wrong)),
        np.sqrt(_mean(wrong**2)),
    )


def coverage(low: Floats, high: Floats, observed: Floats) -> Floats:
    """Return the share (0 to 1) of observed values between `low` and `high`, by days ahead.

    All arguments are arrays of forecasts x days ahead; values that are NaN are left out.
    """
    with np.errstate(invalid="ignore"):
        inside = ((low <= observed) & (observed <= high)).astype(float)
    known = np.isfinite(low) & np.isfinite(high) & np.isfinite(observed)
    return _mean(np.where(known, inside, np.nan))


def brier(chance: Floats, wet: Floats) -> tuple[NDArray[np.int_], Floats]:
    """Return two arrays by days ahead: the number of scored forecasts, and their Brier score.

    The Brier score is the mean squared error of the chance of rain: 0 is perfect. `chance` is in
    percent; `wet` is 1 for a wet day, else 0. Both are arrays of forecasts x days ahead.
    """
    wrong = chance / 100 - wet
    return np.isfinite(wrong).sum(axis=0), _mean(wrong**2)


def reliability(chance: Floats, wet: Floats) -> list["ReliabilityBin"]:
    """Return how often days were wet, for each range of the forecast chance (`BINS`).

    Ranges without forecasts are left out. `chance` is in percent; `wet` is 1 for a wet day, else 0.
    """
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
    """The accuracy of forecast highs, or of lows, at one lead.

    The mean error is `mean_error`, the mean absolute error `mae`, the root mean square error
    `rmse`.

    Attributes:
        lead: the number of days ahead; 0 is the day of issue.
        pairs: the number of forecasts that have an observed value.
        coverage: the share (0 to 1) of observed values within the forecast's 80 % range.
        mean_error, mae, rmse: the errors of the forecast that guests received.
        issued_mean_error, issued_rmse: the errors of the provider's own forecast.
        typical_pairs: the number of pairs that also have a typical value of past years.
        typical_mae, typical_rmse: the errors of the typical value, if it were the forecast.
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
    """The accuracy of the chance of rain at one lead, the number of days ahead.

    Attributes:
        pairs: the number of forecasts that have an observed value.
        wet_share: the share (0 to 1) of observed days that were wet.
        brier, issued_brier, typical_brier: the mean squared errors (0 is perfect) of the chance
            that guests received, of the provider's own, and of the typical share of wet days.
        typical_pairs: the number of pairs that also have a typical value of past years.
    """

    lead: int
    pairs: int
    wet_share: float | None
    brier: float | None
    issued_brier: float | None
    typical_pairs: int
    typical_brier: float | None


class ReliabilityBin(msgspec.Struct, frozen=True, kw_only=True):
    """The forecasts whose chance of rain is in one range, such as 10 to 30 %.

    `chance` is their mean chance, `wet_share` the share of days that were wet, both in percent.
    """

    pairs: int
    chance: float
    wet_share: float


class Reliability(msgspec.Struct, frozen=True, kw_only=True):
    """How often it rained at each forecast chance, from `first_lead` to `last_lead` days ahead."""

    first_lead: int
    last_lead: int
    bins: list[ReliabilityBin]


class ProviderScore(msgspec.Struct, frozen=True, kw_only=True):
    """The accuracy of one provider's forecasts of highs, lows and rain."""

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
    """The accuracy of an installation's forecasts; `providers` is empty if none are stored."""

    wet_mm: float
    providers: list[ProviderScore]

    @property
    def verified(self) -> bool:
        """True if an observed high is known for at least one stored forecast."""
        return any(score.pairs for one in self.providers for score in one.temperature_max)


FindDays = Callable[[str], ObservedDays | None]  # by the key of a forecast's cell


def make_report(rows: Sequence[ForecastRow], find: FindDays) -> Report:
    """Return the accuracy report on stored forecasts, which must be sorted by provider.

    `find` is called with the key of a grid cell. It returns the cell's observed days, or None if
    none are stored.
    """
    providers = [
        _provider_score(provider, list(group), find)
        for provider, group in groupby(rows, lambda row: row.provider)
    ]
    return Report(wet_mm=WET_MM, providers=providers)


def observed_at(rows: Sequence[ForecastRow], find: FindDays) -> Mapping[str, Floats]:
    """Return the observed values for the 16 days of each forecast, as arrays of rows x days.

    The keys are `max`, `min` and `rain`. Temperatures are corrected to the elevation of the
    forecast.
    """
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
    columns = {
        "pairs": best.pairs,
        "coverage": coverage(given[f"{name}_p10"], given[f"{name}_p90"], observed),
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
    """Return the value of each column at one `lead` (number of days ahead); None for NaN."""
    found = {name: values[lead].item() for name, values in columns.items()}
    return {name: value if np.isfinite(value) else None for name, value in found.items()}


def _reliability(chance: Floats, wet: Floats) -> list[Reliability]:
    bands = ((first, last, slice(first, last + 1)) for first, last in LEAD_BANDS)
    return [
        Reliability(first_lead=first, last_lead=last, bins=reliability(chance[:, of], wet[:, of]))
        for first, last, of in bands
    ]
