"""Read pairs of issued forecasts and observations, with a climatology of their own days.

A file is a CSV, gzipped or plain, a row for each forecast: source, station, issued_date,
valid_date, lead_days, variable (tmax, tmin, t2m, precip24, pop), forecast, observed; further
columns are passed over. °C and mm; of pop the forecast is 0..1 and the observation 0 or 1.

The climatology of a date is made from the observations of other years with the section's own
statistics; where the file has one year only, from all of its days but the fortnight around the
date.
"""

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from sys import intern

import numpy as np
from numpy.typing import NDArray

from location_context.sections.weather import climatology
from location_context.sections.weather.calibration import Z90
from location_context.sections.weather.records import PAD_DAYS, Floats

COLUMNS = (
    "source", "station", "issued_date", "valid_date", "lead_days", "variable", "forecast",
    "observed",
)  # fmt: skip
WINDOW = np.arange(-PAD_DAYS, PAD_DAYS + 1)
KNOWN_DAYS = 4  # a year counts when it knows so many of a window's 31 days,
NEEDED_DAYS = 20  # and other years do when together they know so many
FARTHEST_YEARS = 10  # climates change
LEFT_OUT_DAYS = 7  # to either side of a date, where one year must do
BANDWIDTH_DAYS = 30.0  # of the Gaussian weights there
REACH_DAYS = 120  # beyond, such a weight is below 0.001
FLAT_WEIGHT = 5.0  # days' worth of a flat season, lest the line runs off at an edge
NEEDED_WEIGHT = 10.0  # days' worth of observations, else there is no climatology

ROUNDED = 0.001  # a chance may be so far above 1
EPOCH = date(1970, 1, 1).toordinal()

Days = NDArray[np.datetime64]
Words = NDArray[np.str_]


class Unreadable(Exception):
    """A file that has no pairs, with the sentence that says why."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows of forecasts and observations, as columns of one length."""

    source: Words
    station: Words
    issued: Days
    valid: Days
    lead: Floats
    variable: Words
    forecast: Floats
    observed: Floats

    def __len__(self) -> int:
        return len(self.lead)

    def where(self, chosen: NDArray[np.bool_]) -> "Pairs":
        return Pairs(*(getattr(self, name)[chosen] for name in self.__slots__))


def read(paths: list[Path]) -> Pairs:
    """Read all rows of the files that have a forecast, an observation and a date.

    Raises:
        Unreadable: a file or a column is missing, or a value is not a number or date.
    """
    rows = [row for path in paths for row in _rows(path)]
    if not rows:
        raise Unreadable(
            f"no row with a forecast and an observation in {', '.join(map(str, paths))}"
        )
    source, station, issued, valid, lead, variable, forecast, observed = zip(*rows, strict=True)
    return Pairs(
        np.array(source),
        np.array(station),
        np.array(issued, "datetime64[D]"),
        np.array(valid, "datetime64[D]"),
        np.array(lead),
        np.array(variable),
        np.array(forecast),
        np.array(observed),
    )


