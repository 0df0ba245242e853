"""SingleFlight: one fetch per key, shared by all who want it, and outliving each of them."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from location_context.upstream.deadline import Deadline

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Fetches under way, by key.

    A caller waits until its own deadline; the fetch goes on for the next caller. Cancelling a
    caller never cancels the fetch; `close` cancels what is left.

    Example:
        >>> async def main():
        ...     calls = []
        ...     async def fetch():
        ...         calls.append("asked")
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
        """The result of the one fetch for `key`, which is started if none is under way.

        Raises:
            TimeoutError: the deadline came first; the fetch goes on.
        """
        task = self.start(key, fetch)
        async with asyncio.timeout(deadline.left()):
            return await asyncio.shield(task)

    def start(self, key: Hashable, fetch: Callable[[], Awaitable[T]]) -> asyncio.Task[T]:
        """The task that fetches `key`, started if none is under way."""
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
            task.exception()  # marks it as retrieved: all callers may have gone

    async def close(self) -> None:
        """Cancel what is under way and wait for its end."""
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


async def _run(fetch: Callable[[], Awaitable[T]]) -> T:
    return await fetch()
