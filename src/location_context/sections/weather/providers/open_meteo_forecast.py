"""Open-Meteo's daily forecast, asked for at a point itself, whose height comes with the answer."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from location_context.errors import ProviderResponseInvalid
from location_context.sections.open_meteo import NAME, open_meteo_backoff, weight
from location_context.sections.weather.cells import FORECAST_DEGREES
from location_context.sections.weather.notices import OPEN_METEO
from location_context.sections.weather.providers.contract import Forecast
from location_context.sections.weather.providers.open_meteo import OpenMeteo
from location_context.sections.weather.providers.open_meteo_answer import (
    daily,
    grid_of,
    terrain_params,
)
from location_context.sections.weather.records import FORECAST_FIELDS
from location_context.upstream.client import ClientLimits, ProviderClient

if TYPE_CHECKING:
    import re
    from collections.abc import Awaitable, Mapping, Sequence

    import httpx2

    from location_context.sections.contract import Attribution
    from location_context.sections.weather.cells import Cell
    from location_context.sections.weather.providers.open_meteo import Allowed
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.host import Host

_FRESH = timedelta(minutes=30)


class OpenMeteoForecast(OpenMeteo):
    """The forecast: 16 days from today, and up to 92 before."""

    name = NAME
    model: str | None = "best_match"
    degrees = FORECAST_DEGREES
    at_point = True
    attribution: Sequence[Attribution] = (OPEN_METEO,)

    def __init__(
        self, settings: Settings, clock: Clock, client: httpx2.AsyncClient, host: Host
    ) -> None:
        upstream = ProviderClient(
            "open_meteo_forecast", settings.forecast_url, client, clock,
            host=host, backoff=open_meteo_backoff(clock), limits=ClientLimits(max_in_flight=8),
        )  # fmt: skip
        super().__init__(upstream, settings, FORECAST_FIELDS)
        self._clock = clock

    async def forecast(self, cell: Cell, today: date, past_days: int, *, public: bool) -> Forecast:
        """A fresh forecast; a range that a 400 names is kept to.

        Raises:
            ProviderError: none came, or one without a single temperature.
        """

        def ask(allowed: Allowed) -> Awaitable[Forecast]:
            span = {"forecast_days": "16", "past_days": str(past_days)}
            if allowed is not None:
                span = _kept_to(allowed, today, past_days)
            return self._forecast(cell, past_days, span, public=public)

        return await self.learning(ask, cell, {"forecast_days": "1"})

    async def _forecast(
        self, cell: Cell, past_days: int, span: Mapping[str, str], *, public: bool
    ) -> Forecast:
        names = self.names()
        params = {
            **terrain_params(cell.lat, cell.lng), **span,
            "daily": ",".join(names), "timezone": self.zone(cell),
        }  # fmt: skip
        units = weight(len(names), [16 + past_days])
        return await self.get(params, lambda body: self._read(body, cell), units, public=public)

    def _read(self, body: Any, cell: Cell) -> Forecast:
        first, columns = daily(body, FORECAST_FIELDS)
        if not np.isfinite(columns["temperature_max"]).any():
            raise ProviderResponseInvalid(NAME, "not one day of the forecast is known")
        now = self._clock()
        return Forecast(first, columns, grid_of(body, cell), now, now + _FRESH)


def _kept_to(allowed: re.Match[str], today: date, past_days: int) -> dict[str, str]:
    """Parameters inside the range that the provider named: of dates, or of forecast days."""
    try:
        first, last = date.fromisoformat(allowed[1]), date.fromisoformat(allowed[2])
    except ValueError:
        return {"forecast_days": allowed[2], "past_days": str(past_days)}
    start, end = today - timedelta(past_days), today + timedelta(15)
    return {"start_date": str(max(first, start)), "end_date": str(min(last, end))}
