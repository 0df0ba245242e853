"""The night panel of the sky card: the Moon as it is lit each night, and when the sky is dark.

The lit part is half a circle and half an ellipse whose half-axis is r |cos(phase angle)|, turned
as the Moon leans when it is seen from the point: at the moment nearest to midnight at which it
stands above the horizon of a dark sky, else at midnight.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from location_context.localisation.formatter import EN_DASH, Formatter
from location_context.sections.astronomy.card.low_precision import (
    moon_altitude,
    moon_tilt,
    sun_altitude,
)
from location_context.sections.astronomy.response import Day, Planet
from location_context.sections.contract import PointBody

FAINTEST = 1.5  # magnitude: as bright as the brightest score of stars


@dataclass(frozen=True, kw_only=True)
class PlanetsView:
    """When to look, and which planets stand out then."""

    when: str
    names: str


def planet_views(nights: Sequence[Day], fmt: Formatter) -> list[PlanetsView]:
    """Evening, morning and all night, as far as something stands out on every night."""
    labels = {
        "evening": fmt.gettext("Planets in the evening"),
        "all_night": fmt.gettext("Planets all night"),
        "morning": fmt.gettext("Planets before dawn"),
    }
    bright = sorted(nights[len(nights) // 2].planets, key=_magnitude)
    whens = {planet.name: _when(planet.name, nights) for planet in bright}
    names = _names(fmt)
    return [
        PlanetsView(when=label, names=fmt.join_list(found))
        for when, label in labels.items()
        if (found := [names[name] for name, seen in whens.items() if seen == when])
    ]


def _when(name: str, nights: Sequence[Day]) -> str:
    """When it stands out on every night of all; empty when it does not."""
    found = [planet for night in nights for planet in night.planets if planet.name == name]
    ways = {planet.visible for planet in found}
    if "none" in ways or any(_magnitude(planet) > FAINTEST for planet in found):
        return ""
    if len(ways) > 1:
        ways.discard("all_night")  # which is the evening and the morning too
    return ways.pop() if len(ways) == 1 else ""


def _magnitude(planet: Planet) -> float:
    return 99.0 if planet.magnitude is None else planet.magnitude


def _names(fmt: Formatter) -> dict[str, str]:
    return {
        "mercury": fmt.gettext("Mercury"),
        "venus": fmt.gettext("Venus"),
        "mars": fmt.gettext("Mars"),
        "jupiter": fmt.gettext("Jupiter"),
        "saturn": fmt.gettext("Saturn"),
    }


RADIUS, LEAST_LIT = 15.0, 0.003
SEEN_ABOVE, DARK_BELOW = 5.0, -6.0  # altitudes of Moon and Sun in degrees
STEP, STEPS = timedelta(minutes=30), 20  # moments looked at on either side of midnight
ONE_LINE = 12  # characters of a window that stand on one line of a column


@dataclass(frozen=True, kw_only=True)
class NightView:
    """One night as it is shown; `lit` is path data around the centre, empty at new moon.

    `windows` are the dark windows' first and last times, each with what follows it; `why` stands
    where there is none.
    """

    weekday: str
    day: str
    lit: str
    turn: int
    percent: str
    windows: Sequence[tuple[str, str]]
    why: str
    long: bool
    spoken: str


def night_views(days: Sequence[Day], point: PointBody, fmt: Formatter) -> list[NightView]:
    return [_view(day, point, fmt) for day in days]


def _view(day: Day, point: PointBody, fmt: Formatter) -> NightView:
    percent = fmt.percent(100 * day.moon.illumination)
    spans = day.night.dark_windows
    times = [(fmt.time(span.start), fmt.time(span.end)) for span in spans]
    why = "" if times else _no_window(day, fmt)
    said = fmt.comma.join(f"{start}{EN_DASH}{end}" for start, end in times)
    text = fmt.gettext("Night of {date}: Moon {percent} lit; dark with the Moon down: {window}.")
    return NightView(
        weekday=fmt.weekday(day.date),
        day=str(day.date.day),
        lit=lit_part(day.moon.phase_angle, day.moon.illumination),
        turn=turn(point, day.date),
        percent=percent,
        windows=[
            (start + "–", end + (fmt.comma.strip() if number < len(times) else ""))
            for number, (start, end) in enumerate(times, 1)
        ],
        why=why,
        long=any(len(start + end) >= ONE_LINE for start, end in times),
        spoken=text.format(date=fmt.date_long(day.date), percent=percent, window=said or why),
    )


def _no_window(day: Day, fmt: Formatter) -> str:
    """Why there is no dark window: the Sun is not deep enough, or the Moon is up."""
    if day.sun.astronomical_dusk is None and day.sun.astronomical_dawn is None:
        if day.sun.status == "polar_night" and _is_dark_at_noon(day):
            return fmt.gettext("Moon up all night")
        return fmt.gettext("Never fully dark")
    return fmt.gettext("Moon up all night")


def _is_dark_at_noon(day: Day) -> bool:
    return day.sun.noon_altitude is not None and day.sun.noon_altitude < -18


def lit_part(phase_angle: float, illumination: float) -> str:
    """The lit part with its lit limb on the right, for a Moon that waxes."""
    if illumination < LEAST_LIT:
        return ""
    bulge = math.cos(math.radians(phase_angle))
    half = _short(RADIUS * abs(bulge))
    side = 0 if bulge > 0 else 1
    radius = _short(RADIUS)
    return f"M0-{radius}A{radius} {radius} 0 0 1 0 {radius}A{half} {radius} 0 0 {side} 0-{radius}Z"


def turn(point: PointBody, evening: date) -> int:
    """Degrees clockwise by which the disc is turned from "lit on the right"."""
    midnight = datetime.combine(evening + timedelta(days=1), time(), ZoneInfo(point.timezone))
    seen = _seen(point, midnight.astimezone(UTC))
    return round(moon_tilt(point.lat, point.lng, seen) - 90) % 360


def _seen(point: PointBody, midnight: datetime) -> datetime:
    """The moment nearest to midnight at which the Moon stands in a dark sky; midnight if none."""
    for steps in range(STEPS + 1):
        for moment in (midnight - steps * STEP, midnight + steps * STEP):
            up = moon_altitude(point.lat, point.lng, moment) > SEEN_ABOVE
            if up and sun_altitude(point.lat, point.lng, moment) < DARK_BELOW:
                return moment
    return midnight


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
