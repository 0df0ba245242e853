"""The full record of a stay's dates at a point: one look at the horizon, read day by day."""

from __future__ import annotations

from collections.abc import Sequence

from location_context.point import Point
from location_context.sections.astronomy.moon import LUNATION_DAYS, Phases
from location_context.sections.astronomy.night import night_of, planets_of
from location_context.sections.astronomy.response import Day
from location_context.sections.astronomy.sky.ephemeris import Ephemeris
from location_context.sections.astronomy.sky.horizon import Horizon
from location_context.sections.astronomy.sky.local_days import DAY, LocalDay
from location_context.sections.astronomy.sun import sun_of

_AROUND = 50400  # seconds: half a day, and the samples that the polynomials reach


def needed(days: Sequence[LocalDay]) -> tuple[float, float]:
    """From when to when the ephemeris must hold the sky."""
    return days[0].start - LUNATION_DAYS * DAY, days[-1].next_noon + _AROUND


def record(days: Sequence[LocalDay], point: Point, ephemeris: Ephemeris) -> list[Day]:
    """Each day's record, in order."""
    start, end = days[0].start - _AROUND, days[-1].next_noon + _AROUND
    sky = ephemeris.sky(start, end)
    horizon = Horizon.of(sky, point.lat, point.lng, days)
    phases = Phases.of(days, sky, ephemeris.moments(*needed(days)))
    return [
        Day(
            date=day.date,
            sun=sun_of(day, horizon),
            moon=phases.moon_of(day, horizon),
            night=night_of(day, horizon),
            planets=planets_of(day, horizon),
        )
        for day in days
    ]
