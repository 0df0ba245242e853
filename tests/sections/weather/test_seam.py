"""The seam at the horizon: day 15 is a forecast, day 16 climatology, and nobody sees a step.

A thousand places are drawn over latitudes, seasons, heights and kinds of climate, each with ten
years of days that hang together and a forecast that is worth less each day. What is answered at
the seam is compared with how much the answers of such places change from day to day anyway.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache

import numpy as np
import pytest

from location_context.point import Point
from location_context.sections.weather import climatology, estimate
from location_context.sections.weather.calibration import Calibration
from location_context.sections.weather.presenter import Presenter
from location_context.sections.weather.providers.open_meteo import OpenMeteoArchive
from location_context.sections.weather.records import (
    ARCHIVE_FIELDS,
    FORECAST_FIELDS,
    PAD_DAYS,
    ROW,
    Grid,
    Product,
    WeatherSeries,
)
from location_context.sections.weather.response import Day
from location_context.stay import HORIZON_DAYS, Stay
from tests.sections.weather.conftest import query

PLACES, YEARS, AFTER = 1000, 10, 4  # days of climatology behind the horizon
DAYS = HORIZON_DAYS + AFTER
DAY = timedelta(days=1)
ERROR = OpenMeteoArchive.representativeness  # of the archive that is preferred
CALIBRATION = Calibration.load()


@dataclass(frozen=True)
class Place:
    """A made-up climate: °C, K and shares, as the days of the year go by."""

    point: Point
    today: date
    warmth: float
    season: float  # from the mean of the year to its warmest day
    sd: float
    persistence: float  # of an anomaly, from a day to the next
    day_range: float
    wet: float
    heights: tuple[float, float, float]  # of the point, the forecast's grid and the archive's

    @classmethod
    def draw(cls, random: np.random.Generator) -> "Place":
        lat = float(np.degrees(np.arcsin(random.uniform(-0.95, 0.95))))
        poleward = abs(lat) / 90
        heights = 1500 * random.uniform(0, 1, 3) ** 2
        return cls(
            point=Point(round(lat, 4), round(float(random.uniform(-180, 180)), 4), "Etc/UTC"),
            today=date(2026, 1, 1) + timedelta(int(random.integers(0, 365))),
            warmth=27 - 40 * poleward**1.5 + random.normal(0, 3),
            season=float(np.sign(lat)) * 30 * poleward * random.uniform(0.2, 1),
            sd=0.8 + 6 * poleward * random.uniform(0.3, 1),
            persistence=random.uniform(0.5, 0.85),
            day_range=random.uniform(3, 14),
            wet=random.uniform(0.02, 0.6),
            heights=tuple(heights),
        )

    def usual(self, first: date, days: int, height: float) -> np.ndarray:
        """The mean of each day at a height."""
        number = first.timetuple().tm_yday + np.arange(days)
        turn = np.cos(2 * np.pi * (number - 200) / 365.25)
        return self.warmth + self.season * turn - 0.0065 * height

    def anomalies(self, random: np.random.Generator, *shape: int) -> np.ndarray:
        """Days that hang together, along the last axis."""
        values = random.normal(0, self.sd, shape)
        for day in range(1, shape[-1]):
            fresh = np.sqrt(1 - self.persistence**2) * values[..., day]
            values[..., day] = self.persistence * values[..., day - 1] + fresh
        return values

    def past(self, random: np.random.Generator) -> np.ndarray:
        """ARCHIVE_FIELDS x years x days, a fortnight to either side, at the archive's height."""
        width = DAYS + 2 * PAD_DAYS
        values = np.full((len(ARCHIVE_FIELDS), YEARS, width), np.nan)
        usual = self.usual(self.today - PAD_DAYS * DAY, width, self.heights[2])
        middle = usual + self.anomalies(random, YEARS, width)
        half = self.day_range / 2 + self.sd / 4 * np.abs(random.normal(0, 1, middle.shape))
        rain = np.where(random.uniform(0, 1, middle.shape) < self.wet, 1, 0)
        values[ROW["temperature_max"]] = middle + half
        values[ROW["temperature_min"]] = middle - half
        values[ROW["precipitation_sum"]] = rain * random.gamma(0.8, 8.0, middle.shape)
        return values

    def forecast(self, random: np.random.Generator, product: Product) -> WeatherSeries:
        """As a provider issues it, at its grid's height: an anomaly as large as any at each lead,
        of which less and less is true; of a damped product only that part is left."""
        lead = np.arange(HORIZON_DAYS)
        true = 1 / (1 + np.exp((lead - 8.5) / 2.3))
        come, else_ = self.anomalies(random, 2, HORIZON_DAYS)
        anomaly = true * come + (np.sqrt(1 - true**2) * else_ if product == "raw" else 0)
        middle = self.usual(self.today, HORIZON_DAYS, self.heights[1]) + anomaly
        columns = dict.fromkeys(FORECAST_FIELDS, np.full(HORIZON_DAYS, np.nan)) | {
            "temperature_max": middle + self.day_range / 2,
            "temperature_min": middle - self.day_range / 2,
            "precipitation_probability": 100 * random.beta(1, 2, HORIZON_DAYS),
            "precipitation_sum": random.gamma(0.5, 8.0, HORIZON_DAYS),
        }
        return _series("forecast", columns, self, 1, product)


