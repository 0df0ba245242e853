"""Fonts: chooses the installed fonts that draw the text of a PNG, line by line.

A PNG is drawn with the fonts of this machine, an SVG with those of its reader. Only fonts with
known file names are used, so that pictures do not depend on what else is installed. Each line is
drawn in the first font that has all its characters, because the renderer cannot combine fonts in a
line. If no font has all characters, the line is transliterated to Latin letters. If no font has
both the letters of a language and Latin ones, the picture is in English.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from string import ascii_letters

from anyascii import anyascii
from markupsafe import escape

from location_context.localisation.language import Language

FOLDERS = (
    "/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts",
    "/Library/Fonts", "~/Library/Fonts",
)  # fmt: skip
PACKAGES = "fonts-dejavu-core and fonts-noto-cjk"  # of Debian: every language of the service
_FILES = (  # regular and bold, the preferred ones first
    ("NotoSans-Regular", "NotoSans-Bold"),
    ("DejaVuSans", "DejaVuSans-Bold"),
    ("LiberationSans-Regular", "LiberationSans-Bold"),
    ("Arial", "Arial Bold"),
    ("NotoSansCJK-Regular", "NotoSansCJK-Bold"),
    ("ipag",),
    ("wqy-microhei",),
)
_ENDINGS = {".ttf", ".otf", ".ttc"}
_FACES = {"ja": " JP", "zh": " SC"}  # end of the family's name for a language, in a collection


@dataclass(frozen=True)
class Font:
    """A font family: the files of its weights, and the code points of its characters."""

    family: str
    files: tuple[str, ...]
    letters: frozenset[int]

    def has(self, text: str) -> bool:
        """Return True if the font has every character of a text, except format characters."""
        return all(ord(one) in self.letters or unicodedata.category(one) == "Cf" for one in text)


@dataclass
class Typeface:
    """The fonts for one picture, the font of its language first; `used` has those used so far."""

    fonts: Sequence[Font]
    rtl: bool = False
    used: dict[Font, None] = field(default_factory=dict)

    def drawable(self, text: str) -> str:
        """Return the text; if no font has all letters, transliterate what the first font lacks."""
        if any(font.has(text) for font in self.fonts):
            return text
        return "".join(one if self.fonts[0].has(one) else anyascii(one) for one in text)

    def marked(self, line: str) -> str:
        """Return a drawable line as the content of an SVG `text` element, with its font.

        A right-to-left line is put in an isolate: else the renderer would draw it left-to-right.
        """
        font = next((one for one in self.fonts if one.has(line)), self.fonts[0])
        self.used[font] = None
        shown = f"\u2067{line}\u2069" if self.rtl else line
        return f'<tspan font-family="{escape(font.family)}">{escape(shown)}</tspan>'


@cache
def find_fonts(folders: tuple[str, ...] = FOLDERS) -> Sequence[Font]:
    """Return the installed fonts, preferred ones first. Call it in a thread, as it reads files."""
    found = {
        path.stem: path
        for folder in folders
        for path in sorted(Path(folder).expanduser().rglob("*"))
        if path.suffix in _ENDINGS
    }
    families = ([found[name] for name in names if name in found] for names in _FILES)
    return [font for files in families if files for font in _faces(files)]


def typeface(fonts: Sequence[Font], language: Language) -> Typeface | None:
    """Return the fonts for a language; None if no font has its letters."""
    letters, ending = _letters(language), _FACES.get(language.locale.language, "")
    own = sorted(
        (font for font in fonts if font.has(letters)),
        key=lambda font: not font.family.endswith(ending),
    )
    if not own:
        return None
    others = [font for font in fonts if font is not own[0]]
    return Typeface([own[0], *others], rtl=language.direction == "rtl")


def _letters(language: Language) -> str:
    """Return ASCII letters and those of a language's name and weekdays: its fonts need them all."""
    locale = language.locale
    words = (locale.get_display_name() or "", *locale.days["format"]["wide"].values())
    return "".join(one for one in "".join(words) if one.isalpha()) + ascii_letters


def _faces(files: Sequence[Path]) -> list[Font]:
    """Return the families in the files of one installed font, except monospaced families.

    The supported characters are read from the first file; the others are assumed to have the same.
    """
    from fontTools.ttLib import TTCollection, TTFont  # noqa: PLC0415  of the extra `png`

    is_collection = files[0].suffix == ".ttc"
    faces = TTCollection(files[0], lazy=True).fonts if is_collection else [TTFont(files[0])]
    letters = frozenset(faces[0].getBestCmap() or ())
    names = dict.fromkeys(face["name"].getBestFamilyName() or "" for face in faces)
    return [Font(name, tuple(map(str, files)), letters) for name in names if "Mono" not in name]
