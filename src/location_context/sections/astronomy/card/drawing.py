"""What the sky card draws: the Sun's path over a day, and the Moon as it is lit and leans.

The Sun's path comes from the record of the day. Altitude at a moment is sin(a) = sin(lat) sin(d) +
cos(lat) cos(d) cos(H), H the hour angle from solar noon and d the declination that the noon
altitude tells; d moves at most 0.2° in the hours drawn, far under a pixel. The drawing is 600 by
150 units.
The lit part of the Moon is half a circle and half an ellipse whose half-axis is
r |cos(phase angle)|, turned as the Moon leans when it is seen from the point: at the moment nearest
to midnight at which it stands above the horizon of a dark sky, else at midnight. That needs no
ephemeris: the low-precision formulae of the Astronomical Almanac (section C and D) are good for
0.02° in the Sun and 0.5° in the Moon from 1950 to 2050. Altitudes are true, without refraction and
parallax. What is answered as data comes from the ephemeris instead.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from location_context.localisation.formatter import Formatter
from location_context.sections.astronomy.response import Day, Span
from location_context.sections.contract import PointBody

WIDTH, HEIGHT, FOOT, HEAD = 600.0, 150.0, 3.0, 10.0
_STEPS = 48
_MARGIN = 0.14  # of the day's length before sunrise and after sunset: crossings at 11 and 89 %
RADIUS, LEAST_LIT = 15.0, 0.003
SEEN_ABOVE, DARK_BELOW = 5.0, -6.0  # altitudes of Moon and Sun in degrees
STEP, STEPS = timedelta(minutes=30), 20  # moments looked at on either side of midnight
_J2000, _DAY = datetime(2000, 1, 1, 12, tzinfo=UTC), timedelta(days=1)

Place = tuple[float, float]  # right ascension and declination in radians


@dataclass(frozen=True, kw_only=True)
class SunPath:
    """Path data in the drawing's units, and the texts below the horizon crossings."""

    curve: str
    area: str
    horizon: str
    golden: Sequence[str]
    noon: tuple[str, str] | None
    sunrise: str
    sunset: str
    spoken: str


@dataclass(frozen=True)
class _Frame:
    """Turns a moment and an altitude into a point of the drawing."""

    begin: datetime
    hours: float
    top: float
    bottom: float

    def x(self, moment: datetime) -> float:
        return WIDTH * (moment - self.begin).total_seconds() / 3600 / self.hours

    def y(self, altitude: float) -> float:
        share = (altitude - self.bottom) / (self.top - self.bottom)
        return HEIGHT - FOOT - share * (HEIGHT - FOOT - HEAD)

    def point(self, moment: datetime, altitude: float) -> str:
        return f"{_short(self.x(moment))} {_short(self.y(altitude))}"


def sun_path(day: Day, lat: float, fmt: Formatter) -> SunPath | None:
    """The drawing of a day; None when its noon is not known."""
    sun, noon = day.sun, day.sun.solar_noon
    if noon is None or sun.noon_altitude is None:
        return None
    declination = _declination(day.date, lat, sun.noon_altitude)
    begin, end = noon - timedelta(hours=12), noon + timedelta(hours=12)
    sunrise = sunset = ""
    if sun.sunrise is not None and sun.sunset is not None and sun.sunset > sun.sunrise:
        margin = (sun.sunset - sun.sunrise) * _MARGIN
        begin, end = sun.sunrise - margin, sun.sunset + margin
        sunrise, sunset = fmt.time(sun.sunrise), fmt.time(sun.sunset)

    def height(moment: datetime) -> float:
        return altitude(lat, declination, math.radians((moment - noon).total_seconds() / 240))

    moments = [begin + (end - begin) * n / _STEPS for n in range(_STEPS + 1)]
    heights = [height(moment) for moment in moments]
    frame = _Frame(
        begin, (end - begin).total_seconds() / 3600, max(*heights, 3.0), min(*heights, -3.0)
    )
    curve = [frame.point(m, h) for m, h in zip(moments, heights, strict=True)]
    golden = [
        _piece(span, frame, height)
        for span in (sun.golden_hour_morning, sun.golden_hour_evening)
        if span is not None
    ]
    return SunPath(
        curve="M" + "L".join(curve),
        area=_area(moments, heights, frame),
        horizon=_short(frame.y(0.0)),
        golden=[piece for piece in golden if piece],
        noon=(_short(frame.x(noon)), _short(frame.y(height(noon)))) if height(noon) > 0 else None,
        sunrise=sunrise,
        sunset=sunset,
        spoken=_spoken(day, fmt),
    )


def _declination(day: date, lat: float, noon_altitude: float) -> float:
    """In radians: of the two that give this noon altitude, the one nearer to the season's."""
    season = -23.44 * math.cos(2 * math.pi * (day.timetuple().tm_yday + 10) / 365.24)
    zenith = 90.0 - noon_altitude
    return math.radians(min(lat - zenith, lat + zenith, key=lambda d: abs(d - season)))


def altitude(lat: float, delta: float, turn: float) -> float:
    """Degrees, at a declination and hour angle in radians."""
    phi = math.radians(lat)
    sine = math.sin(phi) * math.sin(delta) + math.cos(phi) * math.cos(delta) * math.cos(turn)
    return math.degrees(math.asin(max(-1.0, min(1.0, sine))))


