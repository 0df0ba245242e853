"""Judge chances of rain, amounts that nine days in ten stay below, and headlines of rain.

Used by `forecast_spread.py`. A headline is judged by the share of stays in which it comes true, for
the section's own `claim`. A chance is judged by its Brier score beside the issued chance and
the climatology's share of wet days; an amount by its coverage and by quantile loss, beside what the
same distribution says of the climatology alone and the issued amount as it is.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from location_context.sections.weather import climatology
from location_context.sections.weather.accuracy import report
from location_context.sections.weather.calibration import Calibration
from location_context.sections.weather.rain import Claim, claim
from location_context.sections.weather.records import Floats
from research import forecast_pairs
from research.forecast_pairs import Climate, Pairs

CHANCE, AMOUNT = "pop", "precip24"
RELIABLE_DAYS = 7  # to which a chance may not lose to the issued one
ROUNDING = 5e-4  # of a Brier skill
STAY_DAYS = (1, 2, 3, 5, 7, 10)
STAY_LEADS = ((0, 1), (2, 3), (4, 7), (8, 15))
SURE = 0.7  # share of the stays said to be dry in which that comes true
FEW = 20  # said of fewer stays, the share that came true is chance
COUNTED_WITHIN = 1.5  # days by which a count may be off


def at_wet_limit(pairs: Pairs, wet_mm: float) -> Pairs:
    """Call a day wet where the observed amount, if known, is at least `wet_mm`."""
    amounts = pairs.variable == AMOUNT
    days = _keys(pairs, amounts)
    fallen = dict(zip(days, pairs.observed[amounts].tolist(), strict=True))
    chances = np.flatnonzero(pairs.variable == CHANCE)
    observed = pairs.observed.copy()
    for row, day in zip(chances.tolist(), _keys(pairs, chances), strict=True):
        if day in fallen:
            observed[row] = float(fallen[day] >= wet_mm)
    return replace(pairs, observed=observed)


def _keys(pairs: Pairs, rows: np.ndarray) -> list[tuple[str, ...]]:
    columns = (pairs.source, pairs.station, pairs.valid.astype(str))
    return list(zip(*(column[rows].tolist() for column in columns), strict=True))


def chances(calibration: Calibration, pairs: Pairs, climate: Climate) -> Floats:
    """Return the chance of each row, 0 to 1, as issued without a climatology; else NaN."""
    faded = calibration.chance_of_rain(100 * pairs.forecast, 100 * climate.mean, pairs.lead) / 100
    held = np.where(np.isfinite(climate.mean), faded, pairs.forecast)
    found: Floats = np.where(pairs.variable == CHANCE, held, np.nan)
    return found


@dataclass(frozen=True, slots=True)
class Amounts:
    """The amount that nine days in ten stay below: at its lead, and of the climatology alone."""

    p90: Floats
    climatology: Floats


def amounts(calibration: Calibration, pairs: Pairs, climate: Climate, chance: Floats) -> Amounts:
    """Return the amounts of rows whose source issued a chance for the day; else NaN."""
    found = Amounts(np.full(len(pairs), np.nan), np.full(len(pairs), np.nan))
    chosen = pairs.variable == AMOUNT
    if not chosen.any():
        return found
    own = pairs.where(chosen)
    wet = replace(own, observed=(own.observed >= climatology.WET_MM).astype(float))
    share = forecast_pairs.climate(wet).mean
    with np.errstate(divide="ignore", invalid="ignore"):
        wet_mean = np.where(share > 0, climate.mean[chosen] / share, np.nan)
    issued = _issued(pairs, np.flatnonzero(pairs.variable == CHANCE))
    rows = [issued.get(key) for key in _issued(own, np.arange(len(own)))]
    known = np.array([row is not None for row in rows], bool)
    beside = np.array([row or 0 for row in rows])
    at_lead = np.where(known, chance[beside], np.nan)
    usual = np.where(known, climate.mean[beside], np.nan)
    ahead = np.full(len(own), calibration.horizon)
    of = calibration.precipitation_p90
    found.p90[chosen] = of(own.forecast, 100 * at_lead, own.lead, wet_mean)
    found.climatology[chosen] = of(own.forecast, 100 * usual, ahead, wet_mean)
    return found


def _issued(pairs: Pairs, rows: np.ndarray) -> dict[tuple[str, ...], int]:
    leads = pairs.lead[rows].astype(str).tolist()
    keys = zip(_keys(pairs, rows), leads, strict=True)
    return {(*key, lead): int(row) for (key, lead), row in zip(keys, rows, strict=True)}


class ChanceRow(NamedTuple):
    """One line of the table: the Brier scores of a source's lead."""

    source: str
    lead: float
    pairs: int
    ours: float
    issued: float
    climatology: float

    @property
    def skill(self) -> float:
        return 1 - self.ours / self.climatology

    @property
    def issued_skill(self) -> float:
        return 1 - self.issued / self.climatology

    @property
    def failed(self) -> list[str]:
        """The goals that this row misses."""
        if self.lead <= RELIABLE_DAYS:
            return [] if self.skill >= self.issued_skill - ROUNDING else ["below issued"]
        return [] if self.skill >= -0.01 else ["below climatology"]


