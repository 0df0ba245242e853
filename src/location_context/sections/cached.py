"""Cached: a Section around a Section that remembers its readings.

A fresh reading is given as it stands. For 60 s after, the old one is given while a new one is read.
Later the section is read again; when that fails, the old one is given for up to an hour, marked
`stale`. Neither of these crosses midnight at the point, since `today` is part of an answer. One
read per key is under way at a time, and it outlives its callers.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec
import structlog

from location_context.errors import (
    LocationContextError,
    ProviderError,
    StorageError,
    UpstreamUnavailable,
)
from location_context.sections.contract import Applicable, Query, Reading
from location_context.upstream.deadline import Deadline
from location_context.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from datetime import date, datetime

    from location_context.sections.contract import (
        DatasetState,
        NotApplicable,
        ProviderState,
        Section,
    )
    from location_context.stay import Clock

WHILE_REVALIDATING = timedelta(seconds=60)
ON_ERROR = timedelta(hours=1)
INCOMPLETE = timedelta(seconds=5)  # what lacked something is asked for again soon
BACKGROUND_SECONDS = 10.0
MAX_BYTES = 32_000_000


@dataclass(frozen=True, slots=True)
class _Kept:
    """A reading, the local date it was made on, until when it is fresh, and for whom."""

    reading: Reading
    made_on: date
    fresh_until: datetime
    public: bool

    def serves(self, query: Query) -> bool:
        """Widget traffic may have been refused half a budget; keyed calls ask for themselves."""
        return self.reading.complete or query.public or not self.public


class Cached:
    """A `Section` that keeps the readings of another, up to `max_bytes` of JSON."""

    def __init__(self, section: Section, clock: Clock, *, max_bytes: int = MAX_BYTES) -> None:
        self.inner = section
        self.name = section.name
        self.dated = section.dated
        self.response: type[Applicable] = section.response
        self.refusal: type[NotApplicable] = section.refusal
        self._clock = clock
        self._max_bytes = max_bytes
        self.held_nothing = False  # whether the last read had nothing to give
        self._bytes = 0
        self._generation = 0
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._flights: SingleFlight[Reading] = SingleFlight()

    async def read(self, query: Query, deadline: Deadline) -> Reading:
        """The reading of the section, kept or new.

        Raises:
            UpstreamUnavailable: the section holds nothing, and nothing is kept.
        """
        query = query if self.dated else replace(query, stay=None)
        key, now = _key(query), self._clock()
        kept = self._kept.get(key)
        if kept is not None and kept.serves(query):
            self._kept.move_to_end(key)
            if now < kept.fresh_until:
                return kept.reading
            if self._same_day(kept, query) and now < kept.fresh_until + WHILE_REVALIDATING:
                self._start(key, query, Deadline.after(BACKGROUND_SECONDS))
                return kept.reading
        return await self._renew(key, query, deadline, kept)

    def kept(self, query: Query) -> Reading | None:
        """The reading kept for a query, fresh or not; nothing is read for it."""
        kept = self._kept.get(_key(query if self.dated else replace(query, stay=None)))
        return kept.reading if kept else None

    async def _renew(
        self, key: Hashable, query: Query, deadline: Deadline, kept: _Kept | None
    ) -> Reading:
        """A new reading; the kept one, marked stale, when there is none to be had."""
        try:
            return await self._flights.run(
                (key, query.public), lambda: self._fetch(key, query, deadline), deadline
            )
        except (LocationContextError, TimeoutError) as error:
            if kept is not None and self._usable(kept, query):
                return _stale(kept.reading)
            self.held_nothing = True
            if isinstance(error, TimeoutError | ProviderError | StorageError):
                raise UpstreamUnavailable(
                    f"The {self.name} section could not be read in time and holds nothing.", 5
                ) from None
            raise

    def _start(self, key: Hashable, query: Query, deadline: Deadline) -> None:
        self._flights.start((key, query.public), lambda: self._fetch(key, query, deadline))

    async def _fetch(self, key: Hashable, query: Query, deadline: Deadline) -> Reading:
        generation = self._generation
        try:
            reading = await self.inner.read(query, deadline)
        except Exception as error:
            if not isinstance(error, LocationContextError):
                structlog.get_logger().exception("section_failed", section=self.name)
            raise
        self.held_nothing = False
        if generation == self._generation:
            self._keep(key, query, reading)
        return reading

    def _keep(self, key: Hashable, query: Query, reading: Reading) -> None:
        now = self._clock()
        until = reading.fresh_until
        if not reading.complete:
            until = min(until, now + INCOMPLETE)
        self._drop(key)
        self._kept[key] = _Kept(reading, query.point.today(now), until, query.public)
        self._bytes += len(reading.payload)
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Hashable) -> None:
        if (kept := self._kept.pop(key, None)) is not None:
            self._bytes -= len(kept.reading.payload)

    def _same_day(self, kept: _Kept, query: Query) -> bool:
        return query.point.today(self._clock()) == kept.made_on

    def _usable(self, kept: _Kept, query: Query) -> bool:
        return self._same_day(kept, query) and self._clock() < kept.fresh_until + ON_ERROR

    def providers(self) -> Sequence[ProviderState]:
        return self.inner.providers()

    async def dataset(self) -> DatasetState | None:
        return await self.inner.dataset()

    def notices(self) -> Sequence[str]:
        return self.inner.notices()

    async def probe(self, query: Query) -> None:
        """Ask every configured provider, as `doctor` does; `providers` tells what came of it."""
        if probe := getattr(self.inner, "probe", None):
            await probe(query)

    async def prepare(self) -> None:
        """Read what the section answers from, before the first request."""
        if prepare := getattr(self.inner, "prepare", None):
            await prepare()

    async def run(self) -> None:
        await self.inner.run()

    def forget(self) -> None:
        """Drop every reading: a new dataset serves."""
        self._kept.clear()
        self._bytes = 0
        self._generation += 1

    async def close(self) -> None:
        """End what is under way, of the section too."""
        await self._flights.close()
        if close := getattr(self.inner, "close", None):
            await close()


def _key(query: Query) -> Hashable:
    return (query.point.lat, query.point.lng, query.stay, query.units, query.language.tag)


def _stale(reading: Reading) -> Reading:
    """The same answer, saying that newer data could not be had."""
    body = reading.body
    if isinstance(body, Applicable):
        reason = body.degraded_reason or "provider_unavailable"
        body = msgspec.structs.replace(body, stale=True, degraded_reason=reason)
    return Reading(body, reading.fresh_until, whole=False)
