"""The astronomy section in FastAPI, as its authors advise: pydantic models of request and answer.

`benchmarks.warm` runs it with `uvicorn[standard]`, which brings uvloop and httptools. The answer is
a ready model, read from the file that ANSWER names, so a request costs its validation and writing
the answer by its model. There are no keys, quotas or ETags.
"""

import os
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from fastapi import FastAPI, Query
from pydantic import AwareDatetime, BaseModel, Field

Share = Annotated[float, Field(ge=0, le=1)]
Degrees = Annotated[float, Field(ge=-90, le=90)]
Bearing = Annotated[float, Field(ge=0, le=360)]


class Point(BaseModel):
    lat: Degrees
    lng: Annotated[float, Field(ge=-180, le=180)]
    timezone: str
    country: str | None
    region: str | None


class Units(BaseModel):
    temperature: Literal["°C", "°F"]
    precipitation: Literal["mm", "inch"]
    snowfall: Literal["cm", "inch"]
    wind_speed: Literal["km/h", "mph"]
    distance: Literal["km", "mi"]
    elevation: Literal["m", "ft"]
    probability: Literal["%"]
    humidity: Literal["%"]
    cloud_cover: Literal["%"]
    angle: Literal["°"]
    sunshine: Literal["h"]
    hours: Literal["h"]


class Attribution(BaseModel):
    name: str
    url: str | None
    license: str | None
    text: str
    license_url: str | None
    adapted: bool


class Stay(BaseModel):
    start: date
    end: date


class Span(BaseModel):
    start: AwareDatetime
    end: AwareDatetime


class Sun(BaseModel):
    status: Literal["normal", "polar_day", "polar_night"]
    sunrise: AwareDatetime | None
    sunset: AwareDatetime | None
    solar_noon: AwareDatetime | None
    sunrise_azimuth: Bearing | None
    sunset_azimuth: Bearing | None
    noon_altitude: Degrees | None
    day_length_seconds: Annotated[int, Field(ge=0, le=90_000)]
    civil_dawn: AwareDatetime | None
    civil_dusk: AwareDatetime | None
    nautical_dawn: AwareDatetime | None
    nautical_dusk: AwareDatetime | None
    astronomical_dawn: AwareDatetime | None
    astronomical_dusk: AwareDatetime | None
    golden_hour_morning: Span | None
    golden_hour_evening: Span | None
    blue_hour_morning: Span | None
    blue_hour_evening: Span | None


class Moon(BaseModel):
    moonrise: AwareDatetime | None
    moonset: AwareDatetime | None
    phase: str
    phase_angle: Annotated[float, Field(ge=0, le=360)]
    illumination: Share
    waxing: bool
    age_days: Annotated[float, Field(ge=0, le=30)]


class Night(BaseModel):
    dark_windows: list[Span]
    dark_hours: Annotated[float, Field(ge=0, le=25)]


class Planet(BaseModel):
    name: Literal["mercury", "venus", "mars", "jupiter", "saturn"]
    visible: Literal["evening", "morning", "all_night", "none"]
    magnitude: float | None
    rise: AwareDatetime | None
    set: AwareDatetime | None


class Day(BaseModel):
    date: date
    sun: Sun
    moon: Moon
    night: Night
    planets: list[Planet]


class Details(BaseModel):
    kind: Literal["penumbral", "partial", "annular", "total"] | None
    start: AwareDatetime | None
    maximum: AwareDatetime | None
    end: AwareDatetime | None
    magnitude: float | None
    obscuration: Share | None
    rate: int | None
    moonlight: Share | None
    radiant_height: Degrees | None
    shift_minutes: int | None


class Highlight(BaseModel):
    type: str
    at: AwareDatetime
    title: str
    details: Details | None


class Astronomy(BaseModel):
    type: Literal["astronomy"]
    applicable: Literal[True]
    point: Point
    units: Units
    as_of: AwareDatetime | None
    stale: bool
    degraded: bool
    degraded_reason: str | None
    attribution: list[Attribution]
    stay: Stay
    days: list[Day]
    highlights: list[Highlight]


class Parameters(BaseModel):
    lat: Degrees
    lng: Annotated[float, Field(ge=-180, le=180)]
    start: date
    end: date


def app() -> FastAPI:
    ready = Astronomy.model_validate_json(Path(os.environ["ANSWER"]).read_bytes())
    application = FastAPI()

    @application.get("/v1/pulse/astronomy")
    async def astronomy(parameters: Annotated[Parameters, Query()]) -> Astronomy:
        del parameters
        return ready

    return application
