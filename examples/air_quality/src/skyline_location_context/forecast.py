"""Skyline's daily forecast, as a provider of the weather section."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Annotated, Any

import msgspec

from location_context.sections.contract import Attribution
from location_context.sections.section import SectionContext
from location_context.sections.weather.providers.base import (
    Forecast,
    ForecastProvider,
    Native,
    read_columns,
)
from location_context.sections.weather.records import Cell, Grid
from location_context.settings import Secret
from location_context.settings.parsers import Address, HeaderSecret
from location_context.upstream.budget import DAY, MINUTE
from location_context.upstream.client import ProviderClient

TABLE: Mapping[str, Native] = {
    "temperature_max": Native("tmax", "K"),
    "temperature_min": Native("tmin", "K"),
    "precipitation_sum": Native("rain"),
    "wind_speed_max": Native("wind", "m/s"),
}
TTL = timedelta(hours=1)


class SkylineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`LOCATION_CONTEXT_SKYLINE_URL` and `LOCATION_CONTEXT_SKYLINE_API_KEY`."""

    skyline_url: Annotated[Address, "Skyline forecast; empty switches it off."] = ""
    skyline_api_key: Annotated[HeaderSecret, "Skyline key."] = Secret()


class Skyline(ForecastProvider):
    """Up to 16 days; kelvin, millimetres and metres a second become ours by `TABLE`."""

    name = "skyline"
    title = "Skyline"
    model = "SKY-1"
    order = 150  # after the first of the service's own, before the others
    attribution = (
        Attribution(
            name="Skyline", url="https://skyline.example/", license="CC BY 4.0",
            text="Forecast: Skyline, CC BY 4.0",
        ),
    )  # fmt: skip

    def __init__(self, context: SectionContext) -> None:
        super().__init__(context)
        settings = context.settings_of(SkylineSettings)
        host = context.host(self.name, {MINUTE: 48, DAY: 8000})
        self.client = ProviderClient(
            self.name, settings.skyline_url, context.client, context.clock, host=host
        )
        self._key = settings.skyline_api_key

    async def fetch_forecast(
        self, cell: Cell, today: date, past_days: int, *, public: bool
    ) -> Forecast:
        del past_days  # it has none
        params = {"lat": f"{cell.lat:.2f}", "lon": f"{cell.lng:.2f}", "from": f"{today}"}
        headers = {"X-Skyline-Key": self._key.reveal()} if self._key else {}
        return await self.client.get_json(
            params, lambda body: self._parse(body, cell), headers=headers, public=public
        )

    def _parse(self, body: Any, cell: Cell) -> Forecast:
        """Whatever this raises is the provider's failure."""
        dates = [date.fromisoformat(day) for day in body["days"]]
        first, columns = read_columns(body, dates, TABLE)
        now = self._clock()
        grid = Grid(cell.lat, cell.lng, float(body["height"]))
        return Forecast(first, columns, grid, now, now + TTL)
