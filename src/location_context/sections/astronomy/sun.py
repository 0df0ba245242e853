"""The Sun of one local date, read from the horizon's tracks.

Golden and blue hours belong to the date of their solar noon: the morning's lie between the Sun's
lower transit and noon, the evening's between noon and the next lower transit. Where the Sun turns
inside a band of altitudes, the transit bounds the hour.
"""

from __future__ import annotations

from location_context.sections.astronomy.response import Span, Sun, SunStatus
from location_context.sections.astronomy.sky.crossings import Track
from location_context.sections.astronomy.sky.horizon import Horizon, Line
from location_context.sections.astronomy.sky.local_days import LocalDay

_HALF_DAY = 45000  # seconds, a little more than from transit to transit


def sun_of(day: LocalDay, horizon: Horizon) -> Sun:
    """The record of the Sun."""
    line, first = horizon.tracks[Line.SUN], horizon.first
    rise, sets = first(Line.SUN, True, day), first(Line.SUN, False, day)
    noon = first(Line.MERIDIAN, False, day)
    before, after = _transits(horizon.tracks[Line.MERIDIAN], noon)
    golden, blue = horizon.golden, horizon.blue
    return Sun(
        status=_status(day, line, rise, sets),
        sunrise=day.local(rise),
        sunset=day.local(sets),
        solar_noon=day.local(noon),
        sunrise_azimuth=_angle(horizon.sun_azimuths, rise),
        sunset_azimuth=_angle(horizon.sun_azimuths, sets),
        noon_altitude=_angle(horizon.noon_altitudes, noon),
        day_length_seconds=sum(end - start for start, end in line.spans(day.start, day.end)),
        civil_dawn=day.local(first(Line.SUN_MINUS_6, True, day)),
        civil_dusk=day.local(first(Line.SUN_MINUS_6, False, day)),
        nautical_dawn=day.local(first(Line.SUN_MINUS_12, True, day)),
        nautical_dusk=day.local(first(Line.SUN_MINUS_12, False, day)),
        astronomical_dawn=day.local(first(Line.SUN_MINUS_18, True, day)),
        astronomical_dusk=day.local(first(Line.SUN_MINUS_18, False, day)),
        golden_hour_morning=_inside(day, golden, before, noon),
        golden_hour_evening=_inside(day, golden, noon, after),
        blue_hour_morning=_inside(day, blue, before, noon),
        blue_hour_evening=_inside(day, blue, noon, after),
    )


def _status(day: LocalDay, line: Track, rise: int | None, sets: int | None) -> SunStatus:
    if rise is not None or sets is not None or day.start == day.end:
        return "normal"
    return "polar_day" if line.is_up(day.start) else "polar_night"


def _angle(angles: dict[int, float], at: int | None) -> float | None:
    return None if at is None else round(angles[at], 1)


def _transits(meridian: Track, noon: int | None) -> tuple[int | None, int | None]:
    """The lower transits before and after a noon."""
    if noon is None:
        return None, None
    before = meridian.last(True, noon - _HALF_DAY, noon)
    return before, meridian.first(True, noon, noon + _HALF_DAY)


def _inside(day: LocalDay, band: Track, start: int | None, end: int | None) -> Span | None:
    """The first stretch inside a band of altitudes between two transits."""
    if start is None or end is None:
        return None
    found = band.spans(start, end)
    if not found:
        return None
    return Span(start=day.moment(found[0][0]), end=day.moment(found[0][1]))
