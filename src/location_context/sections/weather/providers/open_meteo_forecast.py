"""Open-Meteo's daily forecast, asked for at a point itself, whose height comes with the answer."""

from datetime import date, timedelta
from typing import Any

import numpy as np

from location_context.errors import ProviderResponseInvalid
from location_context.sections.open_meteo import NAME, open_meteo_client
from location_context.sections.section import SectionContext
from location_context.sections.weather.providers import open_meteo
from location_context.sections.weather.providers.base import Forecast, ForecastProvider
from location_context.sections.weather.records import FORECAST_FIELDS, Cell
from location_context.upstream.client import ClientLimits

FRESH_TTL = timedelta(minutes=30)
FORECAST_DAYS = 16


class OpenMeteoForecast(ForecastProvider):
    """The forecast: 16 days from today, and up to 92 before."""

    name = "open_meteo_forecast"
    title = NAME
    model = "best_match"
    order = 100
    at_point = True
    product = "raw"  # the best of its models at the place, each as it ran
    attribution = (open_meteo.OPEN_METEO,)

    def __init__(self, context: SectionContext) -> None:
        super().__init__(context)
        limits = ClientLimits(max_in_flight=8)
        self.client = open_meteo_client(self.name, context.settings.forecast_url, context, limits)
        self._open_meteo = open_meteo.OpenMeteoClient(self.client, context, FORECAST_FIELDS)

    async def fetch_forecast(
        self, cell: Cell, today: date, past_days: int, *, public: bool
    ) -> Forecast:
        """Fetch a fresh forecast with one temperature at least.

        Raises:
            ProviderError: none came.
        """
        del today  # the days of the answer begin at the place's own
        return await self._open_meteo.get(
            cell,
            {"forecast_days": str(FORECAST_DAYS), "past_days": str(past_days)},
            lambda body: self._read(body, cell),
            [FORECAST_DAYS + past_days],
            public=public,
        )

    def _read(self, body: Any, cell: Cell) -> Forecast:
        first, values = open_meteo.read_daily(body, FORECAST_FIELDS)
        columns = dict(zip(FORECAST_FIELDS, values, strict=True))
        if not np.isfinite(columns["temperature_max"]).any():
            raise ProviderResponseInvalid(NAME, "not one day of the forecast is known")
        now = self._clock()
        return Forecast(first, columns, open_meteo.read_grid(body, cell), now, now + FRESH_TTL)
