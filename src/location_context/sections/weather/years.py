"""Years: which ten years a climatology uses, and the windows of a stay's dates in each.

A stay belongs to the year of its start: a stay over New Year reaches into the year after. Its
window in a year is as long as its own and runs on day by day, with 15 days to either side. 29
February counts as the 28th in years that lack it.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np

from location_context.sections.weather.records import (
    FIELDS,
    PAD_DAYS,
    ROW,
    YearRecord,
    month_span,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from location_context.sections.weather.records import Month
    from location_context.stay import Stay

    Floats = NDArray[np.float64]

YEARS = 10
SETTLED_DAYS = 10  # a year counts when its 31 December is so long past
MISSING_SHARE = 0.2


def last_year(today: date) -> int:
    """The latest year that is complete."""
    year = today.year - 1
    return year if (today - date(year, 12, 31)).days >= SETTLED_DAYS else year - 1


def in_year(day: date, year: int) -> date:
    """The same date in another year."""
    try:
        return day.replace(year=year)
    except ValueError:
        return date(year, 2, 28)


def months_of(stay: Stay, year: int) -> list[tuple[int, int]]:
    """(year, month) of each month the stay touches when it begins in `year`."""
    shift = year - stay.start.year
    found, day = [], stay.start.replace(day=1)
    while day <= stay.end:
        found.append((day.year + shift, day.month))
        day = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return found


def span_of(stay: Stay, year: int) -> tuple[date, date]:
    """First and last date of all the months the stay touches, with their pads."""
    months = months_of(stay, year)
    return month_span(*months[0])[0], month_span(*months[-1])[1]


def window(stay: Stay, year: int, find: Callable[[int, int], Month | None]) -> Floats:
    """FIELDS x (days + 30) of the stay in `year`, NaN where nothing is held."""
    first = in_year(stay.start, year) - timedelta(PAD_DAYS)
    values = np.full((len(FIELDS), stay.days + 2 * PAD_DAYS), np.nan)
    for which in months_of(stay, year):
        if (month := find(*which)) is None:
            continue
        shift = (month.first - first).days
        begin, end = max(0, shift), min(values.shape[1], shift + month.values.shape[1])
        if begin < end:
            values[:, begin:end] = month.values[:, begin - shift : end - shift]
    return values


def is_missing(values: Floats) -> bool:
    """Whether over a fifth of the window's highs or lows is missing."""
    temperatures = values[ROW["temperature_max"] : ROW["temperature_min"] + 1]
    share = np.isnan(temperatures).any(axis=0).mean()
    return bool(share > MISSING_SHARE)


def record(stay: Stay, year: int, values: Floats) -> YearRecord:
    """The stay's own dates in a year, from its screened window; sums scale over a few gaps."""
    start = in_year(stay.start, year)
    dates = {in_year(day, year + day.year - stay.start.year) for day in stay.dates()}
    places = sorted((day - start).days + PAD_DAYS for day in dates)
    own = values[:, places]
    rain = own[ROW["precipitation_sum"]]
    known = np.isfinite(rain)
    enough = 1 - known.mean() <= MISSING_SHARE
    return YearRecord(
        year=year,
        temperature_max_mean=_mean(own[ROW["temperature_max"]]),
        temperature_min_mean=_mean(own[ROW["temperature_min"]]),
        precipitation_total=float(rain[known].sum()) if enough else float("nan"),
        wet_days=int((rain[known] >= 1.0).sum()) if enough else None,
    )


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def latest(last: int, count: int = YEARS) -> Sequence[int]:
    """The latest years up to `last`, oldest first."""
    return range(last - count + 1, last + 1)
