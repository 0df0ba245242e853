"""Slow-down of addresses that try unknown keys: a bucket of attempts that fills again with time.

Only unknown keys drink from it; a key that is known passes whatever its address did before. The
number of addresses held is bounded: the one longest untouched is forgotten first.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Slowdown:
    """`burst` attempts at once, then one every `seconds`, for each address."""

    def __init__(
        self,
        burst: int = 20,
        seconds: float = 3.0,
        addresses: int = 10_000,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._burst = burst
        self._seconds = seconds
        self._addresses = addresses
        self._now = now
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def attempt(self, address: str) -> int:
        """Take one attempt; 0 when there was one, else the seconds until there is one."""
        now = self._now()
        full_at = max(now, self._full_at.pop(address, now))
        wait = full_at + self._seconds - (now + self._burst * self._seconds)
        if wait <= 0:
            full_at += self._seconds
        self._full_at[address] = full_at
        if len(self._full_at) > self._addresses:
            self._full_at.popitem(last=False)
        return max(0, math.ceil(wait))

    def __len__(self) -> int:
        return len(self._full_at)
