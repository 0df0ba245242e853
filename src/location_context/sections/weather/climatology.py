"""Climatology: the statistics of ten years of daily values for each date of a stay.

Method: for each date the values of 15 days to either side in all years are pooled. Highs and lows
lose the season's own slope in that window (least squares through the pool) and keep their anomalies
around its value on the date, widened by sqrt(1 + 1/years) since the years are a sample.
Accuracy, trained on ten years and judged on the next (2011-2024, 20 cities): 80 % of days lie
between p10 and p90; CRPS 0.92 and Brier score 0.92 of ten raw same-day values
(`research.weather_climatology`).
A mean is the fitted line's value for temperatures and the pool's mean for the rest; conditions and
codes are the most frequent; wind direction is the mean vector weighted by speed.

The years: a stay belongs to the year of its start, and over New Year reaches into the year after.
Its window in a year holds the same dates, with 15 days to either side: a date's statistics are the
same in every stay of its year. 29 February is a date without a value in years that lack it.
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
SETTLED_DAYS = 10  # a year counts when its 31 December is so long past
MISSING_SHARE = 0.2
YEAR_PLACES, LEAP_PLACE = 366, 59  # of a year with 29 February, and where that is

# Row n has 1 at the condition that code n counts toward.
MEMBERSHIP = np.zeros((100, len(records.CONDITION_CODES)))
for _place, _condition_codes in enumerate(records.CONDITION_CODES.values()):
    MEMBERSHIP[list(_condition_codes), _place] = 1.0


@dataclass(frozen=True, slots=True)
class Fit:
    """The season's line through each date's pool: its value on the date, and its slope a day."""

    value: Floats
    slope: Floats


def fit(rows: Floats) -> Fit:
    """Fit a line through each date's pool of `rows` (… x years x (dates + 30)), least squares.

    With days counted from the row's beginning, sums over windows are differences of running sums.
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
    """Return the values behind each date (… x dates x samples), widened, without season's slope."""
    line = line or fit(rows)
    windows = _windows(rows)
    widened = np.sqrt(1 + 1 / rows.shape[-2])
    middle = line.value[..., None, None]
    on_line = middle + line.slope[..., None, None] * _OFFSETS
    values: Floats = middle + (windows - on_line) * widened
    return values.reshape(*values.shape[:-2], -1)


def _windows(rows: Floats) -> Floats:
    """Return the values behind each date (… x dates x years x days)."""
    return np.moveaxis(sliding_window_view(rows, WIDTH, axis=-1), -3, -2)


def _pooled(rows: Floats) -> Floats:
    """Return the values behind each date (dates x samples) unchanged."""
    windows = _windows(rows)
    return windows.reshape(len(windows), -1)


def quantiles(pooled: Floats, *levels: float) -> list[Floats]:
    """Return quantiles by linear interpolation between order statistics, over known values."""
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
    """Return every column of the climatology from values (fields x years x (dates + 30))."""
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
    [columns["precipitation_sum_p90"]] = quantiles(_pooled(rain), 0.9)
    columns["wind_direction_dominant"] = _wind(values)
    columns["weather_code"] = _codes(values[ROW["weather_code"]])
    return columns


def wet_day_probability(rain: Floats) -> Floats:
    """Return the share of days with at least 1 mm in each date's pool, in percent."""
    with np.errstate(invalid="ignore", divide="ignore"):
        days = np.stack([(rain >= WET_MM).sum(axis=0), np.isfinite(rain).sum(axis=0)])
        wet, known = _sums(days.astype(float))
        share: Floats = 100 * wet / known
    return share


def sample_counts(values: Floats) -> Floats:
    """Return the number of highs behind each date."""
    return _sums(np.isfinite(values[ROW["temperature_max"]]).sum(axis=0, dtype=float))


def samples(values: Floats) -> int:
    """Return the number of highs behind the date that has the fewest."""
    return int(sample_counts(values).min())


