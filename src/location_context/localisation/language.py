"""Languages: the choice of a language, its messages (gettext) and its formats (CLDR).

The translated messages of a language are in its catalogue, the file `locale/<tag>.po`, which is
read on first use. If a tag has no catalogue, its last part is removed until a tag has one (`de-AT`,
then `de`); otherwise English is used (RFC 4647, section 3.4). A region in the requested tag
(`en-US`, `de-AT`) chooses the formats of numbers and dates. `en` without a region is British.
"""

import gettext
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Self

from babel import Locale
from babel.core import UnknownLocaleError

from location_context.errors import InvalidLanguage

SOURCE = "en"
CATALOGUES = Path(__file__).parent / "locale"
_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_CHINESE = {"zh-cn": "zh-hans", "zh-sg": "zh-hans", "zh": "zh-hans"}


@dataclass(frozen=True)
class Language:
    """A language with its formats and messages. Languages with the same `tag` are equal.

    Attributes:
        read: returns the messages; only the first call reads the catalogue.
    """

    tag: str
    locale: Locale = field(compare=False, repr=False)
    read: Callable[[], gettext.NullTranslations] = field(compare=False, repr=False)

    @property
    def direction(self) -> str:
        """The direction of writing, `ltr` or `rtl`."""
        return self.locale.text_direction

    @property
    def word_separator(self) -> str:
        """The text between sentences and after a colon: a space; empty in Chinese and Japanese."""
        return "" if self.locale.language in {"ja", "zh"} else " "

    def gettext(self, message: str) -> str:
        return self.read().gettext(message)

    def ngettext(self, one: str, many: str, count: int) -> str:
        return self.read().ngettext(one, many, count)

    def pgettext(self, context: str, message: str) -> str:
        return self.read().pgettext(context, message)


class Languages:
    """The available languages, of which one is chosen by tag or Accept-Language header."""

    def __init__(self, catalogues: Mapping[str, Callable[[], gettext.NullTranslations]]) -> None:
        """Store `catalogues`, which has for each language tag a function that reads its messages.

        Each function is called only when its language is first used.
        """
        self._catalogues = {tag.lower(): (tag, cache(read)) for tag, read in catalogues.items()}
        self._catalogues.setdefault(SOURCE, (SOURCE, cache(gettext.NullTranslations)))

    @classmethod
    def load(cls, folder: Path = CATALOGUES) -> Self:
        """Return the languages that have a catalogue (`<tag>.po`) in `folder`."""
        return cls({file.stem: partial(_read, file) for file in folder.glob("*.po")})

    @property
    def tags(self) -> list[str]:
        return sorted(tag for tag, _ in self._catalogues.values())

    @property
    def english(self) -> Language:
        return self.choose(SOURCE)

    def choose(self, tag: str) -> Language:
        """Return the language of a BCP 47 tag such as `de-AT`; English if no catalogue matches.

        Raises:
            InvalidLanguage: the tag is malformed.
        """
        if not _TAG.fullmatch(tag) or len(tag) > 64:
            raise InvalidLanguage(
                f"lang is {tag[:64]!r}; accepted: a BCP 47 tag such as en or de-AT"
            )
        return self._find(tag) or self._make(SOURCE, SOURCE)

    def accept(self, header: str) -> Language:
        """Return the available language that an Accept-Language header prefers, else English.

        Malformed parts of the header are ignored.
        """
        for tag in _by_quality(header):
            if language := self._find(tag):
                return language
        return self._make(SOURCE, SOURCE)

    def _find(self, tag: str) -> Language | None:
        parts = _CHINESE.get(tag.lower(), tag.lower()).split("-")
        while parts:
            if "-".join(parts) in self._catalogues:
                return self._make("-".join(parts), tag)
            parts.pop()
            if parts and len(parts[-1]) == 1:
                parts.pop()
        return None

    def _make(self, key: str, requested: str) -> Language:
        tag, read = self._catalogues[key]
        locale = _locale(requested, tag)
        region = f"-{locale.territory}" if locale.territory and "-" in requested else ""
        return Language(tag + region, locale, read)


def _read(file: Path) -> gettext.GNUTranslations:
    # imported here: these modules take 15 ms, and English needs no catalogue
    from babel.messages.mofile import write_mo  # noqa: PLC0415  large, and not always needed
    from babel.messages.pofile import read_po  # noqa: PLC0415  large, and not always needed

    compiled = io.BytesIO()
    with file.open("rb") as written:
        write_mo(compiled, read_po(written))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


def _locale(requested: str, tag: str) -> Locale:
    """Return the CLDR locale, which has the formats, for the catalogue with this `tag`.

    The locale has the region of the tag `requested`, if CLDR knows that region.
    """
    if requested.lower() == SOURCE:
        return Locale("en", "GB")
    base = Locale.parse(tag, sep="-")
    region = next(
        (p.upper() for p in requested.split("-")[1:] if len(p) == 2 and p.isalpha()), None
    )
    if region is None:
        return Locale("en", "GB") if base.language == SOURCE else base
    try:
        return Locale(base.language, region, base.script)
    except UnknownLocaleError:
        return _locale(tag, tag)


def _by_quality(header: str) -> Iterator[str]:
    """Yield the valid language tags of an Accept-Language header, the most preferred first."""
    ranked = []
    for position, part in enumerate(header[:1000].split(",")):
        tag, _, parameter = part.strip().partition(";")
        match = re.fullmatch(r"\s*q\s*=\s*(0(\.\d{0,3})?|1(\.0{0,3})?)\s*", parameter)
        quality = float(match[1]) if match else 1.0
        if _TAG.fullmatch(tag.strip()) and quality > 0 and (match or not parameter):
            ranked.append((-quality, position, tag.strip()))
    return (tag for _, _, tag in sorted(ranked))