def _series(
    kind: str, columns: dict[str, np.ndarray], place: Place, grid: int, product: Product = "raw"
) -> WeatherSeries:
    """At the height of the forecast's grid (1) or the archive's (2)."""
    lat, lng = place.point.lat, place.point.lng
    return WeatherSeries(
        kind=kind, provider="Skyline", model=None, columns=columns, attribution=(), ttl=DAY,
        as_of=_noon(place.today), years=range(2016, 2026), grid=Grid(lat, lng, place.heights[grid]),
        product=product, representativeness=None if kind == "forecast" else ERROR,
    )  # fmt: skip


def _noon(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


def answers(
    place: Place, random: np.random.Generator, product: Product
) -> tuple[list[Day], list[Day]]:
    """The forecast of the days from today, and the climatology of those from day 15 on.

    Day 15 stands in both: yesterday it was beyond the horizon.
    """
    columns = climatology.summarise(place.past(random))
    near = Stay(place.today, place.today + (HORIZON_DAYS - 1) * DAY)
    far = Stay(near.end, near.end + AFTER * DAY)
    typical, beyond = (
        _series("reanalysis", {name: one[part] for name, one in columns.items()}, place, 2)
        for part in (slice(HORIZON_DAYS), slice(HORIZON_DAYS - 1, None))
    )
    issued = place.forecast(random, product)
    kelvin = estimate.height_between(issued.grid, typical.grid, place.heights[0])
    normals = estimate.Normals.of_archive(typical, kelvin)
    lead = estimate.leads(near, place.today, place.today)
    forecast = estimate.calibrated(issued, normals, lead, CALIBRATION)
    today, tomorrow = (
        Presenter(query(stay, place.point), series, place.heights[0], on_day).body().days
        for stay, series, on_day in (
            (near, forecast, place.today),
            (far, beyond, place.today - DAY),
        )
    )
    return today, tomorrow


def _values(days: list[Day]) -> dict[str, list[float]]:
    """What is answered of these days: means, widths and chances."""
    found = {
        "chance of rain": [day.precipitation_probability for day in days],
        "amount": [day.precipitation_sum_p90 for day in days],
    }
    for end in ("max", "min"):
        low, high = f"temperature_{end}_p10", f"temperature_{end}_p90"
        found[f"mean {end}"] = [getattr(day, f"temperature_{end}") for day in days]
        found[f"width {end}"] = [getattr(day, high) - getattr(day, low) for day in days]
    return found


@dataclass(frozen=True)
class Steps:
    """By place: changes between the forecast's days, and those at the horizon."""

    ordinary: np.ndarray  # places x days
    next_day: np.ndarray  # from day 15 to day 16, requested on one day
    same_day: np.ndarray  # of one date, which is beyond the horizon today and day 15 tomorrow


@cache
def steps(product: Product) -> dict[str, Steps]:
    random = np.random.default_rng(16)
    rows: dict[str, list[tuple[list[float], list[float]]]] = {}
    for _ in range(PLACES):
        near, far = (_values(days) for days in answers(Place.draw(random), random, product))
        for name, values in near.items():
            rows.setdefault(name, []).append((values, far[name]))
    found = {}
    for name, pairs in rows.items():
        near, far = (np.array(part) for part in zip(*pairs, strict=True))
        changes = [np.diff(near), far[:, 1] - near[:, -1], far[:, 0] - near[:, -1]]
        found[name] = Steps(*(np.abs(one) for one in changes))
    return found


@pytest.mark.parametrize("product", ["raw", "damped"])
@pytest.mark.parametrize("what", ["mean max", "mean min", "width max", "width min"])
def test_jump_from_forecast_to_climatology_is_smaller_than_ordinary_daily_changes(what, product):
    """At most one place in a hundred has a step as large as one ordinary step in twenty."""
    found = steps(product)[what]
    usual = np.quantile(found.ordinary, 0.95)
    for step in (found.next_day, found.same_day):
        assert np.quantile(step, 0.99) < usual
        assert np.median(step) <= np.median(found.ordinary)


@pytest.mark.parametrize("product", ["raw", "damped"])
@pytest.mark.parametrize("what", ["chance of rain", "amount"])
def test_chance_of_rain_does_not_jump_after_day_15(what, product):
    found = steps(product)[what]
    assert max(found.next_day.max(), found.same_day.max()) < np.quantile(found.ordinary, 0.95)
