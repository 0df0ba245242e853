"""Local dates of a zone as stretches of time, whatever its clocks did on them.

A date begins where its first midnight is on the clock: after a missing hour at midnight it begins
at 01:00, a doubled hour belongs to the date it repeats, and a date that a zone left out (Samoa,
30 December 2011) has no length.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from location_context.sections.astronomy.sky.civil_time import MEAN_TIME_ENDS, local_time

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from location_context.stay import Stay

_NOON = time(12)


@dataclass(frozen=True, slots=True)
class LocalDay:
    """The local date with that place in the stay, from `start` to `end`.

    Its night lies from `noon` to `next_noon`.
    """

    index: int
    date: date
    zone: ZoneInfo
    start: int
    end: int
    noon: int
    next_noon: int

    def local(self, seconds: int | None) -> datetime | None:
        if seconds is None:
            return None
        if seconds > MEAN_TIME_ENDS:
            return datetime.fromtimestamp(seconds, self.zone)
        return local_time(seconds, self.zone)

    def moment(self, seconds: float) -> datetime:
        return local_time(round(seconds), self.zone)


def local_days(stay: Stay, zone: ZoneInfo) -> list[LocalDay]:
    """Each date of the stay."""
    dates = [stay.start + timedelta(days=n) for n in range(stay.days + 1)]
    starts = [_seconds(day, time(), zone) for day in dates]
    noons = [_seconds(day, _NOON, zone) for day in dates]
    pairs = zip(
        dates,
        pairwise(starts),
        pairwise(noons),
        strict=False,
    )
    return [
        LocalDay(index, day, zone, start, max(start, end), noon, max(noon, after))
        for index, (day, (start, end), (noon, after)) in enumerate(pairs)
    ]


def _seconds(day: date, clock: time, zone: ZoneInfo) -> int:
    return round(datetime.combine(day, clock, zone).timestamp())
