"""Patience: so much of the processor's time for a piece of work, and no more."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class TookTooLongError(Exception):
    """The alarm went off."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raise `TookTooLongError` in the main thread after so much of the processor's time.

    It rings again until it is heard: what is raised while garbage is collected is lost.
    """
    armed = [True]

    def ring(*_: object) -> None:
        if armed:
            raise TookTooLongError

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.1)
    try:
        yield
    finally:
        armed.clear()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
