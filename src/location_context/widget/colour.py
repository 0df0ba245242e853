"""Colour: the colours of the page, derived from the accent colour, for light and dark schemes.

Backgrounds and neutrals have the accent's hue with very little chroma. Text and shapes keep the
accent's hue and chroma. Their lightness is changed until they reach the WCAG contrast ratio on all
backgrounds, so that text is readable with any accent.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal, Self, TypeAlias

GREY_CHROMA = 0.03
_CHROMA_STEP = 0.98
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Oklch:
    """A colour in OKLCH: `lightness` 0 to 1, `chroma` 0 to about 0.37, `hue` in degrees."""

    lightness: float
    chroma: float
    hue: float

    @classmethod
    def from_hex(cls, text: str) -> Self:
        """Return the colour of `#rgb` or `#rrggbb`."""
        red, green, blue = _decoded(text)
        long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
        middle = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
        short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
        a = 1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short
        b = 0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short
        lightness = 0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short
        return cls(lightness, math.hypot(a, b), math.degrees(math.atan2(b, a)) % 360)

    @property
    def is_grey(self) -> bool:
        return self.chroma < GREY_CHROMA

    def with_lightness(self, lightness: float) -> Self:
        """Return the colour with another lightness, limited to 0 to 1."""
        return replace(self, lightness=min(1.0, max(0.0, lightness)))

    @cached_property
    def hex(self) -> str:
        """The colour as `#rrggbb`; outside of sRGB, chroma is reduced until it fits."""
        colour: Oklch = self
        while not colour._in_srgb and colour.chroma > _TOLERANCE:
            colour = replace(colour, chroma=colour.chroma * _CHROMA_STEP)
        red, green, blue = (_gamma_encode(min(1.0, max(0.0, c))) for c in colour._linear_rgb)  # noqa: SLF001  same class
        return f"#{red:02x}{green:02x}{blue:02x}"

    @property
    def _in_srgb(self) -> bool:
        return all(-_TOLERANCE <= channel <= 1 + _TOLERANCE for channel in self._linear_rgb)

    @cached_property
    def _linear_rgb(self) -> tuple[float, float, float]:
        a = self.chroma * math.cos(math.radians(self.hue))
        b = self.chroma * math.sin(math.radians(self.hue))
        long = (self.lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
        middle = (self.lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
        short = (self.lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
        return (
            4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
            -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
            -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
        )


def contrast(colour: str, other: str) -> float:
    """Return the WCAG contrast ratio, 1 to 21, of two colours `#rgb` or `#rrggbb`."""
    darker, lighter = sorted((_luminance(colour), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(text: str) -> float:
    red, green, blue = _decoded(text)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _decoded(text: str) -> tuple[float, float, float]:
    """Return linear red, green and blue (0 to 1) of `#rgb` or `#rrggbb`."""
    digits = text[1:] if len(text) == 7 else "".join(2 * digit for digit in text[1:])
    red, green, blue = (int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4))
    return _gamma_decode(red), _gamma_decode(green), _gamma_decode(blue)


def _gamma_decode(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def _gamma_encode(channel: float) -> int:
    value = channel * 12.92 if channel <= 0.0031308 else 1.055 * channel ** (1 / 2.4) - 0.055
    return round(value * 255)


Scheme: TypeAlias = Literal["light", "dark"]

ACCENT_RATIO, CAPTION_RATIO, SECONDARY_RATIO = 4.6, 4.6, 6.5
_STEP = 0.01

# (lightness, maximal chroma) in the light and in the dark scheme
_FIXED: Mapping[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "ground": ((0.977, 0.003), (0.165, 0.005)),
    "surface": ((1.0, 0.0), (0.208, 0.008)),
    "sunk": ((0.966, 0.0055), (0.2455, 0.009)),
    "line": ((0.915, 0.0055), (0.298, 0.010)),
    "edge": ((0.601, 0.012), (0.570, 0.012)),
    "ink": ((0.221, 0.0145), (0.955, 0.0045)),
    "tint": ((0.9576, 0.0215), (0.271, 0.034)),
    "moond": ((0.385, 0.030), (0.320, 0.018)),
    "moonl": ((0.954, 0.0095), (0.950, 0.011)),
}
# colours with a meaning, which do not depend on the accent; light, then dark
_MEANT: Mapping[str, tuple[str, str]] = {
    "rain": ("#1a66b0", "#7fb9f3"),
    "sun": ("#c97d08", "#f2b04a"),
    "suntext": ("#8f5600", "#f2bd6b"),
    "dusk": ("#5a63c8", "#a3abf5"),
    "warn": ("#fdf0d8", "#302511"),
    "warnline": ("#e5b45a", "#7a5a1e"),
    "warnink": ("#633d00", "#f6d59c"),
}
# initial lightness (None: the accent's), maximal chroma, minimal contrast
_ADJUSTED: Mapping[Scheme, Mapping[str, tuple[float | None, float, float]]] = {
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
    """Return all colours of a scheme as `#rrggbb` by name; `accent` is `#rgb` or `#rrggbb`."""
    base = Oklch.from_hex(accent)
    if base.is_grey:
        base = Oklch(base.lightness, 0.0, 0.0)
    column = 0 if scheme == "light" else 1
    colours = {
        name: Oklch(pair[column][0], min(base.chroma, pair[column][1]), base.hue).hex
        for name, pair in _FIXED.items()
    }
    grounds = [colours[name] for name in ("surface", "ground", "tint", "sunk")]
    for name, (lightness, chroma, ratio) in _ADJUSTED[scheme].items():
        start = base.lightness if lightness is None else lightness
        colour = Oklch(start, min(base.chroma, chroma), base.hue)
        colours[name] = _ensure_contrast(colour, grounds, ratio, scheme)
    lightness, min_ratio = _FILL[scheme]
    fill = base.with_lightness(base.lightness if lightness is None else lightness)
    colours["fill"] = _ensure_contrast(fill, grounds[:3], min_ratio, scheme)
    near_black = Oklch(0.2, min(base.chroma, 0.02), base.hue).hex
    options = (_WHITE, near_black, _BLACK)
    colours["on"] = next(c for c in options if contrast(c, colours["accent"]) >= 4.5)
    return colours | {name: pair[column] for name, pair in _MEANT.items()}


def variables(accent: str, scheme: Scheme, used: Collection[str] | None = None) -> str:
    """Return the palette as CSS custom properties; with `used`, only the colours of these names."""
    return "".join(
        f"--{name}:{_short(value)};"
        for name, value in palette(accent, scheme).items()
        if used is None or name in used
    )


def _short(colour: str) -> str:
    """Return a colour such as `#aabbcc` as `#abc`, others unchanged."""
    return "#" + colour[1::2] if colour[1::2] == colour[2::2] else colour


def _ensure_contrast(colour: Oklch, grounds: Iterable[str], ratio: float, scheme: Scheme) -> str:
    """Darken (light scheme) or lighten a colour until its contrast to all `grounds` is `ratio`."""
    step = -_STEP if scheme == "light" else _STEP
    grounds = list(grounds)
    while min(contrast(colour.hex, ground) for ground in grounds) < ratio:
        if colour.lightness in {0.0, 1.0}:
            break
        colour = colour.with_lightness(colour.lightness + step)
    return colour.hex
