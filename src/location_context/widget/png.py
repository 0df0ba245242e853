"""Png: the static card as a PNG, for mail programs that show no SVG; needs the extra `png`.

Each PNG is drawn in its own process, at most two at a time; see `rasterize`. The response is cached
like that of the SVG, so that the picture of a mail to many guests is drawn only once.
"""

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from location_context.errors import NotAvailable, ServiceOverloaded
from location_context.localisation.language import Language, Languages
from location_context.widget import fonts

MODULE = "location_context.widget.rasterize"
AT_ONCE = 2
TIMEOUT = 20.0  # seconds to draw a picture; it usually takes half a second
NOT_INSTALLED = (
    "Pictures as PNG are not available: the operator has to install them with "
    "pip install 'location-context[png]'; /v1/pulse.svg is the same picture as SVG."
)
NO_FONTS = (
    "Pictures as PNG are not available: no font is installed on the server; the operator has to "
    f"install some, such as Debian's {fonts.PACKAGES}; /v1/pulse.svg is the same picture as SVG."
)


class Painter:
    """Draws static cards as PNG with the fonts in the given folders."""

    def __init__(self, folders: tuple[str, ...] = fonts.FOLDERS) -> None:
        self._folders = folders
        self._free = asyncio.Semaphore(AT_ONCE)

    async def typeface(self, languages: Sequence[Language]) -> tuple[Language, fonts.Typeface]:
        """Return the first language that the installed fonts can draw, with its fonts.

        Raises:
            NotAvailable: the extra is not installed, or there is no font.
        """
        if not is_installed():
            raise NotAvailable(NOT_INSTALLED)
        found = await asyncio.to_thread(fonts.find_fonts, self._folders)
        for language in languages:
            if typeface := fonts.typeface(found, language):
                return language, typeface
        raise NotAvailable(NO_FONTS)

    async def typeface_of(self, language: Language | None) -> fonts.Typeface | None:
        """Return the fonts for a language; None if it is None, or if no PNG can be drawn in it."""
        try:
            return (await self.typeface([language] if language else []))[1]
        except NotAvailable:
            return None

    async def draw(self, svg: bytes, typeface: fonts.Typeface) -> bytes:
        """Return a PNG of an SVG whose texts `typeface` has marked with their fonts."""
        files = [file for font in typeface.used for file in font.files]
        command = [sys.executable, "-m", MODULE, *files]
        async with self._free:
            try:
                done = await asyncio.to_thread(
                    subprocess.run,
                    command,
                    input=svg,
                    capture_output=True,
                    timeout=TIMEOUT,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise ServiceOverloaded("Drawing the picture took too long.", 10) from None
        if done.returncode:
            last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise RuntimeError(f"the picture could not be drawn: {last}")
        return done.stdout


def is_installed() -> bool:
    """Return True if the packages of the extra `png` are installed."""
    return all(find_spec(name) for name in ("resvg_py", "PIL", "fontTools"))


def missing_letters(languages: Languages, folders: tuple[str, ...] = fonts.FOLDERS) -> str:
    """Return a warning with the languages that have no font; empty if all have one."""
    found = fonts.find_fonts(folders)
    chosen = [languages.choose(tag) for tag in languages.tags]
    if not fonts.typeface(found, languages.english):
        return f"No font for /v1/pulse.png: it answers 501. Install Debian's {fonts.PACKAGES}."
    lacking = sorted(one.tag for one in chosen if not fonts.typeface(found, one))
    if not lacking:
        return ""
    return (
        f"No font has the letters of {', '.join(lacking)}: /v1/pulse.png answers in English "
        f"there. Install Debian's {fonts.PACKAGES}."
    )
