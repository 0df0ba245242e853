"""Heights of points, from one source (Open-Meteo's 90 m terrain model), asked once and kept.

A forecast that was asked for at a point brings its height along. Others are asked for together:
while one call is under way, the points that come gather for the next.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from location_context.errors import ProviderError
from location_context.sections.weather.providers.open_meteo_elevation import MAX_POINTS
from location_context.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from location_context.point import Point
    from location_context.sections.weather.fetching.holdings import Holdings
    from location_context.sections.weather.providers.open_meteo_elevation import (
        OpenMeteoElevation,
        Spot,
    )
    from location_context.upstream.deadline import Deadline


class Heights:
    """The heights of points."""

    def __init__(self, source: OpenMeteoElevation, holdings: Holdings) -> None:
        self._source = source
        self._holdings = holdings
        self._flights: SingleFlight[float | None] = SingleFlight()
        self._calls: SingleFlight[None] = SingleFlight()
        self._gathered: dict[bool, dict[Spot, asyncio.Future[float | None]]] = {True: {}, False: {}}

    @property
    def configured(self) -> bool:
        return self._source.upstream.configured

    async def of(self, point: Point, deadline: Deadline, *, public: bool) -> float | None:
        """The height in m, 0.0 at sea; None where the source knows none.

        Raises:
            ProviderError: the source could not be asked.
            TimeoutError: it did not answer in time.
        """
        spot = (point.lat, point.lng)
        if (metres := await self._holdings.height(*spot)) is not None:
            return metres
        key = (spot, public)
        return await self._source.upstream.wait_for(
            lambda by: self._flights.run(key, lambda: self._fetch(spot, public=public), by),
            deadline,
        )

    async def _fetch(self, spot: Spot, *, public: bool) -> float | None:
        future = asyncio.get_running_loop().create_future()
        self._gathered[public][spot] = future
        self._calls.start(public, lambda: self._ask_gathered(public=public))
        metres: float | None = await future
        if metres is not None:
            self._holdings.keep_height(*spot, metres)
        return metres

    async def _ask_gathered(self, *, public: bool) -> None:
        """Ask for what has gathered, a hundred points a call, until nothing is left."""
        gathered = self._gathered[public]
        while spots := list(gathered)[:MAX_POINTS]:
            futures = [gathered.pop(spot) for spot in spots]
            try:
                heights = await self._source.heights(spots, public=public)
            except Exception as error:  # noqa: BLE001  who waits is told, whatever it was
                for future in futures:
                    if not future.done():
                        future.set_exception(error)
            else:
                for future, metres in zip(futures, heights, strict=True):
                    if not future.done():
                        future.set_result(metres)

    async def probe(self, point: Point) -> None:
        """Ask for the point's height, though it may be known; what fails shows in the upstream."""
        with contextlib.suppress(ProviderError):
            await self._source.heights([(point.lat, point.lng)], public=False)

    async def close(self) -> None:
        await self._flights.close()
        await self._calls.close()
