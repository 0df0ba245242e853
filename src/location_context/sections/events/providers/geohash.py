"""Geohash: a point as the base-32 text that Ticketmaster takes (Niemeyer 2008)."""

from __future__ import annotations

_DIGITS = "0123456789bcdefghjkmnpqrstuvwxyz"


def geohash(lat: float, lng: float, length: int = 9) -> str:
    """The geohash of a point; nine characters are within 5 m."""
    bounds = [[-180.0, 180.0], [-90.0, 90.0]]
    text, number = "", 0
    for bit in range(length * 5):
        low, high = bounds[bit % 2]
        middle = (low + high) / 2
        above = (lng, lat)[bit % 2] >= middle
        bounds[bit % 2][0 if above else 1] = middle
        number = number * 2 + above
        if bit % 5 == 4:
            text, number = text + _DIGITS[number], 0
    return text
