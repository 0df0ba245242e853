"""The Sun's path over the middle day, drawn from the record of that day.

Altitude at a moment is sin(a) = sin(lat) sin(d) + cos(lat) cos(d) cos(H), H the hour angle from
solar noon and d the declination that the noon altitude tells; d moves at most 0.2° in the hours
drawn, far under a pixel. The drawing is 600 by 150 units.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from location_context.localisation.formatter import Formatter
from location_context.sections.astronomy.response import Day, Span

WIDTH, HEIGHT, FOOT, HEAD = 600.0, 150.0, 3.0, 10.0
_STEPS = 48
_MARGIN = 0.14  # of the day's length before sunrise and after sunset: crossings at 11 and 89 %


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
    sun = day.sun
    noon = sun.solar_noon
    if noon is None or sun.noon_altitude is None:
        return None
    declination = _declination(day.date, lat, sun.noon_altitude)
    normal = sun.sunrise is not None and sun.sunset is not None and sun.sunset > sun.sunrise
    begin, end = noon - timedelta(hours=12), noon + timedelta(hours=12)
    if normal and sun.sunrise is not None and sun.sunset is not None:
        margin = (sun.sunset - sun.sunrise) * _MARGIN
        begin, end = sun.sunrise - margin, sun.sunset + margin

    def altitude(moment: datetime) -> float:
        turn = math.radians((moment - noon).total_seconds() / 240)
        return _altitude(lat, declination, turn)

    moments = [begin + (end - begin) * n / _STEPS for n in range(_STEPS + 1)]
    heights = [altitude(moment) for moment in moments]
    frame = _Frame(
        begin, (end - begin).total_seconds() / 3600, max(*heights, 3.0), min(*heights, -3.0)
    )
    curve = [frame.point(m, h) for m, h in zip(moments, heights, strict=True)]
    golden = [_piece(span, frame, altitude) for span in _spans(day) if span]
    return SunPath(
        curve="M" + "L".join(curve),
        area=_area(moments, heights, frame),
        horizon=_short(frame.y(0.0)),
        golden=[piece for piece in golden if piece],
        noon=_noon(frame, noon, altitude(noon)),
        sunrise=fmt.time(sun.sunrise) if normal and sun.sunrise else "",
        sunset=fmt.time(sun.sunset) if normal and sun.sunset else "",
        spoken=_spoken(day, fmt),
    )


def _declination(day: date, lat: float, noon_altitude: float) -> float:
    """Of the two declinations that give this noon altitude, the one nearer to the season's."""
    season = -23.44 * math.cos(2 * math.pi * (day.timetuple().tm_yday + 10) / 365.24)
    zenith = 90.0 - noon_altitude
    return min(lat - zenith, lat + zenith, key=lambda d: abs(d - season))


def _altitude(lat: float, declination: float, turn: float) -> float:
    phi, delta = math.radians(lat), math.radians(declination)
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


def _spans(day: Day) -> list[Span | None]:
    return [day.sun.golden_hour_morning, day.sun.golden_hour_evening]


def _piece(span: Span, frame: _Frame, altitude: Callable[[datetime], float]) -> str:
    """The part of the curve within a span, as far as it is drawn."""
    start = max(span.start, frame.begin)
    end = min(span.end, frame.begin + timedelta(hours=frame.hours))
    if end <= start:
        return ""
    moments = [start + (end - start) * n / 6 for n in range(7)]
    return "M" + "L".join(frame.point(m, altitude(m)) for m in moments)


def _noon(frame: _Frame, moment: datetime, altitude: float) -> tuple[str, str] | None:
    if altitude <= 0:
        return None
    return _short(frame.x(moment)), _short(frame.y(altitude))


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


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
