"""The highlights of a stay: eclipses, meteor showers, Moon phases, seasons and clock changes.

The best moment of a meteor shower is the one at which most meteors are visible, within twelve hours
of the peak. At this moment the Sun must be below -18°, or below -12° if it does not sink to -18° in
these hours. The number of meteors depends on the shower's activity, the moonlight and the height of
the radiant, the point in the sky from which the meteors seem to come. If the radiant is below 10°
at the best moment, the shower is left out, since few of its meteors are visible.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from location_context.localisation.language import Language
from location_context.point import Point
from location_context.sections.astronomy.highlights.eclipses import AROUND, EclipseAt
from location_context.sections.astronomy.response import Details, Highlight, HighlightType
from location_context.sections.astronomy.sky.ephemeris import (
    MOON,
    SHOWERS,
    SUN,
    Ephemeris,
    Shower,
    SkyEvent,
    illumination,
)
from location_context.sections.astronomy.sky.horizon import directions, moon_line
from location_context.sections.astronomy.sky.local_days import J2000, JULIAN_YEAR, LocalDay

_HALF_DAY = 43200  # seconds; two clock changes are always further apart
_DARK = np.sin(np.radians([-18, -12]))  # the second is used if the Sun does not sink to the first
LOST_TO_MOON = 0.8  # share of the meteors that a full Moon hides, the faint ones
_NEARLY = 0.75  # the best time has at least this share of the best rate
_SOLAR_DEGREES = 360 / 365.24 / 86400  # of solar longitude per second
_LOWEST = 10.0


def titles(language: Language) -> dict[str, str]:
    """Return the localised title of each kind of highlight, such as `new_moon` or `perseids`."""
    _ = language.gettext
    return {
        "new_moon": _("New Moon"),
        "first_quarter": _("First quarter"),
        "full_moon": _("Full Moon"),
        "last_quarter": _("Last quarter"),
        "march_equinox": _("March equinox"),
        "june_solstice": _("June solstice"),
        "september_equinox": _("September equinox"),
        "december_solstice": _("December solstice"),
        "partial solar_eclipse": _("Partial eclipse of the Sun"),
        "annular solar_eclipse": _("Annular eclipse of the Sun"),
        "total solar_eclipse": _("Total eclipse of the Sun"),
        "penumbral lunar_eclipse": _("Penumbral eclipse of the Moon"),
        "partial lunar_eclipse": _("Partial eclipse of the Moon"),
        "total lunar_eclipse": _("Total eclipse of the Moon"),
        "clock forward": _("Clocks go forward"),
        "clock back": _("Clocks go back"),
        "quadrantids": _("Quadrantid meteors"),
        "lyrids": _("Lyrid meteors"),
        "eta_aquariids": _("Eta Aquariid meteors"),
        "southern_delta_aquariids": _("Southern Delta Aquariid meteors"),
        "alpha_capricornids": _("Alpha Capricornid meteors"),
        "perseids": _("Perseid meteors"),
        "draconids": _("Draconid meteors"),
        "orionids": _("Orionid meteors"),
        "southern_taurids": _("Southern Taurid meteors"),
        "northern_taurids": _("Northern Taurid meteors"),
        "leonids": _("Leonid meteors"),
        "geminids": _("Geminid meteors"),
        "ursids": _("Ursid meteors"),
    }


class ClockChange(NamedTuple):
    """A clock change at `at` (Unix seconds); `forward` is negative if clocks go back."""

    at: int
    forward: timedelta


def clock_changes(days: Sequence[LocalDay]) -> list[ClockChange]:
    """Return every clock change on the days, even a change at the first midnight."""
    zone = days[0].zone
    start, end = days[0].start - 1, days[-1].end - 1
    probes = [*range(start, end, _HALF_DAY), end]
    offsets = [_offset(probe, zone) for probe in probes]
    return [
        ClockChange(_instant(a, b, zone), after - before)
        for a, b, before, after in zip(probes, probes[1:], offsets, offsets[1:], strict=False)
        if before != after
    ]


def _offset(seconds: int, zone: ZoneInfo) -> timedelta:
    return datetime.fromtimestamp(seconds, zone).utcoffset() or timedelta()


def _instant(before: int, after: int, zone: ZoneInfo) -> int:
    """Return the moment between `before` and `after` at which the UTC offset changes."""
    new, seconds = _offset(after, zone), range(before, after + 1)
    return seconds[bisect_left(seconds, True, key=lambda at: _offset(at, zone) == new)]


def _of_date(shower: Shower, moment: float) -> tuple[float, float]:
    """Return right ascension and declination, in radians, of a shower's radiant at a moment.

    The shower's coordinates are for the year 2000; the precession since then is added.
    """
    years = (moment - J2000) / JULIAN_YEAR
    alpha, delta = np.radians(shower.right_ascension), np.radians(shower.declination)
    east = 46.12 + 20.04 * np.sin(alpha) * np.tan(delta)
    north = 20.04 * np.cos(alpha)
    return float(alpha + np.radians(years * east / 3600)), float(
        delta + np.radians(years * north / 3600)
    )


@dataclass(frozen=True, slots=True)
class Highlights:
    """A builder of the highlights of one stay at one point."""

    days: Sequence[LocalDay]
    point: Point
    ephemeris: Ephemeris
    eclipse_at: EclipseAt
    titles: Mapping[str, str]

    def all(self) -> list[Highlight]:
        """Return all highlights on the dates of the stay, with the last, in time order."""
        start, end = self.days[0].start, self.days[-1].end
        found = [self._clock_change(change) for change in clock_changes(self.days)]
        for event in self.ephemeris.sky_events(start - _HALF_DAY, end + _HALF_DAY):
            if event.type == "meteor_shower":
                found += self._shower(SHOWERS[event.shower], event.at)
                continue
            if start <= event.at < end:
                at, title = self.days[0].moment(event.at), self.titles[event.type]
                found.append(Highlight(type=event.type, at=at, title=title, details=None))
            is_syzygy = event.type in {"new_moon", "full_moon"}
            if is_syzygy and start - AROUND <= event.at < end + AROUND:
                found += self._eclipse(event)
        dates = {day.date for day in self.days}
        inside = [highlight for highlight in found if highlight.at.date() in dates]
        return sorted(inside, key=lambda highlight: (highlight.at, highlight.type))

    def _clock_change(self, change: ClockChange) -> Highlight:
        minutes = round(change.forward.total_seconds() / 60)
        return Highlight(
            type="clock_change",
            at=self.days[0].moment(change.at),
            title=self.titles["clock forward" if minutes > 0 else "clock back"],
            details=Details(shift_minutes=minutes),
        )

    def _eclipse(self, event: SkyEvent) -> Iterator[Highlight]:
        eclipse = self.eclipse_at(event)
        seen = eclipse and eclipse.visible(self.point.lat, self.point.lng)
        if seen:
            moment = self.days[0].moment
            covered = None if seen.obscuration is None else round(seen.obscuration, 3)
            kind: HighlightType = "solar_eclipse" if event.type == "new_moon" else "lunar_eclipse"
            yield Highlight(
                type=kind,
                at=moment(seen.maximum),
                title=self.titles[f"{seen.kind} {kind}"],
                details=Details(
                    kind=seen.kind,
                    start=moment(seen.start),
                    maximum=moment(seen.maximum),
                    end=moment(seen.end),
                    magnitude=round(seen.magnitude, 3),
                    obscuration=covered,
                ),
            )

    def _shower(self, shower: Shower, peak: float) -> Iterator[Highlight]:
        """Yield the highlight of a shower's peak; nothing if the point sees few or no meteors."""
        sky = self.ephemeris.sky(peak - _HALF_DAY, peak + _HALF_DAY)
        seen = directions(sky, self.point.lat, self.point.lng)
        alpha, delta = _of_date(shower, peak)
        hour_angle = sky.sidereal + np.radians(self.point.lng) - alpha
        phi = np.radians(self.point.lat)
        sine = np.sin(phi) * np.sin(delta) + np.cos(phi) * np.cos(delta) * np.cos(hour_angle)
        sun, moon = seen.up[[SUN, MOON]]
        dark = next((found for limit in _DARK if (found := sun < limit).any()), None)
        if dark is None:
            return
        light = np.where(moon > moon_line(seen.distance[MOON]), illumination(sky.positions[:2]), 0)
        passed = _SOLAR_DEGREES * (sky.times - peak)
        active = 10.0 ** np.where(passed < 0, shower.rise * passed, -shower.decline * passed)
        many = np.where(dark, active * sine * (1 - LOST_TO_MOON * light), -1.0)
        best = int(many.argmax())
        height = float(np.degrees(np.arcsin(sine[best])))
        if height < _LOWEST:
            return
        moonlit = (light > 0) & (light[best] == 0)  # False if the best time has no moonlight at all
        poor = np.flatnonzero((many < _NEARLY * many[best]) | moonlit)
        first = int(poor[poor < best].max(initial=-1)) + 1
        last = int(poor[poor > best].min(initial=many.size)) - 1
        moment = self.days[0].moment
        yield Highlight(
            type="meteor_shower",
            at=moment(sky.times[best]),
            title=self.titles[shower.name],
            details=Details(
                start=moment(sky.times[first]),
                end=moment(sky.times[last]),
                rate=max(1, round(shower.rate * float(active[best]))),
                moonlight=round(float(light[best]), 2),
                radiant_height=round(height, 1),
            ),
        )
