"""Open-Meteo: what its forecast, its archive and its elevations share.

None is sent an `elevation`: the server then brings every model it mixes to the height of its
90 m terrain at the asked coordinates, which the answer names, so that one correction from there to
a point's own height holds for all days. Dates are read from the answer, never from positions. A
400 corrects the request: it names a range of dates, a variable or a zone that the provider does not
know.
"""

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date
from typing import Any, TypeVar

import numpy as np

from location_context.errors import ProviderResponseInvalid, ProviderStatusError
from location_context.sections.contract import CC_BY, Attribution
from location_context.sections.open_meteo import NAME, open_meteo_headers, reason, weight
from location_context.sections.section import SectionContext
from location_context.sections.weather.providers import base
from location_context.sections.weather.providers.base import Native, read_table
from location_context.sections.weather.records import Cell, Floats, Grid
from location_context.upstream.client import ProviderClient

T = TypeVar("T")
AllowedRange = re.Match[str] | None

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
CORE_FIELDS = frozenset(
    {"weather_code", "temperature_max", "temperature_min", "precipitation_sum", "wind_speed_max"}
)  # known to the provider since its first version
MAX_CORRECTIONS = 5  # a range, a zone, variables named one by one
MAX_TRIALS = 12  # enough for three unknown variables among twelve
NORTHERNMOST = 89.9999
_ALLOWED_DATES = re.compile(r"allowed range from (\S+) to ([^\s.]+)")
_ALLOWED_DAYS = re.compile(r"Forecast days is invalid\. Allowed range (\d+) to (\d+)")
_UNKNOWN = re.compile(r"invalid String value ([\w,]+)")


