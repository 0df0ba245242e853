"""Drawings of the sky card: the Sun's path over a day, and the tilted lit part of the Moon.

The Sun's altitude a is computed by sin(a) = sin(lat) sin(d) + cos(lat) cos(d) cos(H). H is the
angle by which the Earth has turned since solar noon. The Sun's declination d is computed from its
altitude at noon. It is constant here, since it changes by at most 0.2° in the hours drawn, far less
than a pixel. The drawing is 320 by 72 units.
The outline of the Moon's lit part is half a circle and half an ellipse with a half-axis of
r |cos(phase angle)|. It is rotated as an observer sees the Moon at one time of the night: the time
nearest to midnight with the Moon above 5° and the Sun below -6°, or midnight if there is none.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from location_context.localisation.formatter import Formatter
from location_context.sections.astronomy.response import Day
from location_context.sections.astronomy.sky.crossings import Floats, Ints
from location_context.sections.astronomy.sky.ephemeris import MOON, SUN, Ephemeris
from location_context.sections.astronomy.sky.horizon import Directions, directions
from location_context.sections.contract import PointBody

WIDTH, HEIGHT, FOOT, HEAD = 320.0, 72.0, 3.0, 8.0
_SHARES = np.arange(49) / 48  # of the time that is drawn
_MARGIN = 0.14  # of the day's length, before sunrise and after sunset: they are at 11 and 89 %
RADIUS, LEAST_LIT = 15.0, 0.003
SEEN_ABOVE, DARK_BELOW = 5.0, -6.0  # altitudes of Moon and Sun in degrees
# moments to try, in seconds from midnight: ten hours on either side, half an hour apart
_NEAREST_FIRST = np.array([0, *(side * n for n in range(1, 21) for side in (-1, 1))]) * 1800.0


@dataclass(frozen=True, kw_only=True)
class SunPath:
    """The drawing of the Sun's path: SVG path data and coordinates.

    `above` and `below` are the parts of the path above and below the horizon. `golden` is the part
    in the evening's golden hour (in the polar night: in civil twilight). `area` fills the space
    between path and horizon. `disc` is the (x, y) of the Sun, `horizon` the y of the horizon.
    """

    above: str
    below: Sequence[str]
    area: str
    horizon: str
    golden: str
    disc: tuple[str, str] | None
    polar: bool
    spoken: str


@dataclass(frozen=True)
class _Frame:
    """A converter of moments (hours from noon) and altitudes (degrees) to points of the drawing."""

    begin: float
    end: float
    top: float
    bottom: float

    def line(self, hours: Floats, altitudes: Floats) -> str:
        """Return a line through the points as SVG path data, without the initial `M` or `L`."""
        x = WIDTH * (hours - self.begin) / (self.end - self.begin)
        share = (altitudes - self.bottom) / (self.top - self.bottom)
        y = HEIGHT - FOOT - share * (HEIGHT - FOOT - HEAD)
        places = tuple(np.column_stack((x, y)).ravel().tolist())
        return ("L%.1f %.1f" * x.size % places)[1:].replace(".0", "")

    def point(self, hours: float, altitude: float) -> list[str]:
        return self.line(np.array([hours]), np.array([altitude])).split(" ")


def sun_path(day: Day, lat: float, fmt: Formatter) -> SunPath | None:
    """Return the drawing of the Sun's path on a day; None if the day has no solar noon."""
    sun, noon = day.sun, day.sun.solar_noon
    if noon is None or sun.noon_altitude is None:
        return None
    delta = _declination(day.date, lat, sun.noon_altitude)
    begin, end, rise, set_ = -12.0, 12.0, -12.0, 12.0
    polar = sun.status == "polar_night"
    if sun.sunrise is not None and sun.sunset is not None and sun.sunset > sun.sunrise:
        rise, set_ = (_hours(moment, noon) for moment in (sun.sunrise, sun.sunset))
        margin = (set_ - rise) * _MARGIN
        begin, end = rise - margin, set_ + margin
    moments = begin + (end - begin) * _SHARES
    heights = altitude(lat, delta, np.radians(15 * moments))
    frame = _Frame(begin, end, max(heights.max(), 3.0), min(heights.min(), -3.0))
    best = _best_light(day, noon)
    golden = _piece(*best, frame, lat, delta) if best else ""
    disc = 0.0 if polar or best is None else sum(best) / 2
    height = float(altitude(lat, delta, np.radians(np.array([15 * disc])))[0])
    x, y = frame.point(disc, height)
    parts = [] if rise == begin else [(begin, rise), (set_, end)]
    if polar:
        parts = [(begin, best[0]), (best[1], end)] if best else [(begin, end)]
    area = _area(moments[::2], heights[::2], frame)
    if polar and best:
        top = frame.point(0.0, 0.0)[1]
        left, right = (frame.point(hours, 0.0)[0] for hours in best)
        area = f"{golden}L{right} {top} {left} {top}Z"
    return SunPath(
        above="" if polar else _piece(rise, set_, frame, lat, delta),
        below=[_piece(*part, frame, lat, delta) for part in parts],
        area=area,
        horizon=frame.point(0.0, 0.0)[1],
        golden=golden,
        disc=(x, y) if best or height > 0 else None,
        polar=polar,
        spoken=_spoken(day, fmt),
    )


def _best_light(day: Day, noon: datetime) -> tuple[float, float] | None:
    """Return begin and end of the evening's golden hour, in hours from solar noon.

    In the polar night, civil twilight is used instead. Return None if the day has no such time.
    """
    sun, span = day.sun, day.sun.golden_hour_evening
    if sun.status != "polar_night":
        return (_hours(span.start, noon), _hours(span.end, noon)) if span else None
    if sun.civil_dawn is None or sun.civil_dusk is None or sun.civil_dusk < sun.civil_dawn:
        return None
    return _hours(sun.civil_dawn, noon), _hours(sun.civil_dusk, noon)


