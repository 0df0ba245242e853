"""Warnings of dangers in a forecast: storm, heat and heavy snow.

The further ahead a day is, the more cautious the wording. Days beyond the forecast have typical
weather and no warnings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from location_context.localisation.formatter import Formatter
from location_context.sections.contract import UnitsBody
from location_context.sections.units import KM_PER_MILE, celsius
from location_context.sections.weather.response import Day

Kind = Literal["wind", "heat", "heavy_snow"]
GUSTS, HEAT, SNOW = 75.0, 35.0, 10.0  # km/h, °C, cm a day
EXPECTED_LEAD, LIKELY_LEAD = 2, 7  # days ahead


@dataclass(frozen=True, kw_only=True)
class Danger:
    """A danger on a day of the forecast, with its texts.

    `title` and `text` are for the card's warning, `short` is for the day's row. `severity` is 1 at
    the limit from which there is a danger, and grows with the excess above the limit.
    """

    day: date
    kind: Kind
    title: str
    text: str
    short: str
    severity: float


def dangers(days: Sequence[Day], today: date, units: UnitsBody, fmt: Formatter) -> list[Danger]:
    """Return the dangers on the days from today on, the worst first."""
    found = [one for day in days if day.date >= today for one in _of_day(day, today, units, fmt)]
    return sorted(found, key=lambda one: -one.severity)


def _of_day(day: Day, today: date, units: UnitsBody, fmt: Formatter) -> list[Danger]:
    found = list[tuple[Kind, str, str, float]]()  # kind, sentence, short, severity
    gusts, high, snow = day.wind_gusts_max, day.temperature_max, day.snowfall_sum
    if (
        gusts is not None
        and (kmh := gusts * (KM_PER_MILE if units.wind_speed == "mph" else 1)) >= GUSTS
    ):
        speed = fmt.measure(gusts, units.wind_speed)
        said = fmt.gettext("Gusts may reach {speed}.").format(speed=speed)
        short = fmt.gettext("Gusts to {speed}").format(speed=speed)
        found.append(("wind", said, short, kmh / GUSTS))
    if high is not None and (degrees := celsius(high, units)) >= HEAT:
        value = fmt.temperature(high)
        said = fmt.gettext("Up to {value} in the afternoon.").format(value=value)
        short = fmt.gettext("Heat to {value}").format(value=value)
        found.append(("heat", said, short, 1 + (degrees - HEAT) / 10))
    if snow is not None and (cm := snow * (2.54 if units.snowfall == "inch" else 1)) >= SNOW:
        value = fmt.measure(snow, units.snowfall)
        said = fmt.gettext("Up to {value}; allow extra travel time.").format(value=value)
        short = fmt.gettext("Snow to {value}").format(value=value)
        found.append(("heavy_snow", said, short, cm / SNOW))
    lead = (day.date - today).days
    later = ""
    if lead > LIKELY_LEAD:
        later = fmt.gettext("Still {count} days away, so this can change.")
        later = later.format(count=fmt.number(lead))
    return [
        Danger(
            day=day.date,
            kind=kind,
            title=_title(kind, lead, fmt).format(date=fmt.day(day.date)),
            text=fmt.join_sentences([said, later]) if later else said,
            short=short,
            severity=severity,
        )
        for kind, said, short, severity in found
    ]


def _title(kind: Kind, lead: int, fmt: Formatter) -> str:
    titles = {
        "wind": (
            fmt.gettext("Storm expected on {date}."),
            fmt.gettext("Storm likely on {date}."),
            fmt.gettext("Storm possible on {date}."),
        ),
        "heat": (
            fmt.gettext("Extreme heat expected on {date}."),
            fmt.gettext("Extreme heat likely on {date}."),
            fmt.gettext("Extreme heat possible on {date}."),
        ),
        "heavy_snow": (
            fmt.gettext("Heavy snow expected on {date}."),
            fmt.gettext("Heavy snow likely on {date}."),
            fmt.gettext("Heavy snow possible on {date}."),
        ),
    }[kind]
    return titles[0 if lead <= EXPECTED_LEAD else 1 if lead <= LIKELY_LEAD else 2]
