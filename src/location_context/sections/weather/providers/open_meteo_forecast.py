"""Open-Meteo's daily forecast, and the height of a point.

The height is that of its 90 m terrain model, which comes with any answer that leaves `elevation`
out; a forecast of one variable and one day is the lightest such question.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING

from location_context.sections.weather.cells import FORECAST_DEGREES
from location_context.sections.weather.notices import OPEN_METEO
from location_context.sections.weather.providers.contract import Forecast
from location_context.sections.weather.providers.open_meteo import NAME, Asking, quiet_for, weight
from location_context.sections.weather.providers.open_meteo_answer import (
    daily,
    elevation_of,
    grid_of,
)
from location_context.sections.weather.records import FORECAST_FIELDS
from location_context.upstream.provider import Upstream, UpstreamLimits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    import httpx2

    from location_context.sections.contract import Attribution
    from location_context.sections.weather.cells import Cell
    from location_context.sections.weather.providers.open_meteo import Allowed
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.budget import Budget

_FRESH = timedelta(minutes=30)


class OpenMeteoForecast(Asking):
    """The forecast: 16 days from today, and up to 92 before."""

    name = NAME
    model: str | None = "best_match"
    degrees = FORECAST_DEGREES
    attribution: Sequence[Attribution] = (OPEN_METEO,)

    def __init__(
        self, settings: Settings, clock: Clock, client: httpx2.AsyncClient, budget: Budget
    ) -> None:
        upstream = Upstream(
            "open_meteo_forecast", settings.forecast_url, client, clock,
            budget=budget, quiet_for=quiet_for(clock), limits=UpstreamLimits(max_in_flight=8),
        )  # fmt: skip
        super().__init__(upstream, settings)
        self._clock = clock

    async def forecast(self, cell: Cell, today: date, past_days: int, *, public: bool) -> Forecast:
        """A fresh forecast; a range that a 400 names is kept to.

        Raises:
            ProviderError: none came.
        """

        def ask(allowed: Allowed) -> Awaitable[Forecast]:
            span = {"forecast_days": "16", "past_days": str(past_days)}
            if allowed is not None:
                span = _kept_to(allowed, today, past_days)
            return self._forecast(cell, past_days, span, public=public)

        return await self.learning(ask, cell)

    async def _forecast(
        self, cell: Cell, past_days: int, span: Mapping[str, str], *, public: bool
    ) -> Forecast:
        variables = self.variables(FORECAST_FIELDS)
        params = {
            **cell.params, **span, "daily": ",".join(variables),
            "timezone": self.zone(cell), "elevation": "nan",
        }  # fmt: skip
        units = weight(len(variables), [16 + past_days])
        body = await self.get(params, units, public=public)
        first, columns = daily(body, FORECAST_FIELDS, self.refuse)
        now = self._clock()
        return Forecast(first, columns, grid_of(body, cell), now, now + _FRESH)

    async def height(self, lat: float, lng: float, *, public: bool) -> float | None:
        """The height in m of the terrain at the point; None when the provider knows none.

        Raises:
            ProviderError: no answer came.
        """
        params = {
            "latitude": f"{lat:.4f}", "longitude": f"{lng:.4f}",
            "daily": "temperature_2m_max", "forecast_days": "1",
        }  # fmt: skip
        return elevation_of(await self.get(params, 1.0, public=public))


def _kept_to(allowed: re.Match[str], today: date, past_days: int) -> dict[str, str]:
    """Parameters inside the range that the provider named: of dates, or of forecast days."""
    try:
        first, last = date.fromisoformat(allowed[1]), date.fromisoformat(allowed[2])
    except ValueError:
        days = re.sub(r"\D", "", allowed[2])
        return {"forecast_days": days or "14", "past_days": str(past_days)}
    start, end = today - timedelta(past_days), today + timedelta(15)
    return {"start_date": str(max(first, start)), "end_date": str(min(last, end))}