def _hours(moment: datetime, noon: datetime) -> float:
    return (moment - noon) / timedelta(hours=1)


def _declination(day: date, lat: float, noon_altitude: float) -> float:
    """Return the Sun's declination in radians, from its altitude at noon.

    Two declinations lead to the same altitude, with the Sun to the north or to the south. The
    result is the one nearer to the usual declination on this date.
    """
    season = -23.44 * math.cos(2 * math.pi * (day.timetuple().tm_yday + 10) / 365.24)
    zenith = 90.0 - noon_altitude
    return math.radians(min(lat - zenith, lat + zenith, key=lambda d: abs(d - season)))


def altitude(lat: float, delta: Floats | float, turn: Floats) -> Floats:
    """Return the altitudes, in degrees, of a body with declination `delta`.

    `turn` are the angles by which the Earth has turned since the body was highest. `lat` is in
    degrees, `delta` and `turn` are in radians.
    """
    phi = math.radians(lat)
    sine = math.sin(phi) * np.sin(delta) + math.cos(phi) * np.cos(delta) * np.cos(turn)
    degrees: Floats = np.degrees(np.arcsin(np.minimum(np.maximum(sine, -1.0), 1.0)))
    return degrees


def _area(moments: Floats, heights: Floats, frame: _Frame) -> str:
    """Return the area between the horizon and the Sun's path above it, as SVG path data."""
    lit = np.flatnonzero(heights > 0)
    if not lit.size:
        return ""
    shown = slice(max(0, lit[0] - 1), lit[-1] + 2)
    hours, above = moments[shown], np.maximum(heights[shown], 0.0)
    return f"M{frame.line(np.append(hours, hours[[-1, 0]]), np.append(above, [0.0, 0.0]))}Z"


def _piece(start: float, end: float, frame: _Frame, lat: float, delta: float) -> str:
    """Return the Sun's path from `start` to `end` (hours from noon, cut to `frame`) as SVG data."""
    start, end = max(start, frame.begin), min(end, frame.end)
    if end <= start:
        return ""
    moments = start + (end - start) * _SHARES[::2]
    return "M" + frame.line(moments, altitude(lat, delta, np.radians(15 * moments)))


def _spoken(day: Day, fmt: Formatter) -> str:
    sun, date = day.sun, fmt.date_long(day.date)
    if sun.status == "polar_day":
        return fmt.gettext("{date}: the Sun is up all day.").format(date=date)
    if sun.status == "polar_night":
        return fmt.gettext("{date}: the Sun does not rise.").format(date=date)
    if sun.sunrise is None or sun.sunset is None:
        return fmt.gettext("{date}: the Sun is up for {duration}.").format(
            date=date, duration=fmt.duration(sun.day_length_seconds)
        )
    text = fmt.gettext("{date}: sunrise {sunrise}, sunset {sunset}.")
    return text.format(date=date, sunrise=fmt.time(sun.sunrise), sunset=fmt.time(sun.sunset))


def lit_part(phase_angle: float, illumination: float) -> str:
    """Return the outline of the Moon's lit part as SVG path data; empty at new Moon.

    The lit side is on the right; `turns` returns the degrees to rotate it by on a given night.
    """
    if illumination < LEAST_LIT:
        return ""
    bulge = math.cos(math.radians(phase_angle))
    half = _short(RADIUS * abs(bulge))
    side = 0 if bulge > 0 else 1
    radius = _short(RADIUS)
    return f"M0-{radius}A{radius} {radius} 0 0 1 0 {radius}A{half} {radius} 0 0 {side} 0-{radius}Z"


def turns(ephemeris: Ephemeris, point: PointBody, evenings: Sequence[date]) -> list[int]:
    """Return the degrees by which to turn `lit_part` clockwise in the night after each evening."""
    zone, one_day = ZoneInfo(point.timezone), timedelta(days=1)
    midnights = [datetime.combine(evening + one_day, time(), zone) for evening in evenings]
    moments = np.array([midnight.timestamp() for midnight in midnights])[:, None] + _NEAREST_FIRST
    sky = ephemeris.sky(moments.min(), moments.max())
    steps = np.rint(sky.position_of(moments)).astype(int)
    seen = directions(sky, point.lat, point.lng)
    high, dark = np.sin(np.radians(SEEN_ABOVE)), np.sin(np.radians(DARK_BELOW))
    fit = (seen.up[MOON][steps] > high) & (seen.up[SUN][steps] < dark)
    chosen = steps[np.arange(len(steps)), fit.argmax(axis=1)]
    tilts: list[float] = moon_tilt(seen, chosen).tolist()
    return [round(tilt - 90) % 360 for tilt in tilts]


def moon_tilt(seen: Directions, steps: Ints) -> Floats:
    """Return the direction of the Moon's lit side at each step, in degrees clockwise from the top.

    The lit side faces the Sun. 90 means that the right side is lit (a waxing half Moon, seen from
    the northern hemisphere), 180 the bottom, 270 the left side.
    """
    sun, moon = (seen.towards(body)[:, steps] for body in (SUN, MOON))
    right = sun[1] * moon[2] - sun[2] * moon[1]  # of up, east and north
    up = sun[0] - (sun * moon).sum(axis=0) * moon[0]
    tilt: Floats = np.degrees(np.arctan2(right, up)) % 360
    return tilt


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
