"""The Sun of one local date, read from the horizon's tracks.

Golden and blue hours belong to the date of their solar noon: the morning's lie between the Sun's
lower transit and noon, the evening's between noon and the next lower transit. Where the Sun turns
inside a band of altitudes, the transit bounds the hour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.sections.astronomy.horizon import Line
from location_context.sections.astronomy.response import Span, Sun, SunStatus
from location_context.sections.astronomy.tracks import Track, both

if TYPE_CHECKING:
    from location_context.sections.astronomy.horizon import Horizon
    from location_context.sections.astronomy.local_days import LocalDay

_HALF_DAY = 45000  # seconds, a little more than from transit to transit


def sun_of(day: LocalDay, horizon: Horizon) -> Sun:
    """The record of the Sun."""
    line, tracks = horizon.tracks[Line.SUN], horizon.tracks
    rise, sets = _first(line, True, day), _first(line, False, day)
    noon = _first(tracks[Line.MERIDIAN], False, day)
    golden, blue = _hours(day, horizon, noon, GOLDEN), _hours(day, horizon, noon, BLUE)
    return Sun(
        status=_status(day, line, rise, sets),
        sunrise=day.local(rise),
        sunset=day.local(sets),
        solar_noon=day.local(noon),
        sunrise_azimuth=_angle(horizon.sun_azimuths, rise),
        sunset_azimuth=_angle(horizon.sun_azimuths, sets),
        noon_altitude=_angle(horizon.noon_altitudes, noon),
        day_length_seconds=sum(end - start for start, end in line.spans(day.start, day.end)),
        civil_dawn=day.local(_first(tracks[Line.SUN_MINUS_6], True, day)),
        civil_dusk=day.local(_first(tracks[Line.SUN_MINUS_6], False, day)),
        nautical_dawn=day.local(_first(tracks[Line.SUN_MINUS_12], True, day)),
        nautical_dusk=day.local(_first(tracks[Line.SUN_MINUS_12], False, day)),
        astronomical_dawn=day.local(_first(tracks[Line.SUN_MINUS_18], True, day)),
        astronomical_dusk=day.local(_first(tracks[Line.SUN_MINUS_18], False, day)),
        golden_hour_morning=golden[0],
        golden_hour_evening=golden[1],
        blue_hour_morning=blue[0],
        blue_hour_evening=blue[1],
    )


GOLDEN = (Line.SUN_MINUS_4, Line.SUN_PLUS_6)
BLUE = (Line.SUN_MINUS_6, Line.SUN_MINUS_4)


def _first(line: Track, up: bool, day: LocalDay) -> int | None:
    return line.first(up, day.start, day.end)


def _status(day: LocalDay, line: Track, rise: int | None, sets: int | None) -> SunStatus:
    if rise is not None or sets is not None or day.start == day.end:
        return "normal"
    return "polar_day" if line.is_up(day.start) else "polar_night"


def _angle(angles: dict[int, float], at: int | None) -> float | None:
    return None if at is None else round(angles[at], 1)


def _hours(
    day: LocalDay, horizon: Horizon, noon: int | None, band: tuple[Line, Line]
) -> tuple[Span | None, Span | None]:
    """The first stretch inside the band before noon, and the first after it."""
    if noon is None:
        return None, None
    meridian = horizon.tracks[Line.MERIDIAN]
    before = meridian.last(True, noon - _HALF_DAY, noon)
    after = meridian.first(True, noon, noon + _HALF_DAY)
    low, high = horizon.tracks[band[0]], horizon.tracks[band[1]]
    return _inside(day, low, high, before, noon), _inside(day, low, high, noon, after)


def _inside(
    day: LocalDay, low: Track, high: Track, start: int | None, end: int | None
) -> Span | None:
    if start is None or end is None:
        return None
    found = both(low.spans(start, end), high.spans(start, end, up=False))
    if not found:
        return None
    return Span(start=day.moment(found[0][0]), end=day.moment(found[0][1]))
