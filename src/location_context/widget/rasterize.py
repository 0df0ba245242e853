"""Rasterize: a program that reads an SVG from stdin and writes a PNG to stdout.

The arguments are font files. The program runs in a process of its own for two reasons: The renderer
holds Python's lock for a quarter of a second, in which a server could not answer. And the end of a
process frees all memory. The PNG has a palette of the card's colours and their shades. It takes a
third of the bytes of true colour and preserves the contrast of texts. A very long card has no
shades.
"""

import io
import re
import sys
from collections.abc import Sequence
from itertools import pairwise

import resvg_py
from PIL import Image, ImageChops

SCALE = 2  # pixels of the PNG for a px of the SVG
MOST_BYTES = 60_000  # of the PNG; above it, shades are left out
_SHADES: Sequence[Sequence[float]] = ((1, 2 / 3, 1 / 3), (1,))  # opacity of a colour on the ground
_BARS = (1, 0.71, 0.28)  # opacity of the scale's colours where parts of a bar overlap
_MOST_COLOURS = 254
_CLEAR, _LINE, _GROUND = range(3)  # palette indices of transparent, rules and background
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_STOP = re.compile(r'stop-color="(#[0-9a-f]{6})"')

Colour = tuple[int, ...]


def png(svg: str, font_files: Sequence[str]) -> bytes:
    """Return the PNG of an SVG at twice its size, with transparent corners."""
    drawn = resvg_py.svg_to_bytes(
        svg_string=svg, zoom=SCALE, skip_system_fonts=True, font_files=[*font_files]
    )
    style = svg.partition("</style>")[0]
    ground, line = _colours(style.partition(".c0{")[2])[:2]
    colours = [one for one in _colours(style) if one not in {ground, line}]
    scale = [_mixed(one, other, n / 4) for one, other in pairwise(_stops(svg)) for n in range(5)]
    picture = Image.open(io.BytesIO(drawn))
    alpha = picture.getchannel("A")
    opaque = Image.new("RGB", picture.size, ground)
    opaque.paste(picture, mask=alpha)
    masks = {  # pixels set by a mask, since the library confuses similar colours
        # a rule mistaken for a shade of text would take more bytes than all other colours
        _LINE: _where(ImageChops.difference(opaque, Image.new("RGB", picture.size, line)), below=1),
        _GROUND: _where(
            ImageChops.difference(opaque, Image.new("RGB", picture.size, ground)), below=1
        ),
        _CLEAR: _where(alpha, below=128),
    }
    made = b""
    for shades, bars in ((_SHADES[0], _BARS), (_SHADES[1], _BARS), (_SHADES[1], ())):
        shaded = [_mixed(ground, one, part) for one in colours for part in shades]
        shaded += [_mixed(ground, one, part) for one in scale for part in bars]
        made = _packed(opaque, masks, [line, ground, *dict.fromkeys(shaded)][:_MOST_COLOURS])
        if len(made) <= MOST_BYTES:
            break
    return made


def _packed(
    picture: Image.Image, masks: dict[int, Image.Image], colours: Sequence[Colour]
) -> bytes:
    """Return a PNG of the picture in these colours.

    The first colour is that of the card's border and rules, the second that of its background.
    `masks` maps a palette index to a mask of the pixels that must have this index.
    """
    line, ground, *others = colours
    reduced = picture.quantize(palette=_palette([ground] * 3 + others), dither=Image.Dither.NONE)
    reduced = reduced.point([max(place, _GROUND) for place in range(256)])
    for index, mask in masks.items():
        reduced.paste(index, mask=mask)
    reduced.putpalette([part for colour in (ground, line, ground, *others) for part in colour])
    written = io.BytesIO()
    reduced.save(written, "PNG", optimize=True, transparency=_CLEAR)
    return written.getvalue()


def _palette(colours: Sequence[Colour]) -> Image.Image:
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for colour in colours for part in colour])
    return palette


def _where(picture: Image.Image, *, below: int) -> Image.Image:
    """Return a mask of the pixels whose brightness (0 to 255) is less than `below`."""
    return picture.convert("L").point([255 * (value < below) for value in range(256)])


def _mixed(ground: Colour, colour: Colour, part: float) -> Colour:
    return tuple(round(a + (b - a) * part) for a, b in zip(ground, colour, strict=True))


def _stops(svg: str) -> list[Colour]:
    """Return the colours of the gradient with which temperature bars are drawn."""
    return [tuple(bytes.fromhex(one[1:])) for one in _STOP.findall(svg)]


def _colours(style: str) -> list[Colour]:
    """Return the colours in a style block, each once, in order of occurrence."""
    return [tuple(bytes.fromhex(one[1:])) for one in dict.fromkeys(_COLOUR.findall(style))]


if __name__ == "__main__":
    sys.stdout.buffer.write(png(sys.stdin.buffer.read().decode(), sys.argv[1:]))
