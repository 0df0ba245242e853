"""Clocks that tests move, so that a busy machine changes no result."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

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


@contextmanager
def skipped_waits() -> Iterator[Callable[[], float]]:
    """Let the running loop move its clock to the next timer instead of waiting; yield the clock.

    `time.monotonic` is that clock too. Only for code that waits for nothing but timers: the loop
    skips whatever is not ready at once, such as a reply of another process.
    """
    loop, now = asyncio.get_running_loop(), [time.monotonic()]
    selector = loop._selector  # type: ignore[attr-defined]  asyncio has no seam for this
    select = selector.select

    def skip(timeout: float | None) -> list[object]:
        ready: list[object] = select(0 if timeout else timeout)
        if timeout and not ready:
            now[0] += timeout
        return ready

    def clock() -> float:
        return now[0]

    with (
        patch.object(selector, "select", skip),
        patch.object(loop, "time", clock),
        patch.object(time, "monotonic", clock),
    ):
        yield clock
