"""Stay: the dates of a query, and whether they are past or within the forecast; also clocks."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

import msgspec

FIRST_DATE = date(1900, 1, 1)
LAST_DATE = date(2050, 12, 31)
LONGEST_DAYS = 92  # number of dates in the longest stay
HORIZON_DAYS = 16  # number of dates that a forecast covers, today included

# returns the current time with a zone; tests pass one that they can move
Clock: TypeAlias = Callable[[], datetime]


def system_clock() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def posix_seconds(clock: Clock) -> Callable[[], float]:
    """Return a fast function that returns the clock's time in POSIX seconds."""
    return time.time if clock is system_clock else lambda: clock().timestamp()


class Stay(msgspec.Struct, frozen=True, order=True):
    """Dates from `start` to `end`, both included; those of a request are at most 92 days."""

    start: date
    end: date

    @property
    def days(self) -> int:
        """The number of dates in the stay."""
        return (self.end - self.start).days + 1

    def dates(self) -> Iterator[date]:
        return (self.start + timedelta(days=n) for n in range(self.days))

    def __contains__(self, day: date) -> bool:
        return self.start <= day <= self.end

    def is_past(self, today: date) -> bool:
        """Return True if the stay ended before `today`, the date at the point."""
        return self.end < today

    def within_horizon(self, today: date) -> bool:
        """Return True if the stay ends by the last date that a forecast covers, today + 15."""
        return self.end <= horizon(today)


def horizon(today: date) -> date:
    """Return the last date that a forecast covers: today + 15."""
    return today + timedelta(days=HORIZON_DAYS - 1)
