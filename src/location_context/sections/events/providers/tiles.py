"""Tiles and weeks: what a provider of events is asked at once, and what comes of it by week.

A tile is a point of a fixed grid with a circle around it that holds the circle of every point near
by; a week begins on Monday by the clock of the point. Weeks that are wanted at the same moment are
asked for together (`Sweeps`), and each keeps the events that touch it. Where these are many, the
days of the stay alone are asked for first. Why so: `docs/decisions/events.md`.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Generic, TypeVar

import msgspec

from location_context.errors import DAMAGED
from location_context.point import EARTH_RADIUS_KM, canonical, distance_km
from location_context.sections.contract import Query
from location_context.sections.events.records import ProviderEvent, When
from location_context.stay import Stay

T = TypeVar("T")
_KM_PER_DEGREE = math.radians(1) * EARTH_RADIUS_KM
_ROUNDED_KM = math.hypot(0.005, 0.005) * _KM_PER_DEGREE  # from a point to its hundredth of a degree
_SHARED_KM = 1.0  # beyond its cell, so that neighbours across its edge can do with one tile
_STEP = 0.6  # of a side: far enough into every other cell whose tile may hold the circle
_CLOCKS_APART = 2  # days by which dates differ at most: clocks go from UTC-12 to UTC+14
_WEEK, _DAY = timedelta(days=7), timedelta(days=1)
MAX_CALLS_AT_FIRST = 4  # for the weeks of a short stay that nobody asked for before
_SHORT_DAYS = 7


class Grid:
    """The tiles for circles of `radius` km.

    A cell is a square of half the radius, in rows of one latitude; each row has as many as fit
    around the Earth, fewer towards the poles, and none is cut at 180°. `reach` is the radius in km,
    whole, to ask around the centre of a tile.
    """

    def __init__(self, radius: float) -> None:
        self._radius = radius
        self._side = radius / 2
        corner = self._side * math.sqrt(0.5)
        self.reach = math.ceil(radius + corner + _ROUNDED_KM + _SHARED_KM)

    def centre(self, lat: float, lng: float) -> tuple[float, float]:
        """The centre of the cell that the point lies in, to a hundredth of a degree."""
        step = self._side / _KM_PER_DEGREE
        middle = max(-90.0, min(90.0, round(lat / step) * step))
        widest = max(0.0, abs(middle) - step / 2)
        columns = max(1, math.ceil(360 * math.cos(math.radians(widest)) / step))
        east = round(lng / 360 * columns) % columns * 360 / columns
        return canonical(round(middle, 2), round(east - 360 if east > 180 else east, 2))

    def centres(self, lat: float, lng: float) -> list[tuple[float, float]]:
        """Those of all tiles that hold the circle around the point, its own cell's first."""
        step = _STEP * self._side / _KM_PER_DEGREE
        wide = step / max(0.01, math.cos(math.radians(lat)))
        near = dict.fromkeys(
            self.centre(max(-90.0, min(90.0, lat + north * step)), lng + east * wide)
            for north in (0, -1, 1)
            for east in (0, -1, 1)
        )
        room = self.reach - self._radius
        return [one for one in near if distance_km(lat, lng, *one) <= room]


def weeks_of(stay: Stay) -> list[Stay]:
    """The weeks that the stay touches, from Monday to Sunday."""
    monday = stay.start - timedelta(days=stay.start.weekday())
    count = (stay.end - monday).days // 7 + 1
    return [Stay(monday + n * _WEEK, monday + n * _WEEK + 6 * _DAY) for n in range(count)]


def common(week: Stay, stay: Stay) -> Stay:
    """The days of the stay in one of its weeks."""
    return Stay(max(week.start, stay.start), min(week.end, stay.end))


class Truncated:
    """Yielded after the pages of a result: the provider has more events, which are not read."""


