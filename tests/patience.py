"""Waiting for what must come: a guard against a test that hangs, never a claim about time."""

import asyncio
import time
from collections.abc import Callable

PATIENCE_SECONDS = 60.0  # more than a busy machine needs
PAUSE_SECONDS = 0.01


def wait_until(reached: Callable[[], object]) -> None:
    """Return once a condition is true."""
    given_up = time.monotonic() + PATIENCE_SECONDS
    while not reached():
        assert time.monotonic() < given_up, "waited in vain"
        time.sleep(PAUSE_SECONDS)


async def wait_in_loop_until(reached: Callable[[], object]) -> None:
    """Return once a condition is true; the loop goes on meanwhile."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not reached():  # noqa: ASYNC110  not everything awaited has an event
            await asyncio.sleep(PAUSE_SECONDS)
