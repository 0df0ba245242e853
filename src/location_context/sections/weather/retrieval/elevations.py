"""Elevations of points from Open-Meteo's 90 m terrain model; each point is fetched only once.

A point's elevation is not fetched if it came with a forecast for the point.
"""

import contextlib
from datetime import datetime, timedelta

import msgspec

from location_context.errors import ProviderError
from location_context.point import Point
from location_context.sections.contract import Attribution
from location_context.sections.open_meteo import open_meteo_client, open_meteo_headers
from location_context.sections.section import SectionContext
from location_context.sections.weather.providers.base import read_elevation
from location_context.sections.weather.providers.open_meteo import coordinates
from location_context.sections.weather.records import Spot
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.upstream.cached import Cached, Sharing
from location_context.upstream.client import ClientLimits
from location_context.upstream.deadline import Deadline
from location_context.upstream.http import HttpResponse
from location_context.upstream.shared_cache import SharedCache

MAX_CACHED = 20_000
FRESH_TTL = timedelta(days=365)  # terrain does not change; the store never deletes elevations
_SharedElevation = tuple[float | None, datetime]
UNKNOWN_TTL = timedelta(0)  # a gap of the terrain model is fetched again

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
    """The elevations of points in m, from the Open-Meteo server that also serves forecasts.

    Attributes:
        client: calls `/v1/elevation` on the server whose forecast is at `/v1/forecast`.
    """

    def __init__(
        self, context: SectionContext, repository: ArchiveRepository, shared: SharedCache
    ) -> None:
        """Create the client and a cache; `shared` is the cache that all processes share."""
        base, is_forecast, _ = context.settings.forecast_url.rpartition("/forecast")
        url = f"{base}/elevation" if is_forecast else ""
        limits = ClientLimits(timeout=5.0)
        self.client = open_meteo_client("open_meteo_elevation", url, context, limits)
        self._headers = open_meteo_headers(context.settings)
        self._repository = repository
        self._cache: Cached[Spot, float | None] = Cached(
            context.clock,
            fresh=lambda _, elevation, now: (
                now + (FRESH_TTL if elevation is not None else UNKNOWN_TTL)
            ),
            stale=None,
            max_size=MAX_CACHED,
            sharing=Sharing(
                shared,
                name=lambda spot: (self.client.name, f"{spot[0]},{spot[1]}"),
                pack=lambda elevation, at: msgspec.msgpack.encode((elevation, at)),
                unpack=lambda data: msgspec.msgpack.decode(data, type=_SharedElevation),
                stored=False,  # the repository never deletes them
            ),
        )

    def put(self, spot: Spot, elevation: float) -> None:
        """Store a point's elevation that came with a forecast."""
        self._cache.put(spot, elevation)
        self._repository.put_elevation(spot, elevation)

    async def fetch(self, point: Point, deadline: Deadline, *, public: bool) -> float | None:
        """Return the point's elevation in m (0.0 at sea), fetched if it is not stored.

        Return None if the terrain model has no elevation for the point.

        Raises:
            ProviderError: the server could not be called.
            TimeoutError: the server did not answer by the deadline.
        """
        spot = (point.lat, point.lng)
        entry = await self._cache.get_fresh(
            spot, lambda: self._load(spot, public=public), deadline, public=public
        )
        return entry.value

    async def stored(self, point: Point) -> float | None:
        """Return the point's elevation in m if it is cached or stored, else None; fetch nothing."""
        spot = (point.lat, point.lng)
        entry = self._cache.peek(spot)
        return entry.value if entry else await self._repository.load_elevation(spot)

    async def _load(self, spot: Spot, *, public: bool) -> float | None:
        """Return a point's elevation in m (None if unknown); fetch and store it if not stored."""
        elevation = await self._repository.load_elevation(spot)
        if elevation is None:
            elevation = await self._fetch(spot, public=public)
            if elevation is not None:
                self._repository.put_elevation(spot, elevation)
        return elevation

    async def _fetch(self, spot: Spot, *, public: bool) -> float | None:
        """Fetch a point's elevation in m (0.0 at sea) from the server; None if it has none.

        Raises:
            ProviderError: the server could not be called.
        """

        def parse(response: HttpResponse) -> float | None:
            # unknown heights come as a bare nan, which is not JSON
            (found,) = msgspec.json.decode(response.body.replace(b"nan", b"null"))["elevation"]
            return read_elevation(found)

        params = coordinates(*spot)
        return await self.client.get(params, parse, headers=self._headers, public=public)

    async def probe(self, point: Point) -> None:
        """Call the server to check that it works, even if the point's elevation is stored.

        Failures show in the state of the client.
        """
        with contextlib.suppress(ProviderError):
            await self._fetch((point.lat, point.lng), public=False)

    async def close(self) -> None:
        await self._cache.close()
