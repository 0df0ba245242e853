"""MET Norway's Locationforecast 2.0 `complete` as a stand-in: its steps, its caching, its 403."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from tests.standins import weather_truth
from tests.standins.server import Answered, Asked, StandIn

PATH = "/weatherapi/locationforecast/2.0/complete"


class MetNorwayStandIn:
    """Hourly steps for 60 hours, then six-hourly to nine and a half days, the last one bare."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.fault: Answered | None = None
        self.expires_in = timedelta(minutes=30)
        self.server = StandIn(self.respond)

    @property
    def asked(self) -> list[Asked]:
        return self.server.asked

    def respond(self, asked: Asked) -> Answered:
        if self.fault is not None:
            return self.fault
        agent = asked.headers.get("user-agent", "")
        if "@" not in agent and "http" not in agent:
            return Answered(b"403 Forbidden", 403, {"Content-Type": "text/html"})
        if any(len(asked.query[name].partition(".")[2]) > 4 for name in ("lat", "lon")):
            return Answered(b"403 Forbidden", 403)
        now = self.clock().astimezone(UTC)
        headers = {"Expires": format_datetime(now + self.expires_in, usegmt=True)}
        if "if-modified-since" in asked.headers:
            return Answered(b"", 304, headers)
        headers["Last-Modified"] = format_datetime(now, usegmt=True)
        return Answered(self._body(asked, now), 200, headers)

    def _body(self, asked: Asked, now: datetime) -> dict[str, object]:
        lat, lng = float(asked.query["lat"]), float(asked.query["lon"])
        metres = weather_truth.cell_height(lat, lng)
        start = now.replace(minute=0, second=0, microsecond=0)
        hours = list(range(60))
        at = start + timedelta(hours=60)
        while at.hour % 6:
            hours.append(hours[-1] + 1)
            at += timedelta(hours=1)
        hours += list(range(hours[-1] + 1, 9 * 24 + 12, 6))
        steps = []
        for place, hour in enumerate(hours):
            when = start + timedelta(hours=hour)
            length = hours[place + 1] - hour if place + 1 < len(hours) else 0
            steps.append(self._step(lat, lng, when, metres, length))
        return {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [lng, lat, metres]},
            "properties": {
                "meta": {"updated_at": f"{now - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"},
                "timeseries": steps,
            },
        }

    def _step(
        self, lat: float, lng: float, when: datetime, metres: float, length: int
    ) -> dict[str, object]:
        day = weather_truth.day(lat, lng, when.date(), metres)
        data: dict[str, object] = {
            "instant": {
                "details": {
                    "air_temperature": day["temperature_2m_mean"],
                    "cloud_area_fraction": day["cloud_cover_mean"],
                    "relative_humidity": day["relative_humidity_2m_mean"],
                    "wind_from_direction": day["wind_direction_10m_dominant"],
                    "wind_speed": round(day["wind_speed_10m_max"] / 3.6, 1),
                    "ultraviolet_index_clear_sky": 3.0,
                }
            }
        }
        wet = day["precipitation_sum"] > 0
        for hours in (1, 6):
            if length == hours or (hours == 6 and length == 1):
                data[f"next_{hours}_hours"] = {
                    "summary": {"symbol_code": "rain" if wet else "partlycloudy_day"},
                    "details": {
                        "precipitation_amount": round(day["precipitation_sum"] * hours / 24, 2),
                        "air_temperature_max": day["temperature_2m_max"],
                        "air_temperature_min": day["temperature_2m_min"],
                        "probability_of_precipitation": 80.0 if wet else 5.0,
                    },
                }
        return {"time": f"{when:%Y-%m-%dT%H:%M:%SZ}", "data": data}
