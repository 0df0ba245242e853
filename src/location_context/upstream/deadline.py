"""Deadline: the moment by which an answer is due, and what of the time is kept back for what.

A section has one deadline. Whoever waits for somebody else keeps back the reserve named here, so
that what has come is still answered in time; these are the only places where a deadline is cut.
"""

import time
from dataclasses import dataclass
from typing import Self

ANSWER_RESERVE = (
    0.3  # seconds to merge, correct, convert and encode an answer: 0.1 s on a busy core
)
FALLBACK_RESERVE = 0.1  # seconds to give what is at hand when nothing came: a look into memory


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
        """Seconds left, never below 0."""
        return max(0.0, self.at - time.monotonic())

    def earlier(self, seconds: float) -> "Deadline":
        """A deadline that leaves `seconds` for what follows."""
        return Deadline(self.at - seconds)

    def at_most(self, seconds: float) -> "Deadline":
        """This deadline, or the one in `seconds` if that comes first."""
        return Deadline(min(self.at, time.monotonic() + seconds))
