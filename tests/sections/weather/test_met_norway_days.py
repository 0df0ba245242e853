"""MET Norway's steps become the local days of the point, behind the whole section and alone."""

from datetime import timedelta

import pytest

from location_context.point import Point
from location_context.sections.weather.providers.met_norway import aggregate_to_days
from location_context.stay import Stay
from tests.fakes import weather_truth
from tests.fakes.open_meteo import FORECAST
from tests.fakes.server import FakeResponse
from tests.sections.weather.conftest import TODAY, query

# 82.5° E is where Indian time is the Sun's, so that the stand-in's days are the local dates; the
# step of 18:00 UTC begins there at 23:30 and lies over midnight with all but half an hour
VINDHYACHAL = Point(25.2, 82.5, "Asia/Kolkata")
LATER = Stay(TODAY + timedelta(4), TODAY + timedelta(8))  # days of six-hourly steps


@pytest.fixture
async def later(weather):
    """Five days of six-hourly steps, each with what is true of its own date."""
    weather.open_meteo.faults = {FORECAST: FakeResponse(b"<html>Bad Gateway</html>", 502)}
    body = (await weather.read(query(LATER, VINDHYACHAL))).body
    assert body.basis.provider == "MET Norway"
    metres = weather_truth.cell_height(25.2, 82.5)
    return [(day, weather_truth.day(25.2, 82.5, day.date, metres)) for day in body.days]


async def test_daily_values_use_only_forecast_steps_of_their_own_date(later):
    for day, truth in later:
        assert day.wind_speed_max == pytest.approx(truth["wind_speed_10m_max"], abs=0.2)
        assert day.cloud_cover_mean == truth["cloud_cover_mean"]
        assert day.humidity_mean == truth["relative_humidity_2m_mean"]


async def test_uv_index_of_six_hourly_steps_is_read(later):
    assert [day.uv_index_max for day, _ in later] == [4.2] * len(later)


async def test_rain_of_six_hour_steps_adds_up_to_the_rain_of_the_day(later):
    for day, truth in later:
        assert day.precipitation_sum == pytest.approx(truth["precipitation_sum"], abs=0.3)


def step(day: int, hour: int, instant: dict[str, float], **blocks: dict[str, float]) -> dict:
    data = {name: {"details": details} for name, details in blocks.items()}
    return {
        "time": f"2026-11-{day:02}T{hour:02}:00:00Z",
        "data": {"instant": {"details": instant}, **data},
    }


def test_last_forecast_step_without_a_duration_counts_for_its_own_date():
    mild = {"air_temperature": 10.0, "wind_speed": 1.0}
    steps = [step(21, hour, mild, next_6_hours={}) for hour in (0, 6, 12)]
    steps.append(step(21, 18, {"air_temperature": 20.0, "wind_speed": 9.0}))
    _, columns = aggregate_to_days(steps, "UTC", TODAY)
    assert columns["temperature_max"].tolist() == [20.0]
    assert columns["wind_speed_max"] == pytest.approx([32.4])
    assert columns["temperature_mean"].tolist() == [10.0]  # how long it lasts is not said


def test_three_hour_step_takes_half_of_the_rain_of_its_six_hour_period():
    """The server makes a step of each moment that any value begins at."""
    mild = {"air_temperature": 10.0}
    six = {"precipitation_amount": 6.0}
    steps = [step(21, hour, mild, next_6_hours=six) for hour in range(0, 24, 3)]
    steps.append(step(22, 0, mild))
    _, columns = aggregate_to_days(steps, "UTC", TODAY)
    assert columns["precipitation_sum"] == pytest.approx([24.0])


def test_rain_of_a_step_over_midnight_is_divided_by_hours_between_both_dates():
    instant = {"air_temperature": 10.0, "wind_speed": 1.0}
    six = {"next_6_hours": {"precipitation_amount": 6.0, "air_temperature_max": 12.0}}
    steps = [step(day, hour, instant, **six) for day in (21, 22, 23) for hour in (0, 6, 12, 18)]
    steps.append(step(24, 0, instant))
    first, columns = aggregate_to_days(steps, "Asia/Kolkata", TODAY)  # five and a half hours ahead
    assert first == TODAY
    assert columns["precipitation_sum"] == pytest.approx([18.5, 24, 24])
    assert columns["temperature_max"].tolist() == [12.0] * 3


def test_minimum_of_a_six_hour_step_belongs_to_the_date_with_most_of_its_hours():
    """In India the block of 18:00 UTC has half an hour of one date and the dawn of the next."""
    mild = {"air_temperature": 10.0}
    even = {"air_temperature_max": 10.0, "air_temperature_min": 10.0}
    dawn = {"air_temperature_min": -5.0, "probability_of_precipitation": 90.0}
    steps = [
        step(day, hour, mild, next_6_hours=dawn if (day, hour) == (22, 18) else even)
        for day in (21, 22, 23) for hour in (0, 6, 12, 18)
    ]  # fmt: skip
    steps.append(step(24, 0, mild))
    _, columns = aggregate_to_days(steps, "Asia/Kolkata", TODAY)
    assert columns["temperature_min"].tolist() == [10.0, 10.0, -5.0]
    assert columns["precipitation_probability"][2] == 90.0
    assert not columns["precipitation_probability"][1] > 0
