"""Local dates of a time zone, each an interval from its first moment to the next date's first.

A date begins when the local clock first shows 00:00; if clocks skip that hour, it begins at 01:00.
If clocks go back from 00:00 to 23:00, the repeated hour belongs to the old date. If they go back
from 00:01 to 23:01, it belongs to the new date. A skipped date (Samoa, 2011-12-30) has no length.
Moments are Unix seconds: seconds since 1970-01-01, as `datetime` counts them. Before 1972 they are
taken as UT1 (the Earth's rotation), later as UTC with the leap seconds known today. No more are
expected: the CGPM resolved in 2022 to end them by 2035.
The Earth's rotation follows skyfield's table of Delta T and its forecast (Morrison et al. 2021).
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray
from skyfield.timelib import Time, Timescale

from location_context.stay import Stay

DAY = 86400.0
UNIX_EPOCH_JD = 2440587.5
J2000 = 946728000.0
JULIAN_YEAR = 365.25 * DAY
MEAN_TIME_ENDS = 63600000.0  # January 1972, when Liberia gave up mean time as the last
UTC_BEGINS = 63072000.0  # 1972-01-01
TT_MINUS_UTC_1972 = 42.184  # seconds in January 1972, before the first leap second


def skyfield_time(ts: Timescale, seconds: NDArray[np.float64]) -> Time:
    """Convert Unix seconds to skyfield's times, in Terrestrial Time (TT)."""
    days = seconds / DAY
    whole = np.floor(days)
    ahead = tt_ahead(ts, seconds)
    return ts.tt_jd(UNIX_EPOCH_JD + whole, days - whole + ahead / DAY)


def tt_ahead(ts: Timescale, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Terrestrial Time minus UTC (before 1972: UT1) in s, at the Unix times `seconds`."""
    days = UNIX_EPOCH_JD + seconds / DAY
    delta_t = ts.tt_jd(days).delta_t
    leap_seconds = np.searchsorted(ts.leap_dates, days, side="right")
    return np.where(seconds < UTC_BEGINS, delta_t, TT_MINUS_UTC_1972 + leap_seconds)


def local_time(seconds: int, zone: tzinfo) -> datetime:
    """Convert Unix seconds to a local time with its offset from UTC.

    Before 1972 some clocks used local mean time. ISO 8601 has no seconds in an offset, so such an
    offset is rounded to the minute; the moment stays the same.
    """
    moment = datetime.fromtimestamp(seconds, zone)
    if seconds > MEAN_TIME_ENDS:
        return moment
    offset = moment.utcoffset() or timedelta()
    if offset.seconds % 60 == 0:
        return moment
    minutes = timedelta(minutes=round(offset.total_seconds() / 60))
    return datetime.fromtimestamp(seconds, UTC).astimezone(timezone(minutes))


@dataclass(frozen=True, slots=True)
class LocalDay:
    """One local date of a stay, `index` days after the first; times are Unix seconds.

    The date lasts from `start` to `end`, its night from `noon` to `next_noon`.
    """

    index: int
    date: date
    zone: ZoneInfo
    start: int
    end: int
    noon: int
    next_noon: int

    def local(self, seconds: int | None) -> datetime | None:
        return None if seconds is None else local_time(seconds, self.zone)

    def moment(self, seconds: float) -> datetime:
        return local_time(round(seconds), self.zone)


def local_days(stay: Stay, zone: ZoneInfo) -> list[LocalDay]:
    dates = [stay.start + timedelta(days=n) for n in range(stay.days + 1)]
    starts, noons = (
        [round(datetime.combine(day, clock, zone).timestamp()) for day in dates]
        for clock in (time(), time(12))
    )
    pairs = zip(dates[:-1], pairwise(starts), pairwise(noons), strict=True)
    return [
        LocalDay(index, day, zone, start, max(start, end), noon, max(noon, after))
        for index, (day, (start, end), (noon, after)) in enumerate(pairs)
    ]
