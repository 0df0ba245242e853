"""PastedPoint: a point from coordinates, a map link or the address of a map's page.

Nothing is fetched: the text has to hold the coordinates. Where a link has several, that of the
place on the map goes before that of the map's middle.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote_plus

_NUMBER = r"([+-]?\d{1,3}(?:\.\d+)?)"
_PAIR = rf"{_NUMBER}\s*,\s*{_NUMBER}(?![\d.])"
_IN_A_LINK = [  # in this order
    re.compile(pattern)
    for pattern in (
        rf"!3d{_NUMBER}!4d{_NUMBER}",
        rf"[?&#](?:q|query|ll|coordinate|destination|daddr|center)=(?:loc:)?{_PAIR}",
        rf"[?&#]mlat={_NUMBER}&mlon={_NUMBER}",
        rf"[?&#]sp=point\.{_NUMBER}_{_NUMBER}",
        rf"@{_PAIR}",
        rf"[#&]map=[\d.]+/{_NUMBER}/{_NUMBER}",
        rf"[?&]cp={_NUMBER}~{_NUMBER}",
        rf"^geo:{_PAIR}",
        rf"/{_PAIR}",
    )
]
_LINK = re.compile(r"[a-z][a-z0-9+.-]*://|geo:|(?:www|maps)\.|(?:goo\.gl|osm\.org)/", re.IGNORECASE)
_NAME = re.compile(r"/maps/place/([^/@]+)/@")
_ANGLE = (  # such as 43.3, -1.98, 43.3° N or 43°18'59"N; a sign or a letter, before or after
    r"([NSEW])?\s*([+−-]?)(\d{1,3}(?:\.\d+)?)\s*°?"
    r"(?:\s*(\d{1,2}(?:\.\d+)?)\s*['′’](?:\s*(\d{1,2}(?:\.\d+)?)\s*(?:[\"″”]|''))?)?\s*([NSEW])?"
)
_TWO_ANGLES = re.compile(rf"\(?\s*{_ANGLE}\s*[,;\s]\s*{_ANGLE}\s*\)?", re.IGNORECASE)


@dataclass(frozen=True)
class PastedPoint:
    """Degrees as they came, perhaps too large, and the name that a link gives the place."""

    lat: float
    lng: float
    name: str = ""


def is_link(text: str) -> bool:
    """Return whether a text is an address and not the name of a place."""
    return _LINK.match(text) is not None


def read(text: str) -> PastedPoint | None:
    """Return the point that a text holds, None if it holds none.

    >>> read("43.3183, -1.9812")
    PastedPoint(lat=43.3183, lng=-1.9812, name='')
    >>> read("https://www.openstreetmap.org/#map=15/43.3183/-1.9812").lng
    -1.9812
    >>> read("San Sebastián")
    """
    if is_link(text):
        link = unquote_plus(text)
        found = next((match for one in _IN_A_LINK if (match := one.search(link))), None)
        name = _NAME.search(link)
        shown = name[1] if name and read(name[1]) is None else ""
        return PastedPoint(float(found[1]), float(found[2]), shown) if found else None
    angles = _TWO_ANGLES.fullmatch(text)
    if angles is None or re.fullmatch(r"\d+ +\d+", text):
        return None  # two whole numbers with a blank are a name, or part of one
    return _in_order(angles.groups()[:6], angles.groups()[6:])


def _in_order(first: tuple[str | None, ...], second: tuple[str | None, ...]) -> PastedPoint:
    """Return two angles as a point; letters may say that the longitude comes first."""
    if (first[0] or first[5] or "N").upper() in {"E", "W"}:
        first, second = second, first
    return PastedPoint(_degrees(first), _degrees(second))


def _degrees(parts: tuple[str | None, ...]) -> float:
    before, sign, whole, minutes, seconds, after = parts
    degrees = float(whole or 0) + float(minutes or 0) / 60 + float(seconds or 0) / 3600
    letter = (before or after or "").upper()
    negative = sign not in {"", "+", None} or letter in {"S", "W"}
    return -degrees if negative else degrees
