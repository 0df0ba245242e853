"""Rate limiter: calls that a provider counts by the second wait, instead of being refused."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class IntervalLimiter:
    """Lets calls through at least `seconds` apart, in the order of asking."""

    def __init__(
        self,
        seconds: float,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._seconds = seconds
        self._now = now
        self._sleep = sleep
        self._next = 0.0
        self._queue = asyncio.Lock()
        self._waiting = 0

    @property
    def wait(self) -> float:
        """Seconds, at least, that a call from now on has to wait."""
        return max(0.0, self._next - self._now()) + self._waiting * self._seconds

    async def acquire(self) -> None:
        """Wait for permission to call; it holds until the next await."""
        self._waiting += 1
        try:
            async with self._queue:
                while (left := self._next - self._now()) > 0:
                    await self._sleep(left)
                self._next = self._now() + self._seconds
        finally:
            self._waiting -= 1
