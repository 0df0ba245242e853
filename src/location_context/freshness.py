"""Freshness: how long a response may be reused, and its Cache-Control header."""

import math
from asyncio import Future
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Self

from location_context.sections.contract import SectionResult

INCOMPLETE_MAX_AGE = AWAITING_MAX_AGE = 60  # seconds
SPENT_MAX_AGE = 900  # seconds, for answers that lack data because a budget is spent
LATE_MAX_AGE = 3  # seconds; shorter than the time after which a page reloads itself for late data
INCOMPLETE_TTL, SPENT_TTL = 5.0, 60.0  # seconds for which this server reuses such responses
RENEWED_WITHIN = 5  # seconds; the shortest time for which a CDN may cache a response
SHARED_MAX_AGE = 3600  # seconds, for a CDN; it may exceed a browser's, since a CDN can be purged


@dataclass(frozen=True)
class Freshness:
    """How long a response may be reused; this depends on its parts, the results of sections.

    Attributes:
        fresh_until: the time at which the first part becomes stale, in POSIX seconds.
        complete: True if all parts are there and none lacks data.
        is_cacheable: False if missing data limit clients to caching the response for a minute.
        scope: `private` for answers that need a key, `public` for the widget.
        awaits: running fetches of newer data; a part is outdated once its fetch is done.
        shared_until: the time until which a CDN may cache the response, in POSIX seconds.
        late: True for a page that reloads itself once because some data are still being fetched.
    """

    fresh_until: float
    complete: bool
    is_cacheable: bool
    scope: Literal["private", "public"]
    awaits: tuple[Future[None], ...] = ()
    shared_until: float = 0.0
    late: bool = False

    @classmethod
    def of(
        cls, results: Iterable[SectionResult | None], scope: Literal["private", "public"]
    ) -> Self:
        """Return the freshness of a response made of these results; None is a missing result."""
        given = list(results)
        until = [one.fresh_until.timestamp() for one in given if one]
        shared = [(one.shared_until or one.fresh_until).timestamp() for one in given if one]
        complete = all(one is not None and one.complete for one in given)
        cacheable = all(one is not None and one.is_cacheable for one in given)
        awaits = tuple(one.awaits for one in given if one is not None and one.awaits is not None)
        return cls(
            min(until, default=0.0), complete, cacheable, scope, awaits, min(shared, default=0.0)
        )

    def until(self, moment: float) -> Self:
        """Return a copy that may be cached until `moment` (POSIX seconds) at most, also by CDNs."""
        return replace(
            self,
            fresh_until=min(self.fresh_until, moment),
            shared_until=min(self.shared_until, moment),
        )

    @property
    def superseded(self) -> bool:
        """True if an awaited background fetch has ended, so that the response is outdated."""
        return bool(self.awaits) and any(one.done() for one in self.awaits)

    def reusable_until(self, now: float) -> float:
        """Return the time until which this server may reuse the response, in POSIX seconds.

        An incomplete response is reused for only a few seconds, since missing data may arrive soon.
        """
        if self.complete:
            return self.fresh_until
        until = now + (SPENT_TTL if self.is_cacheable else INCOMPLETE_TTL)
        until = now + LATE_MAX_AGE if self.late else until
        return min(until, self.fresh_until) if self.fresh_until > now else until

    def seconds_left(self, now: float) -> int:
        """Return the whole seconds until the response becomes stale; negative if it is stale."""
        return math.floor(self.fresh_until - now)

    def cache_control(self, seconds_left: int) -> str:
        """Return the value of Cache-Control for a response that is fresh for `seconds_left`.

        A complete response may be cached until it is stale, or for a minute if it awaits a fetch.
        A page that reloads itself may be cached for 3 seconds. Any other incomplete response may
        be cached for a minute, or for 15 minutes if it lacks data only because a budget is spent.
        """
        if self.late:
            return f"{self.scope}, max-age={LATE_MAX_AGE}"
        if not self.is_cacheable:
            return f"{self.scope}, max-age={INCOMPLETE_MAX_AGE}"
        most = seconds_left if self.complete else SPENT_MAX_AGE
        left = max(0, min(seconds_left, AWAITING_MAX_AGE if self.awaits else most))
        shared = self._shared(seconds_left)
        longer = (
            f", s-maxage={shared}" if self.complete and not self.awaits and shared > left else ""
        )
        return (
            f"{self.scope}, max-age={left}{longer}, stale-while-revalidate=60, stale-if-error=3600"
        )

    def _shared(self, seconds_left: int) -> int:
        """Return `s-maxage` for a CDN, in seconds; 0 for private responses.

        Public responses have at least 5: with 0, a CDN would forward every request to the service.
        """
        if self.scope == "private":
            return 0
        left = seconds_left + math.floor(self.shared_until - self.fresh_until)
        return max(RENEWED_WITHIN, min(SHARED_MAX_AGE, left))
