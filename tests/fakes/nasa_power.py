"""NASA POWER's daily point as a stand-in: dates as keys, -999 where it has nothing yet."""

from collections.abc import Callable
from datetime import datetime, timedelta

from tests.fakes import weather_truth
from tests.fakes.server import FakeRequest, FakeResponse, FakeServer

PATH = "/api/temporal/daily/point"
_NAMES = {
    "T2M_MAX": ("temperature_2m_max", 1.0),
    "T2M_MIN": ("temperature_2m_min", 1.0),
    "T2M": ("temperature_2m_mean", 1.0),
    "PRECTOTCORR": ("precipitation_sum", 1.0),
    "WS10M_MAX": ("wind_speed_10m_max", 1 / 3.6),
    "WD10M": ("wind_direction_10m_dominant", 1.0),
    "RH2M": ("relative_humidity_2m_mean", 1.0),
    "CLOUD_AMT": ("cloud_cover_mean", 1.0),
}


class NasaPowerStandIn:
    """Half-degree cells; its data end some days before today."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.fault: FakeResponse | None = None
        self.server = FakeServer(self.respond)

    @property
    def requests(self) -> list[FakeRequest]:
        return self.server.requests

    def respond(self, request: FakeRequest) -> FakeResponse:
        if self.fault is not None:
            return self.fault
        names = request.query["parameters"].split(",")
        if len(names) > 20 or request.query["format"] != "JSON":
            return FakeResponse({"messages": ["too many parameters"]}, 422)
        lat, lng = float(request.query["latitude"]), float(request.query["longitude"])
        start = datetime.strptime(request.query["start"], "%Y%m%d").date()  # noqa: DTZ007  a date
        end = datetime.strptime(request.query["end"], "%Y%m%d").date()  # noqa: DTZ007  a date
        known_to = self.clock().date() - timedelta(7)
        metres = weather_truth.cell_height(lat, lng)
        series: dict[str, dict[str, float]] = {name: {} for name in names}
        for n in range((end - start).days + 1):
            when = start + timedelta(n)
            day = weather_truth.day(lat, lng, when, metres)
            for name in names:
                there, factor = _NAMES[name]
                value = round(day[there] * factor, 2) if when <= known_to else -999.0
                series[name][f"{when:%Y%m%d}"] = value
        return FakeResponse(
            {
                "type": "Feature",
                "geometry": {"type": "Point", "coordinates": [lng, lat, metres]},
                "properties": {"parameter": series},
                "header": {
                    "title": "NASA/POWER Source Native Resolution Daily Data",
                    "api": {"version": "v2.9.7", "name": "POWER Daily API"},
                    "sources": ["MERRA2"],
                    "fill_value": -999.0,
                    "time_standard": "LST",
                    "start": request.query["start"],
                    "end": request.query["end"],
                },
            }
        )
