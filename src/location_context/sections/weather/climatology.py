"""Climatology: the typical weather on each date of a stay, from ten years of daily values.

Method: for each date, a pool is formed: the values of the date and of 15 days before and after it,
in all years. A line fitted through the pool (least squares) is the season's trend. The trend is
removed from highs and lows: their departures from the line are added to the line's value on the
date. The departures are widened by sqrt(1 + 1/years), since the years are only a sample.

The mean of a temperature is the line's value on the date; other means are of the pool. Conditions
and weather codes are the most frequent. Wind direction is the mean vector weighted by speed.

Accuracy: the weather of each year from 2011 to 2024 in 20 cities was compared with statistics of
the ten years before. 80 % of days lie between p10 and p90. The errors (CRPS and Brier score) are
0.92 times those of statistics from the date's own ten values (`research.weather_climatology`).

Years: the stay is assumed to start in each of the ten years, such as 2016 to 2025. If it starts in
December, its values for 3 January are those of 2017 to 2026. So they may differ from the values in
a stay that starts in January. 29 February has no value in years without that date.
"""

import math
from calendar import isleap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from location_context.sections.weather import records
from location_context.sections.weather.records import PAD_DAYS, ROW, Columns, Floats
from location_context.sections.weather.response import YearBody
from location_context.stay import Stay, horizon

WET_MM = 1.0
WIDTH = 2 * PAD_DAYS + 1
_OFFSETS = np.arange(-PAD_DAYS, PAD_DAYS + 1, dtype=float)
_FIRST_TEMPERATURE = ROW[records.TEMPERATURES[0]]
HISTORY_FIELDS = ("temperature_max", "temperature_min", "precipitation_sum")
HISTORY_ROWS = [ROW[name] for name in HISTORY_FIELDS]
YEARS = 10
SETTLED_DAYS = 10  # days after 31 December before a year counts as complete
MISSING_SHARE = 0.2
YEAR_PLACES, LEAP_PLACE = 366, 59  # number of dates in a leap year, and the index of 29 February

# Row n has 1 at the condition that code n counts toward.
MEMBERSHIP = np.zeros((100, len(records.CONDITION_CODES)))
for _place, _condition_codes in enumerate(records.CONDITION_CODES.values()):
    MEMBERSHIP[list(_condition_codes), _place] = 1.0


@dataclass(frozen=True, slots=True)
class Fit:
    """For each date, a line fitted through the values of the days around the date.

    Attributes:
        value: the line's value on the date.
        slope: the line's change from day to day.
    """

    value: Floats
    slope: Floats


