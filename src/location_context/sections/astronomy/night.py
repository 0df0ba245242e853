"""The night that begins on a date, noon to noon: its dark windows, and its planets.

A window is dark while the Sun is under -18° and the Moon below the horizon. A planet is visible
while it is at least 5° high with the Sun under -6°, for 20 minutes or more on end: `all_night` when
that fills four fifths of the time the Sun is under -6°, else `evening` or `morning` by the side of
the night's middle on which its longest stretch lies.
"""

from __future__ import annotations

from location_context.sections.astronomy.response import Night, Planet, Span, Visible
from location_context.sections.astronomy.sky.crossings import both
from location_context.sections.astronomy.sky.ephemeris import PLANETS
from location_context.sections.astronomy.sky.horizon import Horizon, Line
from location_context.sections.astronomy.sky.local_days import LocalDay

Spans = list[tuple[int, int]]

HEIGHTS = slice(Line.PLANET_5, Line.PLANET_5 + len(PLANETS))
_LONG_ENOUGH = 1200  # seconds
_NEARLY_ALL = 0.8


def night_of(day: LocalDay, horizon: Horizon) -> Night:
    """The dark windows."""
    dark = horizon.tracks[Line.SUN_MINUS_18].spans(day.noon, day.next_noon, up=False)
    without_moon = horizon.tracks[Line.MOON].spans(day.noon, day.next_noon, up=False)
    windows = both(dark, without_moon)
    return Night(
        dark_windows=[Span(start=day.moment(a), end=day.moment(b)) for a, b in windows],
        dark_hours=round(sum(map(_length, windows)) / 3600, 2),
    )


def planets_of(day: LocalDay, horizon: Horizon) -> list[Planet]:
    """Each planet, in the order of their distance from the Sun."""
    tracks = horizon.tracks
    night = tracks[Line.SUN_MINUS_6].spans(day.noon, day.next_noon, up=False)
    lasts = sum(map(_length, night))
    magnitudes = horizon.sky.magnitudes_at((day.noon + day.next_noon) / 2)
    return [
        Planet(
            name=name,
            visible=_visible(both(night, high.spans(day.noon, day.next_noon)), night, lasts),
            magnitude=magnitude,
            rise=day.local(horizon.first(Line.PLANET + index, True, day)),
            set=day.local(horizon.first(Line.PLANET + index, False, day)),
        )
        for index, (name, magnitude, high) in enumerate(
            zip(PLANETS, magnitudes, tracks[HEIGHTS], strict=True)
        )
    ]


def _visible(seen: Spans, night: Spans, lasts: int) -> Visible:
    """`lasts` is how long the Sun is under -6°."""
    total, longest = 0, (0, 0)
    for start, end in seen:
        if end - start >= _LONG_ENOUGH:
            total += end - start
            longest = max(longest, (start, end), key=_length)
    if not total:
        return "none"
    if total >= _NEARLY_ALL * lasts:
        return "all_night"
    return "evening" if sum(longest) < night[0][0] + night[-1][1] else "morning"


def _length(span: tuple[int, int]) -> int:
    return span[1] - span[0]
