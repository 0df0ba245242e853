"""A clock that tests move."""

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


class MovedClock:
    """Tells the moment it was set to; calling it gives a datetime, `seconds` a float."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def seconds(self) -> float:
        """For what counts in seconds, such as a monotonic clock."""
        return self.now.timestamp()

    def advance(self, seconds: float = 0.0, **units: float) -> None:
        """Move by seconds, or by `timedelta`'s other units, such as `hours=2`."""
        self.now += timedelta(seconds=seconds, **units)
