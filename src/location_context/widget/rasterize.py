"""Rasterize: an SVG from stdin to a PNG on stdout, in a process of its own.

Its arguments are the files of fonts. The renderer holds Python's lock while it draws, a quarter of
a second in which a server would answer nobody; here nobody waits, and its memory ends with it. A
palette of the card's own colours and their shades takes a third of the bytes of true colour, and
every text keeps its contrast. A card of unusual length does without the shades.
"""

import io
import re
import sys
from collections.abc import Sequence
from itertools import pairwise

import resvg_py
from PIL import Image, ImageChops

SCALE = 2  # pixels to a px
MOST_BYTES = 60_000
_SHADES: Sequence[Sequence[float]] = ((1, 2 / 3, 1 / 3), (1,))  # of a colour on the ground
_BARS = (1, 0.71, 0.28)  # of the scale's colours, as the parts of a bar lie upon one another
_MOST_COLOURS = 254
_CLEAR, _LINE, _GROUND = range(3)  # places in the palette; the colours follow
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_STOP = re.compile(r'stop-color="(#[0-9a-f]{6})"')

Colour = tuple[int, ...]


def png(svg: str, font_files: Sequence[str]) -> bytes:
    """Return the picture at twice its size, with transparent corners."""
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
    places = {  # the library takes neighbouring colours for each other
        # as a shade of letters it would cost more bytes than all others
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
        made = _packed(opaque, places, [line, ground, *dict.fromkeys(shaded)][:_MOST_COLOURS])
        if len(made) <= MOST_BYTES:
            break
    return made


def _packed(
    picture: Image.Image, places: dict[int, Image.Image], colours: Sequence[Colour]
) -> bytes:
    """Return the PNG in these colours, the line's first, with what stands at certain places."""
    line, ground, *others = colours
    reduced = picture.quantize(palette=_palette([ground] * 3 + others), dither=Image.Dither.NONE)
    reduced = reduced.point([max(place, _GROUND) for place in range(256)])
    for place, mask in places.items():
        reduced.paste(place, mask=mask)
    reduced.putpalette([part for colour in (ground, line, ground, *others) for part in colour])
    written = io.BytesIO()
    reduced.save(written, "PNG", optimize=True, transparency=_CLEAR)
    return written.getvalue()


def _palette(colours: Sequence[Colour]) -> Image.Image:
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for colour in colours for part in colour])
    return palette


def _where(picture: Image.Image, *, below: int) -> Image.Image:
    """Return a mask of the pixels that are darker than this."""
    return picture.convert("L").point([255 * (value < below) for value in range(256)])


def _mixed(ground: Colour, colour: Colour, part: float) -> Colour:
    return tuple(round(a + (b - a) * part) for a, b in zip(ground, colour, strict=True))


def _stops(svg: str) -> list[Colour]:
    """Return the colours of the temperature scale."""
    return [tuple(bytes.fromhex(one[1:])) for one in _STOP.findall(svg)]


def _colours(style: str) -> list[Colour]:
    """Return the colours of a style block, each once, in their order."""
    return [tuple(bytes.fromhex(one[1:])) for one in dict.fromkeys(_COLOUR.findall(style))]


if __name__ == "__main__":
    sys.stdout.buffer.write(png(sys.stdin.buffer.read().decode(), sys.argv[1:]))
