"""Deadline: the moment by which an answer is due, counted on the monotonic clock."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """`at` is a value of `time.monotonic()`."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

    def left(self) -> float:
        """Seconds left, never below 0."""
        return max(0.0, self.at - time.monotonic())

    def earlier(self, seconds: float) -> Deadline:
        """A deadline that leaves `seconds` for what follows."""
        return Deadline(self.at - seconds)
