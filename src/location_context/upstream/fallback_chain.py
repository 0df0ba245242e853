"""FallbackChain: sources in order of preference, raced with staggered starts (hedged requests).

The first source starts at once, the next when the previous one failed or has used its share of the
time. The most preferred source's result wins: any other waits `settle_window` seconds for it. At
the caller's deadline, or when it is cancelled, the sources are cancelled. The fetches that they
wait for continue for the next caller.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import structlog

from location_context.errors import LocationContextError
from location_context.upstream.deadline import Deadline

T = TypeVar("T")
Source: TypeAlias = Callable[[], Coroutine[Any, Any, T | None]]
MAX_STAGGER = 1.0  # seconds between two starts
STAGGER_SHARE = 0.4  # of the time left, over which all starts are spread


class FallbackChain(Generic[T]):
    """One run over sources in order of preference.

    Args:
        sources: calls that return a result, or None if they have none; in order of preference.
        deadline: the moment by which the caller needs a result.
        settle_window: seconds for which a result waits for more preferred sources.
        stagger: seconds between two starts; None takes a share of the time left, at most 1 s.

    Attributes:
        first_failure: after `run`, why the preferred source returned nothing; None if it did.

    Example:
        >>> async def main():
        ...     async def fresh():
        ...         raise TimeoutError
        ...     async def stale():
        ...         return "yesterday's"
        ...     chain = FallbackChain([fresh, stale], Deadline.after(2.0), settle_window=0.5)
        ...     return await chain.run(), chain.first_failure
        >>> asyncio.run(main())
        ("yesterday's", TimeoutError())
    """

    def __init__(
        self,
        sources: Sequence[Source[T]],
        deadline: Deadline,
        settle_window: float,
        *,
        stagger: float | None = None,
    ) -> None:
        self.first_failure: BaseException | None = None
        self._waiting = list(sources)
        self._started: list[asyncio.Task[T | None]] = []
        self._deadline = deadline
        self._settle_window = settle_window
        share = deadline.left() * STAGGER_SHARE / max(1, len(sources) - 1)
        self._stagger = min(MAX_STAGGER, share) if stagger is None else stagger
        self._next_start = 0.0

    async def run(self) -> T | None:
        """Return the most preferred result by the deadline; None if there is none."""
        try:
            best = await self._race()
            self.first_failure = _failure(self._started[0]) if self._started else None
            return best
        finally:
            pending = self._pending()
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    async def _race(self) -> T | None:
        until, settles = self._deadline.at, False
        while True:
            self._start_next()
            best, better_pending = self._best()
            if best is not None and not settles:
                until, settles = min(until, time.monotonic() + self._settle_window), True
            if not better_pending and (best is not None or not self._waiting):
                return best
            if time.monotonic() >= until:
                return best
            await self._wait(until)

    def _start_next(self) -> None:
        """Start each source whose time has come, or whose predecessors have all failed."""
        while self._waiting and (
            all(task.done() and _failure(task) for task in self._started)
            or time.monotonic() >= self._next_start
        ):
            task = asyncio.ensure_future(_guarded(self._waiting.pop(0)))
            task.add_done_callback(_retrieve)
            self._started.append(task)
            self._next_start = time.monotonic() + self._stagger

    def _best(self) -> tuple[T | None, bool]:
        """Return the best result so far, and True if a more preferred source is pending."""
        pending = False
        for task in self._started:
            if _failure(task) is None:
                return task.result(), pending
            pending = pending or not task.done()
        return None, pending

    async def _wait(self, until: float) -> None:
        """Wait until a source ends, the next source must start, or `until` is reached."""
        if self._waiting:
            until = min(until, self._next_start)
        timeout = max(0.0, until - time.monotonic())
        await asyncio.wait(self._pending(), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)

    def _pending(self) -> list[asyncio.Task[T | None]]:
        return [task for task in self._started if not task.done()]


def _failure(task: asyncio.Task[Any]) -> BaseException | None:
    """Return why a source has no result: a TimeoutError while it is pending.

    None if it has a result.
    """
    if not task.done() or task.cancelled():
        return TimeoutError()
    if (error := task.exception()) is not None:
        return error
    return None if task.result() is not None else LookupError("the source has nothing")


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Retrieve a source's error, which asyncio would otherwise report as never retrieved."""
    if not task.cancelled():
        task.exception()


async def _guarded(source: Source[T]) -> T | None:
    """Call a source; log an unexpected error, which fails only this source."""
    try:
        return await source()
    except (LocationContextError, TimeoutError):
        raise
    except Exception:
        structlog.get_logger().exception("source_failed")
        raise
