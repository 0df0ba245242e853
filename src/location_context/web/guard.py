"""Guard: bounds how many requests are worked on at once, so that admitted ones stay quick.

Beyond `most` requests a new one is refused at once, which costs next to nothing. Those admitted
start in turns: how many in one pass of the event loop is halved when a pass took longer than 5 ms
and grows by one when it did not, so that health and refusals never wait behind a row of work.
"""

from __future__ import annotations

import asyncio
import time

from location_context.errors import ServiceOverloaded

LONG_PASS = 0.005  # seconds
MOST_STARTS = 256


class Guard:
    """Counts requests in flight, and lets them start in turns."""

    def __init__(self, most: int) -> None:
        self.in_flight = 0
        self._most = most
        self._began: float | None = None
        self._started = 0
        self._starts = 16

    async def enter(self) -> None:
        """Admit one request, once it is its turn; `leave` must follow.

        Raises:
            ServiceOverloaded: too many are in flight.
        """
        if self.in_flight >= self._most:
            raise ServiceOverloaded("The service is overloaded; try again in a moment.", 1)
        self.in_flight += 1
        try:
            while not self._may_start():  # noqa: ASYNC110  waiting for the loop's next pass
                await asyncio.sleep(0)
        except BaseException:
            self.in_flight -= 1
            raise

    def leave(self) -> None:
        self.in_flight -= 1

    def _may_start(self) -> bool:
        if self._began is None:
            self._began, self._started = time.perf_counter(), 0
            asyncio.get_running_loop().call_soon(self._end_pass, self._began)
        self._started += 1
        return self._started <= self._starts

    def _end_pass(self, began: float) -> None:
        if time.perf_counter() - began > LONG_PASS:
            self._starts = max(1, self._starts // 2)
        else:
            self._starts = min(MOST_STARTS, self._starts + 1)
        self._began = None
