"""Open-Meteo's forecast and archive providers.

No request sends an `elevation`. The server then corrects the values of all weather models to one
elevation: that of its 90 m terrain data at the requested coordinates. Its answer names this
elevation. So one correction, from this elevation to that of the point, is right for all days. Dates
are read from the answer, never derived from the position of a value.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, TypeVar

import numpy as np

from location_context.errors import ProviderBackoff, ProviderResponseInvalid, ProviderStatusError
from location_context.point import Point
from location_context.sections.contract import CC_BY, Attribution
from location_context.sections.open_meteo import (
    NAME,
    open_meteo_client,
    open_meteo_headers,
    reason,
    weight,
)
from location_context.sections.section import SectionContext
from location_context.sections.weather.providers import base
from location_context.sections.weather.providers.base import (
    Forecast,
    ForecastProvider,
    Native,
    read_columns,
)
from location_context.sections.weather.records import (
    ARCHIVE_FIELDS,
    FORECAST_FIELDS,
    Cell,
    Columns,
    Grid,
    Month,
    YearMonth,
)
from location_context.upstream.client import ClientLimits, ProviderClient

T = TypeVar("T")

OPEN_METEO = Attribution(
    name="Open-Meteo",
    url="https://open-meteo.com/",
    license=CC_BY.name,
    text="Weather data by Open-Meteo.com",
    adapted=True,  # brought to the point's height; means and spreads of ten years
)
TABLE: Mapping[str, Native] = {
    "weather_code": Native("weather_code"),
    "temperature_max": Native("temperature_2m_max"),
    "temperature_min": Native("temperature_2m_min"),
    "temperature_mean": Native("temperature_2m_mean"),
    "apparent_temperature_max": Native("apparent_temperature_max"),
    "apparent_temperature_min": Native("apparent_temperature_min"),
    "precipitation_sum": Native("precipitation_sum"),
    "precipitation_hours": Native("precipitation_hours"),
    "snowfall_sum": Native("snowfall_sum"),
    "wind_speed_max": Native("wind_speed_10m_max"),
    "wind_gusts_max": Native("wind_gusts_10m_max"),
    "wind_direction_dominant": Native("wind_direction_10m_dominant"),
    "sunshine_hours": Native("sunshine_duration", "s"),
    "cloud_cover_mean": Native("cloud_cover_mean"),
    "humidity_mean": Native("relative_humidity_2m_mean"),
    "precipitation_probability": Native("precipitation_probability_max"),
    "uv_index_max": Native("uv_index_max"),
}
NORTHERNMOST = 89.9999


class OpenMeteoClient:
    """A client for one of Open-Meteo's services.

    The client requests the daily `fields`, and sends the API key if there is one.
    """

    def __init__(
        self, client: ProviderClient, context: SectionContext, fields: Sequence[str]
    ) -> None:
        self._client = client
        self._daily = ",".join(TABLE[name].path for name in fields)
        self._headers = open_meteo_headers(context.settings)
        self._unknown_zones: set[str] = set()

    async def get(
        self,
        cell: Cell,
        more: Mapping[str, str],
        parse: Callable[[Any], T],
        days: Sequence[int],
        *,
        public: bool,
    ) -> T:
        """Request the daily data of a cell, and return the JSON as converted by `parse`.

        If the provider rejects the cell's time zone, the call is repeated with `auto`: the provider
        then chooses the zone. Later calls for this time zone use `auto` at once.

        Args:
            cell: the place and its time zone.
            more: further query parameters, besides place, fields and time zone.
            parse: converts the JSON to the result.
            days: the number of days in each requested range, by which the provider charges.
            public: True for widget traffic; it is passed on to the client.

        Raises:
            ProviderError: the call failed or the answer is unusable.
        """
        zone = "auto" if cell.timezone in self._unknown_zones else cell.timezone
        place = coordinates(cell.lat, cell.lng)
        try:
            return await self._client.get_json(
                {**place, "daily": self._daily, "timezone": zone, **more},
                parse,
                headers=self._headers,
                units=weight(self._daily.count(",") + 1, days),
                public=public,
            )
        except ProviderStatusError as error:
            said = reason(error.body).lower() if error.status == 400 else ""
            if zone == "auto" or "timezone" not in said:
                raise
        self._unknown_zones.add(cell.timezone)
        return await self.get(cell, more, parse, days, public=public)


def read_daily(body: Any, fields: Sequence[str]) -> tuple[date, Columns]:
    """Return the first date in an answer, and the daily values of each field from that date on."""
    block = body["daily"]
    dates = [date.fromisoformat(day) for day in block["time"]]
    first, columns = read_columns(block, dates, TABLE, fields)
    # Open-Meteo sends 0, not null, where it has no precipitation data
    columns["precipitation_hours"][np.isnan(columns["precipitation_sum"])] = math.nan
    return first, columns


def read_grid(body: Any, cell: Cell) -> Grid:
    """Return the grid cell that an answer names, or the requested cell if the answer names none."""
    block = body if isinstance(body, dict) else {}
    values = (block.get(name) for name in ("latitude", "longitude", "elevation"))
    return base.read_grid(cell, *values)


def coordinates(lat: float, lng: float) -> dict[str, str]:
    """Return latitude and longitude as query parameters.

    The terrain model has no elevation at the north pole and on the meridian of +180 degrees. Points
    there are moved a little, or to -180 degrees.
    """
    return {
        "latitude": f"{min(lat, NORTHERNMOST):.4f}",
        "longitude": f"{-180.0 if lng == 180 else lng:.4f}",
    }


def copernicus(year: int) -> Attribution:
    """Return the licence notice for using the data ERA5 and ERA5-Land in this `year`."""
    return Attribution(
        name="Copernicus Climate Change Service",
        url="https://doi.org/10.24381/cds.adbb2d47",
        license=CC_BY.name,
        adapted=True,
        text=(
            f"Contains modified Copernicus Climate Change Service information {year}. Neither the "
            "European Commission nor ECMWF is responsible for any use of it."
        ),
    )


FRESH_TTL = timedelta(minutes=30)
FORECAST_DAYS = 16


class OpenMeteoForecast(ForecastProvider):
    """The provider `open_meteo_forecast`: 16 days from today on, and up to 92 days before today."""

    name = "open_meteo_forecast"
    title = NAME
    model = "best_match"
    order = 100
    at_point = True
    product = "raw"  # the best of its models at the place, each as it ran
    attribution = (OPEN_METEO,)

    def __init__(self, context: SectionContext) -> None:
        super().__init__(context)
        limits = ClientLimits(max_in_flight=8)
        self.client = open_meteo_client(self.name, context.settings.forecast_url, context, limits)
        self._open_meteo = OpenMeteoClient(self.client, context, FORECAST_FIELDS)

    async def fetch_forecast(
        self, cell: Cell, today: date, past_days: int, *, public: bool
    ) -> Forecast:
        """Fetch a fresh forecast for the place of `cell`.

        Raises:
            ProviderError: the fetch failed, or no day of the forecast has a high.
        """
        del today  # the answer's days begin at the local date of the place
        return await self._open_meteo.get(
            cell,
            {"forecast_days": str(FORECAST_DAYS), "past_days": str(past_days)},
            lambda body: self._read(body, cell),
            [FORECAST_DAYS + past_days],
            public=public,
        )

    def _read(self, body: Any, cell: Cell) -> Forecast:
        first, columns = read_daily(body, FORECAST_FIELDS)
        if not np.isfinite(columns["temperature_max"]).any():
            raise ProviderResponseInvalid(NAME, "the forecast has no high for any day")
        now = self._clock()
        return Forecast(first, columns, read_grid(body, cell), now, now + FRESH_TTL)


NEWEST_DAYS = 2  # before today: no later date is fetched; the archive lags about five days
MAX_WAITING = 4  # a call takes seconds; later calls go to the second archive


class OpenMeteoArchive(base.ArchiveProvider):
    """The provider `open_meteo_archive`: past years, from ERA5.

    Data are fetched for a cell's centre, so that all months of the cell are for the same elevation.
    Without an API key, only one call at a time is made.
    """

    name = "open_meteo_archive"
    title = NAME
    model = "era5_seamless"
    source = "open_meteo_era5_seamless_terrain"
    representativeness = (0.7, 0.7)  # assumed, not measured against stations
    order = 100

    def __init__(self, context: SectionContext) -> None:
        super().__init__(context)
        at_once = (
            2 if context.settings.open_meteo_api_key else 1
        )  # the host's slots are for forecasts too
        limits = ClientLimits(timeout=20.0, max_in_flight=at_once, max_waiting=MAX_WAITING)
        self.client = open_meteo_client(self.name, context.settings.archive_url, context, limits)
        self._open_meteo = OpenMeteoClient(self.client, context, ARCHIVE_FIELDS)

    def cell(self, point: Point) -> Cell:
        return Cell.of(point, base.ARCHIVE_DEGREES)

    def attribution(self, today: date) -> Sequence[Attribution]:
        return (OPEN_METEO, copernicus(today.year))

    async def fetch_months(
        self, cell: Cell, wanted: Sequence[YearMonth], today: date, *, public: bool
    ) -> list[Month]:
        """Fetch the wanted months in one request.

        Raises:
            ProviderError: the months could not be fetched, or too many calls are already waiting.
        """
        last = today - timedelta(days=NEWEST_DAYS)
        spans = [(start, min(end, last)) for start, end in base.intervals(wanted) if start <= last]
        if not spans:
            raise ProviderBackoff(NAME, "has no data for dates so recent")
        more = {
            "start_date": ",".join(str(start) for start, _ in spans),
            "end_date": ",".join(str(end) for _, end in spans),
            "models": self.model,
        }
        days = [(end - start).days + 1 for start, end in spans]
        return await self._open_meteo.get(
            cell, more, lambda body: self._read(cell, wanted, body), days, public=public
        )

    def _read(self, cell: Cell, wanted: Sequence[YearMonth], body: Any) -> list[Month]:
        answers = body if isinstance(body, list) else [body]
        daily = [read_daily(answer, ARCHIVE_FIELDS) for answer in answers]
        blocks = [(first, np.stack(list(columns.values()))) for first, columns in daily]
        return base.months_from(wanted, blocks, read_grid(answers[0], cell), self._clock())
