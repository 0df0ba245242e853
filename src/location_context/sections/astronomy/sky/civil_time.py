"""Civil time: the seconds that clocks count, and how far Terrestrial Time is ahead of them.

Moments are seconds since 1970-01-01 of the clock at Greenwich ("unix seconds"), as `datetime`
counts them. That clock is UT1 before 1972, when civil time followed the Earth, and UTC after it,
with the leap seconds known today; none is foreseen, as their end by 2035 was resolved (CGPM 2022).
The Earth's own rotation is skyfield's table of Delta T and its forecast (Morrison et al. 2021).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from datetime import tzinfo

    from numpy.typing import NDArray
    from skyfield.timelib import Time, Timescale

DAY = 86400.0
UNIX_EPOCH_JD = 2440587.5
J2000 = 946728000.0
JULIAN_YEAR = 365.25 * DAY
MEAN_TIME_ENDS = 63600000.0  # January 1972, Liberia the last
UTC_BEGINS = 63072000.0  # 1972-01-01
TT_MINUS_TAI = 32.184


def skyfield_time(ts: Timescale, seconds: NDArray[np.float64]) -> Time:
    """The same moments as skyfield tells them, in Terrestrial Time."""
    days = seconds / DAY
    whole = np.floor(days)
    ahead = tt_ahead(ts, seconds)
    return ts.tt_jd(UNIX_EPOCH_JD + whole, days - whole + ahead / DAY)


def tt_ahead(ts: Timescale, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Seconds by which TT is ahead of the clock at Greenwich."""
    days = UNIX_EPOCH_JD + seconds / DAY
    delta_t = ts.tt_jd(days).delta_t
    steps = np.searchsorted(ts.leap_dates, days, side="right") - 1
    atomic = np.asarray(ts.leap_offsets)[np.maximum(steps, 0)] + TT_MINUS_TAI
    return np.where(seconds < UTC_BEGINS, delta_t, atomic)


def local_time(seconds: int, zone: tzinfo) -> datetime:
    """A moment with the local offset.

    Before 1972 some clocks kept local mean time; ISO 8601 has no seconds in an offset, so there
    the offset is given to the whole minute, and the moment stays the same.
    """
    moment = datetime.fromtimestamp(seconds, zone)
    if seconds > MEAN_TIME_ENDS:
        return moment
    offset = moment.utcoffset() or timedelta()
    if offset.seconds % 60 == 0:
        return moment
    minutes = timedelta(minutes=round(offset.total_seconds() / 60))
    return datetime.fromtimestamp(seconds, UTC).astimezone(timezone(minutes))
