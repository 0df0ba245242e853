"""Open-Meteo's archive (ERA5 and ERA5-Land): one request with one interval for each year."""

from collections.abc import Awaitable, Sequence
from datetime import date, timedelta
from typing import Any

from location_context.errors import ProviderBackoff, ProviderResponseInvalid
from location_context.point import Point
from location_context.sections.contract import Attribution
from location_context.sections.open_meteo import NAME, open_meteo_client
from location_context.sections.section import SectionContext
from location_context.sections.weather.providers import base, open_meteo
from location_context.sections.weather.records import FIELDS, Cell, Month, YearMonth
from location_context.upstream.client import ClientLimits

LAG_DAYS = 30  # the archive lags about five; what is this old it surely has
MAX_WAITING = 4  # a call takes seconds; who comes later is served by the second archive


class OpenMeteoArchive(base.ArchiveProvider):
    """The archive. On free access one call at a time, and few that wait.

    A cell is asked for at its centre, so that all months of a cell are at one height.
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
        self._open_meteo = open_meteo.OpenMeteoClient(self.client, context, FIELDS)

    def cell(self, point: Point) -> Cell:
        return Cell.of(point, base.ARCHIVE_DEGREES)

    def attribution(self, today: date) -> Sequence[Attribution]:
        return (open_meteo.OPEN_METEO, open_meteo.copernicus(today.year))

    async def fetch_months(
        self, cell: Cell, wanted: Sequence[YearMonth], today: date, *, public: bool
    ) -> list[Month]:
        """The wanted months in one request; refused where too many wait for their turn already."""

        def ask(allowed: open_meteo.AllowedRange) -> Awaitable[list[Month]]:
            last = today - timedelta(days=2)
            if allowed is not None:
                last = min(last, _last_date(allowed))
            return self._ask(cell, wanted, last, public=public)

        past = str(today - timedelta(days=LAG_DAYS))
        one_day = {"start_date": past, "end_date": past, "models": self.model}
        return await self._open_meteo.retry_with_corrections(ask, cell, one_day)

    async def _ask(
        self, cell: Cell, wanted: Sequence[YearMonth], last: date, *, public: bool
    ) -> list[Month]:
        spans = [(start, min(end, last)) for start, end in base.intervals(wanted) if start <= last]
        if not spans:
            raise ProviderBackoff(NAME, "has nothing so recent")
        params = {
            **self._open_meteo.params(cell),
            "start_date": ",".join(str(start) for start, _ in spans),
            "end_date": ",".join(str(end) for _, end in spans),
            "models": self.model,
        }
        days = [(end - start).days + 1 for start, end in spans]
        return await self._open_meteo.get(
            params, lambda body: self._read(cell, wanted, body), days, public=public
        )

    def _read(self, cell: Cell, wanted: Sequence[YearMonth], body: Any) -> list[Month]:
        answers = body if isinstance(body, list) else [body]
        blocks = [open_meteo.read_daily(answer, FIELDS) for answer in answers]
        return base.months_from(
            wanted, blocks, open_meteo.read_grid(answers[0], cell), self._clock()
        )


def _last_date(allowed: open_meteo.AllowedRange) -> date:
    assert allowed is not None
    try:
        return date.fromisoformat(allowed[2])
    except ValueError:
        raise ProviderResponseInvalid(NAME, "named a range without dates") from None
