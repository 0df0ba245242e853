"""Meteor showers: a table of our own from published facts.

Solar longitudes of the peaks (J2000), radiants, rates and active days follow the working list of
visual showers of the International Meteor Organization. A rate is the zenithal hourly rate: what
one sees under a dark sky with the radiant overhead.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shower:
    """One shower: degrees, meteors an hour, and the first and last active (month, day)."""

    name: str
    solar_longitude: float
    right_ascension: float
    declination: float
    rate: int
    active: tuple[tuple[int, int], tuple[int, int]]


SHOWERS = (
    Shower("quadrantids", 283.15, 230.0, 49.0, 80, ((12, 28), (1, 12))),
    Shower("lyrids", 32.32, 271.0, 34.0, 18, ((4, 14), (4, 30))),
    Shower("eta_aquariids", 45.5, 338.0, -1.0, 50, ((4, 19), (5, 28))),
    Shower("southern_delta_aquariids", 128.0, 340.0, -16.0, 25, ((7, 12), (8, 23))),
    Shower("alpha_capricornids", 128.0, 307.0, -10.0, 5, ((7, 3), (8, 15))),
    Shower("perseids", 140.0, 48.0, 58.0, 100, ((7, 17), (8, 24))),
    Shower("draconids", 195.4, 262.0, 54.0, 5, ((10, 6), (10, 10))),
    Shower("orionids", 208.0, 95.0, 16.0, 20, ((10, 2), (11, 7))),
    Shower("southern_taurids", 223.0, 52.0, 15.0, 7, ((9, 20), (11, 20))),
    Shower("northern_taurids", 230.0, 58.0, 22.0, 5, ((10, 20), (12, 10))),
    Shower("leonids", 235.27, 152.0, 22.0, 10, ((11, 6), (11, 30))),
    Shower("geminids", 262.2, 112.0, 33.0, 150, ((12, 4), (12, 20))),
    Shower("ursids", 270.7, 217.0, 76.0, 10, ((12, 17), (12, 26))),
)
