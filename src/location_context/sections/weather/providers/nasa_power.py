"""NASA POWER, daily point: the second archive (MERRA-2), half-degree cells, no key.

Ten whole years come in one request and are kept for every month. Days are of local solar time;
-999 means missing; wind comes in m/s. It has no codes: they follow the rule of `codes`.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from location_context.sections.weather.cells import POWER_DEGREES, cell_of
from location_context.sections.weather.codes import code_without
from location_context.sections.weather.notices import nasa_power
from location_context.sections.weather.records import (
    FIELDS,
    ROW,
    Grid,
    Month,
    month_span,
    plausible,
)
from location_context.upstream.client import ClientLimits, ProviderClient
from location_context.upstream.host import DAY, MINUTE, Budget, Host

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import httpx2
    from numpy.typing import NDArray

    from location_context.point import Point
    from location_context.sections.contract import Attribution
    from location_context.sections.weather.cells import Cell
    from location_context.sections.weather.providers.contract import YearMonth
    from location_context.settings import Settings
    from location_context.stay import Clock

NAME = "NASA POWER"
_LIMITS = {MINUTE: 24.0, DAY: 2000.0}  # no limit is published; this is what a polite caller asks
_NAMES: Mapping[str, tuple[str, float]] = {
    "temperature_max": ("T2M_MAX", 1),
    "temperature_min": ("T2M_MIN", 1),
    "temperature_mean": ("T2M", 1),
    "precipitation_sum": ("PRECTOTCORR", 1),
    "wind_speed_max": ("WS10M_MAX", 3.6),
    "wind_direction_dominant": ("WD10M", 1),
    "cloud_cover_mean": ("CLOUD_AMT", 1),
    "humidity_mean": ("RH2M", 1),
}
_FILL = -900.0


class NasaPower:
    """The provider."""

    source = "nasa_power"
    name = NAME
    model = "MERRA-2"

    def __init__(self, settings: Settings, clock: Clock, client: httpx2.AsyncClient) -> None:
        self.upstream = ProviderClient(
            "nasa_power", settings.nasa_power_url, client, clock,
            host=Host(Budget(_LIMITS, share=settings.budget_share)),
            limits=ClientLimits(timeout=30.0, max_in_flight=2),
        )  # fmt: skip
        self._clock = clock
        self._version = "2.x.x"  # of its service, until an answer tells it

    def cell(self, point: Point) -> Cell:
        return cell_of(point, POWER_DEGREES, "solar")

    def attribution(self, today: date) -> Sequence[Attribution]:
        return (nasa_power(today, self._version),)

    async def months(
        self, cell: Cell, wanted: Sequence[YearMonth], today: date, *, public: bool
    ) -> list[Month]:
        """All months of the wanted years, in one request.

        Raises:
            ProviderError: none came.
        """
        years = sorted({year for year, _ in wanted})
        first, last = month_span(years[0], 1)[0], month_span(*max(wanted))[1]
        last = min(max(last, month_span(years[-1], 12)[1]), today - timedelta(days=2))
        params = {
            **cell.params,
            "parameters": ",".join(name for name, _ in _NAMES.values()),
            "community": "RE", "format": "JSON",
            "start": f"{first:%Y%m%d}", "end": f"{last:%Y%m%d}",
        }  # fmt: skip

        def parse(body: Any) -> list[Month]:
            self._version = _version(body) or self._version
            values = _columns(body["properties"]["parameter"], first, last)
            return self._cut(values, first, wanted, _grid(body, cell))

        return await self.upstream.get_json(params, parse, public=public)

    def _cut(
        self, values: NDArray[np.float32], first: date, wanted: Sequence[YearMonth], grid: Grid
    ) -> list[Month]:
        """The wanted months, and others that came whole."""
        now: datetime = self._clock()
        last = first + timedelta(values.shape[1] - 1)
        found = []
        for year in sorted({year for year, _ in wanted}):
            for month in range(1, 13):
                start, end = month_span(year, month)
                if (year, month) not in wanted and not (first <= start and end <= last):
                    continue
                block = np.full((len(FIELDS), (end - start).days + 1), np.nan, np.float32)
                shift = (start - first).days
                part = values[:, max(0, shift) : shift + block.shape[1]]
                block[:, max(0, -shift) : max(0, -shift) + part.shape[1]] = part
                found.append(Month(year, month, grid, now, block))
        return found


def _columns(series: Mapping[str, Mapping[str, Any]], first: date, last: date) -> Any:
    """FIELDS x days; what is missing, -999 or implausible is NaN."""
    length = (last - first).days + 1
    place = {f"{first + timedelta(n):%Y%m%d}": n for n in range(length)}
    values = np.full((len(FIELDS), length), np.nan)
    for field, (there, factor) in _NAMES.items():
        raw = np.full(length, np.nan)
        for day, value in series.get(there, {}).items():
            if day in place and type(value) in (int, float) and _FILL < value < 1e6:
                raw[place[day]] = value * factor
        values[ROW[field]] = plausible(field, raw)
    if np.isnan(values[ROW["temperature_max"]]).all():
        raise ValueError("no temperatures")
    rain, cloud = values[ROW["precipitation_sum"]], values[ROW["cloud_cover_mean"]]
    values[ROW["weather_code"]] = code_without(rain, cloud, values[ROW["temperature_mean"]])
    return values.astype(np.float32)


def _grid(body: Any, cell: Cell) -> Grid:
    lng, lat, *rest = body["geometry"]["coordinates"]
    height = float(rest[0]) if rest and _FILL / 2 < rest[0] < 9000 else None
    if not (abs(lat - cell.lat) <= 1 and abs(lng) <= 180):
        raise ValueError("another place")
    return Grid(float(lat), float(lng), height)


def _version(body: Any) -> str | None:
    """The version of the service, such as 2.5.22; None where the answer tells none."""
    version = ((body.get("header") or {}).get("api") or {}).get("version")
    found = re.fullmatch(r"v?(\d[\w.]{0,20})", version) if isinstance(version, str) else None
    return found[1] if found else None
