"""Travel: minutes on foot or by car, estimated from distance.

A walk is estimated as 1.25 times the straight line at 4.8 km/h. A drive is estimated as 1.35 times
the straight line (Ballou et al. 2002 find 1.2 to 1.4 over countries) at 25 km/h for the first 5 km
of road, 55 for the next 15 and 95 after; docs/decisions/guide-index.md compares it with routes.
"""

import math
from typing import Literal

from location_context.sections.guide.response import Travel

WALK_KM = 2.0
# length of the way per straight-line distance
_WALKING_DETOUR, _DRIVING_DETOUR = 1.25, 1.35
_WALKING = 4.8  # km/h
_DRIVING = ((5.0, 25.0), (15.0, 55.0), (math.inf, 95.0))  # km of road, km/h


def estimate(km: float) -> Travel:
    """The way over a straight-line distance: a walk up to 2 km, a drive beyond."""
    if km <= WALK_KM:
        return _travel("walk", km * _WALKING_DETOUR / _WALKING * 60)
    road, minutes = km * _DRIVING_DETOUR, 0.0
    for length, speed in _DRIVING:
        part = min(road, length)
        minutes, road = minutes + part / speed * 60, road - part
    return _travel("drive", minutes)


def reach(kind: Literal["walk", "drive"], minutes: float) -> float:
    """The straight-line distance in km for which the estimate on foot or by car is so long."""
    if kind == "walk":
        return minutes / 60 * _WALKING / _WALKING_DETOUR
    road = 0.0
    for length, speed in _DRIVING:
        part = min(minutes, length / speed * 60)
        road, minutes = road + part / 60 * speed, minutes - part
    return road / _DRIVING_DETOUR


def _travel(kind: Literal["walk", "drive"], minutes: float) -> Travel:
    return Travel(kind=kind, minutes=max(1, round(minutes)), estimated=True)
