"""The archive provider `nasa_power`: NASA POWER's daily data of a point; no key is needed.

This provider is tried after Open-Meteo's archive. The data are those of the reanalysis
MERRA-2, in cells of half a degree. One request fetches ten whole years, and all their months are
stored. Days are in local solar time, -999 means missing, and wind is in m/s. The data have no
weather codes; `code_without` derives them.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import msgspec
import numpy as np

from location_context.point import Point
from location_context.sections.contract import Attribution
from location_context.sections.section import SectionContext
from location_context.sections.weather import records
from location_context.sections.weather.providers import base
from location_context.sections.weather.providers.base import ArchiveProvider, Native
from location_context.sections.weather.records import Cell, Floats, Grid, Month, month_span
from location_context.upstream.client import ClientLimits, ProviderClient

CELL_DEGREES = 0.5
TABLE: Mapping[str, Native] = {
    "temperature_max": Native("T2M_MAX"),
    "temperature_min": Native("T2M_MIN"),
    "temperature_mean": Native("T2M"),
    "precipitation_sum": Native("PRECTOTCORR"),
    "wind_speed_max": Native("WS10M_MAX", "m/s"),
    "wind_direction_dominant": Native("WD10M"),
    "cloud_cover_mean": Native("CLOUD_AMT"),
    "humidity_mean": Native("RH2M"),
}
FOR_CODES = ("precipitation_sum", "cloud_cover_mean", "temperature_mean")
MISSING_BELOW = -900.0  # -999 is its fill value; no field goes so low

NASA_POWER = Attribution(
    name="NASA POWER",
    url="https://power.larc.nasa.gov/",
    license=None,
    text=(
        "The data was obtained from the National Aeronautics and Space Administration (NASA) "
        "Langley Research Center (LaRC) Prediction of Worldwide Energy Resource (POWER) Project "
        "funded through the NASA Earth Science/Applied Science Program."
    ),
    adapted=True,  # means and spreads of ten years
)


class NasaPower(ArchiveProvider):
    """The archive provider `nasa_power`."""

    name = "nasa_power"
    title = "NASA POWER"
    model = "MERRA-2"
    source = "nasa_power"
    representativeness = (1.7, 1.7)  # judged at seven stations: docs/decisions/weather.md
    order = 200

    def __init__(self, context: SectionContext) -> None:
        super().__init__(context)
        settings = context.settings
        self.client = ProviderClient(
            self.name, settings.nasa_power_url, context.client, context.clock,
            host=context.host(self.name),
            limits=ClientLimits(timeout=30.0, max_in_flight=2),
        )  # fmt: skip
        self._version = "2.x.x"  # of the service, until an answer contains the exact version

    def cell(self, point: Point) -> Cell:
        return Cell.of(point, CELL_DEGREES, "solar")

    def attribution(self, today: date) -> Sequence[Attribution]:
        return (nasa_power(today, self._version),)

    async def fetch_months(
        self, cell: Cell, wanted: Sequence[records.YearMonth], today: date, *, public: bool
    ) -> list[Month]:
        """Fetch all months of the years in which the wanted months lie, in one request."""
        years = sorted({year for year, _ in wanted})
        first, last = month_span(years[0], 1)[0], month_span(*max(wanted))[1]
        last = min(max(last, month_span(years[-1], 12)[1]), today - timedelta(days=2))
        params = {
            "latitude": f"{cell.lat:.4f}", "longitude": f"{cell.lng:.4f}",
            "parameters": ",".join(native.path for native in TABLE.values()),
            "community": "RE", "format": "JSON",
            "start": f"{first:%Y%m%d}", "end": f"{last:%Y%m%d}",
        }  # fmt: skip

        def parse(body: Any) -> list[Month]:
            self._version = _version(body) or self._version
            values = _read_values(body["properties"]["parameter"], first, last)
            whole = (
                (year, month) for year in years for month in range(1, 13)
                if first <= month_span(year, month)[0] and month_span(year, month)[1] <= last
            )  # fmt: skip
            months = sorted({*wanted, *whole})
            return base.months_from(
                months, [(first, values)], _read_grid(body, cell), self._clock()
            )

        return await self.client.get_json(params, parse, public=public)


def _read_values(series: Mapping[str, Mapping[str, Any]], first: date, last: date) -> Floats:
    """Return NASA POWER's daily values from `first` to `last` as an array: ARCHIVE_FIELDS x days.

    Missing and implausible values are NaN.
    """
    dates = [first + timedelta(n) for n in range((last - first).days + 1)]
    keys = [f"{day:%Y%m%d}" for day in dates]
    native = {
        name: [
            value if base.is_number(value) and value > MISSING_BELOW else None for value in values
        ]
        for name, by_date in series.items()
        for values in [[by_date.get(key) for key in keys]]
    }
    _, columns = base.read_columns(native, dates, TABLE, records.ARCHIVE_FIELDS)
    if np.isnan(columns["temperature_max"]).all():
        raise ValueError("the answer has no temperatures")
    columns["weather_code"] = code_without(columns)
    return np.stack([columns[name] for name in records.ARCHIVE_FIELDS])


def _read_grid(body: Any, cell: Cell) -> Grid:
    lng, lat, *rest = body["geometry"]["coordinates"]
    if not (abs(lat - cell.lat) <= 1 and abs(lng) <= 180):
        raise ValueError("the answer is for another place than the requested one")
    return base.read_grid(cell, lat, lng, rest[0] if rest else None)


def _version(body: Any) -> str | None:
    """Return the version of NASA's service, such as 2.5.22; None if the answer does not name it."""
    version = ((body.get("header") or {}).get("api") or {}).get("version")
    found = re.fullmatch(r"v?(\d[\w.]{0,20})", version) if isinstance(version, str) else None
    return found[1] if found else None


def code_without(columns: Mapping[str, Floats]) -> Floats:
    """Derive a weather code for each day from rain, cloud cover and mean temperature.

    This serves sources without weather codes. From 10 mm a day on the code is heavy rain, from 1 mm
    rain, from 0.3 mm drizzle. With a mean temperature of 0 °C or less it is snow instead. Between
    0 and 1.5 °C, it is sleet from 1 mm on. A day with less than 0.3 mm is clear if cloud covers up
    to 25 %, partly cloudy up to 65 %, else cloudy.
    """
    rain, cloud, mean = (columns[name] for name in FOR_CODES)
    with np.errstate(invalid="ignore"):
        dry = np.select([cloud <= 25, cloud <= 65, cloud <= 100], [0.0, 2.0, 3.0], np.nan)
        wet = np.select([rain >= 10, rain >= 1], [65.0, 61.0], 51.0)
        wet = np.where((mean <= 1.5) & (rain >= 1), 66.0, wet)
        wet = np.where(mean <= 0, np.where(rain >= 10, 75.0, 71.0), wet)
        codes: Floats = np.where(rain >= 0.3, wet, dry)
    return np.where(np.isnan(rain), np.nan, codes)


def nasa_power(accessed: date, version: str = "2.x.x") -> Attribution:
    """Return the licence notice that NASA POWER requires.

    The notice names the project, the version of the service and the date of access.
    """
    service = f"The data was obtained from the POWER Project's Daily {version} version on "
    text = f"{NASA_POWER.text} {service}{accessed:%Y/%m/%d}."
    return msgspec.structs.replace(NASA_POWER, text=text)
