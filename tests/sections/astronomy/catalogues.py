"""Read the two eclipse catalogues beside the project."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

_NAMES = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
_MONTHS = {name: number for number, name in enumerate(_NAMES.split(), 1)}
_TAG = re.compile(r"<[^>]*>")
_SOLAR = re.compile(
    r"\s*\d{5}\s+(\d{4}) (\w{3}) (\d\d)\s+(\d\d):(\d\d):(\d\d)\s+(-?\d+)\s+-?\d+\s+\d+"
    r"\s+(\w)\S*\s+(-?[\d.]+)\s+([\d.]+)\s+([\d.]+)([NS])\s+([\d.]+)([EW])"
)
_LUNAR = re.compile(
    r"\s*(\d{4}) (\w{3}) (\d\d)\s+(\d\d):(\d\d)\s+([TPN])\w?\s*[-+]?\s+\d+\s+-?[\d.]+"
    r"\s+(-?[\d.]+)\s+(-?[\d.]+)"
)
_KINDS = {"T": "total", "A": "annular", "H": "hybrid", "P": "partial", "N": "penumbral"}


@dataclass(frozen=True)
class Row:
    """One eclipse: `greatest` in Terrestrial Time as unix seconds; where it is greatest."""

    greatest: float
    kind: str
    magnitude: float
    lat: float = 0.0
    lng: float = 0.0
    gamma: float = 0.0


def solar(folder: Path) -> list[Row]:
    rows = []
    for line in _lines(folder, "se2001.html"):
        if m := _SOLAR.match(line):
            lat, lng = float(m[11]), float(m[13])
            rows.append(
                Row(
                    _seconds(m, int(m[6])), _KINDS[m[8]], float(m[10]),
                    -lat if m[12] == "S" else lat, -lng if m[14] == "W" else lng, float(m[9]),
                )
            )  # fmt: skip
    return [row for row in rows if row.greatest < datetime(2051, 1, 1, tzinfo=UTC).timestamp()]


def lunar(folder: Path) -> list[Row]:
    """Its times are UT by the Delta T that the solar catalogue lists; here led back to TT."""
    ahead = [
        (_seconds(m, 0), int(m[7])) for m in map(_SOLAR.match, _lines(folder, "se2001.html")) if m
    ]
    rows = []
    for line in _lines(folder, "le2001.html"):
        if m := _LUNAR.match(line):
            at = _seconds(m, 0)
            delta_t = min(ahead, key=lambda pair: abs(pair[0] - at))[1]
            magnitude = float(m[7]) if m[6] == "N" else float(m[8])
            rows.append(Row(at + delta_t, _KINDS[m[6]], magnitude))
    return [row for row in rows if row.greatest < datetime(2051, 1, 1, tzinfo=UTC).timestamp()]


def _lines(folder: Path, name: str) -> list[str]:
    return _TAG.sub("", (folder / "astronomy" / name).read_text(errors="replace")).splitlines()


def _seconds(m: re.Match[str], seconds: int) -> float:
    when = datetime(int(m[1]), _MONTHS[m[2]], int(m[3]), int(m[4]), int(m[5]), seconds, tzinfo=UTC)
    return when.timestamp()
