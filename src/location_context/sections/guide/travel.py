"""Travel: minutes on foot or by car, estimated from distance or routed by an OSRM server.

The estimate takes roads as 1.25 times the straight line (Ballou et al. 2002 find 1.2 to 1.4 over
countries), 4.8 km/h on foot, and by car 30 km/h for the first 5 km of road, 60 for the next 15 and
100 after. OSRM answers for the car alone, since a server holds one profile: walks stay estimates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from location_context.errors import ProviderAnswerInvalid, ProviderError
from location_context.sections.guide.response import Travel
from location_context.upstream.flights import Flights
from location_context.upstream.provider import Upstream, UpstreamLimits

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx2

    from location_context.point import Point
    from location_context.sections.guide.catalogue import Found
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.deadline import Deadline

WALK_KM = 2.0
_CIRCUITY = 1.25
_WALKING = 4.8
_DRIVING = ((5.0, 30.0), (15.0, 60.0), (math.inf, 100.0))
_LONGEST_SECONDS = 86_400.0


def estimate(km: float) -> Travel:
    """The way over a straight-line distance: a walk up to 2 km, a drive beyond."""
    road = km * _CIRCUITY
    if km <= WALK_KM:
        return _travel("walk", road / _WALKING * 60)
    minutes = 0.0
    for length, speed in _DRIVING:
        part = min(road, length)
        minutes, road = minutes + part / speed * 60, road - part
    return _travel("drive", minutes)


def _travel(kind: Any, minutes: float, *, estimated: bool = True) -> Travel:
    return Travel(kind=kind, minutes=max(1, round(minutes)), estimated=estimated)


class Router:
    """An OSRM server, asked once for all restaurants of an answer."""

    def __init__(self, settings: Settings, clock: Clock, client: httpx2.AsyncClient) -> None:
        self.upstream = Upstream(
            "osrm",
            settings.osrm_url.rstrip("/"),
            client,
            clock,
            limits=UpstreamLimits(timeout=5.0, max_bytes=200_000),
        )
        self._flights: Flights[list[float | None]] = Flights()

    async def travel(
        self, point: Point, found: Sequence[Found], deadline: Deadline, *, public: bool
    ) -> tuple[list[Travel], bool]:
        """The way to each, and whether every drive that could be routed was."""
        ways = [estimate(km) for km, _, _ in found]
        drives = [n for n, way in enumerate(ways) if way.kind == "drive"]
        if not drives or not self.upstream.configured:
            return ways, True
        try:
            seconds = await self._seconds(point, [found[n] for n in drives], deadline, public)
        except (ProviderError, TimeoutError):
            return ways, False
        for n, duration in zip(drives, seconds, strict=True):
            if duration is not None:
                ways[n] = _travel("drive", duration / 60, estimated=False)
        return ways, True

    async def _seconds(
        self, point: Point, found: Sequence[Found], deadline: Deadline, public: bool
    ) -> list[float | None]:
        places = [(point.lng, point.lat), *((one.lng, one.lat) for _, _, one in found)]
        path = "/table/v1/driving/" + ";".join(f"{lng:.6f},{lat:.6f}" for lng, lat in places)

        async def fetch() -> list[float | None]:
            params = {"sources": "0", "annotations": "duration"}
            answer = await self.upstream.get(params, path=path, public=public)
            return _durations(answer.json(), len(found))

        try:
            return await self._flights.join(path, fetch, deadline)
        except TimeoutError:
            self.upstream.late()
            raise

    async def close(self) -> None:
        await self._flights.close()


def _durations(answer: Any, count: int) -> list[float | None]:
    """The durations of OSRM's table from its one source; None where there is no road."""
    try:
        rows = answer["durations"]
        row = rows[0][1:]
    except (KeyError, IndexError, TypeError):
        raise ProviderAnswerInvalid("osrm", "the answer holds no table") from None
    if len(row) != count:
        raise ProviderAnswerInvalid("osrm", "the table has another size than asked")
    return [_duration(value) for value in row]


def _duration(value: Any) -> float | None:
    sound = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if sound and 0 <= value <= _LONGEST_SECONDS else None