class OpenMeteoClient:
    """One address of Open-Meteo for `fields`: the key, and corrections by what a 400 says."""

    def __init__(
        self, client: ProviderClient, context: SectionContext, fields: Sequence[str]
    ) -> None:
        self._client = client
        self._fields = fields
        self._headers = open_meteo_headers(context.settings)
        self._unknown_fields: set[str] = set()
        self._unknown_zones: set[str] = set()
        self._search = asyncio.Lock()

    def params(self, cell: Cell) -> dict[str, str]:
        """The cell and the variables to ask for: all but those the provider does not know."""
        known = [name for name in self._fields if name not in self._unknown_fields]
        zone = "auto" if cell.timezone in self._unknown_zones else cell.timezone
        daily = ",".join(TABLE[name].path for name in known)
        return {**coordinates(cell.lat, cell.lng), "daily": daily, "timezone": zone}

    async def get(
        self,
        params: Mapping[str, str],
        parse: Callable[[Any], T],
        days: Sequence[int],
        *,
        public: bool,
    ) -> T:
        """What `parse` makes of the answer's JSON, which must not be an error in disguise.

        `days` are the lengths of the intervals, which the call is charged by.
        """
        units = weight(params["daily"].count(",") + 1, days)
        return await self._client.get_json(
            params,
            lambda body: parse(_checked(body)),
            headers=self._headers,
            units=units,
            public=public,
        )

    async def retry_with_corrections(
        self, ask: Callable[[AllowedRange], Awaitable[T]], cell: Cell, one_day: Mapping[str, str]
    ) -> T:
        """What `ask` gives, asked again as long as a 400 says what to ask otherwise.

        `one_day` are the parameters of one day, which find out what variables are known.
        """
        allowed: AllowedRange = None
        for _ in range(MAX_CORRECTIONS):
            asked = self.params(cell)
            try:
                return await ask(allowed)
            except ProviderStatusError as error:
                text = reason(error.body) if error.status == 400 else ""
                unknown = _UNKNOWN.search(text)
                if "timezone" in text.lower() and asked["timezone"] != "auto":
                    self._unknown_zones.add(cell.timezone)
                elif unknown and await self._drop_unknown(unknown[1], {**asked, **one_day}):
                    continue
                elif found := _ALLOWED_DATES.search(text) or _ALLOWED_DAYS.search(text):
                    allowed = found
                else:
                    raise
        return await ask(allowed)

    async def _drop_unknown(self, quoted: str, asked: Mapping[str, str]) -> bool:
        """Ask no more for a variable that was refused; False when all that is left is the core.

        A refusal may quote the whole list without saying which one is unknown: then the core is
        tried with half of the others, until each unknown one is found.
        """
        async with self._search:
            names = [name for name in self._fields if TABLE[name].path in asked["daily"].split(",")]
            if self._unknown_fields.intersection(names):
                return True  # found by another call meanwhile
            suspects = [name for name in names if name not in CORE_FIELDS]
            if named := [name for name in suspects if TABLE[name].path == quoted]:
                self._unknown_fields.update(named)
                return True
            if not suspects:
                return False
            trials = 0
            while suspects and trials < MAX_TRIALS:  # at least one of them is unknown
                group = suspects
                while len(group) > 1:
                    half, trials = group[: len(group) // 2], trials + 1
                    if await self._is_known(half, asked):
                        suspects = [name for name in suspects if name not in half]
                        group = group[len(half) :]
                    else:
                        group = half
                self._unknown_fields.update(group)
                suspects, trials = [name for name in suspects if name not in group], trials + 1
                if suspects and await self._is_known(suspects, asked):
                    return True
            self._unknown_fields.update(suspects)
            return True

    async def _is_known(self, names: Sequence[str], asked: Mapping[str, str]) -> bool:
        """Whether the provider knows all these variables besides the core.

        Raises:
            ProviderStatusError: it was not about them.
        """
        fields = [name for name in self._fields if name in CORE_FIELDS or name in names]
        daily = ",".join(TABLE[name].path for name in fields)
        try:
            # in a zone that every provider knows
            params = {**asked, "daily": daily, "timezone": "GMT"}
            await self.get(params, lambda _: None, [1], public=False)
        except ProviderStatusError as error:
            if error.status != 400 or not _UNKNOWN.search(reason(error.body)):
                raise
            return False
        return True


def _checked(body: Any) -> Any:
    """The body, which must not be an error: a fault while it is written comes with status 200."""
    if isinstance(body, dict) and body.get("error"):
        raise ProviderResponseInvalid(NAME, "answered with an error")
    return body


def read_daily(body: Any, fields: Sequence[str]) -> tuple[date, Floats]:
    """The first date of an answer, and a row for each field with a value for each date from it on.

    Raises:
        ProviderResponseInvalid: dates or columns are not what they should be.
    """
    try:
        block = body["daily"]
        dates = [date.fromisoformat(day) for day in block["time"]]
        first, values = read_table(block, dates, TABLE, fields)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ProviderResponseInvalid(NAME, "the answer is not one of days and columns") from None
    if "precipitation_hours" in fields:  # 0, not null, where there is no precipitation data
        hours, total = fields.index("precipitation_hours"), fields.index("precipitation_sum")
        values[hours, np.isnan(values[total])] = math.nan
    return first, values


def read_grid(body: Any, cell: Cell) -> Grid:
    """The cell the answer says it is for; the asked one when it does not say."""
    block = body if isinstance(body, dict) else {}
    values = (block.get(name) for name in ("latitude", "longitude", "elevation"))
    return base.read_grid(cell, *values)


def coordinates(lat: float, lng: float) -> dict[str, str]:
    """The parameters of a place, moved off the edges that the terrain model leaves out.

    It knows no height at the north pole and on the meridian of +180 degrees.
    """
    return {
        "latitude": f"{min(lat, NORTHERNMOST):.4f}",
        "longitude": f"{-180.0 if lng == 180 else lng:.4f}",
    }


def copernicus(year: int) -> Attribution:
    """The notice for ERA5 and ERA5-Land, which names the year of use."""
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
