"""Colour: every colour of the page, derived from the host's accent, for light and for dark.

Grounds and neutrals take the accent's hue at hardly any chroma. Text and shapes keep the accent's
hue and chroma and walk lightness away from the grounds until the WCAG ratio holds against all of
them, so that no accent, however pale, makes words hard to read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

from location_context.widget.oklch import Oklch, contrast

Scheme: TypeAlias = Literal["light", "dark"]

ACCENT_RATIO, CAPTION_RATIO, SECONDARY_RATIO = 4.6, 4.6, 6.5
_STEP = 0.01

# lightness and the most chroma, light then dark
_FIXED: Mapping[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "ground": ((0.977, 0.003), (0.165, 0.005)),
    "surface": ((1.0, 0.0), (0.208, 0.008)),
    "sunk": ((0.966, 0.0055), (0.2455, 0.009)),
    "line": ((0.915, 0.0055), (0.298, 0.010)),
    "edge": ((0.601, 0.012), (0.570, 0.012)),
    "ink": ((0.221, 0.0145), (0.955, 0.0045)),
    "spread": ((0.867, 0.062), (0.419, 0.0575)),
    "tint": ((0.9576, 0.0215), (0.271, 0.034)),
    "night": ((0.254, 0.0275), (0.155, 0.0135)),
    "nightink": ((0.954, 0.005), (0.954, 0.005)),
    "nightink2": ((0.800, 0.011), (0.759, 0.010)),
    "moond": ((0.385, 0.030), (0.320, 0.018)),
    "moonl": ((0.954, 0.0095), (0.950, 0.011)),
}
# where the walk begins (None: the accent's own lightness), the most chroma, the ratio
_WALKED: Mapping[Scheme, Mapping[str, tuple[float | None, float, float]]] = {
    "light": {
        "accent": (None, 0.4, ACCENT_RATIO),
        "ink2": (0.45, 0.0142, SECONDARY_RATIO),
        "ink3": (0.53, 0.0123, CAPTION_RATIO),
    },
    "dark": {
        "accent": (0.78, 0.4, ACCENT_RATIO),
        "ink2": (0.80, 0.0101, SECONDARY_RATIO),
        "ink3": (0.66, 0.0094, CAPTION_RATIO),
    },
}
_FILL: Mapping[Scheme, tuple[float | None, float]] = {"light": (None, 3.5), "dark": (0.70, 4.0)}
_WHITE, _BLACK = "#ffffff", "#000000"


@lru_cache(maxsize=512)
def palette(accent: str, scheme: Scheme) -> Mapping[str, str]:
    """Every colour by its name, as `#rrggbb`; `accent` is `#rgb` or `#rrggbb`."""
    given = Oklch.from_hex(accent)
    if given.is_grey:
        given = Oklch(given.lightness, 0.0, 0.0)
    column = 0 if scheme == "light" else 1
    colours = {
        name: Oklch(pair[column][0], min(given.chroma, pair[column][1]), given.hue).hex
        for name, pair in _FIXED.items()
    }
    grounds = [colours[name] for name in ("surface", "ground", "tint", "sunk")]
    for name, (lightness, chroma, ratio) in _WALKED[scheme].items():
        start = given.lightness if lightness is None else lightness
        colour = Oklch(start, min(given.chroma, chroma), given.hue)
        colours[name] = _walked(colour, grounds, ratio, scheme)
    begin, least = _FILL[scheme]
    fill = given.lit(given.lightness if begin is None else begin)
    colours["fill"] = _walked(fill, grounds[:3], least, scheme)
    near_black = Oklch(0.2, min(given.chroma, 0.02), given.hue).hex
    options = (_WHITE, near_black, _BLACK)
    colours["on"] = next(c for c in options if contrast(c, colours["accent"]) >= 4.5)
    return colours


def variables(accent: str, scheme: Scheme) -> str:
    """The palette as CSS custom properties."""
    return "".join(f"--{name}:{_short(value)};" for name, value in palette(accent, scheme).items())


def _short(colour: str) -> str:
    """`#aabbcc` as `#abc`."""
    if colour[1::2] == colour[2::2]:
        return "#" + colour[1::2]
    return colour


def _walked(colour: Oklch, grounds: Iterable[str], ratio: float, scheme: Scheme) -> str:
    """The colour made darker (on light grounds) or lighter until it stands out from all."""
    towards = -_STEP if scheme == "light" else _STEP
    grounds = list(grounds)
    while min(contrast(colour.hex, ground) for ground in grounds) < ratio:
        if colour.lightness in {0.0, 1.0}:
            break
        colour = colour.lit(colour.lightness + towards)
    return colour.hex
