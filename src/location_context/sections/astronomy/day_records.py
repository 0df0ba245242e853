"""The record of each date of a stay at a point: Sun, Moon, night and planets.

In a golden hour the Sun is between -4° and +6° high, in a blue hour between -6° and -4°. The golden
and blue hours of a morning lie between the Sun's lower transit (its lowest point) and solar noon,
those of an evening between solar noon and the next lower transit. Parts beyond these limits are cut
off. All these hours belong to the date of the solar noon.
A date's night lasts from 12:00 local time to 12:00 on the next date. In a dark window the Sun is
below -18° and the Moon below the horizon. A planet is visible during a span of at least 20
minutes in which it is at least 5° high and the Sun below -6°. It is visible `all_night` if its
spans fill at least 80 % of the time with the Sun below -6°. Otherwise it is visible in the
`evening` or `morning`: the half of the night that holds the middle of its longest span.
The Moon's phase is computed for the midnight that ends the date.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, cast, get_args

import numpy as np

from location_context.point import Point
from location_context.sections.astronomy.response import (
    BetweenPhases,
    Day,
    Moon,
    Night,
    Phase,
    Planet,
    PrincipalPhase,
    Span,
    Sun,
    SunStatus,
    Visible,
)
from location_context.sections.astronomy.sky.crossings import Track, both, interpolate
from location_context.sections.astronomy.sky.ephemeris import (
    MOON,
    PLANETS,
    SUN,
    Ephemeris,
    Sky,
    SkyEvent,
    illumination,
    longitudes,
)
from location_context.sections.astronomy.sky.horizon import AltitudeThreshold, Horizon
from location_context.sections.astronomy.sky.local_days import DAY, LocalDay

Spans = list[tuple[int, int]]

HEIGHTS = slice(AltitudeThreshold.PLANET_5, AltitudeThreshold.PLANET_5 + len(PLANETS))
_LONG_ENOUGH = 1200  # seconds
_NEARLY_ALL = 0.8


def night_of(day: LocalDay, horizon: Horizon) -> Night:
    dark = horizon.tracks[AltitudeThreshold.SUN_MINUS_18].spans(day.noon, day.next_noon, up=False)
    without_moon = horizon.tracks[AltitudeThreshold.MOON].spans(day.noon, day.next_noon, up=False)
    windows = both(dark, without_moon)
    return Night(
        dark_windows=[_span(day, window) for window in windows],
        dark_hours=round(sum(map(_length, windows)) / 3600, 2),
    )


def planets_of(day: LocalDay, horizon: Horizon) -> list[Planet]:
    """Return the planets from Mercury to Saturn, and when each is visible in the night of `day`."""
    tracks = horizon.tracks
    night = tracks[AltitudeThreshold.SUN_MINUS_6].spans(day.noon, day.next_noon, up=False)
    lasts = sum(map(_length, night))
    magnitudes = horizon.sky.magnitudes_at((day.noon + day.next_noon) / 2)
    return [
        Planet(
            name=name,
            visible=_visible(both(night, high.spans(day.noon, day.next_noon)), night, lasts),
            magnitude=magnitude,
            rise=day.local(horizon.first(AltitudeThreshold.PLANET + index, True, day)),
            set=day.local(horizon.first(AltitudeThreshold.PLANET + index, False, day)),
        )
        for index, (name, magnitude, high) in enumerate(
            zip(PLANETS, magnitudes, tracks[HEIGHTS], strict=True)
        )
    ]


def _visible(seen: Spans, night: Spans, lasts: int) -> Visible:
    """Return the part of the night in which a planet is visible, or `none`.

    `night` are the spans with the Sun below -6°, `lasts` their total seconds. `seen` are the parts
    of `night` in which the planet is at least 5° high.
    """
    total, longest = 0, (0, 0)
    for start, end in seen:
        if end - start >= _LONG_ENOUGH:
            total += end - start
            longest = max(longest, (start, end), key=_length)
    if not total:
        return "none"
    if total >= _NEARLY_ALL * lasts:
        return "all_night"
    return "evening" if sum(longest) < night[0][0] + night[-1][1] else "morning"


def _length(span: tuple[int, int]) -> int:
    return span[1] - span[0]


def _span(day: LocalDay, span: tuple[int, int]) -> Span:
    return Span(start=day.moment(span[0]), end=day.moment(span[1]))


_HALF_DAY = 45000  # seconds, a little more than from noon to the lower transit


def sun_of(day: LocalDay, horizon: Horizon) -> Sun:
    line, first = horizon.tracks[AltitudeThreshold.SUN], horizon.first
    rise, sets = first(AltitudeThreshold.SUN, True, day), first(AltitudeThreshold.SUN, False, day)
    noon = first(AltitudeThreshold.MERIDIAN, False, day)
    before, after = _transits(horizon.tracks[AltitudeThreshold.MERIDIAN], noon)
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
        civil_dawn=day.local(first(AltitudeThreshold.SUN_MINUS_6, True, day)),
        civil_dusk=day.local(first(AltitudeThreshold.SUN_MINUS_6, False, day)),
        nautical_dawn=day.local(first(AltitudeThreshold.SUN_MINUS_12, True, day)),
        nautical_dusk=day.local(first(AltitudeThreshold.SUN_MINUS_12, False, day)),
        astronomical_dawn=day.local(first(AltitudeThreshold.SUN_MINUS_18, True, day)),
        astronomical_dusk=day.local(first(AltitudeThreshold.SUN_MINUS_18, False, day)),
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
    """Return when the Sun is lowest before and after a solar noon; None if unknown."""
    if noon is None:
        return None, None
    before = meridian.first(True, noon - _HALF_DAY, noon)
    return before, meridian.first(True, noon, noon + _HALF_DAY)


def _inside(day: LocalDay, band: Track, start: int | None, end: int | None) -> Span | None:
    """Return the first span between `start` and `end` with the Sun in a `band` of altitudes.

    Return None if there is none, or if `start` or `end` is None.
    """
    found = band.spans(start, end) if start is not None and end is not None else []
    return _span(day, found[0]) if found else None


PRINCIPAL = get_args(PrincipalPhase)
_BETWEEN: tuple[Phase, ...] = get_args(BetweenPhases)
LUNATION_DAYS = 31  # the last new moon is never longer ago


@dataclass(frozen=True, slots=True)
class Phases:
    """The Moon's phase angle (degrees) and sunlit share (0 to 1) at the end of each date.

    `principal` are the new, full and quarter Moons from a month before the stay to its end.
    """

    angles: list[float]
    illuminations: list[float]
    principal: list[SkyEvent]

    @classmethod
    def of(cls, days: Sequence[LocalDay], sky: Sky, events: Sequence[SkyEvent]) -> Self:
        """Compute the phases.

        `events` must begin a month before the stay, so that they include the new Moon from which
        the Moon's age is counted on the first date.
        """
        position = sky.position_of(np.array([day.end for day in days], float))
        places = interpolate(sky.positions[[SUN, MOON]], position)
        sun, moon = longitudes(places, interpolate(sky.obliquity, position))
        angles = np.degrees(moon - sun) % 360
        principal = [event for event in events if event.type in PRINCIPAL]
        return cls(angles.tolist(), illumination(places).tolist(), principal)

    def moon_of(self, day: LocalDay, horizon: Horizon) -> Moon:
        angle = self.angles[day.index]
        new_moon = max(m.at for m in self.principal if m.type == "new_moon" and m.at <= day.end)
        return Moon(
            moonrise=day.local(horizon.first(AltitudeThreshold.MOON, True, day)),
            moonset=day.local(horizon.first(AltitudeThreshold.MOON, False, day)),
            phase=self._name(day, angle),
            phase_angle=round(angle, 1) % 360,
            illumination=round(self.illuminations[day.index], 3),
            waxing=angle < 180,
            age_days=round((day.end - new_moon) / DAY, 2),
        )

    def _name(self, day: LocalDay, angle: float) -> Phase:
        held = [m.type for m in self.principal if day.start <= m.at < day.end]
        return cast("Phase", held[0]) if held else _BETWEEN[int(angle // 90) % 4]


_AROUND = 50400  # seconds: half a day, and a margin for the samples of the polynomials


def required_span(days: Sequence[LocalDay]) -> tuple[float, float]:
    """Return the first and last moment (Unix seconds) for which `day_records` needs data."""
    return days[0].start - LUNATION_DAYS * DAY, days[-1].next_noon + _AROUND


def day_records(days: Sequence[LocalDay], point: Point, ephemeris: Ephemeris) -> list[Day]:
    start, end = days[0].start - _AROUND, days[-1].next_noon + _AROUND
    sky = ephemeris.sky(start, end)
    horizon = Horizon.of(sky, point.lat, point.lng)
    phases = Phases.of(days, sky, ephemeris.sky_events(*required_span(days)))
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
