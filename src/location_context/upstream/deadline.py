"""Deadline, SingleFlight (fetches that outlive their callers) and WriteBehind (delayed writes).

A section must answer each query before a deadline. Code in it that waits for data stops waiting
somewhat earlier, so that time is left to answer with the data received by then. The constants
`…_RESERVE` say how much earlier.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

T = TypeVar("T")
ANSWER_RESERVE = 0.3  # seconds to merge, convert and encode an answer; takes 0.1 s on a busy core
FALLBACK_RESERVE = 0.1  # seconds to answer from memory when no data arrived
GATHER_SECONDS = 0.25  # in which about twenty new points add rows, to write in one transaction


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time by which work must be done; `at` is a value of `time.monotonic()`, in seconds.

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
        """Return the seconds left until the deadline, never below 0."""
        return max(0.0, self.at - time.monotonic())

    def earlier(self, seconds: float) -> "Deadline":
        """Return a deadline that is `seconds` earlier, which leaves time for later work."""
        return Deadline(self.at - seconds)

    def at_most(self, seconds: float) -> "Deadline":
        """Return this deadline, or the time `seconds` from now if that is earlier."""
        return Deadline(min(self.at, time.monotonic() + seconds))


class SingleFlight(Generic[T]):
    """Runs at most one fetch per key at a time; concurrent callers of a key share its result.

    Each caller waits until its own deadline. If a caller times out or is cancelled, the fetch
    continues for later callers. Only `close` cancels fetches.

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
        """Wait for the fetch of `key` and return its result; start `fetch` if none is under way.

        Raises:
            TimeoutError: the deadline came first; the fetch continues.
        """
        task = self.start(key, fetch)
        async with asyncio.timeout(deadline.left()):
            return await asyncio.shield(task)

    def start(self, key: Hashable, fetch: Callable[[], Awaitable[T]]) -> asyncio.Task[T]:
        """Return the task that fetches `key`; start `fetch` as a task if none is under way."""
        task = self._tasks.get(key)
        if task is None or task.done():  # done, but its callback has not run yet
            task = asyncio.ensure_future(fetch())
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
    """Delays writes: rows that are added within a short time are written together.

    Args:
        write: writes all pending rows. It returns True if rows were added meanwhile, so that it is
            called again; otherwise, and if it failed, it returns False.
        gather: seconds between `start` and the call of `write`, and between two calls.
    """

    def __init__(
        self, write: Callable[[], Awaitable[bool]], gather: float = GATHER_SECONDS
    ) -> None:
        self._write = write
        self._gather = gather
        self._now = asyncio.Event()
        self._runs: SingleFlight[None] = SingleFlight()

    def start(self) -> None:
        """Schedule a call of `write`, unless one is already scheduled or under way."""
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
        """True while a call of `write` is scheduled or under way."""
        return bool(len(self._runs))
