"""The night panel of the sky card: the Moon as it is lit each night, and when the sky is dark.

The lit part is half a circle and half an ellipse whose half-axis is r |cos(phase angle)|. Seen
from the north a waxing Moon is lit on its right, from the south on its left; near the equator it
lies on its back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.localisation.formats import Formats
    from location_context.sections.astronomy.response import Day, Moon

RADIUS, NEAR_EQUATOR, LEAST_LIT = 15.0, 15.0, 0.003
LONGEST_IN_COLUMNS = 12  # characters of a window that must not break


@dataclass(frozen=True, kw_only=True)
class NightView:
    """One night as it is shown; `lit` is path data around the centre, empty at new moon."""

    weekday: str
    day: str
    lit: str
    turn: int
    percent: str
    window: str
    long: bool
    spoken: str


def night_views(days: Sequence[Day], lat: float, words: Formats) -> list[NightView]:
    return [_view(day, lat, words) for day in days]


def _view(day: Day, lat: float, words: Formats) -> NightView:
    percent = words.percent(100 * day.moon.illumination)
    windows = [words.times(w.start, w.end) for w in day.night.dark_windows]
    window = ", ".join(windows) or _no_window(day, words)
    text = words.gettext("Night of {date}: Moon {percent} lit; dark with the Moon down: {window}.")
    return NightView(
        weekday=words.weekday(day.date),
        day=str(day.date.day),
        lit=lit_part(day.moon.phase_angle, day.moon.illumination),
        turn=turn(day.moon, lat),
        percent=percent,
        window=window,
        long=any(len(text) > LONGEST_IN_COLUMNS for text in windows),
        spoken=text.format(date=words.date_long(day.date), percent=percent, window=window),
    )


def _no_window(day: Day, words: Formats) -> str:
    """Why there is no dark window: the Sun is not deep enough, or the Moon is up."""
    if day.sun.astronomical_dusk is None and day.sun.astronomical_dawn is None:
        if day.sun.status == "polar_night" and _is_dark_at_noon(day):
            return words.gettext("Moon up all night")
        return words.gettext("Never fully dark")
    return words.gettext("Moon up all night")


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


def turn(moon: Moon, lat: float) -> int:
    """Degrees clockwise by which the disc is turned from "lit on the right"."""
    if abs(lat) < NEAR_EQUATOR:
        return 90
    northern = lat > 0
    return 0 if moon.waxing == northern else 180


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
