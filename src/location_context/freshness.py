"""Freshness: how long a response may be reused, and the Cache-Control that says so."""

import math
from asyncio import Future
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Self

from location_context.sections.contract import SectionResult

INCOMPLETE_MAX_AGE = AWAITING_MAX_AGE = 60  # seconds
SPENT_MAX_AGE = 900  # for answers that improve once a budget is free again
LATE_MAX_AGE = 3  # seconds, less than a page waits until it reloads itself for data on their way
INCOMPLETE_TTL, SPENT_TTL = 5.0, 60.0  # seconds for which it is reused
RENEWED_WITHIN = 5  # seconds within which a response served for the last time is read again
SHARED_MAX_AGE = 3600  # for a CDN, which can be purged, unlike browsers


@dataclass(frozen=True)
class Freshness:
    """The time for which a response may be reused: as long as every part is fresh and complete.

    Attributes:
        fresh_until: the time at which the first part stops being fresh, in POSIX seconds.
        complete: True if nothing was missing.
        is_cacheable: True if a client may cache it for longer than a minute, complete or not.
        scope: `private` for answers behind a key, `public` for the widget.
        awaits: the fetches behind the parts that will soon be replaced.
        shared_until: the end of freshness in a shared cache, that is a CDN.
        late: True for a page that reloads itself once for data still being fetched.
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
        """Return the freshness of a response made of these parts; None is a missing part."""
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
        """Return the same freshness, ending at a moment in POSIX seconds if that is earlier."""
        return replace(
            self,
            fresh_until=min(self.fresh_until, moment),
            shared_until=min(self.shared_until, moment),
        )

    @property
    def superseded(self) -> bool:
        """True if a fetch that a part awaited has completed or failed."""
        return bool(self.awaits) and any(one.done() for one in self.awaits)

    def reusable_until(self, now: float) -> float:
        """Return the time until which the response may be reused, in POSIX seconds.

        An incomplete response is cached for a moment only, in which another read would hardly add
        data.
        """
        if self.complete:
            return self.fresh_until
        until = now + (SPENT_TTL if self.is_cacheable else INCOMPLETE_TTL)
        until = now + LATE_MAX_AGE if self.late else until
        return min(until, self.fresh_until) if self.fresh_until > now else until

    def seconds_left(self, now: float) -> int:
        """Return the whole seconds of freshness left; negative once it is over."""
        return math.floor(self.fresh_until - now)

    def cache_control(self, seconds_left: int) -> str:
        """Return Cache-Control for a client: one minute if the response will soon improve.

        A page that reloads itself once may be cached for less.

        A response may be cached for 15 minutes if it lacks only data of a provider with a spent
        budget.
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
        """Return the seconds for a shared cache, which must not store private responses.

        Never 0: a CDN would then forward every visitor of the page to the service.
        """
        if self.scope == "private":
            return 0
        left = seconds_left + math.floor(self.shared_until - self.fresh_until)
        return max(RENEWED_WITHIN, min(SHARED_MAX_AGE, left))
