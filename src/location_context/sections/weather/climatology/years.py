"""Years: which ten years a climatology uses, and the windows of a stay's dates in each.

A stay belongs to the year of its start: a stay over New Year reaches into the year after. Its
window in a year is as long as its own and runs on day by day, with 15 days to either side. 29
February counts as the 28th in years that lack it.
"""

from collections.abc import Callable, Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from location_context.sections.weather.records import (
    FIELDS,
    PAD_DAYS,
    ROW,
    Floats,
    Month,
    YearRecord,
)
from location_context.stay import Stay

YEARS = 10
SETTLED_DAYS = 10  # a year counts when its 31 December is so long past
MISSING_SHARE = 0.2
_RAIN = "precipitation_sum"


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


def windows(stay: Stay, years: Sequence[int], find: Callable[[int, int], Month | None]) -> Floats:
    """FIELDS x years x (days + 30) of the stay in the years, NaN where nothing is stored."""
    width = stay.days + 2 * PAD_DAYS
    values = np.full((len(FIELDS), len(years), width), np.nan)
    touched = months_of(stay, stay.start.year)
    for row, year in enumerate(years):
        first = in_year(stay.start, year).toordinal() - PAD_DAYS
        for in_stay, name in touched:
            if (month := find(year + in_stay - stay.start.year, name)) is None:
                continue
            shift = month.first.toordinal() - first
            begin, end = max(0, shift), min(width, shift + month.values.shape[1])
            if begin < end:
                values[:, row, begin:end] = month.values[:, begin - shift : end - shift]
    return values


def missing(values: Floats) -> NDArray[np.bool_]:
    """Which years lack over a fifth of their window's highs or lows."""
    temperatures = values[ROW["temperature_max"] : ROW["temperature_min"] + 1]
    share = np.isnan(temperatures).any(axis=0).mean(axis=-1)
    return np.asarray(share > MISSING_SHARE)


def records(stay: Stay, years: Sequence[int], values: Floats) -> list[YearRecord]:
    """The stay's own dates in each year, from windows without outliers; gaps are few."""
    own, asked = _own_dates(stay, years, values)
    known = np.isfinite(own)
    count = known.sum(axis=-1)
    total = np.where(known, own, 0.0).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        high, low = np.where(count[:2] > 0, total[:2] / count[:2], np.nan).tolist()
        wet = (own[2] >= 1.0).sum(axis=-1).tolist()
    enough = (count[2] >= (1 - MISSING_SHARE) * asked).tolist()
    return [
        YearRecord(
            year=year,
            temperature_max_mean=high[row],
            temperature_min_mean=low[row],
            precipitation_total=float(total[2, row]) if enough[row] else float("nan"),
            wet_days=wet[row] if enough[row] else None,
        )
        for row, year in enumerate(years)
    ]


def _own_dates(stay: Stay, years: Sequence[int], values: Floats) -> tuple[Floats, NDArray[np.int_]]:
    """Highs, lows and rain of the stay's dates (3 x years x days), and how many dates there are."""
    rows = values[[ROW[name] for name in ("temperature_max", "temperature_min", _RAIN)]]
    asked = np.full(len(years), stay.days)
    if not any(day.month == 2 and day.day >= 28 for day in stay.dates()):
        return rows[:, :, PAD_DAYS : PAD_DAYS + stay.days], asked
    own = np.full((3, len(years), stay.days), np.nan)
    for row, year in enumerate(years):  # 29 February comes between in some years
        start = in_year(stay.start, year)
        dates = {in_year(day, year + day.year - stay.start.year) for day in stay.dates()}
        places = sorted((day - start).days + PAD_DAYS for day in dates)
        places = [place for place in places if place < rows.shape[2]]
        own[:, row, : len(places)] = rows[:, row, places]
        asked[row] = len(places)
    return own, asked


def latest(last: int, count: int = YEARS) -> Sequence[int]:
    """The latest years up to `last`, oldest first."""
    return range(last - count + 1, last + 1)
