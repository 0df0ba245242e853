"""Open-Meteo: the daily forecast, the archive (ERA5 and ERA5-Land) and the height of a point.

Kept per cell, both are asked for at the cell's centre with `elevation=nan`, which turns off the
provider's own downscaling to the terrain: the correction for height is ours, made once. The height
is that of its 90 m terrain model at the point, which comes with any answer that leaves `elevation`
out. Dates are read from the answer, never from positions.
"""

from __future__ import annotations

import re
from datetime import UTC, date, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from location_context.errors import ProviderAnswerInvalid, ProviderQuiet, ProviderRefused
from location_context.sections.weather.cells import ARCHIVE_DEGREES, FORECAST_DEGREES, cell_of
from location_context.sections.weather.notices import OPEN_METEO, copernicus
from location_context.sections.weather.open_meteo_answer import (
    NAMES,
    daily,
    elevation_of,
    grid_of,
)
from location_context.sections.weather.providers import Forecast, intervals
from location_context.sections.weather.records import (
    FIELDS,
    FORECAST_FIELDS,
    Month,
    month_span,
)
from location_context.upstream.budget import DAY, HOUR, MINUTE, Budget
from location_context.upstream.provider import Upstream, UpstreamLimits, quiet_by_header

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    import httpx2

    from location_context.point import Point
    from location_context.sections.contract import Attribution
    from location_context.sections.weather.cells import Cell
    from location_context.sections.weather.providers import YearMonth
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.provider import Answer

T = TypeVar("T")
Allowed = re.Match[str] | None

NAME = "Open-Meteo"
FREE_LIMITS = {MINUTE: 480.0, HOUR: 4000.0, DAY: 8000.0}  # 80 % of 600, 5,000 and 10,000
_FRESH = timedelta(minutes=30)
_LONGEST_QUEUE = 4
_LESSONS = 5
_RANGE = re.compile(r"allowed range from (\S+) to ([^\s.]+)")
_INVALID = re.compile(r"invalid String value (\w+)")


def budget() -> Budget:
    """One budget for both hosts: the free limits count by address."""
    return Budget(FREE_LIMITS)


def weight(variables: int, days: Sequence[int]) -> float:
    """Units a call counts for: by tens of variables and fortnights, for each interval."""
    return max(variables / 10, 1.0) * sum(max(n / 14, 1.0) for n in days)


def quiet_for(clock: Clock) -> Callable[[Answer], float]:
    """Seconds of quiet that a 429 asks for: it names its window only in words."""

    def seconds(answer: Answer) -> float:
        said = answer.body[:500].decode(errors="replace").lower()
        if "daily api" in said:
            now = clock().astimezone(UTC)
            return (now.replace(hour=0, minute=1, second=0) + timedelta(days=1) - now).seconds + 1.0
        if "hourly api" in said:
            return HOUR
        return MINUTE if "minutely api" in said else quiet_by_header(answer)

    return seconds


class _Asking:
    """What forecast and archive share: the key, and learning from what a 400 says."""

    def __init__(self, upstream: Upstream, settings: Settings) -> None:
        self.upstream = upstream
        self._key = settings.open_meteo_api_key
        self._lacking: set[str] = set()
        self._strange_zones: set[str] = set()

    def _zone(self, cell: Cell) -> str:
        """The cell's zone, or the provider's own choice where it does not know the name."""
        return "auto" if cell.timezone in self._strange_zones else cell.timezone

    def _variables(self, fields: Sequence[str]) -> list[str]:
        return [NAMES[name][0] for name in fields if NAMES[name][0] not in self._lacking]

    async def _get(self, params: Mapping[str, str], units: float, *, public: bool) -> Any:
        keyed = {**params, "apikey": self._key.reveal()} if self._key else dict(params)
        answer = await self.upstream.get(keyed, units=units, public=public)
        try:
            body = answer.json()
        except ProviderAnswerInvalid as error:
            self.upstream.reject(error)
            raise
        if isinstance(body, dict) and body.get("error"):
            raise self.refuse("answered with an error")
        return body

    def refuse(self, sentence: str) -> ProviderAnswerInvalid:
        """An error for an answer that is not what was promised; counts against the provider."""
        error = ProviderAnswerInvalid(NAME, sentence)
        self.upstream.reject(error)
        return error

    async def _learning(self, ask: Callable[[Allowed], Awaitable[T]], cell: Cell) -> T:
        """What `ask` gives, asked again as long as a 400 tells what to ask otherwise."""
        allowed: Allowed = None
        for _ in range(_LESSONS):
            try:
                return await ask(allowed)
            except ProviderRefused as error:
                allowed = self._learn(error, cell) or allowed
        return await ask(allowed)

    def _learn(self, error: ProviderRefused, cell: Cell) -> Allowed:
        """The allowed range a 400 names; what else it does not know is not asked for again.

        Raises:
            ProviderRefused: it says nothing to learn from.
        """
        said = _reason(error.body)
        if error.status == 400 and "timezone" in said and self._zone(cell) != "auto":
            self._strange_zones.add(cell.timezone)
            return None
        unknown = _INVALID.search(said)
        if error.status == 400 and unknown and unknown[1] not in self._lacking:
            self._lacking.add(unknown[1])
            return None
        if error.status == 400 and (allowed := _RANGE.search(said)):
            return allowed
        raise error


def _reason(body: bytes) -> str:
    try:
        said = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return str(said.get("reason", "")) if isinstance(said, dict) else ""


class OpenMeteoForecast(_Asking):
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

        return await self._learning(ask, cell)

    async def _forecast(
        self, cell: Cell, past_days: int, span: Mapping[str, str], *, public: bool
    ) -> Forecast:
        variables = self._variables(FORECAST_FIELDS)
        params = {
            **cell.params, **span, "daily": ",".join(variables),
            "timezone": self._zone(cell), "elevation": "nan",
        }  # fmt: skip
        units = weight(len(variables), [16 + past_days])
        body = await self._get(params, units, public=public)
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
        return elevation_of(await self._get(params, 1.0, public=public))


def _kept_to(allowed: re.Match[str], today: date, past_days: int) -> dict[str, str]:
    """Parameters inside the range that the provider named: of dates, or of forecast days."""
    try:
        first, last = date.fromisoformat(allowed[1]), date.fromisoformat(allowed[2])
    except ValueError:
        days = re.sub(r"\D", "", allowed[2])
        return {"forecast_days": days or "14", "past_days": str(past_days)}
    start, end = today - timedelta(past_days), today + timedelta(15)
    return {"start_date": str(max(first, start)), "end_date": str(min(last, end))}


class OpenMeteoArchive(_Asking):
    """The archive: one request with one interval a year."""

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
            return await self._learning(ask, cell)
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
        variables = self._variables(FIELDS)
        params = {
            **cell.params,
            "start_date": ",".join(str(start) for start, _ in spans),
            "end_date": ",".join(str(end) for _, end in spans),
            "daily": ",".join(variables), "models": self.model,
            "timezone": self._zone(cell), "elevation": "nan",
        }  # fmt: skip
        units = weight(len(variables), [(end - start).days + 1 for start, end in spans])
        body = await self._get(params, units, public=public)
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
