"""Breaker: stops asking a provider that does not answer, and finds out when it is back.

Closed until `threshold` failures in a row. Open for `pause` seconds, doubling up to `longest`; then
one caller probes (half open) and its outcome closes or reopens.
"""

import time
from dataclasses import dataclass, field
from typing import Literal

State = Literal["closed", "open", "half_open"]


@dataclass
class Breaker:
    """The state for one provider. Times are on the monotonic clock, in seconds."""

    threshold: int = 3
    pause: float = 5.0
    longest: float = 120.0
    _failures: int = field(default=0, init=False)
    _opened: int = field(default=0, init=False)
    _until: float = field(default=0.0, init=False)
    _probing: float = field(default=0.0, init=False)

    @property
    def state(self) -> State:
        if not self._opened:
            return "closed"
        return "open" if time.monotonic() < self._until else "half_open"

    def allows(self) -> bool:
        """Whether a call may be made now; in the half-open state one caller at a time may."""
        if self.state != "half_open":
            return self.state == "closed"
        if time.monotonic() < self._probing:
            return False
        self._probing = time.monotonic() + self.pause
        return True

    def retry_in(self) -> float:
        """Seconds until the next probe may be made."""
        return max(0.0, max(self._until, self._probing) - time.monotonic())

    def succeed(self) -> None:
        self._failures = self._opened = 0
        self._until = self._probing = 0.0

    def fail(self) -> None:
        """A call failed."""
        self._failures += 1
        if self._failures >= self.threshold or self._opened:
            self._open()

    def _open(self) -> None:
        self._until = time.monotonic() + min(self.longest, self.pause * 2**self._opened)
        self._opened = min(self._opened + 1, 16)
        self._probing = 0.0