def judge_chances(pairs: Pairs, climate: Climate, chance: Floats) -> Iterator[ChanceRow]:
    """Yield the table of chances; rows without a climatology do not count."""
    known = np.isfinite(chance) & np.isfinite(climate.mean)
    for source in np.unique(pairs.source[known]):
        for lead in np.unique(pairs.lead[known & (pairs.source == source)]):
            rows = known & (pairs.source == source) & (pairs.lead == lead)
            wet = pairs.observed[rows]
            scores = (
                float(report.brier(100 * said[rows], wet)[1])
                for said in (chance, pairs.forecast, climate.mean)
            )
            yield ChanceRow(str(source), float(lead), int(rows.sum()), *scores)


class AmountRow(NamedTuple):
    """One line of the table: coverage and quantile loss (mm) of a source's lead."""

    source: str
    lead: float
    pairs: int
    coverage: float
    ours: float
    climatology: float
    issued: float


def judge_amounts(pairs: Pairs, found: Amounts) -> Iterator[AmountRow]:
    known = np.isfinite(found.p90) & np.isfinite(found.climatology)
    for source in np.unique(pairs.source[known]):
        for lead in np.unique(pairs.lead[known & (pairs.source == source)]):
            rows = known & (pairs.source == source) & (pairs.lead == lead)
            observed = pairs.observed[rows]
            losses = (
                _quantile_loss(said[rows], observed)
                for said in (found.p90, found.climatology, pairs.forecast)
            )
            covered = float((observed <= found.p90[rows]).mean())
            yield AmountRow(str(source), float(lead), int(rows.sum()), covered, *losses)


def _quantile_loss(said: Floats, observed: Floats) -> float:
    missed = observed - said
    return float(np.maximum(0.9 * missed, -0.1 * missed).mean())


class HeadlineRow(NamedTuple):
    """One line of the table: how often a claim was made of stays of so many days, and came true.

    Attributes:
        first: the least and the greatest lead of the stays' first days.
    """

    source: str
    claim: Claim
    days: int
    first: tuple[int, int]
    said: int
    true: int

    @property
    def verdict(self) -> str:
        if "dry" not in self.claim:
            return ""
        held = self.true >= SURE * self.said
        return ("pass" if held else "FAIL") if self.said >= FEW else "too few"


def judge_headlines(pairs: Pairs, chance: Floats) -> Iterator[HeadlineRow]:
    """Yield the table of headlines, of stays whose days all have a chance of one issue.

    "Dry", "Very likely dry" and "Probably dry" come true if no day is wet, "Mostly dry" if one day
    is at most, a date if it is wet, "most days" if more than half are.
    """
    for source in np.unique(pairs.source[np.isfinite(chance)]):
        rows = np.flatnonzero(np.isfinite(chance) & (pairs.source == source))
        columns = (pairs.station, pairs.issued.astype(str), pairs.lead.astype(int))
        keys = zip(*(column[rows].tolist() for column in columns), strict=True)
        wet = (pairs.observed[rows] > 0).tolist()
        days = dict(
            zip(keys, zip(np.round(chance[rows], 2).tolist(), wet, strict=True), strict=True)
        )
        for length, band in product(STAY_DAYS, STAY_LEADS):
            outcomes = defaultdict[Claim, list[bool]](list)
            for station, issued, first in days:
                stay = [days.get((station, issued, first + n)) for n in range(length)]
                known = [one for one in stay if one is not None]
                if band[0] <= first <= band[1] and len(known) == length:
                    said = claim([p for p, _ in known], first + length - 1)
                    outcomes[said].append(_is_true(said, known))
            for said, came in sorted(outcomes.items()):
                yield HeadlineRow(str(source), said, length, band, len(came), sum(came))


def _is_true(said: Claim, stay: Sequence[tuple[float, bool]]) -> bool:
    fallen = sum(wet for _, wet in stay)
    if said == "one_day":
        return max(stay)[1]
    if said == "most_days":
        return 2 * fallen > len(stay)
    if said == "counted":
        return abs(fallen - sum(p for p, _ in stay)) < COUNTED_WITHIN
    return said == "possible" or fallen <= (said == "mostly_dry")
