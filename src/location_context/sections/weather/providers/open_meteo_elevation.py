"""Open-Meteo's elevation: heights of up to 100 points in one call, from its 90 m terrain model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from location_context.errors import ProviderResponseInvalid
from location_context.sections.open_meteo import NAME, open_meteo_backoff
from location_context.sections.weather.providers.open_meteo_answer import metres, terrain_params
from location_context.upstream.client import ClientLimits, ProviderClient

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx2

    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.host import Host
    from location_context.upstream.http import HttpResponse

MAX_POINTS = 100

Spot = tuple[float, float]


class OpenMeteoElevation:
    """The address beside the forecast's: `/v1/elevation` for `/v1/forecast`."""

    def __init__(
        self, settings: Settings, clock: Clock, client: httpx2.AsyncClient, host: Host
    ) -> None:
        base, is_forecast, _ = settings.forecast_url.rpartition("/forecast")
        self.upstream = ProviderClient(
            "open_meteo_elevation", f"{base}/elevation" if is_forecast else "", client, clock,
            host=host, backoff=open_meteo_backoff(clock), limits=ClientLimits(timeout=5.0),
        )  # fmt: skip
        self._key = settings.open_meteo_api_key

    async def heights(self, spots: Sequence[Spot], *, public: bool) -> list[float | None]:
        """The heights in m of at most 100 points, 0.0 at sea; None where no terrain is known.

        Raises:
            ProviderError: they could not be had.
        """
        asked = [terrain_params(lat, lng) for lat, lng in spots]
        params = {name: ",".join(one[name] for one in asked) for name in ("latitude", "longitude")}
        if self._key:
            params["apikey"] = self._key.reveal()

        def parse(answer: HttpResponse) -> list[float | None]:
            # what it does not know stands there as a bare nan, which JSON has no word for
            found = msgspec.json.decode(answer.body.replace(b"nan", b"null"))["elevation"]
            if not isinstance(found, list) or len(found) != len(spots):
                raise ProviderResponseInvalid(NAME, "the heights are not as many as the points")
            return [metres(value) for value in found]

        return await self.upstream.get(params, parse, units=len(spots), public=public)
