"""CachedSection: a section whose results are entry for as long as they are true.

A fresh result is given as it stands. For 60 s after, the old one is given while a new one is read.
Later the section is read again; when that fails, the old one is given for up to an hour, marked
`stale`. Neither of these crosses midnight at the point, since `today` is part of an answer. One
read per key is under way at a time, and it outlives its callers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

import msgspec
import structlog

from location_context.errors import (
    LocationContextError,
    ProviderError,
    StorageError,
    UpstreamUnavailable,
)
from location_context.sections.contract import Applicable, Query, SectionResult
from location_context.sections.section import Section
from location_context.stay import Clock
from location_context.upstream.deadline import Deadline
from location_context.upstream.single_flight import SingleFlight

WHILE_REVALIDATING = timedelta(seconds=60)
ON_ERROR = timedelta(hours=1)
INCOMPLETE = timedelta(seconds=5)  # what lacked something is asked for again soon
BACKGROUND_SECONDS = 10.0
MAX_BYTES = 32_000_000


@dataclass(frozen=True, slots=True)
class _Entry:
    """A result, the local date it was made on, until when it is fresh, and for whom."""

    result: SectionResult
    made_on: date
    fresh_until: datetime
    public: bool

    def serves(self, query: Query) -> bool:
        """Widget traffic may have been refused half a budget; keyed calls ask for themselves."""
        return self.result.complete or query.public or not self.public


class CachedSection:
    """A section with its results, up to `max_bytes` of JSON.

    Attributes:
        section: what answers; all it says of itself is asked of it.
        last_read_failed: whether the last read had nothing to give.
    """

    def __init__(self, section: Section[Any], clock: Clock, *, max_bytes: int = MAX_BYTES) -> None:
        self.section = section
        self.last_read_failed = False
        self._clock = clock
        self._max_bytes = max_bytes
        self._bytes = 0
        self._generation = 0
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._flights: SingleFlight[SectionResult] = SingleFlight()
        section.on_change(self.clear)

    @property
    def name(self) -> str:
        return self.section.name

    @property
    def dated(self) -> bool:
        return self.section.dated

    async def read(self, query: Query, deadline: Deadline) -> SectionResult:
        """The result for a query, kept or new.

        Raises:
            UpstreamUnavailable: the section holds nothing, and nothing is kept.
        """
        query = query if self.dated else replace(query, stay=None)
        key, now = _key(query), self._clock()
        entry = self._entries.get(key)
        if entry is not None and entry.serves(query):
            self._entries.move_to_end(key)
            if now < entry.fresh_until:
                return entry.result
            if self._same_day(entry, query) and now < entry.fresh_until + WHILE_REVALIDATING:
                self._start(key, query, Deadline.after(BACKGROUND_SECONDS))
                return entry.result
        return await self._renew(key, query, deadline, entry)

    def peek(self, query: Query) -> SectionResult | None:
        """The result kept for a query, fresh or not; nothing is read for it."""
        entry = self._entries.get(_key(query if self.dated else replace(query, stay=None)))
        return entry.result if entry else None

    async def _renew(
        self, key: Hashable, query: Query, deadline: Deadline, entry: _Entry | None
    ) -> SectionResult:
        """A new result; the kept one, marked stale, when there is none to be had."""
        try:
            return await self._flights.run(
                (key, query.public), lambda: self._fetch(key, query, deadline), deadline
            )
        except (LocationContextError, TimeoutError) as error:
            if entry is not None and self._usable(entry, query):
                return _stale(entry.result)
            self.last_read_failed = True
            if isinstance(error, TimeoutError | ProviderError | StorageError):
                raise UpstreamUnavailable(
                    f"The {self.name} section could not be read in time and holds nothing.", 5
                ) from None
            raise

    def _start(self, key: Hashable, query: Query, deadline: Deadline) -> None:
        self._flights.start((key, query.public), lambda: self._fetch(key, query, deadline))

    async def _fetch(self, key: Hashable, query: Query, deadline: Deadline) -> SectionResult:
        generation = self._generation
        try:
            result = await self.section.read(query, deadline)
        except Exception as error:
            if not isinstance(error, LocationContextError):
                structlog.get_logger().exception("section_failed", section=self.name)
            raise
        self.last_read_failed = False
        if generation == self._generation:
            self._keep(key, query, result)
        return result

    def _keep(self, key: Hashable, query: Query, result: SectionResult) -> None:
        now = self._clock()
        until = result.fresh_until
        if not result.complete:
            until = min(until, now + INCOMPLETE)
        self._drop(key)
        self._entries[key] = _Entry(result, query.point.today(now), until, query.public)
        self._bytes += len(result.payload)
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: Hashable) -> None:
        if (entry := self._entries.pop(key, None)) is not None:
            self._bytes -= len(entry.result.payload)

    def _same_day(self, entry: _Entry, query: Query) -> bool:
        return query.point.today(self._clock()) == entry.made_on

    def _usable(self, entry: _Entry, query: Query) -> bool:
        return self._same_day(entry, query) and self._clock() < entry.fresh_until + ON_ERROR

    def clear(self) -> None:
        """Drop every result: another dataset serves."""
        self._entries.clear()
        self._bytes = 0
        self._generation += 1

    async def close(self) -> None:
        """End what is under way, of the section too."""
        await self._flights.close()
        await self.section.close()


def _key(query: Query) -> Hashable:
    return (query.point.lat, query.point.lng, query.stay, query.units, query.language.tag)


def _stale(result: SectionResult) -> SectionResult:
    """The same answer, saying that newer data could not be had."""
    body = result.body
    if isinstance(body, Applicable):
        reason = body.degraded_reason or "provider_unavailable"
        body = msgspec.structs.replace(body, stale=True, degraded_reason=reason)
    return SectionResult(body, result.fresh_until, whole=False)
