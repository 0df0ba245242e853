"""Open-Meteo's forecast, archive and elevation as a stand-in that behaves as the server's code.

Calls: the free hosts run one request of an address at a time, hold five and refuse the sixth
(`slow_seconds` is how long one runs); customers (`X-Api-Key`) may come as they like, without an
archive where `plan_has_archive` is false. Heights: with `elevation` left out every model is brought
to the terrain of the requested point; with `nan` each keeps its own grid's height and the answer
names that of the finest; a number names the height. Errors quote the element of `daily` as it came:
one variable where commas stand bare, the whole list where they are escaped. `precipitation_hours`
is 0 where there is no precipitation data. The terrain of the sea is 0.0.

A server of one's own (`is_own`) is not at open-meteo.com: it has no limits and ignores keys. It
reads files that were not synced as unknown, with status 200: `unsynced` variables come as nulls,
and without the terrain its heights are `nan` (let `terrain` return it). Source, version 1.5.5:
Helper/Vapor/ApiKeyManager.swift, Helper/OmFileSplitter.swift, Dem/DownloadDem.swift.

Put `faults["/v1/archive"]` in place to break it; `missing` dates come as nulls; `lacking` variables
are unknown; `forecast_error` makes forecasts too warm.
"""

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from tests.fakes import weather_truth
from tests.fakes.server import FakeRequest, FakeResponse, FakeServer

FORECAST, ARCHIVE, ELEVATION = "/v1/forecast", "/v1/archive", "/v1/elevation"
HELD_AT_MOST = 5
_LACKED_BY_ARCHIVE = {"precipitation_probability_max", "uv_index_max"}

Height = Callable[[float, float], float]


def refused(reason: str, status: int = 400) -> FakeResponse:
    return FakeResponse({"error": True, "reason": reason}, status)


