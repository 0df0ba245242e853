"""Cells and slots: where and when a stored event lies, so that a query reads few rows.

A cell is a square of about 28 km; bands of latitude are 0.25° high and each is cut into as many
cells as its circumference needs. Events of a whole country share a cell of their own, below 0.

A slot names the days an event may touch: events are sorted by length into levels (1 day, up to 8,
64, 512, 4096), and at each level time is cut into pieces as long as the level's longest event. An
event is filed under the piece in which it begins, so one that touches a day begins in the piece
of that day or in the one before: interval overlap becomes one range of slots for each level.
"""

from __future__ import annotations

import math
from datetime import date, timedelta

_BAND = 0.25
_COLUMNS = 10_000
_KM_PER_DEGREE = 111.195
_LEVEL_BITS = 24
_SHIFTS = (0, 3, 6, 9, 12)
LONGEST_DAYS = 1 << _SHIFTS[-1]


def cell(lat: float, lng: float) -> int:
    """The cell of a point."""
    band = _band(lat)
    return band * _COLUMNS + _column(band, lng)


def country_cell(country: str) -> int:
    """The cell of a whole country."""
    return -(ord(country[0]) * 256 + ord(country[1]))


def cells_around(lat: float, lng: float, radius_km: float) -> list[int]:
    """Every cell that a circle may touch."""
    reach = radius_km / _KM_PER_DEGREE
    found: set[int] = set()
    for band in range(_band(max(-90.0, lat - reach)), _band(min(90.0, lat + reach)) + 1):
        edge = min(89.99, max(abs(lat - reach), abs(lat + reach)))
        width = reach / math.cos(math.radians(edge))
        count = _columns(band)
        if width >= 180:
            found.update(band * _COLUMNS + column for column in range(count))
            continue
        first = math.floor((lng - width + 180) / 360 * count)
        last = math.floor((lng + width + 180) / 360 * count)
        found.update(band * _COLUMNS + column % count for column in range(first, last + 1))
    return sorted(found)


def slot(first: date, last: date) -> int:
    """The slot of an event that touches the days from `first` to `last`."""
    length = (last - first).days
    level = next((n for n, shift in enumerate(_SHIFTS) if length < 1 << shift), len(_SHIFTS) - 1)
    return _slot(level, first)


def slots_touching(first: date, last: date) -> list[tuple[int, int]]:
    """Ranges of slots, both ends included, of all events that may touch the days."""
    ranges = []
    for level, shift in enumerate(_SHIFTS):
        before = first if shift == 0 else first - timedelta(days=1 << shift)
        ranges.append((_slot(level, before), _slot(level, last)))
    return ranges


def _slot(level: int, day: date) -> int:
    return (level << _LEVEL_BITS) + (day.toordinal() >> _SHIFTS[level])


def _band(lat: float) -> int:
    return min(int(180 / _BAND) - 1, math.floor((lat + 90) / _BAND))


def _columns(band: int) -> int:
    """How many cells go round the Earth in a band, at its edge nearer the equator."""
    south = band * _BAND - 90
    edge = min(abs(south), abs(south + _BAND))
    return max(1, math.floor(360 / _BAND * math.cos(math.radians(edge))))


def _column(band: int, lng: float) -> int:
    count = _columns(band)
    return math.floor((lng + 180) / 360 * count) % count
