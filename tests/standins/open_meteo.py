"""Open-Meteo's forecast and archive as a stand-in: several intervals, nulls, error bodies, weights.

Put `faults["/v1/archive"]` in place to break it; `missing` dates come as nulls; `lacking` variables
are answered with a 400 that names them; `sea` leaves the height out.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from tests.standins import weather_truth
from tests.standins.server import Answered, Asked, StandIn

FORECAST, ARCHIVE = "/v1/forecast", "/v1/archive"
_LACKED_BY_ARCHIVE = {"precipitation_probability_max", "uv_index_max"}


def refused(reason: str, status: int = 400) -> Answered:
    return Answered({"error": True, "reason": reason}, status)


class OpenMeteo:
    """Both hosts on one address. `units` are the weights of the calls, as the provider counts."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.units: list[float] = []
        self.faults: dict[str, Answered] = {}
        self.missing: set[date] = set()
        self.lacking: set[str] = set()
        self.sea = False
        self.forecast_days = 16
        self.server = StandIn(self.respond)

    @property
    def asked(self) -> list[Asked]:
        return self.server.asked

    def calls(self, path: str) -> list[Asked]:
        """What was asked of a path, without looks at the height of a point."""
        return [one for one in self.asked if one.path == path and "elevation" in one.query]

    def respond(self, asked: Asked) -> Answered:
        if (fault := self.faults.get(asked.path)) is not None:
            return fault
        if asked.path not in {FORECAST, ARCHIVE}:
            return refused("Not Found", 404)
        names = asked.query["daily"].split(",")
        for name in names:
            known = name in weather_truth.day(0, 0, date(2020, 1, 1), 0)
            if not known or name in self.lacking:
                reason = (
                    f"Cannot initialize Variable from invalid String value {name} for key daily"
                )
                return refused(reason)
        try:
            spans = self._spans(asked)
        except ValueError as error:
            return refused(str(error))
        days = [(end - start).days + 1 for start, end in spans]
        self.units.append(max(len(names) / 10, 1) * sum(max(n / 14, 1) for n in days))
        blocks = [self._block(asked, names, start, end) for start, end in spans]
        return Answered(blocks[0] if len(blocks) == 1 else blocks)

    def _spans(self, asked: Asked) -> list[tuple[date, date]]:
        if "start_date" not in asked.query:
            return [self._days_from_today(asked)]
        starts = [date.fromisoformat(text) for text in asked.query["start_date"].split(",")]
        ends = [date.fromisoformat(text) for text in asked.query["end_date"].split(",")]
        today = self.clock().astimezone(UTC).date()
        low, high = date(1940, 1, 1), today
        if asked.path == FORECAST:
            low, high = today - timedelta(93), today + timedelta(self.forecast_days - 1)
        for name, values in (("start_date", starts), ("end_date", ends)):
            if any(not low <= value <= high for value in values):
                raise ValueError(f"Parameter '{name}' is out of allowed range from {low} to {high}")
        return list(zip(starts, ends, strict=True))

    def _days_from_today(self, asked: Asked) -> tuple[date, date]:
        ahead = int(asked.query.get("forecast_days", "7"))
        past = int(asked.query.get("past_days", "0"))
        if ahead > self.forecast_days:
            said = f"out of allowed range from 0 to {self.forecast_days}"
            raise ValueError(f"Parameter 'forecast_days' is {said}")
        zone = asked.query.get("timezone", "GMT")
        today = self.clock().astimezone(ZoneInfo(zone)).date()
        return today - timedelta(past), today + timedelta(ahead - 1)

    def _block(self, asked: Asked, names: list[str], start: date, end: date) -> dict[str, object]:
        lat, lng = float(asked.query["latitude"]), float(asked.query["longitude"])
        if asked.query.get("elevation") == "nan":
            metres = weather_truth.cell_height(lat, lng)
        else:
            metres = weather_truth.terrain(lat, lng)
        dates = [start + timedelta(n) for n in range((end - start).days + 1)]
        values = [weather_truth.day(lat, lng, when, metres) for when in dates]
        return {
            "latitude": lat + 0.01,
            "longitude": lng,
            "generationtime_ms": 0.04,
            "utc_offset_seconds": 0,
            "timezone": asked.query.get("timezone", "GMT"),
            "elevation": None if self.sea else metres,
            "daily_units": {"time": "iso8601"},
            "daily": {
                "time": [str(when) for when in dates],
                **{name: self._column(asked.path, name, dates, values) for name in names},
            },
        }

    def _column(
        self, path: str, name: str, dates: list[date], values: list[dict[str, float]]
    ) -> list[float | None]:
        if path == ARCHIVE and name in _LACKED_BY_ARCHIVE:
            return [None] * len(dates)
        latest = self.clock().date() - timedelta(5) if path == ARCHIVE else date.max
        return [
            None if when in self.missing or when > latest else value[name]
            for when, value in zip(dates, values, strict=True)
        ]
