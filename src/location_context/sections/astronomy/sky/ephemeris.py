"""Positions of Sun, Moon and planets, cached by month, since they do not depend on the place.

Source: JPL's DE421 (from skyfield-data, offline, 1899 to 2053), read by skyfield with its built-in
timescale.
A month contains apparent geocentric positions (light time, deflection, aberration) in the true
equator and equinox of date. The positions are computed every twelve hours and interpolated to a
20-minute grid by polynomials of degree seven. They differ from skyfield's by at most 0.001" (arc
seconds). In the two days before and after a leap second they differ by at most 0.7", and the
Earth's rotation angle by at most 15" (one second of time). Polar motion (0.3") is left out. If the
cache is full, it drops the least recently used month.
A month also contains the events that are the same everywhere: Moon phases, equinoxes, solstices,
peaks of meteor showers. An event occurs when the sine or cosine of an angle crosses zero.
For a phase the angle is the Moon's minus the Sun's apparent ecliptic longitude; for a season, the
Sun's longitude; for a shower, the Sun's longitude minus its longitude at the peak. Showers are
listed with longitudes of the year 2000 (J2000), which are converted by general precession. Phases
and seasons of 1900 to 2050 are within half a minute of those in almanacs.
"""

import math
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from skyfield.api import load
from skyfield.framelib import ecliptic_frame
from skyfield.jpllib import SpiceKernel
from skyfield.magnitudelib import planetary_magnitude
from skyfield.timelib import Time

from location_context.lru import LRUCache
from location_context.sections.astronomy.response import HighlightType, PlanetName
from location_context.sections.astronomy.sky import local_days
from location_context.sections.astronomy.sky.crossings import Floats, crossings

SUN, MOON = 0, 1
PLANETS: tuple[PlanetName, ...] = ("mercury", "venus", "mars", "jupiter", "saturn")
_BODIES = ("sun", "moon", "mercury", "venus", "mars barycenter", "jupiter barycenter")
_TARGETS = (*_BODIES, "saturn barycenter")
AU_KM = 149597870.7
STEP = 1200.0
_NODE = 43200.0
_PER_NODE = int(_NODE / STEP)
_POINTS = 8
_LEFT, _RIGHT = 3, 4  # nodes that the polynomials need before and after a month
_TURN = 2 * np.pi
_SIDEREAL_RATE = _TURN * 1.00273790935 / local_days.DAY
CACHED_MONTHS = 36  # of 0.5 MB each; fourteen around now are computed in advance

Month = tuple[int, int]  # year and month, UTC


# Lagrange weights from eight nodes to the steps between the middle two: (steps, nodes)
_WEIGHTS = np.vander(
    _LEFT + np.arange(_PER_NODE) / _PER_NODE, _POINTS, increasing=True
) @ np.linalg.inv(np.vander(np.arange(_POINTS, dtype=float), increasing=True))


