"""Elevations of points, from one source (Open-Meteo's 90 m terrain model), asked for once.

A forecast that was asked for at a point brings its elevation along. Others are asked for together:
while one call is under way, the points that come gather for the next.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from location_context.errors import DAMAGED, ProviderError, ProviderResponseInvalid
from location_context.point import Point
from location_context.sections.contract import Attribution
from location_context.sections.open_meteo import NAME, open_meteo_client, open_meteo_headers
from location_context.sections.section import SectionContext
from location_context.sections.weather.providers.base import read_elevation
from location_context.sections.weather.providers.open_meteo import coordinates
from location_context.sections.weather.records import Spot
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.upstream.cached_source import CachedSource, Sharing
from location_context.upstream.client import ClientLimits
from location_context.upstream.deadline import Deadline, SingleFlight
from location_context.upstream.http import HttpResponse
from location_context.upstream.shared_cache import SharedCache

MAX_POINTS = 100  # in one call
MAX_CACHED = 20_000
FRESH_TTL = timedelta(days=365)  # ground does not move; the store keeps it for good
UNKNOWN_TTL = timedelta(0)  # a gap of the terrain model is asked for again

DEM = Attribution(
    name="Copernicus DEM",
    url="https://spacedata.copernicus.eu/collections/copernicus-digital-elevation-model",
    license=None,
    text=(
        "Elevation: Copernicus DEM, produced using Copernicus WorldDEM-90 © DLR e.V. 2010-2014 and "
        "© Airbus Defence and Space GmbH 2014-2018 provided under COPERNICUS by the European Union "
        "and ESA; all rights reserved."
    ),
)


class Elevations:
    """The elevations of points in m, from the address beside the forecast's.

    Attributes:
        client: asks `/v1/elevation` where the forecast is at `/v1/forecast`.
    """

    def __init__(
        self, context: SectionContext, repository: ArchiveRepository, shared: SharedCache
    ) -> None:
        """`shared` is that of the forecasts which bring elevations along."""
        base, is_forecast, _ = context.settings.forecast_url.rpartition("/forecast")
        url = f"{base}/elevation" if is_forecast else ""
        limits = ClientLimits(timeout=5.0)
        self.client = open_meteo_client("open_meteo_elevation", url, context, limits)
        self._headers = open_meteo_headers(context.settings)
        self._repository = repository
        self._cache: CachedSource[Spot, float | None] = CachedSource(
            context.clock,
            fresh=lambda _, elevation, now: (
                now + (FRESH_TTL if elevation is not None else UNKNOWN_TTL)
            ),
            stale=None,
            max_size=MAX_CACHED,
            on_join=lambda _: self.client.calls.join(),
            sharing=Sharing(
                shared,
                name=lambda spot: (self.client.name, f"{spot[0]},{spot[1]}"),
                pack=lambda elevation, at: msgspec.msgpack.encode((elevation, at)),
                unpack=_unpack,
                stored=False,  # the repository keeps them for good
            ),
        )
        self._calls: SingleFlight[None] = SingleFlight()
        self._gathered: dict[bool, dict[Spot, asyncio.Future[float | None]]] = {True: {}, False: {}}

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
                elevations = await self._ask(spots, public=public)
            except Exception as error:  # noqa: BLE001  whatever it was, it reaches who waits
                for future in futures:
                    if not future.done():
                        future.set_exception(error)
            else:
                for future, elevation in zip(futures, elevations, strict=True):
                    if not future.done():
                        future.set_result(elevation)

    async def _ask(self, spots: Sequence[Spot], *, public: bool) -> list[float | None]:
        """The elevations in m of at most 100 points, 0.0 at sea; None where none is known.

        Raises:
            ProviderError: they could not be had.
        """
        asked = [coordinates(lat, lng) for lat, lng in spots]
        params = {name: ",".join(one[name] for one in asked) for name in ("latitude", "longitude")}

        def parse(response: HttpResponse) -> list[float | None]:
            # what it does not know stands there as a bare nan, which JSON has no word for
            found = msgspec.json.decode(response.body.replace(b"nan", b"null"))["elevation"]
            if not isinstance(found, list) or len(found) != len(spots):
                raise ProviderResponseInvalid(NAME, "the heights are not as many as the points")
            return [read_elevation(value) for value in found]

        return await self.client.get(
            params, parse, headers=self._headers, units=len(spots), public=public
        )

    async def probe(self, point: Point) -> None:
        """Ask for the point's elevation, though it may be known; what fails shows in the client."""
        with contextlib.suppress(ProviderError):
            await self._ask([(point.lat, point.lng)], public=False)

    async def close(self) -> None:
        await self._cache.close()
        await self._calls.close()


def _unpack(data: bytes) -> tuple[float | None, datetime] | None:
    try:
        return msgspec.msgpack.decode(data, type=tuple[float | None, datetime])
    except DAMAGED:
        return None
