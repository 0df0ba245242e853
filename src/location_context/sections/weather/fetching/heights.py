"""Heights of points, from one source (Open-Meteo's 90 m terrain model), asked once and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.upstream.flights import Flights

if TYPE_CHECKING:
    from datetime import datetime

    from location_context.point import Point
    from location_context.sections.weather.fetching.holdings import Holdings
    from location_context.sections.weather.providers.open_meteo_forecast import OpenMeteoForecast
    from location_context.upstream.deadline import Deadline


class Heights:
    """The heights of points."""

    def __init__(self, source: OpenMeteoForecast, holdings: Holdings) -> None:
        self._source = source
        self._holdings = holdings
        self._flights: Flights[float | None] = Flights()

    @property
    def configured(self) -> bool:
        return self._source.upstream.configured

    @property
    def answered(self) -> datetime | None:
        """When the source last answered anyone."""
        return self._source.upstream.last_success_at

    async def of(self, point: Point, deadline: Deadline, *, public: bool) -> float | None:
        """The height in m; None where the source knows none.

        Raises:
            ProviderError: the source could not be asked.
            TimeoutError: it did not answer in time.
        """
        if (metres := await self._holdings.height(point.lat, point.lng)) is not None:
            return metres

        async def fetch() -> float | None:
            metres = await self._source.height(point.lat, point.lng, public=public)
            if metres is not None:
                self._holdings.keep_height(point.lat, point.lng, metres)
            return metres

        return await self._flights.join((point.lat, point.lng), fetch, deadline)

    def late(self) -> None:
        """A caller could not wait for a height any longer."""
        self._source.upstream.late()

    async def close(self) -> None:
        await self._flights.close()