@dataclass(frozen=True)
class Sky:
    """Positions of Sun, Moon and planets from `start` (Unix seconds) on, every `STEP` seconds.

    `positions` (7 bodies, 3 axes, steps) are seen from the Earth's centre, in astronomical units
    (AU), in the true equator and equinox of date. `sidereal` (Greenwich apparent sidereal time) and
    `obliquity` (the tilt of the Earth's axis) are in radians. `magnitudes` (5 planets, steps) are
    the visual brightness.
    """

    start: float
    positions: Floats
    sidereal: Floats
    obliquity: Floats
    magnitudes: Floats

    @property
    def steps(self) -> int:
        return int(self.sidereal.size)

    @cached_property
    def times(self) -> Floats:
        result: Floats = self.start + STEP * np.arange(self.steps, dtype=np.float64)
        return result

    def magnitudes_at(self, moment: float) -> list[float | None]:
        """Return each planet's magnitude (brightness) at a moment; None where it is unknown."""
        step = round((moment - self.start) / STEP)
        values: list[float] = self.magnitudes[:, step].tolist()
        return [round(value, 1) if math.isfinite(value) else None for value in values]

    def position_of(self, seconds: Floats) -> Floats:
        """Convert moments (Unix seconds) to numbers of steps since `start`, with fractions."""
        return (seconds - self.start) / STEP

    def cut(self, start: float, end: float) -> "Sky":
        """Return the part of this `Sky` that covers `start` to `end`, in whole steps."""
        first = max(0, int((start - self.start) // STEP))
        last = min(self.steps, int(-((self.start - end) // STEP)) + 1)
        return Sky(
            self.start + first * STEP,
            self.positions[:, :, first:last],
            self.sidereal[first:last],
            self.obliquity[first:last],
            self.magnitudes[:, first:last],
        )


@dataclass(frozen=True, slots=True)
class Shower:
    """One meteor shower: angles in degrees, `rate` in meteors an hour at the peak.

    `solar_longitude` is the Sun's longitude at the peak. The meteors seem to come from the point at
    `right_ascension` and `declination`. Meteors in an hour are `rate` * 10^(-slope * degrees of
    solar longitude from the peak). The slope is `rise` before the peak and `decline` after it. The
    slopes are from table 3b of Jenniskens (1994), Astron. Astrophys. 287, 990. Table 3c is not
    used: it describes only the part of a shower's activity above a background of meteors. Neither
    table has the Draconids in a year without an outburst; a slope of 1 is assumed for them.
    """

    name: str
    solar_longitude: float
    right_ascension: float
    declination: float
    rate: int
    rise: float
    decline: float


SHOWERS = (
    Shower("quadrantids", 283.15, 230.0, 49.0, 80, 1.8, 1.8),
    Shower("lyrids", 32.32, 271.0, 34.0, 18, 0.22, 0.22),
    Shower("eta_aquariids", 45.5, 338.0, -1.0, 50, 0.08, 0.08),
    Shower("southern_delta_aquariids", 128.0, 340.0, -16.0, 25, 0.091, 0.091),
    Shower("alpha_capricornids", 128.0, 307.0, -10.0, 5, 0.041, 0.041),
    Shower("perseids", 140.0, 48.0, 58.0, 100, 0.2, 0.2),
    Shower("draconids", 195.4, 262.0, 54.0, 5, 1, 1),
    Shower("orionids", 208.0, 95.0, 16.0, 20, 0.12, 0.12),
    Shower("southern_taurids", 223.0, 52.0, 15.0, 7, 0.026, 0.026),
    Shower("northern_taurids", 230.0, 58.0, 22.0, 5, 0.026, 0.026),
    Shower("leonids", 235.27, 152.0, 22.0, 10, 0.39, 0.39),
    Shower("geminids", 262.2, 112.0, 33.0, 150, 0.39, 0.72),
    Shower("ursids", 270.7, 217.0, 76.0, 10, 0.61, 0.61),
)

_TURNS: tuple[tuple[HighlightType, HighlightType], ...] = (  # where a row rises, where it falls
    ("new_moon", "full_moon"),
    ("last_quarter", "first_quarter"),
    ("march_equinox", "september_equinox"),
    ("december_solstice", "june_solstice"),
)
_PRECESSION = np.radians(50.29 / 3600) / local_days.JULIAN_YEAR  # radians a second, in longitude


class SkyEvent(NamedTuple):
    """An event in the sky, such as a full Moon, and its moment (Unix seconds).

    `shower` is the index of a meteor shower in `SHOWERS`; -1 for any other event.
    """

    at: float
    type: HighlightType
    shower: int = -1


def longitudes(positions: Floats, obliquity: Floats) -> Floats:
    """Convert n positions of each body to ecliptic longitudes of date, in radians.

    The shape (bodies, 3, n) becomes (bodies, n).
    """
    x, y, z = positions[:, 0], positions[:, 1], positions[:, 2]
    result: Floats = np.arctan2(np.cos(obliquity) * y + np.sin(obliquity) * z, x)
    return result


def illumination(positions: Floats) -> Floats:
    """Return the sunlit share (0 to 1) of the Moon's disc for n positions of Sun and Moon."""
    sun, moon = positions
    to_sun = sun - moon
    along = -(moon * to_sun).sum(axis=0)
    size = np.sqrt((moon * moon).sum(axis=0) * (to_sun * to_sun).sum(axis=0))
    result: Floats = (1 + along / size) / 2
    return result


def find_sky_events(sun: Floats, moon: Floats, start: float, step: float) -> list[SkyEvent]:
    """Return all Moon phases, seasons and shower peaks, in order of time.

    `sun` and `moon` are apparent longitudes in radians. The first is at `start`, and the others
    follow every `step` seconds.
    """
    ahead = moon - sun
    times = start + step * np.arange(sun.size)
    fixed = sun - _PRECESSION * (times - local_days.J2000)
    peaks = np.radians([shower.solar_longitude for shower in SHOWERS])[:, None]
    rows = [np.sin(ahead), np.cos(ahead), np.sin(sun), np.cos(sun), *np.sin(fixed - peaks)]
    found = crossings(np.array(rows))
    at = start + step * found.position
    named = _named(found.row.tolist(), at.tolist(), found.up.tolist())
    return sorted(named, key=lambda moment: moment.at)


def _named(rows: list[int], times: list[float], ups: list[bool]) -> Iterator[SkyEvent]:
    for row, at, up in zip(rows, times, ups, strict=True):
        if row < len(_TURNS):
            yield SkyEvent(at, _TURNS[row][0 if up else 1])
        elif up:
            yield SkyEvent(at, "meteor_shower", row - len(_TURNS))


@dataclass(frozen=True)
class MonthCache:
    """The cached data of a month: positions (`Sky`), and events that are the same everywhere."""

    sky: Sky
    sky_events: list[SkyEvent]


def joined(parts: list[Sky]) -> Sky:
    """Join skies of consecutive periods into one."""
    if len(parts) == 1:
        return parts[0]
    return Sky(
        parts[0].start,
        np.concatenate([p.positions for p in parts], axis=2),
        np.concatenate([p.sidereal for p in parts]),
        np.concatenate([p.obliquity for p in parts]),
        np.concatenate([p.magnitudes for p in parts], axis=1),
    )


def month_start(month: Month) -> float:
    return datetime(*month, 1, tzinfo=UTC).timestamp()


def next_month(month: Month) -> Month:
    return (month[0] + month[1] // 12, month[1] % 12 + 1)


def months_between(start: float, end: float) -> Iterator[Month]:
    """Yield the UTC months that the period from `start` to `end` (Unix seconds) touches."""
    first = datetime.fromtimestamp(start, UTC)
    month = (first.year, first.month)
    while month_start(month) <= end:
        yield month
        month = next_month(month)


class Ephemeris:
    """A cache of positions and events by month, and the JPL data file to compute them from."""

    def __init__(self, most: int = CACHED_MONTHS) -> None:
        path = resources.files("skyfield_data") / "data" / "de421.bsp"
        self._kernel = SpiceKernel(str(path))
        weakref.finalize(self, self._kernel.close)
        self._timescale = load.timescale(builtin=True)
        self._months: LRUCache[Month, MonthCache] = LRUCache(most)
        self._lock = threading.Lock()

    def holds(self, start: float, end: float) -> bool:
        """Return True if every month from `start` to `end` is in memory."""
        return all(month in self._months for month in months_between(start, end))

    def sky(self, start: float, end: float) -> Sky:
        """Return the sky from `start` to `end`; missing months are computed."""
        parts = [self.month(month).sky for month in months_between(start, end)]
        return joined([part.cut(start, end) for part in parts])

    def sky_events(self, start: float, end: float) -> list[SkyEvent]:
        """Return Moon phases, seasons and shower peaks with start <= at < end, in time order.

        These events are the same everywhere on Earth. Missing months are computed.
        """
        made = (self.month(month) for month in months_between(start, end))
        return [moment for month in made for moment in month.sky_events if start <= moment.at < end]

    def month(self, month: Month) -> MonthCache:
        with self._lock:
            made = self._months.get(month)
        if made is None:
            made = self._make(month)
            with self._lock:
                self._months.put(month, made)
        return made

    def _make(self, month: Month) -> MonthCache:
        start, end = month_start(month), month_start(next_month(month))
        nodes = np.arange(start - _LEFT * _NODE, end + _RIGHT * _NODE, _NODE)
        t = local_days.skyfield_time(self._timescale, nodes)
        positions, magnitudes = self._observe(t)
        obliquity = _obliquity(t)
        drift, offset = _drift(t.gast * _TURN / 24, nodes - start)
        dense = _dense(np.vstack([positions.reshape(21, -1), drift, obliquity]))
        steps = dense.shape[1]
        sky = Sky(
            start,
            dense[:21].reshape(7, 3, steps),
            dense[21] + offset + _SIDEREAL_RATE * STEP * np.arange(steps),
            dense[22],
            np.repeat(magnitudes[:, _LEFT:-_RIGHT], _PER_NODE, axis=1),
        )
        sun, moon = longitudes(positions[:2], obliquity)
        found = find_sky_events(sun, moon, float(nodes[0]), _NODE)
        return MonthCache(sky, [moment for moment in found if start <= moment.at < end])

    def _observe(self, t: Time) -> tuple[Floats, Floats]:
        """Return positions of the bodies and magnitudes of the planets at each time in `t`.

        The shapes are (7 bodies, 3, times) and (5 planets, times).
        """
        earth = self._kernel["earth"].at(t)
        positions, magnitudes = [], []
        for name in _TARGETS:
            time.sleep(0)  # releases Python's lock, for which the event loop would wait 5 ms
            seen = earth.observe(self._kernel[name])
            time.sleep(0)
            positions.append(np.einsum("ijt,jt->it", t.M, seen.apparent().xyz.au))
            if name in _TARGETS[2:]:
                magnitudes.append(planetary_magnitude(seen))
        return np.array(positions), np.array(magnitudes)


def _obliquity(t: Time) -> Floats:
    """Return the tilt of the Earth's axis (true obliquity of the ecliptic) in radians."""
    turn = np.einsum("ijt,kjt->ikt", ecliptic_frame.rotation_at(t), t.M)
    result: Floats = np.arcsin(turn[1, 2])
    return result


def _drift(sidereal: Floats, elapsed: Floats) -> tuple[Floats, float]:
    """Split sidereal time into offset + uniform growth + drift; return the drift and the offset.

    The growth is proportional to `elapsed` (seconds). The drift begins at 0. Unlike sidereal time,
    it does not jump at 24 hours, so it can be interpolated.
    """
    rest = sidereal - _SIDEREAL_RATE * elapsed
    offset = float(rest[0])
    wrapped: Floats = (rest - offset + np.pi) % _TURN - np.pi
    return wrapped, offset


def _dense(nodes: Floats) -> Floats:
    """Interpolate rows with a value every twelve hours to the 20-minute grid."""
    windows = sliding_window_view(nodes, _POINTS, axis=1)
    dense: Floats = windows @ _WEIGHTS.T
    return dense.reshape(nodes.shape[0], -1)
