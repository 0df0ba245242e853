"""`best_of`: the best result of sources that start one after another (hedged requests).

The first source starts at once. Each further source starts after a delay, or when all earlier ones
have failed. A result waits `settle_window` seconds for the result of a more preferred source. At
the deadline, or if the caller is cancelled, all sources are cancelled. The fetches that they wait
for (see `Cached`) continue for later callers.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeAlias, TypeVar

import structlog

from location_context.errors import LocationContextError
from location_context.upstream.deadline import Deadline

T = TypeVar("T")
Source: TypeAlias = Callable[[], Coroutine[Any, Any, T | None]]
MAX_STAGGER = 1.0  # seconds between two starts
STAGGER_SHARE = 0.4  # share of the time left over which the starts of all sources are spread


async def best_of(
    sources: Sequence[Source[T]],
    deadline: Deadline,
    settle_window: float,
    *,
    stagger: float | None = None,
) -> tuple[T | None, BaseException | None]:
    """Return the most preferred result available by the deadline, and the first source's failure.

    Args:
        sources: functions that return a result, or None if they have none, most preferred first.
        deadline: the time by which the caller needs a result.
        settle_window: seconds for which a result waits for more preferred sources.
        stagger: seconds between two starts. None spreads all starts evenly over 40 % of the time
            left, at most 1 s apart.

    Returns:
        The result, or None if there is none; and the error of the first source, or None if the
        first source has a result.

    Example:
        >>> async def main():
        ...     async def fresh():
        ...         raise TimeoutError
        ...     async def stale():
        ...         return "yesterday's"
        ...     return await best_of([fresh, stale], Deadline.after(2.0), settle_window=0.5)
        >>> asyncio.run(main())
        ("yesterday's", TimeoutError())
    """
    share = deadline.left() * STAGGER_SHARE / max(1, len(sources) - 1)
    stagger = min(MAX_STAGGER, share) if stagger is None else stagger
    waiting, started = list(sources), list[asyncio.Task[T | None]]()
    until, settles, next_start = deadline.at, False, 0.0
    try:
        while True:
            # a source starts at its time, or once its predecessors have all failed
            while waiting and (
                all(task.done() and _failure(task) for task in started)
                or time.monotonic() >= next_start
            ):
                started.append(asyncio.ensure_future(_guarded(waiting.pop(0))))
                next_start = time.monotonic() + stagger
            best, better_pending = _best(started)
            if best is not None and not settles:
                until, settles = min(until, time.monotonic() + settle_window), True
            is_final = not better_pending and (best is not None or not waiting)
            if is_final or time.monotonic() >= until:
                return best, _failure(started[0]) if started else None
            wake = min(until, next_start) if waiting else until
            await asyncio.wait(
                [task for task in started if not task.done()],
                timeout=max(0.0, wake - time.monotonic()),
                return_when=asyncio.FIRST_COMPLETED,
            )
    finally:
        for task in started:
            task.cancel()
        # also retrieves the errors, which asyncio would otherwise report as never retrieved
        await asyncio.gather(*started, return_exceptions=True)


def _best(started: Sequence[asyncio.Task[T | None]]) -> tuple[T | None, bool]:
    """Return (best result so far or None, True if a more preferred source is still pending)."""
    pending = False
    for task in started:
        if _failure(task) is None:
            return task.result(), pending
        pending = pending or not task.done()
    return None, pending


def _failure(task: asyncio.Task[Any]) -> BaseException | None:
    """Return the error of a source, or None if it has a result.

    A pending source has a TimeoutError; a source that returned None has a LookupError.
    """
    if not task.done() or task.cancelled():
        return TimeoutError()
    if (error := task.exception()) is not None:
        return error
    return None if task.result() is not None else LookupError("the source has nothing")


async def _guarded(source: Source[T]) -> T | None:
    """Call a source and return its result; log and raise an unexpected error.

    The error makes only this source fail, so without a log line nobody would notice it.
    """
    try:
        return await source()
    except (LocationContextError, TimeoutError):
        raise
    except Exception:
        structlog.get_logger().exception("source_failed")
        raise