class OpenMeteo:
    """All hosts on one address. `units` are the weights of the calls, as the provider counts."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.units: list[float] = []
        self.faults: dict[str, FakeResponse] = {}
        self.missing: set[date] = set()
        self.forecast_error = 0.0  # K by which forecasts of temperatures are too high
        self.lacking: set[str] = set()
        self.is_own = False
        self.unsynced: set[str] = set()
        self.forecast_days = 16
        self.warmer = 0.0  # degrees that forecasts are off the planet's own weather
        self.plan_has_archive = True
        self.slow_seconds = 0.0
        self.refused_for_crowd = 0
        self.most_held = 0
        self.terrain: Height = weather_truth.terrain
        # how many days ahead each model serves, and the height of its grid, the finest first
        self.models: Sequence[tuple[int, Height]] = [(99, weather_truth.cell_height)]
        self._held = 0
        self._counting = threading.Lock()
        self._running = threading.Lock()
        self.server = FakeServer(self.respond)

    @property
    def requests(self) -> list[FakeRequest]:
        return self.server.requests

    def calls(self, path: str) -> list[FakeRequest]:
        """The requests of a path."""
        return [one for one in self.requests if one.path == path]

    def respond(self, request: FakeRequest) -> FakeResponse:
        if (fault := self.faults.get(request.path)) is not None:
            return fault
        if self.is_own:
            return self._answered(request)
        if "x-api-key" in request.headers:
            return self._paid(request)
        with self._counting:
            if self._held >= HELD_AT_MOST:
                self.refused_for_crowd += 1
                return refused("Too many concurrent requests", 429)
            self._held += 1
            self.most_held = max(self.most_held, self._held)
        try:
            with self._running:
                if self.slow_seconds:
                    self.server.stopping.wait(self.slow_seconds)
                return self._answered(request)
        finally:
            with self._counting:
                self._held -= 1

    def _paid(self, request: FakeRequest) -> FakeResponse:
        if request.path == ARCHIVE and not self.plan_has_archive:
            said = "This API endpoint requires the API Professional or Enterprise plan"
            return refused(said, 403)
        if self.slow_seconds:
            self.server.stopping.wait(self.slow_seconds)
        return self._answered(request)

    def _answered(self, request: FakeRequest) -> FakeResponse:
        if request.path == ELEVATION:
            return self._heights(request)
        if request.path not in {FORECAST, ARCHIVE}:
            return refused("Not Found", 404)
        # a list with bare commas is parted before it is read, one with escaped commas after
        escaped = "%2C" in request.target.partition("daily=")[2].partition("&")[0].upper()
        names = request.query["daily"].split(",")
        for name in names:
            known = name in weather_truth.day(0, 0, date(2020, 1, 1), 0)
            if not known or name in self.lacking:
                quoted = request.query["daily"] if escaped else name
                kind = "ForecastVariableDaily"
                return refused(f"Cannot initialize {kind} from invalid String value {quoted}")
        try:
            spans = self._spans(request)
        except ValueError as error:
            return refused(str(error))
        days = [(end - start).days + 1 for start, end in spans]
        self.units.append(max(len(names) / 10, 1) * sum(max(n / 14, 1) for n in days))
        blocks = [self._block(request, names, start, end) for start, end in spans]
        return FakeResponse(blocks[0] if len(blocks) == 1 else blocks)

    def _heights(self, request: FakeRequest) -> FakeResponse:
        lats, lngs = (request.query[name].split(",") for name in ("latitude", "longitude"))
        if len(lats) > 100:
            said = "Parameter 'latitude' and 'longitude' must not exceed 100 coordinates."
            return refused(said)
        self.units.append(float(len(lats)))
        spots = [(float(lat), float(lng)) for lat, lng in zip(lats, lngs, strict=True)]
        heights = ", ".join(str(self._terrain(*spot)) for spot in spots)
        return FakeResponse(b'{"elevation":[%s]}' % heights.encode())

    def _terrain(self, lat: float, lng: float) -> float:
        """The height of the terrain; not a number where the server's model ends."""
        if not (-90 <= lat < 90 and -180 <= lng < 180):
            return float("nan")
        return float(self.terrain(lat, lng))

    def _spans(self, request: FakeRequest) -> list[tuple[date, date]]:
        if "start_date" not in request.query:
            return [self._days_from_today(request)]
        starts = [date.fromisoformat(text) for text in request.query["start_date"].split(",")]
        ends = [date.fromisoformat(text) for text in request.query["end_date"].split(",")]
        today = self.clock().astimezone(UTC).date()
        low, high = date(1940, 1, 1), today
        if request.path == FORECAST:
            low, high = today - timedelta(93), today + timedelta(self.forecast_days - 1)
        for name, values in (("start_date", starts), ("end_date", ends)):
            if any(not low <= value <= high for value in values):
                raise ValueError(f"Parameter '{name}' is out of allowed range from {low} to {high}")
        return list(zip(starts, ends, strict=True))

    def _days_from_today(self, request: FakeRequest) -> tuple[date, date]:
        ahead = int(request.query.get("forecast_days", "7"))
        past = int(request.query.get("past_days", "0"))
        if ahead > self.forecast_days:
            allowed = f"Allowed range 0 to {self.forecast_days}"
            raise ValueError(f"Forecast days is invalid. {allowed}. Given {ahead}.")
        zone = request.query.get("timezone", "GMT")
        today = self.clock().astimezone(ZoneInfo(zone)).date()
        return today - timedelta(past), today + timedelta(ahead - 1)

    def _block(
        self, request: FakeRequest, names: list[str], start: date, end: date
    ) -> dict[str, object]:
        lat, lng = float(request.query["latitude"]), float(request.query["longitude"])
        given = request.query.get("elevation")
        named = self._terrain(lat, lng) if given is None else float(given)
        dates = [start + timedelta(n) for n in range((end - start).days + 1)]
        values = [
            weather_truth.day(lat, lng, when, self._model_height(lat, lng, when, named))
            for when in dates
        ]
        finest = self.models[0][1](lat, lng)
        return {
            "latitude": lat + 0.01,
            "longitude": lng,
            "generationtime_ms": 0.04,
            "utc_offset_seconds": 0,
            "timezone": request.query.get("timezone", "GMT"),
            "elevation": finest if named != named else named,  # noqa: PLR0124  NaN is not itself
            "daily_units": {"time": "iso8601"},
            "daily": {
                "time": [str(when) for when in dates],
                **{name: self._column(request.path, name, dates, values) for name in names},
            },
        }

    def _model_height(self, lat: float, lng: float, when: date, named: float) -> float:
        """The height that the temperatures of a day are for."""
        if named == named:  # noqa: PLR0124  NaN is not itself
            return named
        ahead = (when - self.clock().date()).days
        return next(height for days, height in self.models if ahead < days)(lat, lng)

    def _column(
        self, path: str, name: str, dates: list[date], values: list[dict[str, float]]
    ) -> list[float | None]:
        if path == ARCHIVE and name in _LACKED_BY_ARCHIVE:
            return [None] * len(dates)
        if path == FORECAST and "temperature" in name and self.warmer:
            return [value[name] + self.warmer for value in values]
        latest = self.clock().date() - timedelta(5) if path == ARCHIVE else date.max
        error = self.forecast_error if path == FORECAST and "temperature" in name else 0.0
        gap = 0.0 if name == "precipitation_hours" else None
        if name in self.unsynced:
            return [gap] * len(dates)
        return [
            gap if when in self.missing or when > latest else value[name] + error
            for when, value in zip(dates, values, strict=True)
        ]
