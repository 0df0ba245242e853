"""MET Norway's Locationforecast 2.0 `complete`: the second forecast, about nine days.

Its terms: an identifying User-Agent with a contact (without one it is not configured), at most four
decimals, no request before `Expires`, `If-Modified-Since` after, redirects followed, and a
203 (a product about to end) logged for the operator.

Its steps of 1, 6 and 12 hours become local days. A step lasts until the next one, and is described
by the block of that length; the last is an instant only. An instant belongs to its own local date,
and counts in the means for as long as its step lasts. The rain of a block over midnight is divided
by hours; what cannot be divided (extremes, chance, code) belongs to the date with most of them. A
day is known when steps cover at least 18 of its hours, or, today, 6 of those left. Codes: the most
severe of the day, as Open-Meteo does.
"""

import cmath
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import structlog

from location_context.lru import LRUCache
from location_context.sections.contract import CC_BY, Attribution
from location_context.sections.section import SectionContext
from location_context.sections.weather import records
from location_context.sections.weather.providers import base
from location_context.sections.weather.providers.base import Forecast, ForecastProvider, Native
from location_context.sections.weather.records import Cell, Columns
from location_context.upstream.client import ClientLimits, ProviderClient
from location_context.upstream.http import HttpResponse

MIN_TTL, MAX_TTL = timedelta(minutes=5), timedelta(hours=2)
MAX_CACHED = 500
MAX_REDIRECTS = 3  # its terms require following them

