"""Deadline, SingleFlight (fetches that outlive their callers) and WriteBehind (delayed writes).

A section has one deadline. Code that waits for another part subtracts the reserve named here, so
that it can still answer in time with what has come. Deadlines are shortened only here.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

T = TypeVar("T")
ANSWER_RESERVE = (
    0.3  # seconds to merge, correct, convert and encode an answer: 0.1 s on a busy core
)
FALLBACK_RESERVE = 0.1  # seconds to answer from memory when no data arrived
GATHER_SECONDS = 0.25  # to write the rows of about twenty new points in one transaction


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock; `at` is a value of `time.monotonic()`.

    Example:
        >>> deadline = Deadline.after(4.0)
        >>> 3.6 < deadline.earlier(ANSWER_RESERVE).left() <= 3.7
        True
    """

    at: float

    @classmethod
    def after(cls, seconds: float) -> Self:
        return cls(time.monotonic() + seconds)

    def left(self) -> float:
        """Return the seconds left, never below 0."""
        return max(0.0, self.at - time.monotonic())

    def earlier(self, seconds: float) -> "Deadline":
        """Return a deadline that is `seconds` earlier, which leaves time for later work."""
        return Deadline(self.at - seconds)

    def at_most(self, seconds: float) -> "Deadline":
        """Return this deadline, or one in `seconds` if that is earlier."""
        return Deadline(min(self.at, time.monotonic() + seconds))


class SingleFlight(Generic[T]):
    """Fetches under way, by key: all callers of a key share one fetch, which outlives each of them.

    A caller waits until its own deadline; the fetch goes on for the next caller. Cancelling a
    caller never cancels the fetch; `close` cancels what is left.

    Example:
        >>> async def main():
        ...     calls = []
        ...     async def fetch():
        ...         calls.append("fetched")
        ...         await asyncio.sleep(0.01)
        ...         return "sunny"
        ...     flights = SingleFlight[str]()
        ...     both = [flights.run("Paris", fetch, Deadline.after(5)) for _ in range(2)]
        ...     return await asyncio.gather(*both), len(calls)
        >>> asyncio.run(main())
        (['sunny', 'sunny'], 1)
    """

    def __init__(self) -> None:
        self._tasks: dict[Hashable, asyncio.Task[T]] = {}

    async def run(self, key: Hashable, fetch: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        """Return the result of the one fetch for `key`, which is started if none is under way.

        Raises:
            TimeoutError: the deadline came first; the fetch goes on.
        """
        task = self.start(key, fetch)
        async with asyncio.timeout(deadline.left()):
            return await asyncio.shield(task)

    def start(self, key: Hashable, fetch: Callable[[], Awaitable[T]]) -> asyncio.Task[T]:
        """Return the task that fetches `key`, started if none is under way."""
        task = self._tasks.get(key)
        if task is None or task.done():  # done, but its callback has not run yet
            task = asyncio.ensure_future(_run(fetch))
            self._tasks[key] = task
            task.add_done_callback(lambda done: self._on_done(key, done))
        return task

    def _on_done(self, key: Hashable, task: asyncio.Task[T]) -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key]
        if not task.cancelled():
            task.exception()  # marks it as retrieved: all callers may have left

    async def close(self) -> None:
        """Cancel the fetches under way and wait for their end."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(BaseException):
                await task

    def __contains__(self, key: Hashable) -> bool:
        return key in self._tasks

    def __len__(self) -> int:
        return len(self._tasks)


class WriteBehind:
    """A delayed writer: it calls `write` soon after `start`, once for all rows added until then.

    Args:
        write: writes all pending rows; returns True if more were added meanwhile, False if it
            failed.
        gather: seconds to wait before each call.
    """

    def __init__(
        self, write: Callable[[], Awaitable[bool]], gather: float = GATHER_SECONDS
    ) -> None:
        self._write = write
        self._gather = gather
        self._now = asyncio.Event()
        self._runs: SingleFlight[None] = SingleFlight()

    def start(self) -> None:
        """Schedule a write, unless one is already pending."""
        self._runs.start("all", self._run)

    async def flush(self) -> None:
        """Write at once, and wait until the write has ended."""
        self._now.set()
        try:
            await self._runs.start("all", self._run)
        finally:
            self._now.clear()

    async def _run(self) -> None:
        more = True
        while more:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._gather):
                    await self._now.wait()
            more = await self._write()

    @property
    def active(self) -> bool:
        """True while a write is waiting or under way."""
        return bool(len(self._runs))


async def _run(fetch: Callable[[], Awaitable[T]]) -> T:
    return await fetch()