def fit(rows: Floats) -> Fit:
    """Fit for each date a straight line to the values of the 31 days centred on it, in all years.

    The line runs over the days of the season, not over the years (least squares). `rows` is … x
    years x (dates + 30). Sums over 31 days are differences of running sums, which is fast.
    """
    known = np.isfinite(rows)
    day = np.arange(rows.shape[-1], dtype=float)
    by_day = known.sum(axis=-2, dtype=float)
    total = np.where(known, rows, 0.0).sum(axis=-2)
    n, first, second, sum_y, sum_dy = _sums(
        np.stack([by_day, by_day * day, by_day * day**2, total, total * day])
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = n * second - first**2
        slope = np.where(spread > 1e-9, (n * sum_dy - first * sum_y) / spread, 0.0)
        middle = day[PAD_DAYS : len(day) - PAD_DAYS]
        return Fit((sum_y - slope * (first - n * middle)) / n, slope)


def pooled_samples(rows: Floats, line: Fit | None = None) -> Floats:
    """Return the values around each date without the season's trend: … x dates x samples.

    There is a sample for each of the 31 days around the date in each year: the value of `line` on
    the date, plus the day's departure from it times sqrt(1 + 1/years). Fit `line` if it is None.
    """
    line = line or fit(rows)
    windows = _windows(rows)
    widened = np.sqrt(1 + 1 / rows.shape[-2])
    middle = line.value[..., None, None]
    on_line = middle + line.slope[..., None, None] * _OFFSETS
    values: Floats = middle + (windows - on_line) * widened
    return values.reshape(*values.shape[:-2], -1)


def _windows(rows: Floats) -> Floats:
    """Return the values of the 31 days centred on each date: (..., dates, years, 31)."""
    return np.moveaxis(sliding_window_view(rows, WIDTH, axis=-1), -3, -2)


def quantiles(pooled: Floats, *levels: float) -> list[Floats]:
    """Return an array for each level (0 to 1): the quantiles along the last axis, without NaN.

    Between two neighbouring values, quantiles are interpolated linearly.
    """
    ordered = np.sort(pooled, axis=-1)  # NaN sorts last
    last = np.maximum(np.isfinite(ordered).sum(axis=-1) - 1, 0)
    found = []
    for level in levels:
        place = last * level
        below = place.astype(int)
        low = np.take_along_axis(ordered, below[..., None], -1)[..., 0]
        high = np.take_along_axis(ordered, np.minimum(below + 1, last)[..., None], -1)[..., 0]
        found.append(low + (high - low) * (place - below))
    return found


def summarise(values: Floats) -> Columns:
    """Return the typical weather of each date: all statistics by column name.

    `values` has the daily values: fields x years x (dates + 30), with 15 days before the first date
    and 15 after the last.
    """
    columns = _means(values)
    temperatures = values[_FIRST_TEMPERATURE : _FIRST_TEMPERATURE + len(records.TEMPERATURES)]
    line = fit(temperatures)
    columns |= dict(zip(records.TEMPERATURES, line.value, strict=True))
    low, high = quantiles(
        pooled_samples(temperatures[:2], Fit(line.value[:2], line.slope[:2])), 0.1, 0.9
    )
    for place, name in enumerate(records.TEMPERATURES[:2]):
        columns[f"{name}_p10"], columns[f"{name}_p90"] = low[place], high[place]
    rain = values[ROW["precipitation_sum"]]
    columns["precipitation_probability"] = wet_day_probability(rain)
    pools = _windows(rain)
    [columns["precipitation_sum_p90"]] = quantiles(pools.reshape(len(pools), -1), 0.9)
    columns["wind_direction_dominant"] = _wind(values)
    columns["weather_code"] = _codes(values[ROW["weather_code"]])
    return columns


def wet_day_probability(rain: Floats) -> Floats:
    """Return for each date the percentage of days with at least 1 mm of rain.

    The days are the date, and the 15 days before and after it, in all years.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        days = np.stack([(rain >= WET_MM).sum(axis=0), np.isfinite(rain).sum(axis=0)])
        wet, known = _sums(days.astype(float))
        share: Floats = 100 * wet / known
    return share


def sample_counts(values: Floats) -> Floats:
    """Return for each date the number of known highs, on the 31 days around it in all years."""
    return _sums(np.isfinite(values[ROW["temperature_max"]]).sum(axis=0, dtype=float))


def samples(values: Floats) -> int:
    """Count for each date the known highs behind its statistics; return the smallest count."""
    return int(sample_counts(values).min())


def _sums(by_day: Floats) -> Floats:
    """Return for each date the sum over the 31 days around it, along the last axis."""
    running = np.cumsum(by_day, axis=-1)
    sums: Floats = running[..., WIDTH - 1 :].copy()
    sums[..., 1:] -= running[..., :-WIDTH]
    return sums


def _means(values: Floats) -> Columns:
    known = np.isfinite(values)
    by_day = np.stack([np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1, dtype=float)])
    total, count = _sums(by_day)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(count > 0, total / np.round(count), np.nan)
    return dict(zip(records.ARCHIVE_FIELDS, means, strict=True))


def _wind(values: Floats) -> Floats:
    """Return for each date the direction in degrees from which the mean wind comes.

    NaN if the direction is unknown.
    """
    angle = np.radians(values[ROW["wind_direction_dominant"]])
    speed = values[ROW["wind_speed_max"]]
    speed = np.where(np.isfinite(speed), speed, 1.0)
    known = np.isfinite(angle)
    parts = np.stack([np.sin(angle), np.cos(angle)]) * speed
    east, north = _sums(np.where(known, parts, 0.0).sum(axis=1))
    direction = np.degrees(np.arctan2(east, north)) % 360
    known_direction: Floats = np.where(np.hypot(east, north) > 1e-9, direction, np.nan)
    return known_direction


def _codes(codes: Floats) -> Floats:
    """Find each date's most frequent condition; return the most frequent code of this condition.

    A condition, such as "rain", has several weather codes.
    """
    _, days = codes.shape
    flat = np.where(np.isfinite(codes), codes, 0).astype(int) + 100 * np.arange(days)
    counted = np.bincount(flat[np.isfinite(codes)], minlength=100 * days).reshape(days, 100)
    running = np.vstack([np.zeros((1, 100), int), np.cumsum(counted, axis=0)])
    window = running[WIDTH:] - running[:-WIDTH]
    condition = np.argmax(window @ MEMBERSHIP, axis=1)
    belongs = MEMBERSHIP.T[condition] > 0
    best = np.argmax(np.where(belongs, window, -1), axis=1)
    some = (window * MEMBERSHIP.any(axis=1)).sum(axis=1) > 0
    return np.where(some, best.astype(float), np.nan)


def last_year(today: date) -> int:
    """Return the latest year whose data are complete in the archives."""
    year = today.year - 1
    return year if (today - date(year, 12, 31)).days >= SETTLED_DAYS else year - 1


def months_of(stay: Stay, year: int) -> list[tuple[int, int]]:
    """Return the months (year, month) of the stay's dates after moving the stay to `year`."""
    shift = year - stay.start.year
    found, day = [], stay.start.replace(day=1)
    while day <= stay.end:
        found.append((day.year + shift, day.month))
        day = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return found


def months_to_horizon(stay: Stay, today: date) -> list[records.YearMonth]:
    """Return the months of the last ten years that the climatology of this stay needs.

    Include the months for all days from today to the forecast horizon, so that one fetch serves
    other stays too. If these days extend over New Year, the months after it are returned for the
    ten years and the year after: a stay that starts before New Year needs them a year later.
    """
    whole = Stay(min(stay.start, today), max(stay.end, horizon(today)))
    years = latest(last_year(today))
    wanted = {month for year in years for month in months_of(whole, year)}
    wanted |= {(year, name) for year in years for _, name in wanted}
    return sorted(one for one in wanted if records.is_past(one, today))


@lru_cache(maxsize=512)
def places(stay: Stay) -> NDArray[np.int_]:
    """Return for each date of the stay its number ("place"), counted from 1 January as 0.

    Every year has 366 places, so that a date has the same place in each year. The place of 29
    February stays empty in years without that date. Dates after New Year continue from 366.
    """
    year = stay.start.year
    day = np.arange(stay.days) + stay.start.timetuple().tm_yday - 1
    days = YEAR_PLACES if isleap(year) else YEAR_PLACES - 1
    is_after = day >= days
    day = np.where(is_after, day - days, day)
    is_leap = np.where(is_after, isleap(year + 1), isleap(year))
    return np.asarray(day + (~is_leap & (day >= LEAP_PLACE)) + YEAR_PLACES * is_after)


@lru_cache(maxsize=512)
def ordinals(year: int, first: int, count: int) -> NDArray[np.int_]:
    """Return the date ordinals of `count` consecutive places of a year, from `first` on.

    A place is the number of a date in a year of 366 days (see `places`). In a common year, the
    place of 29 February has the ordinal 0.
    """
    place = np.arange(first, first + count)
    found = np.zeros(count, int)
    for shift in range(first // YEAR_PLACES, (first + count - 1) // YEAR_PLACES + 1):
        inside = place // YEAR_PLACES == shift
        here = place[inside] - YEAR_PLACES * shift
        is_leap = isleap(year + shift)
        day = date(year + shift, 1, 1).toordinal() + here - (not is_leap) * (here > LEAP_PLACE)
        found[inside] = np.where((here == LEAP_PLACE) & (not is_leap), 0, day)
    return found


def windows(
    stay: Stay, years: Sequence[int], find: Callable[[int, int], records.Month | None]
) -> Floats:
    """Return daily values in each year: the stay's dates, and 15 days before and after them.

    The result is ARCHIVE_FIELDS x years x days, NaN where unknown. `find` returns the stored month
    for a year and month, or None.
    """
    own = places(stay)
    first, width = int(own[0]) - PAD_DAYS, int(own[-1] - own[0]) + 1 + 2 * PAD_DAYS
    values = np.full((len(records.ARCHIVE_FIELDS), len(years), width), np.nan)
    touched = months_of(stay, stay.start.year)
    for row, year in enumerate(years):
        days = ordinals(year, first, width)
        for in_stay, name in touched:
            if (month := find(year + in_stay - stay.start.year, name)) is not None:
                place = days - month.first.toordinal()
                inside = (place >= 0) & (place < month.values.shape[1])
                values[:, row, inside] = month.values[:, place[inside]]
    return values


def on_dates(stay: Stay, columns: Columns) -> Columns:
    """Return the columns without the value of 29 February, if the stay's year lacks this date."""
    own = places(stay)
    return {name: values[own - own[0]] for name, values in columns.items()}


def missing(values: Floats) -> NDArray[np.bool_]:
    """Return an array that is True for years that lack over a fifth of their highs or lows."""
    temperatures = values[ROW["temperature_max"] : ROW["temperature_min"] + 1]
    share = np.isnan(temperatures).any(axis=0).mean(axis=-1)
    return np.asarray(share > MISSING_SHARE)


def history(stay: Stay, years: Sequence[int], values: Floats) -> list[YearBody]:
    """Return the mean high and low, the rain and the wet days of the stay's dates in each year.

    `values` is the result of `windows`.
    """
    return year_bodies(stay, years, values[HISTORY_ROWS], int(places(stay)[0]) - PAD_DAYS)


def year_bodies(stay: Stay, years: Sequence[int], rows: Floats, first: int) -> list[YearBody]:
    """Return the mean high and low, the rain and the wet days of the stay's dates in each year.

    Args:
        stay: the stay.
        years: the years in which the stay would begin, oldest first.
        rows: highs, lows and rain (3 x years x places), NaN where unknown. Means ignore unknown
            values. If over a fifth of a year's rain is unknown, its total and wet days are unknown.
        first: the place (number of the date in the year) of the first value in `rows`.
    """
    place = places(stay) - first
    dates = np.full(len(years), stay.days)
    if (places(stay) % YEAR_PLACES == LEAP_PLACE).any():
        place = np.stack([_places_in(stay, year) for year in years]) - first
        own = rows[:, np.arange(len(years))[:, None], place]
        is_twice = np.diff(place, axis=1, prepend=-1) == 0  # the 28th for a missing 29th
        own[:, is_twice] = np.nan
        dates -= is_twice.sum(axis=1)
    else:
        own = rows[:, :, place]
    known = np.isfinite(own)
    count = known.sum(axis=-1)
    total = np.where(known, own, 0.0).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        high, low = np.where(count[:2] > 0, total[:2] / count[:2], np.nan).tolist()
        wet = (own[2] >= WET_MM).sum(axis=-1).tolist()
    enough = (count[2] >= (1 - MISSING_SHARE) * dates).tolist()
    return [
        YearBody(
            year=year,
            temperature_max_mean=high[row],
            temperature_min_mean=low[row],
            precipitation_total=float(total[2, row]) if enough[row] else math.nan,
            wet_days=wet[row] if enough[row] else None,
        )
        for row, year in enumerate(years)
    ]


def _places_in(stay: Stay, year: int) -> NDArray[np.int_]:
    """Move the stay to `year`, and return its dates as day numbers from 0 to 731 (see `places`).

    If a year has no 29 February, 28 February is used.
    """
    own = places(stay)
    is_leap = np.array([isleap(year), isleap(year + 1)])[own // YEAR_PLACES]
    is_empty = (own % YEAR_PLACES == LEAP_PLACE) & ~is_leap
    return np.where(is_empty, own - 1, own)


def latest(last: int, count: int = YEARS) -> Sequence[int]:
    """Return `count` consecutive years that end with the year `last`, oldest first."""
    return range(last - count + 1, last + 1)
