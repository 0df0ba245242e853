"""Heard: what became of asking one provider; and asking one behind HTTP within a deadline.

An answer may come in parts: what has come by the deadline is given, what comes after it is held for
the next caller. A held answer is fresh for a while, and good enough for longer when newer cannot be
had; one that lacks parts is asked for again soon. One that leaves out what the provider has beyond
its limits is `partial`, and as good as a whole one: asking again would not give more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, ClassVar, Protocol

import msgspec

from location_context.errors import ProviderError
from location_context.sections.events.records import ProviderEvent
from location_context.sections.providers import degraded_by
from location_context.upstream.flights import Flights
from location_context.upstream.kept import KeptAnswer, KeptAnswers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable

    from location_context.sections.contract import DegradedReason, ProviderState, Query
    from location_context.sections.events.records import When
    from location_context.sections.events.response import CoverageStatus
    from location_context.stay import Clock, Stay
    from location_context.upstream.deadline import Deadline
    from location_context.upstream.provider import Upstream

Centre = tuple[float, float]
_FOR_THE_ANSWER = 0.3
_HELD = 50_000  # events of all answers together, about 60 MB
_AGAIN = timedelta(minutes=5)  # after which an answer that lacks parts is asked for again


@dataclass(frozen=True)
class Heard:
    """The events one provider told of, how it went, and when the answer was true.

    `why`: there is more or newer than this, which has not come yet or could not be had.
    """

    status: CoverageStatus
    told: Sequence[ProviderEvent] = field(default=(), repr=False)
    as_of: datetime | None = None
    why: DegradedReason | None = None

    @property
    def lacking(self) -> DegradedReason | None:
        """Why it is less than it should be; None when asking again would not give more."""
        failed = self.status in {"stale", "unavailable"}
        return self.why or ("provider_unavailable" if failed else None)

    @property
    def is_complete(self) -> bool:
        """Whether asking again would not give more."""
        return self.lacking is None


class LeftOut:
    """Comes after the parts of an answer: the provider has more events, which are not read."""


Part = Sequence["ProviderEvent"] | LeftOut


class Provider(Protocol):
    """A source of events. It never raises what its own failing is: the status tells."""

    name: ClassVar[str]

    async def hear(self, query: Query, deadline: Deadline) -> Heard: ...

    def state(self) -> ProviderState: ...

    async def close(self) -> None:
        """Give up what is under way."""
        ...


@dataclass(frozen=True)
class _Held:
    """An answer: when its oldest part was true, when to ask again, why it lacks parts, if any.

    `left_out`: the provider has more, beyond what is read of it.
    """

    at: datetime
    again: datetime
    told: Sequence[ProviderEvent] = field(repr=False)
    why: DegradedReason | None
    left_out: bool

    @property
    def size(self) -> int:
        """Events, and one for the answer itself, which may be empty."""
        return len(self.told) + 1


class _Shared(msgspec.Struct, array_like=True):
    """A whole answer as other processes find it."""

    at: datetime
    again: datetime
    told: list[ProviderEvent]


_ToldOnce = dict[tuple[str, "When"], "ProviderEvent"]


def _once(told: Sequence[ProviderEvent]) -> _ToldOnce:
    """By id and start, since a page may repeat what another had; and providers repeat ids."""
    return {(event.id, event.start): event for event in told}


class Asked:
    """Asks one upstream: one fetch for each key, held answers, never past the deadline."""

    def __init__(
        self,
        upstream: Upstream,
        clock: Clock,
        *,
        fresh: timedelta,
        good: timedelta,
        answers: KeptAnswers | None = None,
    ) -> None:
        """`answers` shares whole answers with other processes; give it where the terms allow."""
        self.upstream = upstream
        self._clock = clock
        self._fresh = fresh
        self._answers = answers or KeptAnswers()
        self._good = good
        self._held: OrderedDict[Hashable, _Held] = OrderedDict()
        self._size = 0
        self._coming: dict[Hashable, _ToldOnce] = {}
        self._flights: Flights[Heard] = Flights()

    async def hear(
        self,
        key: Hashable,
        fetch: Callable[[], AsyncIterator[Part]],
        query: Query,
        deadline: Deadline,
    ) -> Heard:
        """The events under `key`, from what is held or by `fetch`, which tells part after part."""
        if not self.upstream.configured:
            return Heard("not_configured")
        held = self._get(key)
        if held and self._clock() < held.again:
            return self._heard(held, held.why)
        flight = (key, query.public)
        try:
            return await self.upstream.wait_for(
                lambda by: self._flights.join(flight, lambda: self._fetch(flight, fetch), by),
                deadline.earlier(_FOR_THE_ANSWER),
            )
        except (ProviderError, TimeoutError) as error:  # what is held answers
            why = degraded_by(error)
        return self._heard(held, why) if held else self._so_far(flight, why)

    async def around(
        self,
        fetch: Callable[[Centre, Stay, Query], AsyncIterator[Part]],
        query: Query,
        deadline: Deadline,
    ) -> Heard:
        """Events of the stay around the point to a hundredth of a degree: neighbours share them."""
        assert query.stay is not None
        stay, centre = query.stay, (round(query.point.lat, 2), round(query.point.lng, 2))
        return await self.hear((centre, stay), lambda: fetch(centre, stay, query), query, deadline)

    async def _fetch(
        self, flight: tuple[Hashable, bool], fetch: Callable[[], AsyncIterator[Part]]
    ) -> Heard:
        if (shared := await self._shared(flight[0])) is not None:
            return self._heard(shared, None)
        told: _ToldOnce = {}
        why: DegradedReason | None = None
        left_out = False
        self._coming[flight] = told
        try:
            async for part in fetch():
                if isinstance(part, LeftOut):
                    left_out = True
                else:
                    told |= _once(part)
        except ProviderError as error:
            if not told:
                raise
            why = degraded_by(error)
        finally:
            del self._coming[flight]
        return self._heard(self._hold(flight[0], told, why, left_out=left_out), why)

    def _hold(
        self, key: Hashable, told: _ToldOnce, why: DegradedReason | None, *, left_out: bool
    ) -> _Held:
        """Keep an answer; one that lacks parts only adds to what was held before."""
        now = self._clock()
        before = self._get(key) if why else None
        if before:
            told = _once(before.told) | told
        again = now + (_AGAIN if why else self._fresh)
        held = _Held(before.at if before else now, again, list(told.values()), why, left_out)
        self._put(key, held)
        if why is None and not left_out:
            self._share(key, held)
        return held

    def _put(self, key: Hashable, held: _Held) -> None:
        self._drop(key)
        self._held[key] = held
        self._size += held.size
        while self._size > _HELD and len(self._held) > 1:
            self._drop(next(iter(self._held)))

    def _drop(self, key: Hashable) -> None:
        if (held := self._held.pop(key, None)) is not None:
            self._size -= held.size

    def _get(self, key: Hashable) -> _Held | None:
        held = self._held.get(key)
        if held is not None and self._clock() - held.at > self._good:
            self._drop(key)
            return None
        return held

    def _heard(self, held: _Held, why: DegradedReason | None) -> Heard:
        old = self._clock() - held.at >= self._fresh
        lacks = held.why is not None or held.left_out
        status: CoverageStatus = "stale" if old else "partial" if lacks else "ok"
        return Heard(status, held.told, held.at, why)

    def _so_far(self, flight: Hashable, why: DegradedReason) -> Heard:
        """What has come of an answer whose other parts are still under way."""
        if told := self._coming.get(flight):
            return Heard("partial", list(told.values()), self._clock(), why)
        return Heard("unavailable", why=why)

    async def _shared(self, key: Hashable) -> _Held | None:
        """A fresh whole answer that another process fetched."""
        data = await self._answers.load(self.upstream.name, repr(key))
        try:
            shared = msgspec.msgpack.decode(data, type=_Shared) if data else None
        except msgspec.MsgspecError:
            return None
        if shared is None or self._clock() >= shared.again:
            return None
        held = _Held(shared.at, shared.again, shared.told, None, left_out=False)
        self._put(key, held)
        return held

    def _share(self, key: Hashable, held: _Held) -> None:
        data = msgspec.msgpack.encode(_Shared(held.at, held.again, list(held.told)))
        self._answers.keep(KeptAnswer(self.upstream.name, repr(key), held.again, data))

    async def close(self) -> None:
        await self._flights.close()
        await self._answers.close()