def _sums(by_day: Floats) -> Floats:
    """Return sums over each date's window along the last axis."""
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
    """Return mean vector of where the wind comes from, in degrees; NaN when there is none."""
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
    """Return the most frequent code of the most frequent condition."""
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
    """Return the latest year that is complete."""
    year = today.year - 1
    return year if (today - date(year, 12, 31)).days >= SETTLED_DAYS else year - 1


def in_year(day: date, year: int) -> date:
    """Return the same date in another year."""
    try:
        return day.replace(year=year)
    except ValueError:
        return date(year, 2, 28)


def months_of(stay: Stay, year: int) -> list[tuple[int, int]]:
    """Return (year, month) of each month the stay touches when it begins in `year`."""
    shift = year - stay.start.year
    found, day = [], stay.start.replace(day=1)
    while day <= stay.end:
        found.append((day.year + shift, day.month))
        day = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return found


def months_to_horizon(stay: Stay, today: date) -> list[records.YearMonth]:
    """Return the months of ten years for the stay, and for any stay that may be a forecast today.

    A stay over New Year takes its January from the year after: those years are included.
    """
    whole = Stay(min(stay.start, today), max(stay.end, horizon(today)))
    years = latest(last_year(today))
    wanted = {month for year in years for month in months_of(whole, year)}
    wanted |= {(year, name) for year in years for _, name in wanted}
    return sorted(one for one in wanted if records.is_past(one, today))


@lru_cache(maxsize=512)
def places(stay: Stay) -> NDArray[np.int_]:
    """Return the place of each date, counted from 1 January of the stay's first year.

    Every year has 366 places, so that a date has the same one in each; that of 29 February stays
    empty in years without it.
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
    """Return the day's ordinal at `count` places from `first` of a year on; 0 where it is empty."""
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
    """Return ARCHIVE_FIELDS x years x (places + 30) of the stay, NaN where nothing is stored."""
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
    """Return the columns on the stay's dates: without 29 February where its year has none."""
    own = places(stay)
    return {name: values[own - own[0]] for name, values in columns.items()}


def missing(values: Floats) -> NDArray[np.bool_]:
    """Return which years lack over a fifth of their window's highs or lows."""
    temperatures = values[ROW["temperature_max"] : ROW["temperature_min"] + 1]
    share = np.isnan(temperatures).any(axis=0).mean(axis=-1)
    return np.asarray(share > MISSING_SHARE)


def history(stay: Stay, years: Sequence[int], values: Floats) -> list[YearBody]:
    """Return the stay's own dates in each year, from its windows."""
    return year_bodies(stay, years, values[HISTORY_ROWS], int(places(stay)[0]) - PAD_DAYS)


def year_bodies(stay: Stay, years: Sequence[int], rows: Floats, first: int) -> list[YearBody]:
    """Return the stay's own dates in each year; gaps are few.

    Args:
        stay: the dates.
        years: in which the stay would begin, oldest first.
        rows: highs, lows and rain (3 x years x places).
        first: the place where they begin.
    """
    place = places(stay) - first
    dates = np.full(len(years), stay.days)
    if (places(stay) % YEAR_PLACES == LEAP_PLACE).any():
        place = np.stack([_places_in(stay, year) for year in years]) - first
        own = rows[:, np.arange(len(years))[:, None], place]
        is_twice = np.diff(place, axis=1, prepend=-1) == 0  # the 28th, which is a date itself
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
    """Return the stay's places when it begins in a year; 29 February may count as the 28th."""
    own = places(stay)
    is_leap = np.array([isleap(year), isleap(year + 1)])[own // YEAR_PLACES]
    is_empty = (own % YEAR_PLACES == LEAP_PLACE) & ~is_leap
    return np.where(is_empty, own - 1, own)


def latest(last: int, count: int = YEARS) -> Sequence[int]:
    """Return the latest years up to `last`, oldest first."""
    return range(last - count + 1, last + 1)
