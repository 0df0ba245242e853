"""Tiles and weeks: what a provider of events is asked for at once, and the batch of its events.

A tile is a point of a fixed grid with a circle around it that holds the circle of every point near
by; a week begins on Monday by the clock of the point. Why so: `docs/decisions/events.md`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import msgspec

from location_context.errors import DAMAGED
from location_context.point import EARTH_RADIUS_KM, canonical, distance_km
from location_context.sections.events.records import ProviderEvent, When
from location_context.stay import Stay

_KM_PER_DEGREE = math.radians(1) * EARTH_RADIUS_KM
_ROUNDED_KM = math.hypot(0.005, 0.005) * _KM_PER_DEGREE  # from a point to its hundredth of a degree
_SHARED_KM = 1.0  # beyond its cell, so that neighbours across its edge can do with one tile
_STEP = 0.6  # of a side: far enough into every other cell whose tile may hold the circle
_WEEK, _DAY = timedelta(days=7), timedelta(days=1)


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


class Truncated:
    """Yielded after the pages of a result: the provider has more events, which are not read."""


Page = Sequence[ProviderEvent] | Truncated


@dataclass(frozen=True)
class EventBatch:
    """Events by id and start, since pages may repeat events, and providers repeat ids.

    Attributes:
        events: each event once.
        truncated: whether the provider has more events, which are not read.
    """

    events: dict[tuple[str, When], ProviderEvent] = field(default_factory=dict, repr=False)
    truncated: bool = False

    @classmethod
    def of(cls, page: Page) -> "EventBatch":
        """Return the batch of one page."""
        if isinstance(page, Truncated):
            return cls(truncated=True)
        return cls({(event.id, event.start): event for event in page})

    def merge(self, later: "EventBatch") -> "EventBatch":
        """Return both; of an event in both, the later."""
        return EventBatch(self.events | later.events, self.truncated or later.truncated)

    @property
    def size(self) -> int:
        """Events, and one for the batch itself, which may be empty."""
        return len(self.events) + 1


class _SharedEvents(msgspec.Struct, array_like=True):
    """A whole result as other processes find it; `again` is no longer read."""

    at: datetime
    again: datetime
    events: list[ProviderEvent]
    truncated: int | bool = False  # earlier versions stored a number


def pack(batch: EventBatch, fetched_at: datetime) -> bytes:
    """Return a batch and when it was fetched as bytes, for other processes."""
    events = list(batch.events.values())
    return msgspec.msgpack.encode(_SharedEvents(fetched_at, fetched_at, events, batch.truncated))


def unpack(data: bytes) -> tuple[EventBatch, datetime] | None:
    """Return what `pack` was given; None if it is damaged."""
    try:
        shared = msgspec.msgpack.decode(data, type=_SharedEvents)
    except DAMAGED:
        return None
    return replace(EventBatch.of(shared.events), truncated=bool(shared.truncated)), shared.at
