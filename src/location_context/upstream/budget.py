"""Budget: how many weighted units a provider may be asked for in each window.

Windows slide in 60 buckets, so that no stretch of a window's length ever holds more than its
limit. Public (widget) traffic may spend at most half of each, so that keyed calls keep theirs.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
_BUCKETS = 60


@dataclass
class _Window:
    """Units spent in the last `seconds`, in buckets of a sixtieth of it."""

    seconds: float
    limit: float
    spent: float = 0.0
    public: float = 0.0
    buckets: deque[tuple[int, float, float]] = field(default_factory=deque)

    def drop_old(self, now: float) -> None:
        oldest = int(now / self.seconds * _BUCKETS) - _BUCKETS
        while self.buckets and self.buckets[0][0] < oldest:
            _, units, public = self.buckets.popleft()
            self.spent -= units
            self.public -= public

    def allows(self, units: float, *, public: bool) -> bool:
        if self.spent + units > self.limit:
            return False
        return not public or self.public + units <= self.limit / 2

    def wait(self, now: float, units: float) -> float:
        """Seconds until so many of the oldest units have left the window that `units` fit."""
        self.drop_old(now)
        units, free = min(units, self.limit), self.limit - self.spent
        for bucket, spent, _ in self.buckets:
            if free >= units:
                break
            free += spent
            leaves = (bucket + _BUCKETS + 1) / _BUCKETS * self.seconds
            if free >= units:
                return max(0.0, leaves - now)
        return 0.0 if free >= units else self.seconds

    def span(self, now: float, units: float) -> float:
        """Seconds until `units` are spent: what does not fit now comes free at an even pace."""
        self.drop_old(now)
        over = max(0.0, units - (self.limit - self.spent))
        return over / self.limit * self.seconds

    def add(self, now: float, units: float, *, public: bool) -> None:
        bucket = int(now / self.seconds * _BUCKETS)
        self.spent += units
        self.public += units if public else 0.0
        self.buckets.append((bucket, units, units if public else 0.0))


class Budget:
    """Weighted units for one provider. An empty mapping of limits allows everything."""

    def __init__(
        self,
        limits: Mapping[float, float],
        now: Callable[[], float] = time.monotonic,
        *,
        share: float = 1.0,
    ) -> None:
        """`limits` maps a window's length in seconds to its units; `share` is this process's part.

        Windows under a minute are too short to share out: a 429 then asks for quiet.
        """
        self._windows = [
            _Window(seconds, limit * (share if seconds >= MINUTE else 1.0))
            for seconds, limit in limits.items()
        ]
        self._now = now
        self.total = 0.0  # units spent since the start
        self.refused = 0  # calls it did not allow

    def take(self, units: float, *, public: bool = False) -> bool:
        """Spend `units` if every window allows it; False, and nothing spent, if one does not."""
        now = self._now()
        for window in self._windows:
            window.drop_old(now)
        if not all(window.allows(units, public=public) for window in self._windows):
            self.refused += 1
            return False
        for window in self._windows:
            window.add(now, units, public=public)
        self.total += units
        return True

    def wait(self, units: float) -> float:
        """Seconds until `units` may be spent, or a whole window's; 0 when they may be now."""
        now = self._now()
        return max((window.wait(now, units) for window in self._windows), default=0.0)

    def span(self, units: float) -> float:
        """Seconds, about, until so many units are spent, more than a window holds included."""
        now = self._now()
        return max((window.span(now, units) for window in self._windows), default=0.0)

    def spent(self) -> dict[float, float]:
        """Units spent in each window, by its length in seconds."""
        now = self._now()
        for window in self._windows:
            window.drop_old(now)
        return {window.seconds: window.spent for window in self._windows}