MET_NORWAY = Attribution(
    name="MET Norway",
    url="https://api.met.no/",
    license=CC_BY.name,
    text="Data from MET Norway",
    adapted=True,  # steps gathered into local days, brought to the point's height
)
MIN_HOURS, MIN_HOURS_TODAY = 18.0, 6.0
MAX_DAYS = 20
PERIODS = (1, 6, 12)  # hours
INSTANT: Mapping[str, Native] = {
    "temperature_max": Native("air_temperature"),
    "temperature_min": Native("air_temperature"),
    "temperature_mean": Native("air_temperature"),
    "cloud_cover_mean": Native("cloud_area_fraction"),
    "humidity_mean": Native("relative_humidity"),
    "wind_speed_max": Native("wind_speed", "m/s"),
    "wind_gusts_max": Native("wind_speed_of_gust", "m/s"),
    "uv_index_max": Native("ultraviolet_index_clear_sky"),
}
PERIOD: Mapping[str, Native] = {
    "temperature_max": Native("air_temperature_max"),
    "temperature_min": Native("air_temperature_min"),
    "precipitation_probability": Native("probability_of_precipitation"),
}
SIX_HOURS: Mapping[str, Native] = {"uv_index_max": Native("ultraviolet_index_clear_sky_max")}
_CODES: Mapping[str, int] = {  # by symbol without its _day, _night or _polartwilight
    "clearsky": 0, "fair": 1, "partlycloudy": 2, "cloudy": 3, "fog": 45,
    "lightrain": 61, "rain": 63, "heavyrain": 65,
    "lightrainshowers": 80, "rainshowers": 81, "heavyrainshowers": 82,
    "lightsleet": 66, "sleet": 66, "heavysleet": 67,
    "lightsleetshowers": 66, "sleetshowers": 66, "heavysleetshowers": 67,
    "lightsnow": 71, "snow": 73, "heavysnow": 75,
    "lightsnowshowers": 85, "snowshowers": 85, "heavysnowshowers": 86,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Cached:
    """An answer as it came, its expiry, and the validators for the next request."""

    body: Any
    expires_at: datetime
    last_modified: str | None


class MetNorway(ForecastProvider):
    """The provider. `past_days` are never known to it."""

    name = "met_norway"
    title = "MET Norway"
    model = "Locationforecast 2.0"
    order = 200
    attribution = (MET_NORWAY,)
    product = "damped"  # from day 2 or 3 on 51 members of ECMWF's ensemble, post-processed

    def __init__(self, context: SectionContext) -> None:
        super().__init__(context)
        settings = context.settings
        url = settings.met_norway_url if settings.contact else ""
        self.client = ProviderClient(
            self.name, url, context.client, context.clock,
            host=context.host(self.name),
            limits=ClientLimits(max_in_flight=4, redirects=MAX_REDIRECTS),
        )  # fmt: skip
        self._warned = False
        self._cache: LRUCache[Cell, _Cached] = LRUCache(MAX_CACHED)

    async def fetch_forecast(
        self, cell: Cell, today: date, past_days: int, *, public: bool
    ) -> Forecast:
        """Fetch the forecast of a cell, in days of the cell's zone."""
        del past_days
        cached = self._cache.get(cell)
        if cached is not None and self._clock() < cached.expires_at:
            return self._forecast(cell, cached, today)
        params = {"lat": f"{cell.lat:.4f}", "lon": f"{cell.lng:.4f}"}
        since = cached.last_modified if cached else None

        def read(response: HttpResponse) -> Forecast:
            fresh = self._read(response, cached)
            forecast = self._forecast(cell, fresh, today)
            self._cache.put(cell, fresh)
            return forecast

        return await self.client.get(
            params, read, headers={"If-Modified-Since": since} if since else {},
            public=public, accept=(200, 203, 304),
        )  # fmt: skip

    def _read(self, response: HttpResponse, cached: _Cached | None) -> _Cached:
        """Return the answer to cache, read from a response."""
        expires_at = self._expires_at(response.headers)
        if response.status == 304 and cached is not None:
            return replace(cached, expires_at=expires_at)
        if response.status == 203 and not self._warned:
            self._warned = True
            structlog.get_logger().warning("product_deprecated", provider=self.name)
        return _Cached(response.json(), expires_at, response.headers.get("last-modified"))

    def _expires_at(self, headers: Mapping[str, str]) -> datetime:
        """Return the moment of its `Expires`, limited to 5 minutes to 2 hours from now."""
        now = self._clock()
        try:
            moment = parsedate_to_datetime(headers["expires"])
        except (KeyError, ValueError, OverflowError):  # of a huge number, by Python's version
            return now + MIN_TTL
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return min(max(moment, now + MIN_TTL), now + MAX_TTL)

    def _forecast(self, cell: Cell, cached: _Cached, today: date) -> Forecast:
        properties = cached.body["properties"]
        issued = datetime.fromisoformat(properties["meta"]["updated_at"]).astimezone(UTC)
        lng, lat, *rest = cached.body["geometry"]["coordinates"]
        grid = base.read_grid(cell, lat, lng, rest[0] if rest else None)
        first, columns = aggregate_to_days(properties["timeseries"], cell.timezone, today)
        return Forecast(first, columns, grid, self._clock(), cached.expires_at, issued)


@dataclass(slots=True)
class _Day:
    """The values of one local day; `samples` are values with their hours, by field."""

    samples: defaultdict[str, list[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    hours: float = 0.0
    rain: float = 0.0
    rain_hours: float = 0.0
    wet_hours: float = 0.0
    hourly: bool = True
    wind: complex = 0j  # north and east, by hours

    def add(self, block: Any, table: Mapping[str, Native], hours: float = 1.0) -> None:
        """Add the values of a block that the table names."""
        for name, (path, unit) in table.items():
            if (value := _number(block, path)) is not None:
                self.samples[name].append((value * base.UNITS[unit][0], hours))

    def add_wind(self, block: Any, hours: float) -> None:
        speed, origin = _number(block, "wind_speed"), _number(block, "wind_from_direction")
        if speed is not None and origin is not None:
            self.wind += cmath.rect(speed * hours, math.radians(origin))

    def add_rain(self, block: Any, length: int, hours: float) -> None:
        """Add the part of a block that falls on this day, in hours."""
        self.hours += hours
        self.hourly = self.hourly and length == 1
        if (rain := _number(block, "precipitation_amount")) is not None:
            self.rain += rain * hours / length
            self.rain_hours += hours
            self.wet_hours += hours if rain >= 0.1 else 0.0

    def values(self) -> dict[str, float]:
        """Return our fields, as far as they are known."""
        found = {name: _reduce(name, samples) for name, samples in self.samples.items()}
        if self.rain_hours >= 0.75 * self.hours:
            found["precipitation_sum"] = self.rain
        if self.hourly:
            found["precipitation_hours"] = self.wet_hours
        if abs(self.wind) >= 1e-9:
            found["wind_direction_dominant"] = math.degrees(cmath.phase(self.wind)) % 360
        return found


def aggregate_to_days(steps: Sequence[Any], timezone: str, today: date) -> tuple[date, Columns]:
    """Return the first local date and the columns of all days that the steps cover well enough."""
    zone, days = ZoneInfo(timezone), defaultdict[date, _Day](_Day)
    moments = [datetime.fromisoformat(step["time"]).astimezone(UTC) for step in steps]
    for begin, end, step in zip(moments, [*moments[1:], None], steps, strict=True):
        data, hours = step["data"], _length(begin, end)
        own = days[begin.astimezone(zone).date()]
        own.add(data.get("instant"), INSTANT, hours)
        own.add_wind(data.get("instant"), hours)
        if hours:
            _add_period(
                [(days[day], share) for day, share in _shares(begin, hours, zone)], data, hours
            )
    known = [
        day
        for day, sums in days.items()
        if sums.hours >= (MIN_HOURS_TODAY if day == today else MIN_HOURS)
    ]
    if not known:
        raise ValueError("no day is covered")
    first = min(known)
    length = min((max(known) - first).days + 1, MAX_DAYS)
    columns = {name: np.full(length, math.nan) for name in records.FORECAST_FIELDS}
    for day in known:
        if (place := (day - first).days) < length:
            for name, value in days[day].values().items():
                columns[name][place] = value
    values = records.plausible(records.FORECAST_FIELDS, np.stack(list(columns.values())))
    return first, dict(zip(columns, values, strict=True))


def _length(begin: datetime, end: datetime | None) -> float:
    """Return the hours of a step; 0 if they are missing or not a valid length."""
    hours = (end - begin) / timedelta(hours=1) if end else 0.0
    return hours if 0 < hours <= PERIODS[-1] else 0.0


def _shares(begin: datetime, hours: float, zone: ZoneInfo) -> Iterator[tuple[date, float]]:
    """Yield the local dates that a step touches, and how many of its hours fall on each."""
    local, end = begin.astimezone(zone), begin + timedelta(hours=hours)
    midnight = datetime.combine(local.date() + timedelta(1), datetime.min.time(), zone)
    turn = min(end, midnight.astimezone(UTC))
    yield local.date(), (turn - begin) / timedelta(hours=1)
    if turn < end:
        yield midnight.date(), (end - turn) / timedelta(hours=1)


def _add_period(shares: Sequence[tuple[_Day, float]], data: Any, hours: float) -> None:
    """Add the values for the hours of a step, by the shortest block that holds them."""
    holding = (n for n in PERIODS if n >= hours and data.get(f"next_{n}_hours"))
    length = next(holding, PERIODS[-1])
    block = data.get(f"next_{length}_hours") or {}
    for day, share in shares:
        day.add_rain(block, length, share)
        if share >= hours / 2:
            day.add(block, PERIOD)
            if hours > 1:  # an hourly step has it in its instant; six hours may reach into tomorrow
                day.add(data.get("next_6_hours"), SIX_HOURS)
            if (code := _code((block.get("summary") or {}).get("symbol_code"))) is not None:
                day.samples["weather_code"].append((code, 1.0))


def _reduce(name: str, samples: Sequence[tuple[float, float]]) -> float:
    """Return the mean of a field, weighted by hours, or its lowest or highest value."""
    if name.endswith("_mean"):
        hours = sum(weight for _, weight in samples)
        return sum(value * weight for value, weight in samples) / hours if hours else math.nan
    return (min if name.endswith("_min") else max)(value for value, _ in samples)


def _number(block: Any, path: str) -> float | None:
    """Return a value in the details of a block, or None."""
    value = ((block or {}).get("details") or {}).get(path)
    return float(value) if base.is_number(value) else None


def _code(symbol: Any) -> int | None:
    if not isinstance(symbol, str):
        return None
    weather = symbol.partition("_")[0]
    return 95 if weather.endswith("andthunder") else _CODES.get(weather)
