"""Drain: ends a server process on SIGTERM without losing a request.

It first goes on answering and says 503 on health and readiness, until the load balancers that
follow them send no more requests; then SIGINT ends the server's own loop. A client that follows
neither can lose a connection in that moment and tries again. A worker whose parent was killed ends
the same way, so that it does not hold the port for ever.
"""

import asyncio
import multiprocessing
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from location_context.settings import Settings
from location_context.settings.settings import DRAIN_AT_MOST
from location_context.web.application import Application

PARENT_CHECK_SECONDS = 0.5
IDLE_SECONDS = 0.5  # without a request


@contextmanager
def on_sigterm(app: Application, settings: Settings) -> Iterator[None]:
    """Drain on SIGTERM; to be entered in the event loop of the server."""
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    def begin() -> None:
        if not app.draining:
            app.draining = True
            tasks.add(loop.create_task(_drain(app, settings)))

    # outside of the main thread the embedding program ends the server
    with suppress(RuntimeError, ValueError, NotImplementedError):
        loop.add_signal_handler(signal.SIGTERM, begin)
    yield


@asynccontextmanager
async def with_parent() -> AsyncIterator[None]:
    """Send this worker SIGTERM once the process that started it has ended."""
    parent = multiprocessing.parent_process()
    if parent is None or parent.pid is None:
        yield
        return
    watch = asyncio.create_task(_end_with(parent.pid))
    try:
        yield
    finally:
        watch.cancel()


async def _end_with(parent: int) -> None:
    while os.getppid() == parent:  # noqa: ASYNC110  its end is nothing that one can wait for
        await asyncio.sleep(PARENT_CHECK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


async def _drain(app: Application, settings: Settings) -> None:
    at_least = settings.drain_at_least
    await _until(lambda: _is_idle(app), at_least, max(at_least, DRAIN_AT_MOST))
    os.kill(os.getpid(), signal.SIGINT)


async def _until(reached: Callable[[], bool], at_least: float, at_most: float) -> None:
    began = time.monotonic()
    while (passed := time.monotonic() - began) < at_most:
        if passed > at_least and reached():
            return
        await asyncio.sleep(0.05)


def _is_idle(app: Application) -> bool:
    return not app.limiter.in_flight and time.monotonic() - app.last_request_at > IDLE_SECONDS
