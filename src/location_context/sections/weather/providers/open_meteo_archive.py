"""Open-Meteo's archive (ERA5 and ERA5-Land): one request with one interval for each year."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from location_context.errors import ProviderBackoff, ProviderResponseInvalid
from location_context.sections.open_meteo import NAME, open_meteo_backoff, weight
from location_context.sections.weather.cells import ARCHIVE_DEGREES, cell_of
from location_context.sections.weather.notices import OPEN_METEO, copernicus
from location_context.sections.weather.providers.contract import intervals
from location_context.sections.weather.providers.open_meteo import OpenMeteo
from location_context.sections.weather.providers.open_meteo_answer import (
    daily,
    grid_of,
    terrain_params,
)
from location_context.sections.weather.records import FIELDS, Month, month_span
from location_context.upstream.client import ClientLimits, ProviderClient

if TYPE_CHECKING:
    import re
    from collections.abc import Awaitable, Sequence

    import httpx2

    from location_context.point import Point
    from location_context.sections.contract import Attribution
    from location_context.sections.weather.cells import Cell
    from location_context.sections.weather.providers.contract import YearMonth
    from location_context.sections.weather.providers.open_meteo import Allowed
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.host import Host

_SURELY_HELD_DAYS = 30  # the archive lags about five
_MAX_WAITING = 4  # a call takes seconds; who comes later is served by the second archive


class OpenMeteoArchive(OpenMeteo):
    """The archive. On free access one call at a time, and few that wait.

    A cell is asked for at its centre, so that all months of a cell are at one height.
    """

    source = "open_meteo_era5_seamless_terrain"
    name = NAME
    model = "era5_seamless"

    def __init__(
        self, settings: Settings, clock: Clock, client: httpx2.AsyncClient, host: Host
    ) -> None:
        at_once = 2 if settings.open_meteo_api_key else 1  # the host's slots are for forecasts too
        upstream = ProviderClient(
            "open_meteo_archive", settings.archive_url, client, clock,
            host=host, backoff=open_meteo_backoff(clock),
            limits=ClientLimits(timeout=20.0, max_in_flight=at_once, max_waiting=_MAX_WAITING),
        )  # fmt: skip
        super().__init__(upstream, settings, FIELDS)
        self._clock = clock

    def cell(self, point: Point) -> Cell:
        return cell_of(point, ARCHIVE_DEGREES)

    def attribution(self, today: date) -> Sequence[Attribution]:
        return (OPEN_METEO, copernicus(today.year))

    async def months(
        self, cell: Cell, wanted: Sequence[YearMonth], today: date, *, public: bool
    ) -> list[Month]:
        """The wanted months in one request.

        Raises:
            ProviderError: none came, or too many wait for their turn already.
        """

        def ask(allowed: Allowed) -> Awaitable[list[Month]]:
            last = today - timedelta(days=2)
            if allowed is not None:
                last = min(last, _last(allowed))
            return self._ask(cell, wanted, last, public=public)

        held = str(today - timedelta(days=_SURELY_HELD_DAYS))
        lightest = {"start_date": held, "end_date": held, "models": self.model}
        return await self.learning(ask, cell, lightest)

    async def _ask(
        self, cell: Cell, wanted: Sequence[YearMonth], last: date, *, public: bool
    ) -> list[Month]:
        spans = [(start, min(end, last)) for start, end in intervals(wanted) if start <= last]
        if not spans:
            raise ProviderBackoff(NAME, "has nothing so recent")
        names = self.names()
        params = {
            **terrain_params(cell.lat, cell.lng),
            "start_date": ",".join(str(start) for start, _ in spans),
            "end_date": ",".join(str(end) for _, end in spans),
            "daily": ",".join(names), "models": self.model, "timezone": self.zone(cell),
        }  # fmt: skip
        units = weight(len(names), [(end - start).days + 1 for start, end in spans])
        return await self.get(
            params, lambda body: self._cut(cell, wanted, body), units, public=public
        )

    def _cut(self, cell: Cell, wanted: Sequence[YearMonth], body: Any) -> list[Month]:
        blocks = body if isinstance(body, list) else [body]
        now, read = self._clock(), [daily(block, FIELDS) for block in blocks]
        return [
            Month(year, month, grid_of(blocks[0], cell), now, _gathered(year, month, read))
            for year, month in wanted
        ]


def _last(allowed: re.Match[str]) -> date:
    try:
        return date.fromisoformat(allowed[2])
    except ValueError:
        raise ProviderResponseInvalid(NAME, "named a range without dates") from None


def _gathered(year: int, month: int, read: list[tuple[date, Any]]) -> Any:
    """One month with its pads out of the intervals that came."""
    first, last = month_span(year, month)
    values = np.full((len(FIELDS), (last - first).days + 1), np.nan, np.float32)
    for start, columns in read:
        block = np.stack([columns[name] for name in FIELDS])
        shift = (start - first).days
        begin, end = max(0, shift), min(values.shape[1], shift + block.shape[1])
        if begin < end:
            values[:, begin:end] = block[:, begin - shift : end - shift]
    return values
