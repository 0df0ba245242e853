"""Guard: bounds how many requests are worked on at once, so that admitted ones stay quick.

Beyond `most` requests a new one is refused at once, which costs next to nothing. Those admitted
take turns: in one pass of the event loop new work starts for at most 10 ms, so that health and
refusals never wait behind a long row of it.
"""

from __future__ import annotations

import asyncio
import time

from location_context.errors import ServiceOverloaded

TURN_SECONDS = 0.01


class Guard:
    """Counts requests in flight."""

    def __init__(self, most: int) -> None:
        self.in_flight = 0
        self._most = most
        self._turn_began: float | None = None

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
        if self._turn_began is None:
            self._turn_began = time.perf_counter()
            asyncio.get_running_loop().call_soon(self._end_turn)
            return True
        return time.perf_counter() - self._turn_began < TURN_SECONDS

    def _end_turn(self) -> None:
        self._turn_began = None