@dataclass(frozen=True)
class PartKey:
    """A result of a provider: its own key, and the days wanted, which are not part of it."""

    of: Hashable
    days: Stay = field(compare=False)

    def is_served_by(self, batch: "EventBatch") -> bool:
        """Whether all these days were asked for."""
        return not batch.lacks(self.days)


@dataclass(frozen=True)
class Total:
    """Yielded after the first page of a result: how many calls all that is read of it takes."""

    calls: int

    def is_dear(self, days: Stay, weeks: Stay) -> bool:
        """Whether a stay of these days in these weeks had better be asked for alone."""
        alone = 1 + math.ceil(self.calls * days.days / weeks.days)
        return days.days <= _SHORT_DAYS and MAX_CALLS_AT_FIRST < self.calls > alone


Page = Sequence[ProviderEvent] | Truncated


@dataclass(frozen=True)
class EventBatch:
    """Events by id and start, since pages may repeat events, and providers repeat ids.

    `truncated`: the provider has more, beyond what is read of it: how many weeks were asked for
    together, since fewer would be read further. 0: all there is. `lacking`: days that were not
    asked for.
    """

    events: dict[tuple[str, When], ProviderEvent] = field(default_factory=dict, repr=False)
    truncated: int = 0
    lacking: frozenset[date] = frozenset()

    @classmethod
    def of(
        cls, events: Iterable[ProviderEvent], truncated: int = 0, lacking: Iterable[date] = ()
    ) -> "EventBatch":
        keyed = {(event.id, event.start): event for event in events}
        return cls(keyed, truncated, frozenset(lacking))

    def lacks(self, stay: Stay) -> bool:
        """Whether a day of the stay was not asked for."""
        return any(day in stay for day in self.lacking)

    def merge(self, later: "EventBatch") -> "EventBatch":
        """Both; of an event in both, the later."""
        truncated = max(self.truncated, later.truncated)
        return EventBatch(self.events | later.events, truncated, self.lacking | later.lacking)

    @property
    def size(self) -> int:
        """Events, and one for the batch itself, which may be empty."""
        return len(self.events) + 1


def divide(page: Page, weeks: Sequence[Stay]) -> dict[Stay, EventBatch]:
    """What each week keeps of a page that was asked for all of them.

    An event belongs to each week that it touches by its own clock, or touches but for two days: by
    no clock does it touch another. What touches none belongs to the nearest, since nothing that
    came may be lost.
    """
    if isinstance(page, Truncated):
        return {week: EventBatch(truncated=len(weeks)) for week in weeks}
    if len(weeks) == 1:
        return {weeks[0]: EventBatch.of(page)}
    kept: dict[Stay, list[ProviderEvent]] = {week: [] for week in weeks}
    for event in page:
        first = _index(event.start.day, weeks, -_CLOCKS_APART)
        last = _index((event.end or event.start).day, weeks, _CLOCKS_APART)
        for index in range(first, max(first, last) + 1):
            kept[weeks[index]].append(event)
    return {week: EventBatch.of(events) for week, events in kept.items()}


