"""OKLCH: a colour as lightness, chroma and hue that the eye judges evenly, and WCAG contrast.

Matrices of Björn Ottosson's OKLab (2020, as revised in 2021); contrast as in WCAG 2.2. A colour
outside sRGB loses chroma until it fits, and keeps its lightness and hue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

GREY_CHROMA = 0.03
_CHROMA_STEP = 0.98
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Oklch:
    """`lightness` 0 to 1, `chroma` from 0 to about 0.37, `hue` in degrees."""

    lightness: float
    chroma: float
    hue: float

    @classmethod
    def from_hex(cls, text: str) -> Self:
        """From `#rgb` or `#rrggbb`."""
        digits = text.lstrip("#")
        digits = digits if len(digits) == 6 else "".join(2 * d for d in digits)
        red, green, blue = (_linear(int(digits[n : n + 2], 16) / 255) for n in (0, 2, 4))
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

    def lit(self, lightness: float) -> Self:
        """The same hue and chroma at another lightness, kept within 0 and 1."""
        return replace(self, lightness=min(1.0, max(0.0, lightness)))

    @cached_property
    def hex(self) -> str:
        """As `#rrggbb`, with less chroma where sRGB has no such colour."""
        colour: Oklch = self
        while not colour._fits and colour.chroma > _TOLERANCE:
            colour = replace(colour, chroma=colour.chroma * _CHROMA_STEP)
        red, green, blue = (_encoded(min(1.0, max(0.0, c))) for c in colour._linear_rgb)  # noqa: SLF001  its own kind
        return f"#{red:02x}{green:02x}{blue:02x}"

    @property
    def _fits(self) -> bool:
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


def contrast(one: str, other: str) -> float:
    """The WCAG ratio of two colours in hex, 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(text: str) -> float:
    red, green, blue = (_linear(int(text[n : n + 2], 16) / 255) for n in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def _encoded(channel: float) -> int:
    value = channel * 12.92 if channel <= 0.0031308 else 1.055 * channel ** (1 / 2.4) - 0.055
    return round(value * 255)
