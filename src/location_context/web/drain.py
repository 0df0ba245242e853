"""Drain: shuts a server process down on SIGTERM without losing a request.

First, health and readiness checks receive 503 while other requests are still answered, until no
more requests arrive or a time limit is reached. Then SIGINT ends the server's loop. A client that
does not use the checks may lose its connection when the loop ends, and has to retry. A worker whose
parent was killed shuts down in the same way, to free the port.
"""

import asyncio
import multiprocessing
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from location_context.settings import Settings
from location_context.settings.settings import DRAIN_AT_MOST
from location_context.web.application import Application

PARENT_CHECK_SECONDS = 0.5
IDLE_SECONDS = 0.5  # after this time without a request, no more requests are expected


@contextmanager
def on_sigterm(app: Application, settings: Settings) -> Iterator[None]:
    """Finish the requests under way, and then end the process, if SIGTERM arrives in the block.

    The block must be entered in a running event loop.
    """
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    def begin() -> None:
        if not app.draining:
            app.draining = True
            tasks.add(loop.create_task(_drain(app, settings)))

    # outside of the main thread, signals are left to the program that embeds the server
    with suppress(RuntimeError, ValueError, NotImplementedError):
        loop.add_signal_handler(signal.SIGTERM, begin)
    yield


@asynccontextmanager
async def with_parent() -> AsyncIterator[None]:
    """Send SIGTERM to this worker if its parent process exits before the block ends."""
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
    while os.getppid() == parent:  # noqa: ASYNC110  the end of a parent sends no event
        await asyncio.sleep(PARENT_CHECK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


async def _drain(app: Application, settings: Settings) -> None:
    began, at_least = time.monotonic(), settings.drain_at_least
    while (passed := time.monotonic() - began) < max(at_least, DRAIN_AT_MOST):
        if passed > at_least and _is_idle(app):
            break
        await asyncio.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)


def _is_idle(app: Application) -> bool:
    return not app.limiter.in_flight and time.monotonic() - app.last_request_at > IDLE_SECONDS
