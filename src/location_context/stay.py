"""Stay: checked dates, and their relation to today at the point."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Protocol

import msgspec

FIRST_DATE = date(1900, 1, 1)
LAST_DATE = date(2050, 12, 31)
LONGEST_DAYS = 92
HORIZON_DAYS = 16


class Clock(Protocol):
    """A clock: returns the current time with a zone. It is injected, so that tests can move it."""

    def __call__(self) -> datetime: ...


def system_clock() -> datetime:
    """Return the moment now, in UTC."""
    return datetime.now(UTC)


def posix_seconds(clock: Clock) -> Callable[[], float]:
    """Return the same clock in POSIX seconds, for use in every request."""
    return time.time if clock is system_clock else lambda: clock().timestamp()


class Stay(msgspec.Struct, frozen=True, order=True):
    """Dates from `start` to `end`, both included, at most 92 days."""

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
        """Return True if the stay has ended at the point."""
        return self.end < today

    def within_horizon(self, today: date) -> bool:
        """Return True if the last day of the stay is among the 16 days that begin today."""
        return self.end <= horizon(today)


def horizon(today: date) -> date:
    """Return the last date that a forecast covers."""
    return today + timedelta(days=HORIZON_DAYS - 1)
