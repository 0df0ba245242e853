"""The kinds of settings: each a type, and how its value is taken from the text of an operator.

A kind's function gives the value, or raises `Unfit` with what is said after the setting's name:
what came, unless it is secret, and what is accepted.
"""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar
from urllib.parse import urlsplit

from location_context.settings.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 100_000  # what no number of a setting reaches
N = TypeVar("N", int, float)


class Unfit(ValueError):
    """The text is no value of the setting."""


@dataclass(frozen=True)
class Kind:
    """`take` makes the value from its text.

    Raises:
        Unfit: it cannot.
    """

    take: Callable[[str], object]


def unfit(text: str, accepted: str) -> Unfit:
    return Unfit(f"is {text!r}; accepted: {accepted}")


def _number(of: Callable[[str], N], accepted: str, most: float = MOST) -> Callable[[str], N]:
    """Numbers above 0, at most `most`."""

    def take(text: str) -> N:
        try:
            value = of(text)
        except ValueError:
            raise unfit(text, accepted) from None
        if not 0 < value <= most:
            raise unfit(text, accepted)
        return value

    return take


def _or_none(take: Callable[[str], N]) -> Callable[[str], N | None]:
    """The same, where an empty text stands for the default."""
    return lambda text: take(text) if text else None


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _radii(text: str) -> tuple[float, ...]:
    accepted = "five strictly decreasing numbers above 0, parted by commas"
    try:
        radii = tuple(map(float, _list(text)))
    except ValueError:
        raise unfit(text, accepted) from None
    falling = all(a > b for a, b in pairwise(radii))
    if len(radii) != 5 or not (falling and radii[-1] > 0 and math.isfinite(radii[0])):
        raise unfit(text, accepted)
    return radii


def _networks(text: str) -> tuple[str, ...]:
    for cidr in _list(text):
        try:
            ipaddress.ip_network(cidr)
        except ValueError:
            raise Unfit(f"holds {cidr!r}; accepted: CIDRs like 10.0.0.0/8") from None
    return _list(text)


def _flag(text: str) -> bool:
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off", ""}:
        return False
    raise unfit(text, "true or false")


def _one_of(*words: str) -> Callable[[str], str]:
    def take(text: str) -> str:
        if text not in words:
            raise unfit(text, ", ".join(words))
        return text

    return take


def _header(text: str) -> str:
    if not (text.isascii() and (text.isprintable() or not text)):
        raise Unfit("has signs that are not printable ASCII")
    return text


def _address(text: str) -> str:
    if text and not _is_address(text, {"http", "https"}):
        raise unfit(text, "an address with http or https")
    return text


def _secret_address(accepted: str, *schemes: str) -> Callable[[str], Secret]:
    def take(text: str) -> Secret:
        if text and not _is_address(text, set(schemes)):
            raise Unfit(f"is ***; accepted: {accepted}")
        return Secret(text)

    return take


def _is_address(text: str, schemes: set[str]) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    whole = text.isprintable() and not any(sign.isspace() for sign in text)
    return whole and parts.scheme in schemes and bool(parts.hostname or parts.scheme == "sqlite")


Folder = Annotated[Path, Kind(Path)]
Address = Annotated[str, Kind(_address)]
AddressOrNone = Annotated[str | None, Kind(_address)]
DatabaseAddress = Annotated[
    Secret, Kind(_secret_address("postgresql://… or sqlite:///…", "postgresql", "sqlite"))
]
RedisAddress = Annotated[
    Secret, Kind(_secret_address("redis://… or rediss://…", "redis", "rediss"))
]
Hidden = Annotated[Secret, Kind(Secret)]
HeaderSecret = Annotated[Secret, Kind(lambda text: Secret(_header(text)))]
HeaderText = Annotated[str, Kind(_header)]
LogLevel = Annotated[str, Kind(_one_of("debug", "info", "warning", "error"))]
LogFormat = Annotated[str, Kind(_one_of("json", "console"))]
Seconds = Annotated[float, Kind(_number(float, "a number of seconds above 0, at most 100,000"))]
Kilometres = Annotated[float, Kind(_number(float, "a number of km above 0, at most 200", 200))]
UnitsOrNone = Annotated[
    int | None, Kind(_or_none(_number(int, "a whole number above 0, at most 1,000,000,000", 1e9)))
]
Count = Annotated[int, Kind(_number(int, "a whole number above 0, at most 100,000"))]
Share = Annotated[float, Kind(_number(float, "a number above 0, at most 1", 1))]
Radii = Annotated[tuple[float, ...], Kind(_radii)]
Networks = Annotated[tuple[str, ...], Kind(_networks)]
Flag = Annotated[bool, Kind(_flag)]
