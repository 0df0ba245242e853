"""FallbackChain: sources in order of preference, raced with staggered starts (hedged requests).

The first is asked at once, the next when the one before failed or has taken its share of the time.
While a source answers other callers, a call to it may only be waiting for its turn: the next source
is then asked a second after the newest of its answers, at the latest when `queue_share` of the time
is over.
The best result wins: a lower one waits `settle_window` seconds for those above it. A source that
may be silent (`ProviderClient.is_suspect`) is not waited for longer than that either. Fetches go on
for the next caller when one goes, at its deadline or before.
"""

import asyncio
import math
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import structlog

from location_context.errors import LocationContextError
from location_context.upstream.client import ProviderClient
from location_context.upstream.deadline import Deadline

T = TypeVar("T")
MAX_STAGGER = 1.0  # seconds between two starts
STAGGER_SHARE = 0.4  # of the time there is, for all starts together
QUEUE_SHARE = 0.4  # of the time there is, for a queue that moves
_ROUNDING = 0.001  # seconds by which a timer may fire early


@dataclass(frozen=True)
class Attempt(Generic[T]):
    """One source.

    Attributes:
        fetch: gives its result, or None when it has none.
        client: whose calls it makes; it records how long its callers waited for nothing.
        queue: the client in whose queue it may wait, where it makes calls of several.
    """

    fetch: Callable[[], Coroutine[Any, Any, T | None]]
    client: ProviderClient | None = None
    queue: ProviderClient | None = None


@dataclass
class _Started(Generic[T]):
    """An attempt under way, or ended."""

    task: asyncio.Task[T | None]
    client: ProviderClient | None
    queue: ProviderClient | None
    suspect: bool
    since: float = field(default_factory=time.monotonic)

    @property
    def failed(self) -> bool:
        return self.task.done() and self.result is None

    @property
    def result(self) -> T | None:
        return None if self.failure else self.task.result()

    @property
    def failure(self) -> BaseException | None:
        """Why it gave nothing; a TimeoutError until it has ended, None when it gave a result."""
        if not self.task.done() or self.task.cancelled():
            return TimeoutError()
        if (error := self.task.exception()) is not None:
            return error
        return None if self.task.result() is not None else LookupError("the source has nothing")


class FallbackChain(Generic[T]):
    """Runs attempts once, the preferred one first.

    Args:
        attempts: in order of preference.
        deadline: when the caller needs a result.
        settle_window: seconds for which a result waits for better ones.
        queue_share: of the time there is, for which a queue that moves delays the next source.

    Attributes:
        first_failure: after `run`, why the preferred source gave nothing; None if it did.

    Example:
        >>> async def main():
        ...     async def fresh():
        ...         raise TimeoutError
        ...     async def stale():
        ...         return "yesterday's"
        ...     chain = FallbackChain(
        ...         [Attempt(fresh), Attempt(stale)], Deadline.after(2.0), settle_window=0.5
        ...     )
        ...     return await chain.run(), chain.first_failure
        >>> asyncio.run(main())
        ("yesterday's", TimeoutError())
    """

    def __init__(
        self,
        attempts: Sequence[Attempt[T]],
        deadline: Deadline,
        settle_window: float,
        *,
        queue_share: float = QUEUE_SHARE,
    ) -> None:
        self.first_failure: BaseException | None = None
        self._waiting = list(attempts)
        self._started: list[_Started[T]] = []
        self._deadline = deadline
        self._time = deadline.left()
        self._settle_window = settle_window
        self._settle_at: float | None = None
        self._stagger = min(MAX_STAGGER, self._time * STAGGER_SHARE / max(1, len(attempts) - 1))
        self._next_start = 0.0
        self._queue_until = time.monotonic() + self._time * queue_share

    async def run(self) -> T | None:
        """The best result that came in time; None when there was none."""
        try:
            best = await self._race()
            self.first_failure = self._started[0].failure if self._started else None
            for started in self._started:
                if started.client and isinstance(started.failure, TimeoutError):
                    waited = self._time if best is None else time.monotonic() - started.since
                    started.client.record_timeout(waited)
            return best
        finally:
            pending = self._pending()
            for task in pending:
                task.cancel()  # this caller's waiting; the fetches themselves go on
            await asyncio.gather(*pending, return_exceptions=True)

    async def _race(self) -> T | None:
        while True:
            self._start_due()
            best, better_awaited = self._best()
            if not better_awaited and (best is not None or not self._waiting):
                return best
            if best is not None and self._settle_at is None:
                self._settle_at = time.monotonic() + self._settle_window
            settle_at = self._settle_at if best is not None and self._settle_at else float("inf")
            until = min(settle_at, self._deadline.at)
            if time.monotonic() >= until:
                return best
            await self._wait(until)

    def _start_due(self) -> None:
        """Start every attempt whose turn has come."""
        while self._waiting and (
            all(started.failed for started in self._started) or time.monotonic() >= self._due()
        ):
            attempt = self._waiting.pop(0)
            client = attempt.client
            suspect = client is not None and client.is_suspect(self._time)
            slow = client is not None and client.wasted_wait > 0
            task = asyncio.ensure_future(_guarded(attempt.fetch))
            task.add_done_callback(_retrieve)
            self._started.append(_Started(task, client, attempt.queue or client, suspect))
            self._next_start = time.monotonic() + (0.0 if suspect or slow else self._stagger)

    def _due(self) -> float:
        """When to start the next attempt, unless all before it failed."""
        answers = [
            started.queue.answered_at
            for started in self._started
            if started.queue and not started.suspect and not started.task.done()
        ]
        newest = max(answers, default=-math.inf)
        return max(self._next_start, min(newest + MAX_STAGGER, self._queue_until))

    def _best(self) -> tuple[T | None, bool]:
        """The best result so far, and whether one above it is still awaited."""
        awaited = False
        for started in self._started:
            if (result := started.result) is not None:
                return result, awaited
            if not started.task.done():
                patience_over = time.monotonic() - started.since > self._settle_window
                awaited = awaited or not (started.suspect and patience_over)
        return None, awaited

    async def _wait(self, until: float) -> None:
        """Until something ends, an attempt is due, a suspect is given up, or the time is over."""
        now = time.monotonic()
        suspects = [one for one in self._started if one.suspect and not one.task.done()]
        given_up = [one.since + self._settle_window + _ROUNDING for one in suspects]
        moments = [until, *(moment for moment in given_up if moment > now)]
        if self._waiting:
            moments.append(self._due())
        timeout = max(0.0, min(moments) - now)
        if pending := self._pending():
            await asyncio.wait(pending, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(timeout)

    def _pending(self) -> list[asyncio.Task[T | None]]:
        return [started.task for started in self._started if not started.task.done()]


def _retrieve(task: asyncio.Task[T | None]) -> None:
    """Take note of a failure: nobody looks at that of a source below the best result."""
    if not task.cancelled():
        task.exception()


async def _guarded(fetch: Callable[[], Coroutine[Any, Any, T | None]]) -> T | None:
    """The attempt; a fault of ours is logged, and costs this source alone."""
    try:
        return await fetch()
    except (LocationContextError, TimeoutError):
        raise
    except Exception:
        structlog.get_logger().exception("source_failed")
        raise
