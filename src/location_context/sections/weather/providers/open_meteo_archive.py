"""Open-Meteo's archive (ERA5 and ERA5-Land): one request with one interval for each year."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from location_context.errors import ProviderBackoff
from location_context.point import Point
from location_context.sections.contract import Attribution
from location_context.sections.open_meteo import NAME, open_meteo_client
from location_context.sections.section import SectionContext
from location_context.sections.weather.providers import base, open_meteo
from location_context.sections.weather.records import ARCHIVE_FIELDS, Cell, Month, YearMonth
from location_context.upstream.client import ClientLimits

NEWEST_DAYS = 2  # before today: no later date is asked for; the archive lags about five days
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
        self._open_meteo = open_meteo.OpenMeteoClient(self.client, context, ARCHIVE_FIELDS)

    def cell(self, point: Point) -> Cell:
        return Cell.of(point, base.ARCHIVE_DEGREES)

    def attribution(self, today: date) -> Sequence[Attribution]:
        return (open_meteo.OPEN_METEO, open_meteo.copernicus(today.year))

    async def fetch_months(
        self, cell: Cell, wanted: Sequence[YearMonth], today: date, *, public: bool
    ) -> list[Month]:
        """Fetch the wanted months in one request; refused where too many calls wait already.

        Raises:
            ProviderError: they did not come.
        """
        last = today - timedelta(days=NEWEST_DAYS)
        spans = [(start, min(end, last)) for start, end in base.intervals(wanted) if start <= last]
        if not spans:
            raise ProviderBackoff(NAME, "has nothing so recent")
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
        blocks = [open_meteo.read_daily(answer, ARCHIVE_FIELDS) for answer in answers]
        return base.months_from(
            wanted, blocks, open_meteo.read_grid(answers[0], cell), self._clock()
        )
