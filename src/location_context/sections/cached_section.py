"""CachedSection: a section with a cache of its results.

A fresh result is returned unchanged. For 60 s after a result expires, it is still returned while a
new result is read in the background. After that, callers wait for the new result. If its read
fails, the old result is returned, marked `stale`, until an hour after it expired. No expired result
is used after midnight in the point's time zone, since an answer depends on the date.

At most one read per cache key is under way at a time. It continues if its callers give up.
The widget and requests with an API key do not share a read, since their deadlines differ.
"""

from collections.abc import Hashable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, get_args

import msgspec
import structlog

from location_context import errors
from location_context.sections.contract import Applicable, Query, ReadKind, SectionResult
from location_context.sections.section import Section
from location_context.stay import Clock
from location_context.upstream.cached import Cached, Entry
from location_context.upstream.deadline import Deadline

REVALIDATE_TTL = timedelta(seconds=60)
STALE_IF_ERROR_TTL = timedelta(hours=1)
INCOMPLETE_TTL = timedelta(seconds=5)  # incomplete results are read again soon
BACKGROUND_SECONDS = 10.0
FAILURE_TTL = timedelta(minutes=1)
MAX_BYTES = 16_000_000
# measured memory of an entry without its body, and of a body for each byte of its JSON
ENTRY_BYTES, BYTES_PER_JSON_BYTE = 2_000, 2.5


class CachedSection:
    """A section with a cache of its results; the cache takes up to `MAX_BYTES` of memory.

    Attributes:
        section: the section whose results are cached.
        reads: the number of results obtained in each way (`ReadKind`).
    """

    def __init__(self, section: Section[Any], clock: Clock) -> None:
        self.section = section
        self._failed_at: datetime | None = None
        self.reads: dict[ReadKind, int] = dict.fromkeys(get_args(ReadKind), 0)
        self._clock = clock
        self._cache: Cached[Hashable, SectionResult] = Cached(
            clock,
            fresh=lambda _key, result, _fetched_at: result.fresh_until,
            stale=None,  # `_usable` sets the limit
            max_size=MAX_BYTES,
            size_of=lambda one: ENTRY_BYTES + int(BYTES_PER_JSON_BYTE * len(one.payload)),
            is_complete=lambda result: result.complete,
            retry_incomplete=INCOMPLETE_TTL,
            apart=True,
        )
        section.on_change(self._cache.clear)

    @property
    def name(self) -> str:
        return self.section.name

    @property
    def dated(self) -> bool:
        return self.section.dated

    async def read(self, query: Query, deadline: Deadline) -> SectionResult:
        """Return the result for a query, cached or new.

        Raises:
            UpstreamUnavailable: the section has no data, and nothing is cached.
        """
        query = query if self.dated else replace(query, stay=None)
        key, public = self._key(query), query.public
        cached = self._cache.peek(key)
        if cached and cached.value.superseded:
            self._cache.drop(key)
        elif (
            cached and cached.serves(public=public) and self._usable(cached, query, REVALIDATE_TTL)
        ):
            if self._clock() >= cached.retry_at:
                later = Deadline.after(BACKGROUND_SECONDS)
                self._cache.start(key, lambda: self._fetch(query, later), public=public)
                self._count("revalidating", query)
            else:
                self._count("fresh", query)
            return cached.value
        kind: ReadKind = "joined" if self._cache.is_fetching(key, public=public) else "miss"
        try:
            entry = await self._cache.get_fresh(
                key, lambda: self._fetch(query, deadline), deadline, public=public
            )
        except (errors.LocationContextError, TimeoutError) as error:
            if cached and self._usable(cached, query, STALE_IF_ERROR_TTL):
                self._count("stale", query)
                return stale(cached.value)
            self._count("failed", query)
            if isinstance(error, TimeoutError | errors.ProviderError | errors.StorageError):
                why = "was not ready in time" if isinstance(error, TimeoutError) else "has no data"
                raise errors.UpstreamUnavailable(
                    f"The {self.name} section {why}, and no earlier result is stored.", 5
                ) from None
            raise
        self._count(kind, query)
        return entry.value

    def _count(self, kind: ReadKind, query: Query) -> None:
        self.reads[kind] += 1
        query.reads.append(kind)
        self._failed_at = self._clock() if kind == "failed" else None

    @property
    def last_read_failed(self) -> bool:
        """True for a minute after a read that failed, unless a later read succeeds.

        It becomes False after the minute because a later read may never come: the response cache
        may answer all later requests.
        """
        return self._failed_at is not None and self._clock() < self._failed_at + FAILURE_TTL

    def is_reading(self, query: Query) -> bool:
        """Return True if a read is under way whose result will also answer this query."""
        return self._cache.is_fetching(self._key(query), public=query.public)

    def peek(self, query: Query) -> SectionResult | None:
        """Return the result cached for a query, fresh or not, without a read."""
        entry = self._cache.peek(self._key(query))
        return entry.value if entry else None

    def _key(self, query: Query) -> Hashable:
        stay = query.stay if self.dated else None
        further = (getattr(query, name) for name in self.section.parameters)
        return (query.point.lat, query.point.lng, stay, query.units, query.language.tag, *further)

    async def _fetch(self, query: Query, deadline: Deadline) -> SectionResult:
        try:
            result = await self.section.read(query, deadline)
        except Exception as error:
            if not isinstance(error, errors.LocationContextError):
                structlog.get_logger().exception("section_failed", section=self.name)
            raise
        self._failed_at = None
        return result

    def _usable(self, entry: Entry[SectionResult], query: Query, beyond: timedelta) -> bool:
        """Return True if a result is fresh, or was read today and expired at most `beyond` ago."""
        now = self._clock()
        if now < entry.retry_at:
            return True
        same_day = query.point.today(now) == query.point.today(entry.fetched_at)
        return same_day and now < entry.retry_at + beyond

    async def close(self) -> None:
        """Cancel the reads under way, and close the section."""
        await self._cache.close()
        await self.section.close()


def stale(result: SectionResult) -> SectionResult:
    """Return the result with its answer marked as stale."""
    body = result.body
    if isinstance(body, Applicable):
        reason = body.degraded_reason or "provider_unavailable"
        body = msgspec.structs.replace(body, stale=True, degraded_reason=reason)
    return SectionResult(body, result.fresh_until, lacks="provider_unavailable")
