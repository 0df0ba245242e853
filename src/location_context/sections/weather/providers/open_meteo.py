"""Open-Meteo: what its forecast, its archive and its elevations share.

None is sent an `elevation`: the server then brings every model it mixes to the height of its
90 m terrain at the asked coordinates, which the answer names, so that one correction from there to
a point's own height holds for all days. Dates are read from the answer, never from positions. A
400 corrects the request: it names a range of dates, a variable or a zone that the provider does not
know.
"""

import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date
from typing import Any, TypeVar

import numpy as np

from location_context.errors import ProviderResponseInvalid, ProviderStatusError
from location_context.sections.contract import CC_BY, Attribution
from location_context.sections.open_meteo import NAME, reason, weight
from location_context.sections.weather.providers.base import Native, is_number, read_columns
from location_context.sections.weather.records import Cell, Columns, Grid
from location_context.settings import Secret
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


class Variables:
    """The fields to ask for: all, less those the provider turned out not to know.

    A refusal that quotes a whole list does not say which one is unknown: then the core is tried
    with half of the others, and what is accepted is trusted again, until the unknown is found.
    """

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = tuple(fields)
        self._unsupported: set[str] = set()
        self._suspects: list[str] = []
        self._candidates: list[str] = []  # suspects of whom one is unknown
        self._on_trial: list[str] = []  # suspects that are asked for

    def fields(self) -> list[str]:
        """Our names of what is asked for now, in the order of the fields."""
        left_out = self._unsupported.union(self._suspects).difference(self._on_trial)
        return [name for name in self._fields if name not in left_out]

    @property
    def settled(self) -> bool:
        """Whether the provider is known to know all that would be asked for."""
        return not self._suspects

    def accepted(self, asked: Sequence[str]) -> None:
        """The provider knows all of `asked`."""
        self._suspects = [name for name in self._suspects if name not in asked]
        self._candidates = [name for name in self._candidates if name not in asked]
        self._choose_trial()

    def refused(self, asked: Sequence[str], quoted: str) -> bool:
        """The provider does not know `quoted`: its name of one of `asked`, or the whole list.

        False when fewer cannot be asked for.
        """
        if self._unsupported.intersection(asked):
            return True  # found out by another call meanwhile
        optional = [name for name in asked if name not in CORE_FIELDS]
        named = [name for name in optional if TABLE[name].path == quoted]
        candidates = named or optional
        if not named and self._suspects:
            candidates = [name for name in candidates if name in self._suspects]
        if not named and not self._suspects:
            self._suspects = candidates
        self._candidates = candidates
        self._choose_trial()
        return bool(candidates)

    def only_the_core(self) -> None:
        """Ask no more for what is still suspected."""
        self._unsupported.update(self._suspects)
        self._suspects, self._candidates, self._on_trial = [], [], []

    def _choose_trial(self) -> None:
        """Half of those of whom one is unknown; the last one left is unknown itself."""
        if len(self._candidates) == 1:
            self._unsupported.update(self._candidates)
            self._suspects = [name for name in self._suspects if name not in self._unsupported]
            self._candidates = []
        self._on_trial = self._candidates[: len(self._candidates) // 2] or list(self._suspects)


class OpenMeteoClient:
    """One address of Open-Meteo for `fields`: the key, and corrections by what a 400 says."""

    def __init__(self, client: ProviderClient, key: Secret, fields: Sequence[str]) -> None:
        self.http = client
        self.variables = Variables(fields)
        self._key = key
        self._unknown_zones: set[str] = set()

    def params(self, cell: Cell) -> dict[str, str]:
        """The cell and the variables to ask for."""
        return {
            **coordinates(cell.lat, cell.lng),
            "daily": ",".join(TABLE[name].path for name in self.variables.fields()),
            "timezone": self._zone(cell),
        }

    def _zone(self, cell: Cell) -> str:
        """The cell's zone, or the provider's own choice where it does not know the name."""
        return "auto" if cell.timezone in self._unknown_zones else cell.timezone

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
        keyed = {**params, "apikey": self._key.reveal()} if self._key else dict(params)
        units = weight(params["daily"].count(",") + 1, days)
        return await self.http.get_json(
            keyed, lambda body: parse(_checked(body)), units=units, public=public
        )

    async def retry_with_corrections(
        self, ask: Callable[[AllowedRange], Awaitable[T]], cell: Cell, one_day: Mapping[str, str]
    ) -> T:
        """What `ask` gives, asked again as long as a 400 says what to ask otherwise.

        `one_day` are the parameters of one day, which find out what variables are known.
        """
        allowed: AllowedRange = None
        for _ in range(MAX_CORRECTIONS):
            asked = self.variables.fields()
            try:
                return await ask(allowed)
            except ProviderStatusError as error:
                allowed = self._correct(error, asked, cell) or allowed
            await self._find_unsupported(cell, one_day)
        return await ask(allowed)

    async def _find_unsupported(self, cell: Cell, one_day: Mapping[str, str]) -> None:
        """Find out which variables the provider does not know."""
        for _ in range(MAX_TRIALS):
            if self.variables.settled:
                return
            asked = self.variables.fields()
            try:
                await self.get({**self.params(cell), **one_day}, lambda _: None, [1], public=False)
            except ProviderStatusError as error:
                self._correct(error, asked, cell)
            else:
                self.variables.accepted(asked)
        self.variables.only_the_core()

    def _correct(
        self, error: ProviderStatusError, asked: Sequence[str], cell: Cell
    ) -> AllowedRange:
        """The allowed range a 400 names; what else it does not know is not asked for again.

        Raises:
            ProviderStatusError: it says nothing to correct.
        """
        text = reason(error.body)
        if error.status != 400:
            raise error
        if "timezone" in text.lower() and self._zone(cell) != "auto":
            self._unknown_zones.add(cell.timezone)
            return None
        unknown = _UNKNOWN.search(text)
        if unknown and self.variables.refused(asked, unknown[1]):
            return None
        if allowed := _ALLOWED_DATES.search(text) or _ALLOWED_DAYS.search(text):
            return allowed
        raise error


def _checked(body: Any) -> Any:
    """The body, which must be no error: a fault while it is written comes with status 200."""
    if isinstance(body, dict) and body.get("error"):
        raise ProviderResponseInvalid(NAME, "answered with an error")
    return body


def read_daily(body: Any, fields: Sequence[str]) -> tuple[date, Columns]:
    """The first date and the columns of an answer, a value for each date that follows.

    Raises:
        ProviderResponseInvalid: dates or columns are not what they should be.
    """
    try:
        block = body["daily"]
        dates = [date.fromisoformat(day) for day in block["time"]]
        first, columns = read_columns(block, dates, TABLE, fields)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ProviderResponseInvalid(NAME, "the answer is not one of days and columns") from None
    if "precipitation_hours" in columns:  # 0, not null, where there is no precipitation data
        columns["precipitation_hours"][np.isnan(columns["precipitation_sum"])] = math.nan
    return first, columns


def read_elevation(value: Any) -> float | None:
    """An elevation in m, 0.0 at sea; None where it is none (the terrain model has gaps)."""
    return float(value) if is_number(value) and -450 <= value <= 9000 else None


def read_grid(body: Any, cell: Cell) -> Grid:
    """The cell the answer says it is for; the asked one when it does not say."""
    block = body if isinstance(body, dict) else {}
    lat, lng = block.get("latitude"), block.get("longitude")
    if not (is_number(lat) and is_number(lng) and abs(lat) <= 90 and abs(lng) <= 180):
        lat, lng = cell.lat, cell.lng
    return Grid(float(lat), float(lng), read_elevation(block.get("elevation")))


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
