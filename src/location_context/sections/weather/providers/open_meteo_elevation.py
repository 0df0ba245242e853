"""Open-Meteo's elevations of up to 100 points in one call, from its 90 m terrain model."""

from collections.abc import Sequence

import msgspec

from location_context.errors import ProviderResponseInvalid
from location_context.sections.open_meteo import NAME, open_meteo_backoff, open_meteo_host
from location_context.sections.section import SectionContext
from location_context.sections.weather.providers.open_meteo import coordinates, read_elevation
from location_context.sections.weather.records import Spot
from location_context.upstream.client import ClientLimits, ProviderClient
from location_context.upstream.http import HttpResponse

MAX_POINTS = 100


class OpenMeteoElevation:
    """The address beside the forecast's: `/v1/elevation` for `/v1/forecast`."""

    name = "open_meteo_elevation"

    def __init__(self, context: SectionContext) -> None:
        settings = context.settings
        base, is_forecast, _ = settings.forecast_url.rpartition("/forecast")
        self.client = ProviderClient(
            self.name, f"{base}/elevation" if is_forecast else "", context.client, context.clock,
            host=open_meteo_host(context.hosts, settings),
            backoff=open_meteo_backoff(context.clock), limits=ClientLimits(timeout=5.0),
        )  # fmt: skip
        self._key = settings.open_meteo_api_key

    async def fetch(self, spots: Sequence[Spot], *, public: bool) -> list[float | None]:
        """The elevations in m of at most 100 points, 0.0 at sea; None where none is known.

        Raises:
            ProviderError: they could not be had.
        """
        asked = [coordinates(lat, lng) for lat, lng in spots]
        params = {name: ",".join(one[name] for one in asked) for name in ("latitude", "longitude")}
        if self._key:
            params["apikey"] = self._key.reveal()

        def parse(response: HttpResponse) -> list[float | None]:
            # what it does not know stands there as a bare nan, which JSON has no word for
            found = msgspec.json.decode(response.body.replace(b"nan", b"null"))["elevation"]
            if not isinstance(found, list) or len(found) != len(spots):
                raise ProviderResponseInvalid(NAME, "the heights are not as many as the points")
            return [read_elevation(value) for value in found]

        return await self.client.get(params, parse, units=len(spots), public=public)
