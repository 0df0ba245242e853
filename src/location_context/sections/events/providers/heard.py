"""Heard: what became of asking one provider; and asking one behind HTTP within a deadline.

An answer may come in parts: what has come by the deadline is given, what comes after it is held for
the next caller. A held answer is fresh for a while, and good enough for longer when newer cannot be
had; one that lacks parts is asked for again soon.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

import msgspec

from location_context.errors import ProviderAnswerInvalid, ProviderError
from location_context.upstream.deadline import Deadline
from location_context.upstream.flights import Flights

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable, Sequence
    from datetime import datetime

    from location_context.sections.contract import ProviderState, Query
    from location_context.sections.events.records import Told, When
    from location_context.sections.events.response import CoverageStatus
    from location_context.stay import Clock, Stay
    from location_context.upstream.provider import Answer, Upstream

T = TypeVar("T")
Centre = tuple[float, float]
_FOR_THE_ANSWER = 0.3
_PATIENCE_WITH_DOUBTED = 0.5  # seconds for a provider whose breaker is not closed
_HELD = 50_000  # events of all answers together, about 60 MB
_AGAIN = timedelta(minutes=5)  # after which an answer that lacks parts is asked for again


@dataclass(frozen=True)
class Heard:
    """The events one provider told of, how it went, and when the answer was true.

    `partly`: there is more than this, which has not come yet or could not be had.
    """

    status: CoverageStatus
    told: Sequence[Told] = field(default=(), repr=False)
    as_of: datetime | None = None
    partly: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether asking again would not give more."""
        return self.status not in {"stale", "unavailable"} and not self.partly


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
    """An answer: when its oldest part was true, when to ask again, whether it lacks parts."""

    at: datetime
    again: datetime
    told: Sequence[Told] = field(repr=False)
    partly: bool

    @property
    def size(self) -> int:
        """Events, and one for the answer itself, which may be empty."""
        return len(self.told) + 1


_ToldOnce = dict[tuple[str, "When"], "Told"]


def _once(told: Sequence[Told]) -> _ToldOnce:
    """By id and start, since a page may repeat what another had; and providers repeat ids."""
    return {(event.id, event.start): event for event in told}


class Asked:
    """Asks one upstream: one fetch for each key, held answers, never past the deadline."""

    def __init__(
        self, upstream: Upstream, clock: Clock, *, fresh: timedelta, good: timedelta
    ) -> None:
        self.upstream = upstream
        self._clock = clock
        self._fresh = fresh
        self._good = good
        self._held: OrderedDict[Hashable, _Held] = OrderedDict()
        self._size = 0
        self._coming: dict[Hashable, _ToldOnce] = {}
        self._flights: Flights[Heard] = Flights()

    async def hear(
        self,
        key: Hashable,
        fetch: Callable[[], AsyncIterator[Sequence[Told]]],
        query: Query,
        deadline: Deadline,
    ) -> Heard:
        """The events under `key`, from what is held or by `fetch`, which tells part after part."""
        if not self.upstream.configured:
            return Heard("not_configured")
        held = self._get(key)
        if held and self._clock() < held.again:
            return self._heard(held)
        doubted = self.upstream.breaker.state != "closed"
        flight = (key, query.public)
        try:
            return await self._flights.join(
                flight, lambda: self._fetch(flight, fetch), _within(deadline, doubted=doubted)
            )
        except TimeoutError:
            if not doubted and not self._coming.get(flight):
                self.upstream.late()
        except ProviderError:
            pass  # the upstream has counted it; what is held answers
        return self._heard(held) if held else self._so_far(flight)

    async def around(
        self,
        fetch: Callable[[Centre, Stay, Query], AsyncIterator[Sequence[Told]]],
        query: Query,
        deadline: Deadline,
    ) -> Heard:
        """Events of the stay around the point to a hundredth of a degree: neighbours share them."""
        assert query.stay is not None
        stay, centre = query.stay, (round(query.point.lat, 2), round(query.point.lng, 2))
        return await self.hear((centre, stay), lambda: fetch(centre, stay, query), query, deadline)

    def body(self, answer: Answer, kind: type[T]) -> T:
        """The answer's JSON, which must be of that shape: else it counts as the provider's failing.

        Raises:
            ProviderAnswerInvalid: it is not.
        """
        try:
            return msgspec.convert(answer.json(), kind)
        except msgspec.ValidationError:
            error = ProviderAnswerInvalid(self.upstream.name, "the answer is not of its shape")
        except ProviderAnswerInvalid as invalid:
            error = invalid
        self.upstream.reject(error)
        raise error

    async def _fetch(
        self, flight: tuple[Hashable, bool], fetch: Callable[[], AsyncIterator[Sequence[Told]]]
    ) -> Heard:
        told: _ToldOnce = {}
        partly = False
        self._coming[flight] = told
        try:
            async for part in fetch():
                told |= _once(part)
        except ProviderError:
            if not told:
                raise
            partly = True
        finally:
            del self._coming[flight]
        return self._heard(self._hold(flight[0], told, partly=partly))

    def _hold(self, key: Hashable, told: _ToldOnce, *, partly: bool) -> _Held:
        """Keep an answer; one that lacks parts only adds to what was held before."""
        now = self._clock()
        before = self._get(key) if partly else None
        if before:
            told = _once(before.told) | told
        again = now + (_AGAIN if partly else self._fresh)
        self._drop(key)
        held = _Held(before.at if before else now, again, list(told.values()), partly)
        self._held[key] = held
        self._size += held.size
        while self._size > _HELD and len(self._held) > 1:
            self._drop(next(iter(self._held)))
        return held

    def _drop(self, key: Hashable) -> None:
        if (held := self._held.pop(key, None)) is not None:
            self._size -= held.size

    def _get(self, key: Hashable) -> _Held | None:
        held = self._held.get(key)
        if held is not None and self._clock() - held.at > self._good:
            self._drop(key)
            return None
        return held

    def _heard(self, held: _Held) -> Heard:
        old = self._clock() - held.at >= self._fresh
        return Heard("stale" if old else "ok", held.told, held.at, held.partly)

    def _so_far(self, flight: Hashable) -> Heard:
        """What has come of an answer whose other parts are still under way."""
        if told := self._coming.get(flight):
            return Heard("ok", list(told.values()), self._clock(), partly=True)
        return Heard("unavailable")

    async def close(self) -> None:
        await self._flights.close()


def _within(deadline: Deadline, *, doubted: bool) -> Deadline:
    """When the answer is needed: earlier from a provider whose breaker is not closed."""
    within = deadline.earlier(_FOR_THE_ANSWER)
    if not doubted:
        return within
    return Deadline(min(within.at, Deadline.after(_PATIENCE_WITH_DOUBTED).at))
