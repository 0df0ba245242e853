"""Statistics of forecasts against what happened: errors, coverage, Brier score, reliability.

Pure functions on arrays of rows x leads, NaN where unknown; a pair counts where both sides are
known. Every result is an array by lead.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from location_context.sections.weather.records import Floats

BINS = np.array([0.0, 10.0, 30.0, 50.0, 70.0, 90.0, 100.0])  # of the chance of rain, in percent


class Errors(NamedTuple):
    """Of forecast minus observed, by lead; NaN where there are no pairs."""

    pairs: NDArray[np.int_]
    mean: Floats
    absolute: Floats
    squared: Floats

    @property
    def rmse(self) -> Floats:
        root: Floats = np.sqrt(self.squared)
        return root


class Bin(NamedTuple):
    """One bin of a reliability diagram: pairs, their mean chance and the share of wet days in %."""

    pairs: int
    chance: float
    wet_share: float


def errors(forecast: Floats, observed: Floats) -> Errors:
    """Mean error, mean absolute error and mean squared error."""
    wrong = forecast - observed
    return Errors(
        np.isfinite(wrong).sum(axis=0),
        _mean(wrong),
        _mean(np.abs(wrong)),
        _mean(wrong**2),
    )


def coverage(low: Floats, high: Floats, observed: Floats) -> tuple[NDArray[np.int_], Floats]:
    """How many pairs there are, and the share (0 to 1) of them within the band, ends included."""
    with np.errstate(invalid="ignore"):
        inside = ((low <= observed) & (observed <= high)).astype(float)
    known = np.isfinite(low) & np.isfinite(high) & np.isfinite(observed)
    return known.sum(axis=0), _mean(np.where(known, inside, np.nan))


def brier(chance: Floats, wet: Floats) -> tuple[NDArray[np.int_], Floats]:
    """How many pairs, and the Brier score: chance in percent, `wet` 0 or 1."""
    wrong = chance / 100 - wet
    return np.isfinite(wrong).sum(axis=0), _mean(wrong**2)


def reliability(chance: Floats, wet: Floats) -> list[Bin]:
    """The bins of `BINS` that hold pairs, over all rows and leads given."""
    known = np.isfinite(chance) & np.isfinite(wet)
    chances, outcomes = chance[known], wet[known]
    place = np.clip(np.searchsorted(BINS, chances, side="right") - 1, 0, len(BINS) - 2)
    found = []
    for number in np.unique(place).tolist():
        held = place == number
        share = 100 * float(outcomes[held].mean())
        found.append(Bin(int(held.sum()), float(chances[held].mean()), share))
    return found


def _mean(values: Floats) -> Floats:
    known = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Floats = np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0)
    return mean