def _area(moments: Iterable[datetime], heights: Iterable[float], frame: _Frame) -> str:
    """What lies between the curve and the horizon by day."""
    above = [(m, max(h, 0.0)) for m, h in zip(moments, heights, strict=True)]
    lit = [n for n, (_, h) in enumerate(above) if h > 0]
    if not lit:
        return ""
    first, last = max(0, lit[0] - 1), min(len(above) - 1, lit[-1] + 1)
    shown = above[first : last + 1]
    line = "L".join(frame.point(m, h) for m, h in shown)
    foot = [frame.point(shown[-1][0], 0.0), frame.point(shown[0][0], 0.0)]
    return f"M{line}L{'L'.join(foot)}Z"


def _piece(span: Span, frame: _Frame, height: Callable[[datetime], float]) -> str:
    """The part of the curve within a span, as far as it is drawn."""
    start = max(span.start, frame.begin)
    end = min(span.end, frame.begin + timedelta(hours=frame.hours))
    if end <= start:
        return ""
    moments = [start + (end - start) * n / 6 for n in range(7)]
    return "M" + "L".join(frame.point(m, height(m)) for m in moments)


def _spoken(day: Day, fmt: Formatter) -> str:
    sun, date = day.sun, fmt.date_long(day.date)
    if sun.status == "polar_day":
        return fmt.gettext("{date}: the Sun is up all day.").format(date=date)
    if sun.status == "polar_night":
        return fmt.gettext("{date}: the Sun stays below the horizon.").format(date=date)
    if sun.sunrise is None or sun.sunset is None:
        return fmt.gettext("{date}: the Sun is up for {duration}.").format(
            date=date, duration=fmt.duration(sun.day_length_seconds)
        )
    text = fmt.gettext("{date}: sunrise {sunrise}, sunset {sunset}.")
    return text.format(date=date, sunrise=fmt.time(sun.sunrise), sunset=fmt.time(sun.sunset))


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


def sun_altitude(lat: float, lng: float, moment: datetime) -> float:
    """True altitude of the Sun's centre in degrees."""
    return _altitude_of(lat, lng, moment, _sun(moment))


def moon_altitude(lat: float, lng: float, moment: datetime) -> float:
    """True altitude of the Moon's centre in degrees, seen from the centre of the Earth."""
    return _altitude_of(lat, lng, moment, _moon(moment))


def _altitude_of(lat: float, lng: float, moment: datetime, place: Place) -> float:
    alpha, delta = place
    return altitude(lat, delta, _sidereal(moment) + math.radians(lng) - alpha)


def moon_tilt(lat: float, lng: float, moment: datetime) -> float:
    """Where the middle of the Moon's bright limb lies, in degrees clockwise from the top.

    90 is to the right (a waxing half Moon in the north), 270 to the left, 180 below. It is the
    position angle of the bright limb less the parallactic angle (Meeus, chapters 14 and 48).
    """
    phi, (sun, sun_delta), (moon, delta) = math.radians(lat), _sun(moment), _moon(moment)
    limb = math.atan2(
        math.cos(sun_delta) * math.sin(sun - moon),
        math.sin(sun_delta) * math.cos(delta)
        - math.cos(sun_delta) * math.sin(delta) * math.cos(sun - moon),
    )
    turn = _sidereal(moment) + math.radians(lng) - moon
    parallactic = math.atan2(
        math.cos(phi) * math.sin(turn),
        math.sin(phi) * math.cos(delta) - math.cos(phi) * math.sin(delta) * math.cos(turn),
    )
    return math.degrees(parallactic - limb) % 360


def _sidereal(moment: datetime) -> float:
    return math.radians((280.46061837 + 360.98564736629 * (moment - _J2000) / _DAY) % 360)


def _sun(moment: datetime) -> Place:
    days = (moment - _J2000) / _DAY
    anomaly = math.radians(357.528 + 0.9856003 * days)
    longitude = 280.460 + 0.9856474 * days
    longitude += 1.915 * math.sin(anomaly) + 0.020 * math.sin(2 * anomaly)
    return _equatorial(longitude, 0.0, days)


_MOON_LONGITUDE = (
    (6.29, 135.0, 477198.87),
    (-1.27, 259.3, -413335.36),
    (0.66, 235.7, 890534.22),
    (0.21, 269.9, 954397.74),
    (-0.19, 357.5, 35999.05),
    (-0.11, 186.5, 966404.03),
)
_MOON_LATITUDE = (
    (5.13, 93.3, 483202.02),
    (0.28, 228.2, 960400.89),
    (-0.28, 318.3, 6003.15),
    (-0.17, 217.6, -407332.21),
)


def _moon(moment: datetime) -> Place:
    days = (moment - _J2000) / _DAY
    longitude, latitude = (
        sum(size * math.sin(math.radians(at + rate * days / 36525)) for size, at, rate in terms)
        for terms in (_MOON_LONGITUDE, _MOON_LATITUDE)
    )
    return _equatorial(218.32 + 481267.881 * days / 36525 + longitude, latitude, days)


def _equatorial(longitude: float, latitude: float, days: float) -> Place:
    lam, beta = math.radians(longitude), math.radians(latitude)
    tilt = math.radians(23.439 - 0.0000004 * days)
    x = math.cos(beta) * math.cos(lam)
    y = math.cos(tilt) * math.cos(beta) * math.sin(lam) - math.sin(tilt) * math.sin(beta)
    z = math.sin(tilt) * math.cos(beta) * math.sin(lam) + math.cos(tilt) * math.sin(beta)
    return math.atan2(y, x), math.asin(max(-1.0, min(1.0, z)))
