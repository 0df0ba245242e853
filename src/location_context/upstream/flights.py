"""Flights: one fetch per key, shared by all who want it, and outliving each of them.

A caller waits until its own deadline; the fetch goes on for the next caller. Cancelling a caller
never cancels the fetch; `close` cancels what is left.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from location_context.upstream.deadline import Deadline

T = TypeVar("T")


class Flights(Generic[T]):
    """Fetches under way, by key."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, asyncio.Task[T]] = {}

    async def join(self, key: Hashable, fetch: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        """The result of the one fetch for `key`, started if none is under way.

        Raises:
            TimeoutError: the deadline came first; the fetch goes on.
        """
        task = self.start(key, fetch)
        async with asyncio.timeout(deadline.left()):
            return await asyncio.shield(task)

    def start(self, key: Hashable, fetch: Callable[[], Awaitable[T]]) -> asyncio.Task[T]:
        """The task that fetches `key`, begun if none is under way."""
        task = self._under_way.get(key)
        if task is None or task.done():  # done, but not yet taken off: a new one begins
            task = asyncio.ensure_future(_run(fetch))
            self._under_way[key] = task
            task.add_done_callback(lambda done: self._landed(key, done))
        return task

    def __len__(self) -> int:
        return len(self._under_way)

    def _landed(self, key: Hashable, task: asyncio.Task[T]) -> None:
        if self._under_way.get(key) is task:
            del self._under_way[key]
        if not task.cancelled():
            task.exception()  # marks it as seen: the callers may all have gone

    async def close(self) -> None:
        """Cancel what is under way and wait for its end."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(BaseException):
                await task


async def _run(fetch: Callable[[], Awaitable[T]]) -> T:
    return await fetch()