def _index(day: date, weeks: Sequence[Stay], days: int) -> int:
    """The place of the week so many days from the day among neighbouring ones, or the nearest."""
    return max(0, min(len(weeks) - 1, ((day - weeks[0].start).days + days) // 7))


async def divided(
    fetch: Callable[[Query], AsyncIterator[Page | Total]],
    query: Query,
    weeks: Sequence[Stay],
    days: Stay,
) -> AsyncIterator[dict[Stay, EventBatch]]:
    """The pages of the query, divided into its weeks; of `days` alone where all are too many."""
    assert query.stay is not None
    empty = True
    async for page in fetch(query):
        if not isinstance(page, Total):
            empty = False
            yield divide(page, weeks)
        elif page.is_dear(days, query.stay):
            break
    else:
        if empty:  # no page at all: the provider has no event
            yield divide([], weeks)
        return
    async for page in fetch(replace(query, stay=days)):
        if not isinstance(page, Total):
            yield divide(page, weeks)
    yield {
        week: EventBatch(lacking=frozenset(set(week.dates()) - set(days.dates()))) for week in weeks
    }


class Sweep(Generic[T]):
    """The parts of one fetch, each fetched once, for as many readers as there are."""

    def __init__(self, parts: AsyncIterator[T]) -> None:
        self._parts = parts
        self._read: list[T] = []
        self._end: BaseException | None = None
        self._lock = asyncio.Lock()

    async def __aiter__(self) -> AsyncIterator[T]:
        place = 0
        while True:
            async with self._lock:  # whoever is first fetches the next part
                if place == len(self._read) and self._end is None:
                    await self._fetch()
            if place < len(self._read):
                yield self._read[place]
                place += 1
            elif isinstance(self._end, StopAsyncIteration):
                return
            elif self._end is not None:
                raise self._end

    async def _fetch(self) -> None:
        try:
            self._read.append(await anext(self._parts))
        except BaseException as error:  # each reader hears of it
            self._end = error
            if isinstance(error, asyncio.CancelledError):
                raise


class Sweeps(Generic[T]):
    """Puts neighbouring weeks of one place together that are wanted at the same moment.

    Args:
        start: fetches the query's stay, which is these weeks, of which these days are wanted.
        gather: seconds in which the others may come, 0 for those of one turn of the event loop.
    """

    def __init__(
        self, start: Callable[[Query, Sequence[Stay], Stay], AsyncIterator[T]], gather: float
    ) -> None:
        self._start = start
        self._gather = gather
        self._wanted: dict[Hashable, tuple[dict[Stay, Stay], dict[Stay, Sweep[T]]]] = {}

    async def join(self, query: Query, days: Stay) -> Sweep[T]:
        """The fetch that the query's week is part of, of which these days are wanted."""
        assert query.stay is not None
        place = query.point, query.language, query.units, query.public
        weeks, sweeps = wanted = self._wanted.setdefault(place, ({}, {}))
        others = weeks.get(query.stay, days)
        weeks[query.stay] = Stay(min(days.start, others.start), max(days.end, others.end))
        await asyncio.sleep(self._gather)
        if self._wanted.get(place) is wanted:
            del self._wanted[place]
            for run in _runs(sorted(weeks)):
                whole = replace(query, stay=Stay(run[0].start, run[-1].end))
                days = Stay(weeks[run[0]].start, weeks[run[-1]].end)
                sweeps.update(dict.fromkeys(run, Sweep(self._start(whole, run, days))))
        return sweeps[query.stay]


def _runs(weeks: Iterable[Stay]) -> list[list[Stay]]:
    """Weeks in order, those together that follow each other."""
    runs: list[list[Stay]] = []
    for week in weeks:
        if runs and runs[-1][-1].start + _WEEK == week.start:
            runs[-1].append(week)
        else:
            runs.append([week])
    return runs


class _SharedEvents(msgspec.Struct, array_like=True):
    """A whole result as other processes find it; `again` is no longer read."""

    at: datetime
    again: datetime
    events: list[ProviderEvent]
    truncated: int | bool = 0  # earlier versions stored only whether
    lacking: list[date] = []


def pack(batch: EventBatch, fetched_at: datetime) -> bytes:
    """A batch and when it was fetched, for other processes."""
    events = list(batch.events.values())
    shared = _SharedEvents(fetched_at, fetched_at, events, batch.truncated, sorted(batch.lacking))
    return msgspec.msgpack.encode(shared)


def unpack(data: bytes) -> tuple[EventBatch, datetime] | None:
    """What `pack` was given; None if it is damaged, or fewer weeks would be read further."""
    try:
        shared = msgspec.msgpack.decode(data, type=_SharedEvents)
    except DAMAGED:
        return None
    if shared.truncated > 1:
        return None
    return EventBatch.of(shared.events, int(shared.truncated), shared.lacking), shared.at
