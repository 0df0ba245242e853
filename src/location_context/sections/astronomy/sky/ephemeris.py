"""Ephemeris: where Sun, Moon and planets stand, kept per month since no place matters to it.

Source: JPL's DE421 (skyfield-data, offline, 1899 to 2053) read by skyfield, built-in timescale.
A month holds apparent geocentric positions (light time, deflection, aberration) in the true
equator and equinox of date, taken every twelve hours and brought to a 20-minute grid by polynomials
of degree seven: within 0.001" of skyfield, Moon and nutation included (0.02" beside a leap second,
the Earth's turn 0.3"). Polar motion (0.3") is left out. The months kept are bounded; the least used
go first.
"""

import math
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib import resources

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from skyfield.api import load
from skyfield.framelib import ecliptic_frame
from skyfield.jpllib import SpiceKernel
from skyfield.magnitudelib import planetary_magnitude
from skyfield.timelib import Time

from location_context.lru import LRUCache
from location_context.sections.astronomy.response import PlanetName
from location_context.sections.astronomy.sky.local_days import DAY, skyfield_time
from location_context.sections.astronomy.sky.sky_events import SkyEvent, find_sky_events, longitudes

Floats = NDArray[np.float64]

SUN, MOON = 0, 1
PLANETS: tuple[PlanetName, ...] = ("mercury", "venus", "mars", "jupiter", "saturn")
_BODIES = ("sun", "moon", "mercury", "venus", "mars barycenter", "jupiter barycenter")
_TARGETS = (*_BODIES, "saturn barycenter")
AU_KM = 149597870.7
STEP = 1200.0
_NODE = 43200.0
_PER_NODE = int(_NODE / STEP)
_POINTS = 8
_LEFT, _RIGHT = 3, 4  # nodes kept before and after a month, for the polynomials
_TURN = 2 * np.pi
_SIDEREAL_RATE = _TURN * 1.00273790935 / DAY
MONTHS_KEPT = 60

Month = tuple[int, int]  # year and month, UTC


def _weights() -> Floats:
    """Lagrange weights from eight nodes to the steps between the middle two: (steps, nodes)."""
    nodes = np.arange(_POINTS, dtype=float)
    powers = np.linalg.inv(np.vander(nodes, increasing=True))
    steps = _LEFT + np.arange(_PER_NODE) / _PER_NODE
    result: Floats = np.vander(steps, _POINTS, increasing=True) @ powers
    return result


_WEIGHTS = _weights()


@dataclass(frozen=True)
class Sky:
    """Positions on an even grid of `STEP` seconds that begins at `start` (unix seconds).

    `positions` (7 bodies, 3 axes, steps) in astronomical units, true equator and equinox of date;
    `sidereal` Greenwich apparent sidereal time and `obliquity` in radians; `magnitudes` (5, steps).
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
        """The planets' magnitudes, None where the formula does not reach."""
        step = round((moment - self.start) / STEP)
        values: list[float] = self.magnitudes[:, step].tolist()
        return [round(value, 1) if math.isfinite(value) else None for value in values]

    def position_of(self, seconds: Floats) -> Floats:
        """Moments as positions on the grid."""
        return (seconds - self.start) / STEP

    def cut(self, start: float, end: float) -> "Sky":
        """The part from the step at or before `start` to the one at or after `end`."""
        first = max(0, int((start - self.start) // STEP))
        last = min(self.steps, int(-((self.start - end) // STEP)) + 1)
        return Sky(
            self.start + first * STEP,
            self.positions[:, :, first:last],
            self.sidereal[first:last],
            self.obliquity[first:last],
            self.magnitudes[:, first:last],
        )


@dataclass(frozen=True)
class MonthCache:
    """What is kept of a month: its sky, and the moments that are the same everywhere."""

    sky: Sky
    sky_events: list[SkyEvent]


def joined(parts: list[Sky]) -> Sky:
    """Parts that follow each other, as one."""
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
    """The UTC months that touch start..end, both included."""
    first = datetime.fromtimestamp(start, UTC)
    month = (first.year, first.month)
    while month_start(month) <= end:
        yield month
        month = next_month(month)


class Ephemeris:
    """The months made so far, and the kernel they are made from."""

    def __init__(self, kept: int = MONTHS_KEPT) -> None:
        path = resources.files("skyfield_data") / "data" / "de421.bsp"
        self._kernel = SpiceKernel(str(path))
        weakref.finalize(self, self._kernel.close)
        self._timescale = load.timescale(builtin=True)
        self._months: LRUCache[Month, MonthCache] = LRUCache(kept)
        self._lock = threading.Lock()

    def holds(self, start: float, end: float) -> bool:
        """Whether every month of start..end is made."""
        return all(month in self._months for month in months_between(start, end))

    def sky(self, start: float, end: float) -> Sky:
        """The sky from `start` to `end`; months that are missing are made, 0.05 s each."""
        parts = [self.month(month).sky for month in months_between(start, end)]
        return joined([part.cut(start, end) for part in parts])

    def sky_events(self, start: float, end: float) -> list[SkyEvent]:
        """What happens everywhere with start <= at < end, in time order."""
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
        t = skyfield_time(self._timescale, nodes)
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
        """Positions (7, 3, nodes) and planets' magnitudes (5, nodes)."""
        earth = self._kernel["earth"].at(t)
        seen = [earth.observe(self._kernel[name]) for name in _TARGETS]
        positions = [np.einsum("ijt,jt->it", t.M, s.apparent().xyz.au) for s in seen]
        magnitudes = [planetary_magnitude(s) for s in seen[2:]]
        return np.array(positions), np.array(magnitudes)


def _obliquity(t: Time) -> Floats:
    """True obliquity of the ecliptic, from the turn between equator and ecliptic of date."""
    turn = np.einsum("ijt,kjt->ikt", ecliptic_frame.rotation_at(t), t.M)
    result: Floats = np.arcsin(turn[1, 2])
    return result


def _drift(sidereal: Floats, elapsed: Floats) -> tuple[Floats, float]:
    """Sidereal time less its even growth: a small smooth rest, and the constant."""
    rest = sidereal - _SIDEREAL_RATE * elapsed
    offset = float(rest[0])
    wrapped: Floats = (rest - offset + np.pi) % _TURN - np.pi
    return wrapped, offset


def _dense(nodes: Floats) -> Floats:
    """Rows of half-daily nodes brought to the grid."""
    windows = sliding_window_view(nodes, _POINTS, axis=1)
    dense: Floats = windows @ _WEIGHTS.T
    return dense.reshape(nodes.shape[0], -1)
