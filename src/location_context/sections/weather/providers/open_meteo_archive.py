"""Open-Meteo's archive (ERA5 and ERA5-Land): one request with one interval for each year."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from location_context.errors import ProviderQuiet
from location_context.sections.weather.cells import ARCHIVE_DEGREES, cell_of
from location_context.sections.weather.notices import OPEN_METEO, copernicus
from location_context.sections.weather.providers.contract import intervals
from location_context.sections.weather.providers.open_meteo import NAME, Asking, quiet_for, weight
from location_context.sections.weather.providers.open_meteo_answer import daily, grid_of
from location_context.sections.weather.records import FIELDS, Month, month_span
from location_context.upstream.provider import Upstream, UpstreamLimits

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
    from location_context.upstream.budget import Budget

_LONGEST_QUEUE = 4


class OpenMeteoArchive(Asking):
    """The archive. On free access one call at a time, and few that wait."""

    source = "open_meteo_era5_seamless"
    name = NAME
    model = "era5_seamless"

    def __init__(
        self, settings: Settings, clock: Clock, client: httpx2.AsyncClient, budget: Budget
    ) -> None:
        at_once = 2 if settings.open_meteo_api_key else 1  # more would queue at the provider
        upstream = Upstream(
            "open_meteo_archive", settings.archive_url, client, clock,
            budget=budget, quiet_for=quiet_for(clock),
            limits=UpstreamLimits(timeout=20.0, max_in_flight=at_once),
        )  # fmt: skip
        super().__init__(upstream, settings)
        self._clock = clock
        self._asking = 0

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
        if self._asking >= _LONGEST_QUEUE:
            raise ProviderQuiet(NAME, "too many calls wait for their turn")

        def ask(allowed: Allowed) -> Awaitable[list[Month]]:
            last = today - timedelta(days=2)
            if allowed is not None:
                last = min(last, self._last(allowed))
            return self._ask(cell, wanted, last, public=public)

        self._asking += 1
        try:
            return await self.learning(ask, cell)
        finally:
            self._asking -= 1

    def _last(self, allowed: re.Match[str]) -> date:
        try:
            return date.fromisoformat(allowed[2])
        except ValueError:
            raise self.refuse("named a range without dates") from None

    async def _ask(
        self, cell: Cell, wanted: Sequence[YearMonth], last: date, *, public: bool
    ) -> list[Month]:
        spans = [(start, min(end, last)) for start, end in intervals(wanted) if start <= last]
        if not spans:
            raise ProviderQuiet(NAME, "has nothing so recent")
        variables = self.variables(FIELDS)
        params = {
            **cell.params,
            "start_date": ",".join(str(start) for start, _ in spans),
            "end_date": ",".join(str(end) for _, end in spans),
            "daily": ",".join(variables), "models": self.model,
            "timezone": self.zone(cell), "elevation": "nan",
        }  # fmt: skip
        units = weight(len(variables), [(end - start).days + 1 for start, end in spans])
        body = await self.get(params, units, public=public)
        blocks = body if isinstance(body, list) else [body]
        return self._cut(cell, wanted, blocks)

    def _cut(self, cell: Cell, wanted: Sequence[YearMonth], blocks: list[Any]) -> list[Month]:
        if not blocks:
            raise self.refuse("the answer holds no days")
        now, read = self._clock(), [daily(block, FIELDS, self.refuse) for block in blocks]
        return [
            Month(year, month, grid_of(blocks[0], cell), now, _gathered(year, month, read))
            for year, month in wanted
        ]


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
