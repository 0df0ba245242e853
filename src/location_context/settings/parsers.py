"""The types of settings, each with what msgspec checks of it, and how a text becomes a value.

A type's `title` ends the sentence about a wrong value ("must be …"). Three checks are our own:
addresses, networks and radii.
"""

import ipaddress
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

MAX_NUMBER = 100_000


class Secret(str):
    """A string that neither prints nor logs itself; `reveal()` returns the value."""

    __slots__ = ()

    def reveal(self) -> str:
        return str.__str__(self)

    def __str__(self) -> str:
        return "***" if self.reveal() else ""

    def __repr__(self) -> str:
        return "Secret('***')" if self.reveal() else "Secret('')"

    def __format__(self, spec: str) -> str:
        return format("***" if self.reveal() else "", spec)


class InvalidSetting(ValueError):
    """The text is not a value of the setting; the sentence lacks its subject, the name."""


@dataclass(frozen=True)
class Check:
    """Metadata of a type: what msgspec cannot check. `accepts` gets the value as read."""

    accepts: Callable[[Any], bool]


def parse(annotation: Any, text: str) -> Any:
    """The value of a setting from its text.

    Raises:
        InvalidSetting: it is wrong; the sentence says what is accepted, and masks a secret.
    """
    kind, *metadata = get_args(annotation)
    title = next(one.title for one in metadata if isinstance(one, Meta))
    checks = [one.accepts for one in metadata if isinstance(one, Check)]
    try:
        read = _read(kind, text)
        value = msgspec.convert(read, annotation, dec_hook=lambda custom, given: custom(given))
        if all(accepts(read) for accepts in checks):
            return value
    except (ValueError, msgspec.ValidationError):
        pass
    raise InvalidSetting(f"must be {title}, not {'***' if kind is Secret else repr(text)}")


def _read(kind: Any, text: str) -> Any:
    """The text as what JSON would hold, for msgspec to check."""
    types = get_args(kind)
    if get_origin(kind) is tuple:
        return [_read(types[0], part.strip()) for part in text.split(",") if part.strip()]
    if type(None) in types:
        return _read(types[0], text) if text or types[0] is str else None
    if get_origin(kind) is Annotated:
        return _read(types[0], text)
    return _flag(text) if kind is bool else kind(text) if kind in {int, float} else text


def _flag(text: str) -> bool:
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off", ""}:
        return False
    raise ValueError


def _is_address(*schemes: str) -> Check:
    def accepts(text: str | None) -> bool:
        if not text:
            return True
        parts = urlsplit(text)
        _ = parts.port  # raises ValueError
        whole = text.isprintable() and not any(character.isspace() for character in text)
        return (
            whole and parts.scheme in schemes and bool(parts.hostname or parts.scheme == "sqlite")
        )

    return Check(accepts)


def _are_networks(cidrs: list[str]) -> bool:
    return all(map(ipaddress.ip_network, cidrs))


def _are_decreasing(radii: list[float]) -> bool:
    return math.isfinite(radii[0]) and all(a > b for a, b in pairwise(radii))


def _is_header(text: str) -> bool:
    return text.isascii() and (text.isprintable() or not text)


_HTTP = _is_address("http", "https")
Folder = Annotated[Path, Meta(title="a folder")]
Address = Annotated[str, Meta(title="an address with http or https"), _HTTP]
AddressOrNone = Annotated[str | None, Meta(title="an address with http or https"), _HTTP]
DatabaseAddress = Annotated[
    Secret,
    Meta(title="postgresql://… or sqlite:///…"),
    _is_address("postgresql", "sqlite"),
]
RedisAddress = Annotated[
    Secret, Meta(title="redis://… or rediss://…"), _is_address("redis", "rediss")
]
SecretText = Annotated[Secret, Meta(title="a text")]
HeaderSecret = Annotated[Secret, Meta(title="printable ASCII"), Check(_is_header)]
HeaderText = Annotated[str, Meta(title="printable ASCII"), Check(_is_header)]
LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"], Meta(title="debug, info, warning or error")
]
LogFormat = Annotated[Literal["json", "console"], Meta(title="json or console")]
Seconds = Annotated[
    float, Meta(gt=0, le=MAX_NUMBER, title="a number of seconds above 0, at most 100,000")
]
Kilometres = Annotated[float, Meta(gt=0, le=200, title="a number of km above 0, at most 200")]
UnitsOrNone = Annotated[
    Annotated[int, Meta(ge=1, le=10**9)] | None,
    Meta(title="a whole number above 0, at most 1,000,000,000"),
]
Count = Annotated[int, Meta(ge=1, le=MAX_NUMBER, title="a whole number above 0, at most 100,000")]
Share = Annotated[float, Meta(gt=0, le=1, title="a number above 0, at most 1")]
Radii = Annotated[
    tuple[Annotated[float, Meta(gt=0)], ...],
    Meta(min_length=5, max_length=5, title="five decreasing numbers above 0, split by commas"),
    Check(_are_decreasing),
]
Networks = Annotated[
    tuple[str, ...], Meta(title="CIDRs like 10.0.0.0/8, split by commas"), Check(_are_networks)
]
Flag = Annotated[bool, Meta(title="true or false")]
