"""Drain: how a server process ends on SIGTERM without losing a request.

First it answers on and says 503 on health, until who heeds that sends no more; then it lets no new
connection begin and answers those that are there; then SIGINT ends the server's own loop. A worker
whose parent was killed ends the same way, so that it does not hold the port for ever.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import time
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING

from location_context.web import listener

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from location_context.web.middleware import Front

LOOK = 0.5  # seconds between looks whether the parent lives
QUIET = 0.5  # seconds without a request
TOLD = (1.0, 5.0)  # seconds for others to see that it drains, at least and at most
LAST = (0.5, 4.0)  # seconds for connections that began before; half a second ends a handshake


@contextmanager
def on_sigterm(front: Front) -> Iterator[None]:
    """Drain on SIGTERM; to be entered in the event loop of the server."""
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    def begin() -> None:
        if not front.draining:
            front.drain()
            tasks.add(loop.create_task(_drain(front)))

    # elsewhere than in the main thread whoever embeds the server ends it
    with suppress(RuntimeError, ValueError, NotImplementedError):
        loop.add_signal_handler(signal.SIGTERM, begin)
    yield


@asynccontextmanager
async def with_parent() -> AsyncIterator[None]:
    """Send this worker SIGTERM once the process that started it has ended."""
    started_by = multiprocessing.parent_process()
    if started_by is None or started_by.pid is None:
        yield
        return
    watch = asyncio.create_task(_end_with(started_by.pid))
    try:
        yield
    finally:
        watch.cancel()


async def _end_with(parent: int) -> None:
    while os.getppid() == parent:  # noqa: ASYNC110  its end is nothing that one can wait for
        await asyncio.sleep(LOOK)
    os.kill(os.getpid(), signal.SIGTERM)


async def _drain(front: Front) -> None:
    await _until(lambda: _is_quiet(front), *TOLD)
    if listener.refuse_new():
        await _until(lambda: _is_quiet(front) and not listener.unanswered(), *LAST)
    os.kill(os.getpid(), signal.SIGINT)


async def _until(reached: Callable[[], bool], at_least: float, at_most: float) -> None:
    began = time.monotonic()
    while (passed := time.monotonic() - began) < at_most:
        if passed > at_least and reached():
            return
        await asyncio.sleep(0.05)


def _is_quiet(front: Front) -> bool:
    return not front.guard.in_flight and time.monotonic() - front.last_request_at > QUIET
