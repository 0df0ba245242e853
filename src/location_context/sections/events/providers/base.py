"""What a provider of events promises, and the cached source that the ones behind HTTP stand on."""

from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, Protocol

import msgspec

from location_context.errors import ProviderError
from location_context.sections.contract import DegradedReason, ProviderState, Query
from location_context.sections.events.records import ProviderEvent, When
from location_context.sections.events.response import CoverageStatus
from location_context.sections.providers import degraded_by
from location_context.stay import Clock, Stay
from location_context.upstream.cached_source import CachedSource, Entry, Sharing
from location_context.upstream.client import ProviderClient
from location_context.upstream.deadline import ANSWER_RESERVE, Deadline
from location_context.upstream.shared_cache import SharedCache

Centre = tuple[float, float]
MAX_CACHED_EVENTS = 50_000  # of all results together, about 60 MB


@dataclass(frozen=True)
class ProviderResult:
    """What became of asking one provider.

    Attributes:
        status: as the answer's `coverage` shows it.
        events: in the provider's order.
        as_of: when they were fetched; None where they are worked out on the spot.
        reason: why there is more or newer than this, which has not come; None if there is not.
    """

    status: CoverageStatus
    events: Sequence[ProviderEvent] = field(default=(), repr=False)
    as_of: datetime | None = None
    reason: DegradedReason | None = None

    @property
    def degraded_reason(self) -> DegradedReason | None:
        """Why it is less than it should be; None when asking again would not give more."""
        failed = self.status in {"stale", "unavailable"}
        return self.reason or ("provider_unavailable" if failed else None)

    @property
    def is_complete(self) -> bool:
        """Whether asking again would not give more."""
        return self.degraded_reason is None


class Truncated:
    """Yielded after the pages of a result: the provider has more events, which are not read."""


Page = Sequence[ProviderEvent] | Truncated


class Provider(Protocol):
    """A source of events. It raises nothing for its own failure: the status says it."""

    name: ClassVar[str]

    async def fetch_events(self, query: Query, deadline: Deadline) -> ProviderResult:
        """The events of the query's stay around its point."""
        ...

    def state(self) -> ProviderState: ...

    async def close(self) -> None:
        """Cancel what is under way."""
        ...


@dataclass(frozen=True)
class EventBatch:
    """Events by id and start, since pages may repeat events, and providers repeat ids.

    `truncated`: the provider has more, beyond what is read of it.
    """

    events: dict[tuple[str, When], ProviderEvent] = field(default_factory=dict, repr=False)
    truncated: bool = False

    @classmethod
    def of(cls, page: Page) -> "EventBatch":
        if isinstance(page, Truncated):
            return cls(truncated=True)
        return cls({(event.id, event.start): event for event in page})

    def merge(self, later: "EventBatch") -> "EventBatch":
        """Both; of an event in both, the later."""
        return EventBatch(self.events | later.events, self.truncated or later.truncated)

    @property
    def size(self) -> int:
        """Events, and one for the batch itself, which may be empty."""
        return len(self.events) + 1


class EventSource:
    """The events of one provider behind HTTP, on a `CachedSource`.

    Args:
        client: the provider's client.
        clock: the time, UTC.
        fresh: how long a result is fresh.
        stale: how long a result may be used when newer cannot be had.
        shared: shares whole results with other processes; give it where the terms allow that.
    """

    def __init__(
        self,
        client: ProviderClient,
        clock: Clock,
        *,
        fresh: timedelta,
        stale: timedelta,
        shared: SharedCache | None = None,
    ) -> None:
        self.client = client
        self._clock = clock
        self.cache: CachedSource[Hashable, EventBatch] = CachedSource(
            clock,
            fresh=fresh,
            stale=stale,
            max_size=MAX_CACHED_EVENTS,
            size_of=lambda batch: batch.size,
            client=client,
            merge=EventBatch.merge,
            sharing=Sharing(shared, lambda key: (client.name, repr(key)), _pack, _unpack)
            if shared
            else None,
        )

    async def fetch_events(
        self,
        key: Hashable,
        fetch: Callable[[], AsyncIterator[Page]],
        query: Query,
        deadline: Deadline,
    ) -> ProviderResult:
        """The events under `key`, from the cache or by `fetch`, which yields page after page."""
        if not self.client.configured:
            return ProviderResult("not_configured")

        async def batches() -> AsyncIterator[EventBatch]:
            empty = True
            async for page in fetch():
                empty = False
                yield EventBatch.of(page)
            if empty:  # no page at all: the provider has no event
                yield EventBatch()

        try:
            entry = await self.cache.get(
                key, batches, deadline.earlier(ANSWER_RESERVE), public=query.public
            )
        except (ProviderError, TimeoutError) as error:
            return ProviderResult("unavailable", reason=degraded_by(error))
        return self._result(entry)

    async def fetch_nearby(
        self,
        fetch: Callable[[Centre, Stay, Query], AsyncIterator[Page]],
        query: Query,
        deadline: Deadline,
    ) -> ProviderResult:
        """Events of the stay around the point to a hundredth of a degree: neighbours share them."""
        assert query.stay is not None
        stay, centre = query.stay, (round(query.point.lat, 2), round(query.point.lng, 2))
        return await self.fetch_events(
            (centre, stay), lambda: fetch(centre, stay, query), query, deadline
        )

    def _result(self, entry: Entry[EventBatch]) -> ProviderResult:
        stale = self._clock() >= entry.fresh_until
        partial = not entry.complete or entry.value.truncated
        status: CoverageStatus = "stale" if stale else "partial" if partial else "ok"
        reason = degraded_by(entry.error) if entry.error else None
        return ProviderResult(status, list(entry.value.events.values()), entry.fetched_at, reason)

    async def close(self) -> None:
        await self.cache.close()


class _Shared(msgspec.Struct, array_like=True):
    """A whole result as other processes find it."""

    at: datetime
    again: datetime
    events: list[ProviderEvent]
    truncated: bool = False


def _pack(batch: EventBatch, fetched_at: datetime) -> bytes:
    events = list(batch.events.values())
    return msgspec.msgpack.encode(_Shared(fetched_at, fetched_at, events, batch.truncated))


def _unpack(data: bytes) -> tuple[EventBatch, datetime] | None:
    try:
        shared = msgspec.msgpack.decode(data, type=_Shared)
    except msgspec.MsgspecError:
        return None
    batch = EventBatch.of(shared.events)
    return EventBatch(batch.events, shared.truncated), shared.at
