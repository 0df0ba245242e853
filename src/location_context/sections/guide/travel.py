"""Travel: minutes on foot or by car, estimated from distance or routed by an OSRM server.

A walk is estimated as 1.25 times the straight line at 4.8 km/h. A drive is estimated as 1.35 times
the straight line (Ballou et al. 2002 find 1.2 to 1.4 for many countries) at 25 km/h for the first
5 km of road, 55 for the next 15 and 95 after; docs/decisions/places.md compares it with OSRM.

OSRM is used only for drives, since a server has one profile; walks are always estimated. OSRM
moves each place to the nearest road in its map, however far away. If the road is more than 1 km
away, OSRM's time would be wrong, and the drive is estimated too.
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
# length of the route divided by the straight-line distance
_WALKING_DETOUR, _DRIVING_DETOUR = 1.25, 1.35
_WALKING = 4.8  # km/h
_DRIVING = ((5.0, 25.0), (15.0, 55.0), (math.inf, 95.0))  # km of road, km/h
_LONGEST_SECONDS = 86_400.0
DURATIONS_TTL = timedelta(hours=1)  # OSRM ignores traffic, so times change only with its map
MAX_DURATIONS = 50_000  # cached, of all answers together
_FARTHEST_ROAD = 1000.0  # m from a place to the nearest road in OSRM's map


def estimate(km: float) -> Travel:
    """Estimate the travel time over a straight-line distance: a walk up to 2 km, else a drive."""
    if km <= WALK_KM:
        return _travel("walk", km * _WALKING_DETOUR / _WALKING * 60)
    road, minutes = km * _DRIVING_DETOUR, 0.0
    for length, speed in _DRIVING:
        part = min(road, length)
        minutes, road = minutes + part / speed * 60, road - part
    return _travel("drive", minutes)


def reach(kind: Literal["walk", "drive"], minutes: float) -> float:
    """Return the straight-line distance in km that a walk or drive of these minutes covers."""
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
    """A client of an OSRM server: one request gets the times of all drives of an answer."""

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
        )

    async def travel(
        self, point: Point, found: Sequence[Found], deadline: Deadline, *, public: bool
    ) -> tuple[list[Travel], DegradedReason | None]:
        """Return the travel time to each restaurant in `found`.

        If OSRM failed, all drives are estimated, and the second value is the reason; otherwise it
        is None. `public` is True for widget traffic, which is limited to half of OSRM's budget.
        """
        ways = [estimate(km) for km, _ in found]
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
        places = [(point.lng, point.lat), *((one.lng, one.lat) for _, one in found)]
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
    """Return the seconds by car from the point to each of `count` restaurants in OSRM's answer.

    A value is None if the restaurant has no road within 1 km; all are None if the point has none.
    """
    try:
        row = answer["durations"][0][1:]
        source = answer["sources"][0]
        places = answer["destinations"][1:]
    except (KeyError, IndexError, TypeError):
        raise ProviderResponseInvalid("osrm", "the answer has no table of durations") from None
    if len(row) != count or len(places) != count:
        raise ProviderResponseInvalid("osrm", "the table of durations has the wrong size")
    if not _by_the_road(source):
        return [None] * count
    return [
        _number(value, _LONGEST_SECONDS) if _by_the_road(place) else None
        for value, place in zip(row, places, strict=True)
    ]


def _by_the_road(waypoint: Any) -> bool:
    """Return True if a place is at most 1 km from the nearest road, to which OSRM moved it."""
    metres = waypoint.get("distance") if isinstance(waypoint, dict) else None
    return _number(metres, _FARTHEST_ROAD) is not None


def _number(value: Any, most: float) -> float | None:
    sound = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if sound and 0 <= value <= most else None
