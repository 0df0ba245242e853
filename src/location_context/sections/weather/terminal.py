"""The weather as `location-context read` prints it."""

from __future__ import annotations

from collections.abc import Iterator

from location_context.sections.section import UNKNOWN, TextTable
from location_context.sections.weather.response import Day, WeatherBody


def text(body: WeatherBody) -> Iterator[str | TextTable]:
    """Where it comes from, the summary, and a line for each day."""
    basis = body.basis
    years = f", {basis.years[0]} to {basis.years[-1]}" if basis.years else ""
    model = f" {basis.model}" if basis.model else ""
    yield f"{body.mode} ({basis.provider}{model}{years})"
    yield body.summary.text
    units = body.units
    degrees, depth, speed = units.temperature, units.precipitation, units.wind_speed
    columns = (
        "date", "", f"max {degrees}", f"min {degrees}", f"mean {degrees}", f"rain {depth}",
        "chance %", f"wind {speed}",
    )  # fmt: skip
    rows = [[str(day.date), day.summary or "", *_numbers(day)] for day in body.days]
    yield TextTable(columns=columns, rows=rows)


def _numbers(day: Day) -> list[str]:
    values = (
        day.temperature_max,
        day.temperature_min,
        day.temperature_mean,
        day.precipitation_sum,
        day.precipitation_probability,
        day.wind_speed_max,
    )
    return [UNKNOWN if value is None else f"{value:g}" for value in values]
