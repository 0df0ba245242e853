"""Elevations of points, from one source (Open-Meteo's 90 m terrain model), asked for once.

A forecast that was asked for at a point brings its elevation along. Others are asked for together:
while one call is under way, the points that come gather for the next.
"""

import asyncio
import contextlib
from datetime import timedelta

from location_context.errors import ProviderError
from location_context.point import Point
from location_context.sections.weather.providers.open_meteo_elevation import (
    MAX_POINTS,
    OpenMeteoElevation,
)
from location_context.sections.weather.records import Spot
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.stay import Clock
from location_context.upstream.cached_source import CachedSource
from location_context.upstream.deadline import Deadline, SingleFlight

MAX_CACHED = 20_000
FRESH_TTL = timedelta(days=365)  # ground does not move; the store keeps it for good
UNKNOWN_TTL = timedelta(0)  # a gap of the terrain model is asked for again


class Elevations:
    """The elevations of points in m."""

    def __init__(
        self, source: OpenMeteoElevation, repository: ArchiveRepository, clock: Clock
    ) -> None:
        self._source = source
        self._repository = repository
        self._cache: CachedSource[Spot, float | None] = CachedSource(
            clock,
            fresh=lambda _, elevation, now: (
                now + (FRESH_TTL if elevation is not None else UNKNOWN_TTL)
            ),
            stale=None,
            max_size=MAX_CACHED,
            client=source.client,
        )
        self._calls: SingleFlight[None] = SingleFlight()
        self._gathered: dict[bool, dict[Spot, asyncio.Future[float | None]]] = {True: {}, False: {}}

    @property
    def configured(self) -> bool:
        return self._source.client.configured

    def put(self, spot: Spot, elevation: float) -> None:
        """Keep an elevation that came along with something else."""
        self._cache.put(spot, elevation)
        self._repository.put_elevation(spot, elevation)

    async def fetch(self, point: Point, deadline: Deadline, *, public: bool) -> float | None:
        """The elevation, 0.0 at sea; None where the source knows none.

        Raises:
            ProviderError: the source could not be asked.
            TimeoutError: it did not answer in time.
        """
        spot = (point.lat, point.lng)
        entry = await self._cache.get_fresh(
            spot, lambda: self._load(spot, public=public), deadline, public=public
        )
        return entry.value

    async def _load(self, spot: Spot, *, public: bool) -> float | None:
        """From the store, else with the next call to the source."""
        if (stored := await self._repository.load_elevation(spot)) is not None:
            return stored
        future = asyncio.get_running_loop().create_future()
        self._gathered[public][spot] = future
        self._calls.start(public, lambda: self._ask_gathered(public=public))
        elevation: float | None = await future
        if elevation is not None:
            self._repository.put_elevation(spot, elevation)
        return elevation

    async def _ask_gathered(self, *, public: bool) -> None:
        """Ask for what has gathered, a hundred points a call, until nothing is left."""
        gathered = self._gathered[public]
        while spots := list(gathered)[:MAX_POINTS]:
            futures = [gathered.pop(spot) for spot in spots]
            try:
                elevations = await self._source.fetch(spots, public=public)
            except Exception as error:  # noqa: BLE001  whatever it was, it reaches who waits
                for future in futures:
                    if not future.done():
                        future.set_exception(error)
            else:
                for future, elevation in zip(futures, elevations, strict=True):
                    if not future.done():
                        future.set_result(elevation)

    async def probe(self, point: Point) -> None:
        """Ask for the point's elevation, though it may be known; what fails shows in the client."""
        with contextlib.suppress(ProviderError):
            await self._source.fetch([(point.lat, point.lng)], public=False)

    async def close(self) -> None:
        await self._cache.close()
        await self._calls.close()
