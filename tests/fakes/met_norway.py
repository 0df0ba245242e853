"""MET Norway's Locationforecast 2.0 `complete` as a stand-in: its steps, its caching, its 403.

As its open backend has it: instants hold no extremes, `next_1_hours` no temperature, and the
clear-sky UV index of six-hourly steps stands in `next_6_hours` alone; all with one decimal.
"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from tests.fakes import weather_truth
from tests.fakes.server import FakeRequest, FakeResponse, FakeServer

PATH = "/weatherapi/locationforecast/2.0/complete"
_HALF_HOUR = timedelta(minutes=30)
_RAIN_BEGINS, _RAIN_HOURS = 12, 5  # by the Sun's clock; weather_truth has 5 hours of rain


class MetNorwayStandIn:
    """Hourly steps for 60 hours, then six-hourly to nine and a half days, the last one bare."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.fault: FakeResponse | None = None
        self.expires_in = timedelta(minutes=30)
        self.server = FakeServer(self.respond)

    @property
    def requests(self) -> list[FakeRequest]:
        return self.server.requests

    def respond(self, request: FakeRequest) -> FakeResponse:
        if self.fault is not None:
            return self.fault
        agent = request.headers.get("user-agent", "")
        if "@" not in agent and "http" not in agent:
            return FakeResponse(b"403 Forbidden", 403, {"Content-Type": "text/html"})
        if any(len(request.query[name].partition(".")[2]) > 4 for name in ("lat", "lon")):
            return FakeResponse(b"403 Forbidden", 403)
        now = self.clock().astimezone(UTC)
        headers = {"Expires": format_datetime(now + self.expires_in, usegmt=True)}
        if "if-modified-since" in request.headers:
            return FakeResponse(b"", 304, headers)
        headers["Last-Modified"] = format_datetime(now, usegmt=True)
        return FakeResponse(self._body(request, now), 200, headers)

    def _body(self, request: FakeRequest, now: datetime) -> dict[str, object]:
        lat, lng = float(request.query["lat"]), float(request.query["lon"])
        sky = _Sky(lat, lng)
        start = now.replace(minute=0, second=0, microsecond=0)
        hours = list(range(60))
        at = start + timedelta(hours=60)
        while at.hour % 6:
            hours.append(hours[-1] + 1)
            at += timedelta(hours=1)
        hours += list(range(hours[-1] + 1, 9 * 24 + 12, 6))
        steps = []
        for place, hour in enumerate(hours):
            hourly = place + 1 < len(hours) and hours[place + 1] - hour == 1
            lengths = [n for n in ((1, 6, 12) if hourly else (6, 12)) if hour + n <= hours[-1]]
            steps.append(sky.step(start + timedelta(hours=hour), lengths, hourly=hourly))
        return {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [lng, lat, sky.metres]},
            "properties": {
                "meta": {
                    "updated_at": f"{now - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}",
                    "units": {"air_temperature": "celsius", "wind_speed": "m/s"},
                },
                "timeseries": steps,
            },
        }


class _Sky:
    """What a place is like at a moment: its day by the Sun's clock, warmest at 15, UV at noon."""

    def __init__(self, lat: float, lng: float) -> None:
        self._lat = lat
        self._lng = lng
        self.metres = weather_truth.cell_height(lat, lng)

    def step(self, when: datetime, lengths: list[int], *, hourly: bool) -> dict[str, object]:
        """One step of the series, with a block for each of the lengths in hours."""
        data: dict[str, object] = {"instant": {"details": self._instant(when, hourly=hourly)}}
        for hours in lengths:
            data[f"next_{hours}_hours"] = self._block(when, hours)
        return {"time": f"{when:%Y-%m-%dT%H:%M:%SZ}", "data": data}

    def _instant(self, when: datetime, *, hourly: bool) -> dict[str, float]:
        day = self._day(when)
        details = {
            "air_temperature": self._temperature(when),
            "cloud_area_fraction": day["cloud_cover_mean"],
            "relative_humidity": day["relative_humidity_2m_mean"],
            "wind_from_direction": day["wind_direction_10m_dominant"],
            "wind_speed": day["wind_speed_10m_max"] / 3.6,
        }
        if hourly:
            details["ultraviolet_index_clear_sky"] = self._uv(when)
        return _rounded(details)

    def _block(self, when: datetime, hours: int) -> dict[str, object]:
        within = [when + n * _HALF_HOUR for n in range(2 * hours + 1)]
        rain = sum(self._rain(moment) for moment in within[:-1])
        details = {"probability_of_precipitation": 80.0 if rain else 5.0}
        if hours < 12:
            details["precipitation_amount"] = rain
        if hours == 6:
            temperatures = [self._temperature(moment) for moment in within]
            details["air_temperature_max"] = max(temperatures)
            details["air_temperature_min"] = min(temperatures)
            details["ultraviolet_index_clear_sky_max"] = max(map(self._uv, within))
        summary = {"symbol_code": "rain" if rain else "partlycloudy_day"}
        if hours == 12:
            summary["symbol_confidence"] = "certain"
        return {"summary": summary, "details": _rounded(details)}

    def _solar(self, when: datetime) -> datetime:
        return when + timedelta(hours=self._lng / 15)

    def _turned(self, when: datetime, top: float) -> float:
        """From -1 to 1 over the day, 1 at the hour `top` of the Sun's clock."""
        solar = self._solar(when)
        return math.cos((solar.hour + solar.minute / 60 - top) * math.pi / 12)

    def _day(self, when: datetime) -> Mapping[str, float]:
        return weather_truth.day(self._lat, self._lng, self._solar(when).date(), self.metres)

    def _temperature(self, when: datetime) -> float:
        day = self._day(when)
        swing = (day["temperature_2m_max"] - day["temperature_2m_min"]) / 2
        return day["temperature_2m_mean"] + swing * self._turned(when, 15)

    def _uv(self, when: datetime) -> float:
        return self._day(when)["uv_index_max"] * max(0.0, self._turned(when, 12))

    def _rain(self, when: datetime) -> float:
        """The rain in mm of the half hour that begins then."""
        falls = 0 <= self._solar(when).hour - _RAIN_BEGINS < _RAIN_HOURS
        return self._day(when)["precipitation_sum"] / (2 * _RAIN_HOURS) if falls else 0.0


def _rounded(details: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 1) for name, value in details.items()}
