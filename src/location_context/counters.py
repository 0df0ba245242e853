"""Counters: plain numbers that are cheap to increment, and are read when metrics are requested."""

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence

import structlog

from location_context.errors import ProviderBackoff, ProviderError, ProviderStatusError

LOG_SECONDS = 60.0  # between two log lines about the same failing provider


class Histogram:
    """Counts values by range.

    Attributes:
        bounds: the upper bounds of the ranges, ascending and inclusive.
        counts: the number of values in each range; the last counts values above all bounds.
        total: the sum of all values.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class ProviderCalls:
    """Counts and logs the outcomes of calls to one URL of a provider.

    While the provider fails, one line a minute is logged with the number of failures. Another line
    reports that it works again.

    Attributes:
        provider: the provider's name.
        outcomes: the number of calls by outcome: `ok`, an error's code, or a class of HTTP status
            such as `status_5xx`.
        seconds: the durations of calls.
        refused: the number of calls not made, by the reason of `ProviderBackoff`.
        breaker_open: True while the circuit breaker stops calls to the URL, except trial calls.
        breaker_opened: how often the circuit breaker opened.
        succeeded_at: the time of the last success, in POSIX seconds; 0 for never.
    """

    BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # a call of 10 s has timed out

    def __init__(self, provider: str, now: Callable[[], float] = time.monotonic) -> None:
        self.outcomes: dict[str, int] = {}
        self.seconds = Histogram(self.BOUNDS)
        self.refused: dict[str, int] = {}
        self.breaker_open = False
        self.breaker_opened = 0
        self.succeeded_at = 0.0
        self.provider = provider
        self._now = now
        self._logged_at = float("-inf")
        self._unlogged = 0  # failures since the last log line
        self._is_reported = False  # whether a failure was logged since the last success

    def succeed(self) -> None:
        self._count("ok")
        self.succeeded_at = time.time()
        if self._is_reported:
            self._is_reported = False
            structlog.get_logger().info("provider_back", provider=self.provider)

    def fail(self, error: ProviderError) -> None:
        status, outcome = None, error.code
        if isinstance(error, ProviderStatusError):
            status = error.status
            if type(error) is ProviderStatusError:  # whose code is the same for 4xx and 5xx
                outcome = f"status_{status // 100}xx"
        self._count(outcome)
        self._unlogged += 1
        if (now := self._now()) - self._logged_at >= LOG_SECONDS:
            structlog.get_logger().warning(
                "provider_failed",
                provider=self.provider,
                code=error.code,
                status=status,
                failures=self._unlogged,
            )
            self._logged_at, self._unlogged, self._is_reported = now, 0, True

    def refuse(self, error: ProviderBackoff) -> None:
        """Count a call that was not made, under the `reason` of `error`."""
        self.refused[error.reason] = self.refused.get(error.reason, 0) + 1

    def open_breaker(self, seconds: float) -> None:
        """Record and log that the URL will not be called for this many seconds."""
        self.breaker_open = True
        self.breaker_opened += 1
        structlog.get_logger().warning(
            "breaker_opened", provider=self.provider, seconds=round(seconds, 1)
        )

    def close_breaker(self) -> None:
        """Record and log that the pause has ended: the URL will be called again when needed."""
        self.breaker_open = False
        structlog.get_logger().info("breaker_closed", provider=self.provider)

    def _count(self, outcome: str) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
