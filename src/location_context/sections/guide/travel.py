"""Travel: minutes on foot or by car, estimated from distance or routed by an OSRM server.

A walk is estimated as 1.25 times the straight line at 4.8 km/h. A drive is estimated as 1.35 times
the straight line (Ballou et al. 2002 find 1.2 to 1.4 over countries) at 25 km/h for the first 5 km
of road, 55 for the next 15 and 95 after; docs/decisions/places.md compares it with OSRM.

OSRM answers for the car alone, since a server holds one profile: walks stay estimates. It takes
each place to the nearest road it knows, however far: a place off its map has a drive that means
nothing, and keeps the estimate too.
"""

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal

from location_context.errors import ProviderError, ProviderResponseInvalid
from location_context.point import Point
from location_context.sections.contract import DegradedReason, degraded_by
from location_context.sections.guide.response import Travel
from location_context.sections.guide.restaurant_index import Found
from location_context.sections.section import SectionContext
from location_context.upstream.cached import Cached
from location_context.upstream.client import ClientLimits, ProviderClient
from location_context.upstream.deadline import Deadline

WALK_KM = 2.0
# length of the way per straight-line distance
_WALKING_DETOUR, _DRIVING_DETOUR = 1.25, 1.35
_WALKING = 4.8  # km/h
_DRIVING = ((5.0, 25.0), (15.0, 55.0), (math.inf, 95.0))  # km of road, km/h
_LONGEST_SECONDS = 86_400.0
DURATIONS_TTL = timedelta(hours=1)  # a server without traffic answers the same until its next map
MAX_DURATIONS = 50_000  # of all tables together
_FARTHEST_ROAD = 1000.0  # m from a place to its road; beyond, the road is another place's


def estimate(km: float) -> Travel:
    """Estimate the way for a straight-line distance: a walk up to 2 km, a drive beyond."""
    if km <= WALK_KM:
        return _travel("walk", km * _WALKING_DETOUR / _WALKING * 60)
    road, minutes = km * _DRIVING_DETOUR, 0.0
    for length, speed in _DRIVING:
        part = min(road, length)
        minutes, road = minutes + part / speed * 60, road - part
    return _travel("drive", minutes)


def reach(kind: Literal["walk", "drive"], minutes: float) -> float:
    """Return the straight-line distance in km that the estimate covers in these minutes."""
    if kind == "walk":
        return minutes / 60 * _WALKING / _WALKING_DETOUR
    road = 0.0
    for length, speed in _DRIVING:
        part = min(minutes, length / speed * 60)
        road, minutes = road + part / 60 * speed, minutes - part
    return road / _DRIVING_DETOUR


def _travel(kind: Any, minutes: float, *, estimated: bool = True) -> Travel:
    return Travel(kind=kind, minutes=max(1, round(minutes)), estimated=estimated)


class Router:
    """An OSRM server, called once for all restaurants of an answer."""

    def __init__(self, context: SectionContext) -> None:
        self.client = ProviderClient(
            "osrm",
            context.settings.osrm_url.rstrip("/"),
            context.client,
            context.clock,
            host=context.host("osrm"),
            limits=ClientLimits(timeout=5.0, max_bytes=200_000),
        )
        self._durations: Cached[str, list[float | None]] = Cached(
            context.clock,
            fresh=DURATIONS_TTL,
            stale=DURATIONS_TTL,
            max_size=MAX_DURATIONS,
            size_of=lambda durations: len(durations) + 1,
            on_join=lambda _: self.client.calls.join(),
        )

    async def travel(
        self, point: Point, found: Sequence[Found], deadline: Deadline, *, public: bool
    ) -> tuple[list[Travel], DegradedReason | None]:
        """Return the way to each restaurant, and the reason if drives could not be routed."""
        ways = [estimate(km) for km, _, _ in found]
        drives = [n for n, way in enumerate(ways) if way.kind == "drive"]
        if not drives or not self.client.configured:
            return ways, None
        try:
            seconds = await self._seconds(point, [found[n] for n in drives], deadline, public)
        except (ProviderError, TimeoutError) as error:
            return ways, degraded_by(error)
        for n, duration in zip(drives, seconds, strict=True):
            if duration is not None:
                ways[n] = _travel("drive", duration / 60, estimated=False)
        return ways, None

    async def _seconds(
        self, point: Point, found: Sequence[Found], deadline: Deadline, public: bool
    ) -> list[float | None]:
        places = [(point.lng, point.lat), *((one.lng, one.lat) for _, _, one in found)]
        path = "/table/v1/driving/" + ";".join(f"{lng:.6f},{lat:.6f}" for lng, lat in places)

        async def fetch() -> list[float | None]:
            params = {"sources": "0", "annotations": "duration"}
            return await self.client.get_json(
                params, lambda answer: _durations(answer, len(found)), path=path, public=public
            )

        entry = await self._durations.get(path, fetch, deadline, public=public)
        return entry.value

    async def close(self) -> None:
        await self._durations.close()


def _durations(answer: Any, count: int) -> list[float | None]:
    """Return the durations in s of OSRM's table from its one source to `count` places.

    None where there is no road, or none near the place; all are None where none is near the source.
    """
    try:
        row = answer["durations"][0][1:]
        source = answer["sources"][0]
        places = answer["destinations"][1:]
    except (KeyError, IndexError, TypeError):
        raise ProviderResponseInvalid("osrm", "the answer holds no table") from None
    if len(row) != count or len(places) != count:
        raise ProviderResponseInvalid("osrm", "the table has another size than requested")
    if not _by_the_road(source):
        return [None] * count
    return [
        _number(value, _LONGEST_SECONDS) if _by_the_road(place) else None
        for value, place in zip(row, places, strict=True)
    ]


def _by_the_road(waypoint: Any) -> bool:
    """Return True if the road that a place was matched to is near it."""
    metres = waypoint.get("distance") if isinstance(waypoint, dict) else None
    return _number(metres, _FARTHEST_ROAD) is not None


def _number(value: Any, most: float) -> float | None:
    sound = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if sound and 0 <= value <= most else None
