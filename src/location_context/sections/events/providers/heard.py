"""Heard: what became of asking one provider; and asking one behind HTTP within a deadline.

An answer is held: fresh for a while, and good enough when newer cannot be had for longer. What
comes after its caller's deadline is held for the next one.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

from location_context.errors import ProviderError
from location_context.upstream.deadline import Deadline
from location_context.upstream.flights import Flights

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Sequence
    from datetime import datetime, timedelta

    from location_context.sections.contract import ProviderState, Query
    from location_context.sections.events.records import Told
    from location_context.sections.events.response import CoverageStatus
    from location_context.stay import Clock
    from location_context.upstream.provider import Upstream

_FOR_THE_ANSWER = 0.3
_PATIENCE_WITH_DOUBTED = 0.5  # seconds for a provider whose breaker is not closed
_HELD = 2000


@dataclass(frozen=True)
class Heard:
    """The events one provider told of, how it went, and when the answer was true."""

    status: CoverageStatus
    told: Sequence[Told] = field(default=(), repr=False)
    as_of: datetime | None = None

    @property
    def is_complete(self) -> bool:
        """Whether asking again would not give more."""
        return self.status not in {"stale", "unavailable"}


class Provider(Protocol):
    """A source of events. It never raises what its own failing is: the status tells."""

    name: ClassVar[str]

    async def hear(self, query: Query, deadline: Deadline) -> Heard: ...

    def state(self) -> ProviderState: ...

    async def close(self) -> None:
        """Give up what is under way."""
        ...


class Asked:
    """Asks one upstream: one fetch for each key, held answers, never past the deadline."""

    def __init__(
        self, upstream: Upstream, clock: Clock, *, fresh: timedelta, good: timedelta
    ) -> None:
        self.upstream = upstream
        self._clock = clock
        self._fresh = fresh
        self._good = good
        self._held: OrderedDict[Hashable, tuple[datetime, Sequence[Told]]] = OrderedDict()
        self._flights: Flights[Heard] = Flights()

    async def hear(
        self,
        key: Hashable,
        fetch: Callable[[], Awaitable[Sequence[Told]]],
        query: Query,
        deadline: Deadline,
    ) -> Heard:
        """The events under `key`, from what is held or by `fetch`."""
        if not self.upstream.configured:
            return Heard("not_configured")
        if (held := self._get(key)) and held.status == "ok":
            return held
        within = deadline.earlier(_FOR_THE_ANSWER)
        doubted = self.upstream.breaker.state != "closed"
        if doubted:
            within = Deadline(min(within.at, Deadline.after(_PATIENCE_WITH_DOUBTED).at))
        try:
            return await self._flights.join(
                (key, query.public), lambda: self._fetch(key, fetch), within
            )
        except TimeoutError:
            if not doubted:
                self.upstream.late()
        except ProviderError:
            pass  # the upstream has counted it; what is held answers
        return held or Heard("unavailable")

    async def _fetch(self, key: Hashable, fetch: Callable[[], Awaitable[Sequence[Told]]]) -> Heard:
        told = await fetch()
        now = self._clock()
        self._held[key] = (now, told)
        self._held.move_to_end(key)
        while len(self._held) > _HELD:
            self._held.popitem(last=False)
        return Heard("ok", told, now)

    def _get(self, key: Hashable) -> Heard | None:
        if (held := self._held.get(key)) is None:
            return None
        at, told = held
        age = self._clock() - at
        if age > self._good:
            del self._held[key]
            return None
        return Heard("ok" if age < self._fresh else "stale", told, at)

    async def close(self) -> None:
        await self._flights.close()
