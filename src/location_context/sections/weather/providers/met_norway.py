"""The forecast provider `met_norway`: MET Norway's Locationforecast 2.0, about nine days.

This provider is tried after Open-Meteo. MET Norway's terms require a User-Agent with a
contact (without a contact the provider is not configured), and coordinates with at most four
decimals. No request may be sent before the time `Expires` of the last answer. Later requests must
have `If-Modified-Since`. Redirects must be followed. Status 203 means that the product will end; it
is logged.

The forecast is a list of steps of 1, 6 and 12 hours, which this module aggregates to local days. A
step lasts until the next step. It has instant values for its beginning, and blocks of values for
the hours that follow (such as `next_6_hours`). The last step has only instant values.

Instant values belong to the local date of the instant. In means they are weighted by the length of
the step. The rain of a block that spans midnight is divided between the dates by hours. Extremes,
chance of rain and weather code cannot be divided; they belong to the date with most of the hours. A
day is known if steps cover at least 18 of its hours, or at least 6 if it is today. A day's weather
code is the most severe one, as at Open-Meteo.
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
    """An answer of MET Norway in the cache.

    `body` is the decoded JSON, `last_modified` the value of the header `Last-Modified`.
    """

    body: Any
    expires_at: datetime
    last_modified: str | None


class MetNorway(ForecastProvider):
    """The provider `met_norway`. It has no data of past days, so it ignores `past_days`."""

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
        """Fetch the forecast of a cell, aggregated to days of the cell's time zone."""
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
        """Return a response as a cache entry.

        If the status is 304 (not modified), return the cached body with the new time of expiry.
        """
        expires_at = self._expires_at(response.headers)
        if response.status == 304 and cached is not None:
            return replace(cached, expires_at=expires_at)
        if response.status == 203 and not self._warned:
            self._warned = True
            structlog.get_logger().warning("product_deprecated", provider=self.name)
        return _Cached(response.json(), expires_at, response.headers.get("last-modified"))

    def _expires_at(self, headers: Mapping[str, str]) -> datetime:
        """Return the time until which a response must not be requested again.

        This is the time in the `Expires` header, but at least 5 minutes and at most 2 hours from
        now. If the header is missing or invalid, the result is 5 minutes from now.
        """
        now = self._clock()
        try:
            moment = parsedate_to_datetime(headers["expires"])
        except (KeyError, ValueError, OverflowError):  # the last: huge numbers, in some Pythons
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
    """Collects the values of all steps that belong to one local day.

    `samples` has pairs (value, hours) for each field.
    """

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
        """Add the values of a forecast step's block to this day, each weighted by `hours`.

        `table` has the provider's name and unit for each of our fields.
        """
        for name, (path, unit) in table.items():
            if (value := _number(block, path)) is not None:
                self.samples[name].append((value * base.UNITS[unit][0], hours))

    def add_wind(self, block: Any, hours: float) -> None:
        speed, origin = _number(block, "wind_speed"), _number(block, "wind_from_direction")
        if speed is not None and origin is not None:
            self.wind += cmath.rect(speed * hours, math.radians(origin))

    def add_rain(self, block: Any, length: int, hours: float) -> None:
        """Add the part of a block's rain that belongs to this day.

        The block lasts `length` hours, of which `hours` belong to this day.
        """
        self.hours += hours
        self.hourly = self.hourly and length == 1
        if (rain := _number(block, "precipitation_amount")) is not None:
            self.rain += rain * hours / length
            self.rain_hours += hours
            self.wet_hours += hours if rain >= 0.1 else 0.0

    def values(self) -> dict[str, float]:
        """Return the day's value for each field that is known."""
        found = {name: _reduce(name, samples) for name, samples in self.samples.items()}
        if self.rain_hours >= 0.75 * self.hours:
            found["precipitation_sum"] = self.rain
        if self.hourly:
            found["precipitation_hours"] = self.wet_hours
        if abs(self.wind) >= 1e-9:
            found["wind_direction_dominant"] = math.degrees(cmath.phase(self.wind)) % 360
        return found


def aggregate_to_days(steps: Sequence[Any], timezone: str, today: date) -> tuple[date, Columns]:
    """Aggregate forecast steps to local days; return the first date and daily values of each field.

    The first date is the earliest with data for enough hours: 18, or 6 if it is `today`. Unknown
    values are NaN.
    """
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
        raise ValueError("no day of the forecast has enough time steps")
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
    """Return the length of a forecast step in hours; 0 if it has no end or no valid length."""
    hours = (end - begin) / timedelta(hours=1) if end else 0.0
    return hours if 0 < hours <= PERIODS[-1] else 0.0


def _shares(begin: datetime, hours: float, zone: ZoneInfo) -> Iterator[tuple[date, float]]:
    """Yield each local date that a forecast step touches, and the step's hours on that date."""
    local, end = begin.astimezone(zone), begin + timedelta(hours=hours)
    midnight = datetime.combine(local.date() + timedelta(1), datetime.min.time(), zone)
    turn = min(end, midnight.astimezone(UTC))
    yield local.date(), (turn - begin) / timedelta(hours=1)
    if turn < end:
        yield midnight.date(), (end - turn) / timedelta(hours=1)


def _add_period(shares: Sequence[tuple[_Day, float]], data: Any, hours: float) -> None:
    """Add a forecast step's block of values to the days that the step touches.

    The shortest block (`next_1_hours`, …) that covers the step is used.

    Args:
        shares: pairs of a day and the number of the step's hours on that day.
        data: the step's data.
        hours: the length of the step.
    """
    holding = (n for n in PERIODS if n >= hours and data.get(f"next_{n}_hours"))
    length = next(holding, PERIODS[-1])
    block = data.get(f"next_{length}_hours") or {}
    for day, share in shares:
        day.add_rain(block, length, share)
        if share >= hours / 2:
            day.add(block, PERIOD)
            if hours > 1:  # an hour has its UV index in the instant; six may reach into tomorrow
                day.add(data.get("next_6_hours"), SIX_HOURS)
            if (code := _code((block.get("summary") or {}).get("symbol_code"))) is not None:
                day.samples["weather_code"].append((code, 1.0))


def _reduce(name: str, samples: Sequence[tuple[float, float]]) -> float:
    """Return the day's value of a field from its samples, which are pairs (value, hours).

    If `name` ends in `_mean`, the day's value is the mean weighted by hours; if in `_min`, the
    lowest value; else the highest value.
    """
    if name.endswith("_mean"):
        hours = sum(weight for _, weight in samples)
        return sum(value * weight for value, weight in samples) / hours if hours else math.nan
    return (min if name.endswith("_min") else max)(value for value, _ in samples)


def _number(block: Any, path: str) -> float | None:
    """Return the value named `path` in a step's block; None if it is missing or not a number."""
    value = ((block or {}).get("details") or {}).get(path)
    return float(value) if base.is_number(value) else None


def _code(symbol: Any) -> int | None:
    if not isinstance(symbol, str):
        return None
    weather = symbol.partition("_")[0]
    return 95 if weather.endswith("andthunder") else _CODES.get(weather)
