"""PastedPoint: a point read from coordinates or from a link to a map.

Links are not opened, so a link must contain the coordinates. If it contains several, the marked
place takes precedence over the centre of the map.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote_plus

_NUMBER = r"([+-]?\d{1,3}(?:\.\d+)?)"
_PAIR = rf"{_NUMBER}\s*,\s*{_NUMBER}(?![\d.])"
_IN_A_LINK = [  # the first pattern that matches is used
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


def _angle(at: int) -> str:
    """Return a regex of a coordinate, signed or with N, S, E or W; its group names end in `at`."""
    return (
        rf"(?:(?P<before{at}>[NSEW])\s*)?(?P<sign{at}>[+−-]?)(?P<whole{at}>\d{{1,3}}(?:\.\d+)?)\s*°?"
        rf"(?:\s*(?P<minutes{at}>\d{{1,2}}(?:\.\d+)?)\s*['′’]"
        rf"(?:\s*(?P<seconds{at}>\d{{1,2}}(?:\.\d+)?)\s*(?:[\"″”]|''))?)?"
        rf"(?(before{at})|(?:\s*(?P<after{at}>[NSEW]))?)"
    )


# such as 43.3, -1.98 and 43.3° N 1.98° W and 43°18'59"N 1°58'52"W
_TWO_ANGLES = re.compile(rf"\(?\s*{_angle(1)}\s*[,;\s]\s*{_angle(2)}\s*\)?", re.IGNORECASE)


@dataclass(frozen=True)
class PastedPoint:
    """Coordinates as pasted (they may be out of range), and the place's name if a link has it."""

    lat: float
    lng: float
    name: str = ""


def is_link(text: str) -> bool:
    """Return True if a text is a link and not the name of a place."""
    return _LINK.match(text) is not None


def read(text: str) -> PastedPoint | None:
    """Return the point in a text; None if the text contains no coordinates.

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
        return None  # two whole numbers and a space may be a name or postcode
    one, other = _degrees(angles, 1), _degrees(angles, 2)
    return PastedPoint(other, one) if _letter(angles, 1) in {"E", "W"} else PastedPoint(one, other)


def _letter(angles: re.Match[str], at: int) -> str:
    return (angles[f"before{at}"] or angles[f"after{at}"] or "").upper()


def _degrees(angles: re.Match[str], at: int) -> float:
    minutes, seconds = float(angles[f"minutes{at}"] or 0), float(angles[f"seconds{at}"] or 0)
    degrees = float(angles[f"whole{at}"]) + minutes / 60 + seconds / 3600
    negative = angles[f"sign{at}"] in {"-", "−"} or _letter(angles, at) in {"S", "W"}
    return -degrees if negative else degrees
