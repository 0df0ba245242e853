"""MET Norway's Locationforecast 2.0 `complete`: the second forecast, about nine days.

Its terms: an identifying User-Agent with a contact (without one it is not configured), at most four
decimals, nothing asked for before `Expires`, `If-Modified-Since` after, redirects followed, and a
203 (a product about to go) logged for the operator.

Its steps of 1, 6 and 12 hours become local days. A step lasts until the next one, and is described
by the block of that length; the last is an instant only. An instant belongs to its own local date,
and counts in the means for as long as its step lasts. The rain of a block over midnight is divided
by hours; what cannot be divided (extremes, chance, code) belongs to the date with most of them. A
day is known when steps cover at least 18 of its hours, or, today, 6 of those left. Codes: the most
severe of the day, as Open-Meteo does.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Self
from zoneinfo import ZoneInfo

import numpy as np
import structlog

from location_context.lru import LRUCache
from location_context.sections.contract import CC_BY, Attribution
from location_context.sections.section import SectionContext
from location_context.sections.weather.providers.base import (
    UNITS,
    Forecast,
    ForecastProvider,
    is_number,
)
from location_context.sections.weather.records import (
    FORECAST_FIELDS,
    Cell,
    Columns,
    Grid,
    plausible,
)
from location_context.upstream.client import ClientLimits, ProviderClient
from location_context.upstream.host import MINUTE, Budget, Host
from location_context.upstream.http import HttpResponse

MIN_TTL, MAX_TTL = timedelta(minutes=5), timedelta(hours=2)
CALLS = {MINUTE: 240.0}  # its terms ask for fewer than 20 a second
MAX_CACHED = 500
MAX_REDIRECTS = 3  # its terms ask to follow them

MET_NORWAY = Attribution(
    name="MET Norway",
    url="https://api.met.no/",
    license=CC_BY.name,
    text="Data from MET Norway",
    adapted=True,  # steps gathered into local days, brought to the point's height
)
MIN_HOURS, MIN_HOURS_TODAY = 18.0, 6.0
MAX_DAYS = 20
_BLOCKS = (1, 6, 12)  # hours
_UV = "ultraviolet_index_clear_sky"
MS_TO_KMH = UNITS["m/s"][0]
_NAN = float("nan")
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
    """An answer as it came, until when it holds, and what to ask again with."""

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

    def __init__(self, context: SectionContext) -> None:
        settings = context.settings
        url = settings.met_norway_url if settings.contact else ""
        self.client = ProviderClient(
            self.name, url, context.client, context.clock,
            host=Host(Budget(CALLS, share=settings.budget_share)),
            limits=ClientLimits(max_in_flight=4, redirects=MAX_REDIRECTS),
        )  # fmt: skip
        self._clock = context.clock
        self._warned = False
        self._cache: LRUCache[Cell, _Cached] = LRUCache(MAX_CACHED)

    @classmethod
    def build(cls, context: SectionContext) -> Self:
        return cls(context)

    async def fetch_forecast(
        self, cell: Cell, today: date, past_days: int, *, public: bool
    ) -> Forecast:
        """The forecast of a cell, in days of the cell's zone.

        Raises:
            ProviderError: none came.
        """
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
        """What is cached from now on."""
        expires_at = self._expires_at(response.headers)
        if response.status == 304 and cached is not None:
            return replace(cached, expires_at=expires_at)
        if response.status == 203 and not self._warned:
            self._warned = True
            structlog.get_logger().warning("product_deprecated", provider=self.name)
        return _Cached(response.json(), expires_at, response.headers.get("last-modified"))

    def _expires_at(self, headers: Mapping[str, str]) -> datetime:
        """The moment of its `Expires`, kept between five minutes and two hours from now."""
        now = self._clock()
        try:
            moment = parsedate_to_datetime(headers["expires"])
        except (KeyError, ValueError):
            return now + MIN_TTL
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return min(max(moment, now + MIN_TTL), now + MAX_TTL)

    def _forecast(self, cell: Cell, cached: _Cached, today: date) -> Forecast:
        properties = cached.body["properties"]
        issued = datetime.fromisoformat(properties["meta"]["updated_at"]).astimezone(UTC)
        lng, lat, *rest = cached.body["geometry"]["coordinates"]
        grid = Grid(float(lat), float(lng), float(rest[0]) if rest else None)
        first, columns = aggregate_to_days(properties["timeseries"], cell.timezone, today)
        return Forecast(first, columns, grid, self._clock(), cached.expires_at, issued)


@dataclass(slots=True)
class _Day:
    """Sums over one local day."""

    hours: float = 0.0
    highs: list[float] = field(default_factory=list)
    lows: list[float] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)
    winds: list[float] = field(default_factory=list)
    gusts: list[float] = field(default_factory=list)
    uv: list[float] = field(default_factory=list)
    weighted: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    rain: float = 0.0
    rain_hours: float = 0.0
    wet_hours: float = 0.0
    hourly: bool = True
    east: float = 0.0
    north: float = 0.0

    def mean(self, name: str) -> float:
        pairs = self.weighted.get(name, [])
        hours = sum(weight for _, weight in pairs)
        return sum(value * weight for value, weight in pairs) / hours if hours else _NAN


def aggregate_to_days(steps: Sequence[Any], timezone: str, today: date) -> tuple[date, Columns]:
    """The first local date and the columns of all days that the steps cover well enough."""
    zone, days = ZoneInfo(timezone), dict[date, _Day]()
    moments = [datetime.fromisoformat(step["time"]).astimezone(UTC) for step in steps]
    for begin, end, step in zip(moments, [*moments[1:], None], steps, strict=True):
        data, hours = step["data"], _length(begin, end)
        own = days.setdefault(begin.astimezone(zone).date(), _Day())
        _add_instant(own, (data.get("instant") or {}).get("details") or {}, hours)
        if hours:
            block = _Block.of(data, hours)
            for day, share in _shares(begin, begin + timedelta(hours=hours), zone):
                _add_rain(days.setdefault(day, _Day()), block, share)
                if share >= hours / 2:
                    _add_extremes(days[day], block)
    known = [d for d, sums in days.items() if sums.hours >= _needed(d, today)]
    if not known:
        raise ValueError("no day is covered")
    first = min(known)
    length = min((max(known) - first).days + 1, MAX_DAYS)
    columns = {name: np.full(length, _NAN) for name in FORECAST_FIELDS}
    for day in known:
        if (place := (day - first).days) < length:
            for name, value in _values(days[day]).items():
                columns[name][place] = value
    return first, {name: plausible(name, values) for name, values in columns.items()}


def _needed(day: date, today: date) -> float:
    return MIN_HOURS_TODAY if day == today else MIN_HOURS


def _length(begin: datetime, end: datetime | None) -> float:
    """How many hours a step lasts; 0 where that is not said, or is no length it has."""
    hours = (end - begin) / timedelta(hours=1) if end else 0.0
    return hours if 0 < hours <= _BLOCKS[-1] else 0.0


def _shares(begin: datetime, end: datetime, zone: ZoneInfo) -> Iterator[tuple[date, float]]:
    """The local dates a step touches, and how many of its hours fall on each."""
    local = begin.astimezone(zone)
    midnight = datetime.combine(local.date() + timedelta(1), datetime.min.time(), zone)
    turn = min(end, midnight.astimezone(UTC))
    yield local.date(), (turn - begin) / timedelta(hours=1)
    if turn < end:
        yield midnight.date(), (end - turn) / timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class _Block:
    """What is said of the hours after an instant: the shortest block that holds the step."""

    hours: int
    details: Mapping[str, Any]
    code: int | None
    uv: float | None

    @classmethod
    def of(cls, data: Any, length: float) -> Self:
        holding = (n for n in _BLOCKS if n >= length and data.get(f"next_{n}_hours"))
        hours = next(holding, _BLOCKS[-1])
        block = data.get(f"next_{hours}_hours") or {}
        six = data.get("next_6_hours") or {}
        return cls(
            hours=hours,
            details=block.get("details") or {},
            code=_code((block.get("summary") or {}).get("symbol_code")),
            # an hourly step has it in its instant, and its six hours reach into the next date
            uv=_number(six.get("details") or {}, _UV + "_max") if length > 1 else None,
        )


def _add_instant(day: _Day, now: Any, hours: float) -> None:
    """The values of one moment, which stand in the means for this many hours."""
    for name in ("air_temperature", "cloud_area_fraction", "relative_humidity"):
        if (value := _number(now, name)) is not None:
            day.weighted.setdefault(name, []).append((value, hours))
    if (temperature := _number(now, "air_temperature")) is not None:
        day.highs.append(temperature)
        day.lows.append(temperature)
    if (uv := _number(now, _UV)) is not None:
        day.uv.append(uv)
    _add_wind(day, now, hours)


def _add_rain(day: _Day, block: _Block, hours: float) -> None:
    """The part of a block that falls on a day, in hours."""
    day.hours += hours
    day.hourly = day.hourly and block.hours == 1
    if (rain := _number(block.details, "precipitation_amount")) is not None:
        day.rain += rain * hours / block.hours
        day.rain_hours += hours
        day.wet_hours += hours if rain >= 0.1 else 0.0


def _add_extremes(day: _Day, block: _Block) -> None:
    for values, name in (
        (day.highs, "air_temperature_max"),
        (day.lows, "air_temperature_min"),
        (day.chances, "probability_of_precipitation"),
    ):
        if (extreme := _number(block.details, name)) is not None:
            values.append(extreme)
    if block.uv is not None:
        day.uv.append(block.uv)
    if block.code is not None:
        day.codes.append(block.code)


def _add_wind(day: _Day, now: Any, hours: float) -> None:
    speed, toward = _number(now, "wind_speed"), _number(now, "wind_from_direction")
    if speed is not None:
        day.winds.append(speed * MS_TO_KMH)
        if toward is not None:
            day.east += math.sin(math.radians(toward)) * speed * hours
            day.north += math.cos(math.radians(toward)) * speed * hours
    if (gust := _number(now, "wind_speed_of_gust")) is not None:
        day.gusts.append(gust * MS_TO_KMH)


def _number(details: Any, name: str) -> float | None:
    value = details.get(name)
    return float(value) if is_number(value) else None


def _code(symbol: Any) -> int | None:
    if not isinstance(symbol, str):
        return None
    base = symbol.partition("_")[0]
    if base.endswith("andthunder"):
        return 95
    return _CODES.get(base)


def _values(day: _Day) -> dict[str, float]:
    calm = math.hypot(day.east, day.north) < 1e-9
    return {
        "weather_code": max(day.codes, default=_NAN),
        "temperature_max": max(day.highs, default=_NAN),
        "temperature_min": min(day.lows, default=_NAN),
        "temperature_mean": day.mean("air_temperature"),
        "precipitation_sum": day.rain if day.rain_hours >= 0.75 * day.hours else _NAN,
        "precipitation_hours": day.wet_hours if day.hourly else _NAN,
        "precipitation_probability": max(day.chances, default=_NAN),
        "wind_speed_max": max(day.winds, default=_NAN),
        "wind_gusts_max": max(day.gusts, default=_NAN),
        "wind_direction_dominant": (
            _NAN if calm else math.degrees(math.atan2(day.east, day.north)) % 360
        ),
        "cloud_cover_mean": day.mean("cloud_area_fraction"),
        "humidity_mean": day.mean("relative_humidity"),
        "uv_index_max": max(day.uv, default=_NAN),
    }