def _rows(path: Path) -> Iterator[tuple[str | float, ...]]:
    try:
        packed = path.open("rb").read(2) == b"\x1f\x8b"
        opened = gzip.open if packed else open
        with opened(path, "rt", encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise Unreadable(f"{path} has no column {', '.join(missing)}")
            for number, row in enumerate(reader, 2):
                try:
                    if row["forecast"] and row["observed"]:
                        yield _row(row)
                except (TypeError, ValueError) as error:
                    raise Unreadable(f"{path}, row {number}: {error}") from error
    except (OSError, UnicodeDecodeError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Unreadable(f"{path} cannot be read: {reason}") from error


def _row(row: dict[str, str]) -> tuple[str | float, ...]:
    forecast, observed = float(row["forecast"]), float(row["observed"])
    if row["variable"] == "pop" and not 0 <= forecast <= 1 + ROUNDED:
        raise ValueError(f"a chance of rain is 0 to 1, not {forecast:g}")
    source, station, variable = (intern(row[name]) for name in ("source", "station", "variable"))
    issued, valid = (date.fromisoformat(row[f"{name}_date"][:10]) for name in ("issued", "valid"))
    days = (issued.toordinal() - EPOCH, valid.toordinal() - EPOCH)
    return (source, station, *days, float(row["lead_days"]), variable, forecast, observed)


@dataclass(frozen=True, slots=True)
class Climate:
    """The climatology of each row's date.

    Attributes:
        mean: of the variable; of pop the share of wet days.
        sd: its p90 − p10 over 2 · `Z90`, as the section has it, or its standard deviation.
        years: how many other years stand behind it; 0 where one year must do.
    """

    mean: Floats
    sd: Floats
    years: Floats


def by_series(pairs: Pairs) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of each source, station and variable."""
    group = np.zeros(len(pairs), int)
    for column in (pairs.source, pairs.station, pairs.variable):
        names, place = np.unique(column, return_inverse=True)
        group = group * len(names) + place
    _, group = np.unique(group, return_inverse=True)
    order = np.argsort(group, kind="stable")
    yield from np.split(order, np.cumsum(np.bincount(group))[:-1])


def climate(pairs: Pairs) -> Climate:
    """Return the climatology of each row's date at its station; NaN with too few days."""
    mean, sd, years = (np.full(len(pairs), np.nan) for _ in range(3))
    for rows in by_series(pairs):
        days, first = np.unique(pairs.valid[rows], return_index=True)
        observed = pairs.observed[rows][first]
        judged = np.searchsorted(days, pairs.valid[rows])
        found = Series(days, observed).climate()
        mean[rows], sd[rows], years[rows] = (column[judged] for column in found)
    return Climate(mean, sd, years)


class Series:
    """A station's observations by day."""

    def __init__(self, days: Days, observed: Floats) -> None:
        self.days, self.observed = days, observed
        self._first = days[0]
        self._values = np.full(int((days[-1] - days[0]).astype(int)) + 1, np.nan)
        self._values[(days - days[0]).astype(int)] = observed

    def climate(self) -> tuple[Floats, Floats, Floats]:
        """Mean, σ and other years of each day."""
        mean, sd = self._leaving_a_fortnight_out()
        years = np.zeros(len(self.days))
        windows = self._other_years()
        days = np.isfinite(windows).sum(axis=-1)
        known = days >= KNOWN_DAYS
        known &= (days * known).sum(axis=1, keepdims=True) >= NEEDED_DAYS
        count = known.sum(axis=1)
        for number in np.unique(count[count > 0]):
            chosen = np.flatnonzero(count == number)
            rows = windows[chosen][known[chosen]].reshape(len(chosen), number, len(WINDOW))
            line = climatology.fit(rows)
            pooled = climatology.pooled_samples(rows, line)
            mean[chosen], years[chosen] = line.value[:, 0], number
            low, high = climatology.quantiles(pooled[:, 0], 0.1, 0.9)
            sd[chosen] = (high - low) / (2 * Z90)
        return mean, sd, years

    def _other_years(self) -> Floats:
        """Return windows of the same date in other years (days x years x 31), NaN if unknown."""
        span = min(FARTHEST_YEARS, len(self._values) // 365 + 1)
        months, day = self.days.astype("datetime64[M]"), self.days
        within = (day - months.astype("datetime64[D]")).astype(int)
        found = []
        for shift in range(-span, span + 1):
            if shift:
                month = months + np.timedelta64(12 * shift, "M")
                next_month = (month + np.timedelta64(1, "M")).astype("datetime64[D]")
                length = next_month - month.astype("datetime64[D]")
                centre = month.astype("datetime64[D]") + np.minimum(
                    within, length.astype(int) - 1
                ).astype("timedelta64[D]")
                place = (centre - self._first).astype(int)[:, None] + WINDOW
                inside = (place >= 0) & (place < len(self._values))
                found.append(
                    np.where(inside, self._values[place.clip(0, len(self._values) - 1)], np.nan)
                )
        return np.stack(found, axis=1)

    def _leaving_a_fortnight_out(self) -> tuple[Floats, Floats]:
        """Fit a local line to all days but the fortnight around each; return it and its σ."""
        lag = np.arange(-REACH_DAYS, REACH_DAYS + 1, dtype=float)
        weight = np.exp(-((lag / BANDWIDTH_DAYS) ** 2) / 2) * (np.abs(lag) > LEFT_OUT_DAYS)
        known = np.isfinite(self._values).astype(float)
        values = np.where(known, self._values, 0.0)
        total, first, second = (_around(known, weight * lag**power) for power in range(3))
        y, ty = (_around(values, weight * lag**power) for power in range(2))
        second += FLAT_WEIGHT * BANDWIDTH_DAYS**2
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = (ty - first * y / total) / (second - first**2 / total)
            mean = np.where(total >= NEEDED_WEIGHT, (y - slope * first) / total, np.nan)
            judged = known * np.isfinite(mean)
            missed = np.where(judged, (values - mean) ** 2, 0.0)
            sd = np.sqrt(_around(missed, weight) / _around(judged, weight))
        place = (self.days - self._first).astype(int)
        return mean[place], sd[place]


def _around(values: Floats, weight: Floats) -> Floats:
    """Return the sum of values around each day, weighted by their lag."""
    middle = len(weight) // 2
    summed: Floats = np.convolve(values, weight[::-1])[middle : middle + len(values)]
    return summed
