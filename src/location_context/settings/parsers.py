"""The types of settings with their checks, and the functions that read settings.

msgspec does most checks, a `Check` any other. A type's `title` completes the error message
"must be …". Environment variables override a TOML file. A secret may also be set as `NAME_FILE`
(`name_file` in TOML): the path of a file that contains it.

Another package declares its settings as a Struct annotated like `Settings`. It registers the Struct
in the entry-point group `location_context.settings`, so that its names are known, and reads it:

    class TidesSettings(msgspec.Struct, frozen=True):
        tides_url: Annotated[Address, "Tide tables; empty switches them off."] = ""

    url = read_table(TidesSettings, os.environ).tides_url  # LOCATION_CONTEXT_TIDES_URL
"""

import ipaddress
import math
import re
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoints
from importlib.metadata import entry_points as read_entry_points
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from location_context.errors import OperatorError

PREFIX = "LOCATION_CONTEXT_"
CONFIG = "config"  # the variable that names the TOML file; not a setting itself
CLONE, COMMAND = "clone", "command"  # set by our scripts: the clone's folder, the script's name
MULTIPROCESS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # prometheus-client's folder of metrics
GROUP = "location_context.settings"
FILE = "_file"  # suffix of a secret's name, for the setting that names a file with the secret
MAX_SECRET_BYTES = 65_536  # read of such a file; a limit, since the path may be an endless device
MAX_NUMBER = 100_000
_LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"  # of a host's name; others in Punycode
_ORIGIN = re.compile(
    rf"https?://(\*\.)?{_LABEL}(\.{_LABEL})*(:([1-9][0-9]{{0,4}}|\*))?", re.IGNORECASE
)
_LOGIN = re.compile(r"^([a-z][a-z0-9+.-]*://)?.*@", re.IGNORECASE | re.DOTALL)
_BUDGET = re.compile(r"([1-9][0-9]{0,9})/(second|minute|hour|day|month)")
WINDOWS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0, "month": 31 * 86_400.0}
Table = TypeVar("Table", bound=msgspec.Struct)


class Secret(str):
    """A string that is printed and logged as `***`; `reveal()` returns the value."""

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
    """A setting's text is invalid; callers put the setting's name before the message."""


@dataclass(frozen=True)
class Check:
    """A check that msgspec cannot express, for use in the metadata of a setting's type.

    `accepts` receives the value that `_read` made from the text, before msgspec converts it.
    """

    accepts: Callable[[Any], bool]


def parse(annotation: Any, text: str) -> Any:
    """Return the value of a setting, converted from its text to the annotated type.

    Raises:
        InvalidSetting: the text is invalid; the message says what is accepted, and masks secrets.
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
    # the part before an @ may be a password, even in an invalid address
    shown = "***" if kind is Secret else repr(_LOGIN.sub(r"\1***@", text))
    raise InvalidSetting(f"the value must be {title}, not {shown}")


def _read(kind: Any, text: str) -> Any:
    """Return the text converted to a JSON type (str, bool, number, list), for msgspec to check."""
    types = get_args(kind)
    if get_origin(kind) is tuple:
        return [_read(types[0], part.strip()) for part in text.split(",") if part.strip()]
    if type(None) in types:
        may_be_empty = types[0] is str or get_origin(types[0]) is tuple
        return _read(types[0], text) if text or may_be_empty else None
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


def _is_host_port(text: str) -> bool:
    parts = urlsplit(f"//{text}")
    return bool(parts.hostname) and bool(parts.port) and parts.netloc == text and "@" not in text


def _is_origin(text: str) -> bool:
    """Return True if the text is an origin in the form of a CSP `host-source`."""
    return _ORIGIN.fullmatch(text) is not None


_IS_HEADER = Check(lambda text: text.isascii() and (text.isprintable() or not text))
_HTTP = _is_address("http", "https")
Folder = Annotated[Path, Meta(title="a folder")]
Address = Annotated[str, Meta(title="an address with http or https"), _HTTP]
HostPort = Annotated[
    str,
    Meta(title="an address and a port like 127.0.0.1:9464"),
    Check(lambda text: not text or _is_host_port(text)),
]
AddressOrNone = Annotated[str | None, Meta(title="an address with http or https"), _HTTP]
DatabaseAddress = Annotated[
    Secret,
    Meta(title="postgresql://… or sqlite:///…"),
    _is_address("postgresql", "sqlite"),
]
PostgresqlAddress = Annotated[  # an argument of `copy`, so it must not be empty
    Secret, Meta(title="postgresql://…"), _is_address("postgresql"), Check(bool)
]
RedisAddress = Annotated[
    Secret, Meta(title="redis://… or rediss://…"), _is_address("redis", "rediss")
]
SecretText = Annotated[Secret, Meta(title="a text")]
HeaderSecret = Annotated[Secret, Meta(title="printable ASCII"), _IS_HEADER]
HeaderText = Annotated[str, Meta(title="printable ASCII"), _IS_HEADER]
LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"], Meta(title="debug, info, warning or error")
]
LogFormat = Annotated[Literal["json", "console"] | None, Meta(title="json or console")]
Seconds = Annotated[
    float, Meta(gt=0, le=MAX_NUMBER, title="a number of seconds above 0, at most 100,000")
]
Kilometres = Annotated[float, Meta(gt=0, le=200, title="a number of km above 0, at most 200")]
COLD_WEEK_UNITS = 100  # Open-Meteo's cost of ten years' data for a week in two months


def _is_budget(least: int) -> Check:
    def accepts(parts: list[str] | None) -> bool:
        found = [_BUDGET.fullmatch(part) for part in parts or ()]
        windows = {match[2] for match in found if match}
        return len(windows) == len(found) and all(
            match is not None and least <= int(match[1]) <= 10**9 for match in found
        )

    return Check(accepts)


Budget = Annotated[
    tuple[str, ...],
    Meta(title="units per window like 30/minute,2000/day (second, minute, hour, day, month)"),
    _is_budget(1),
]
OpenMeteoBudget = Annotated[
    tuple[str, ...] | None,
    Meta(
        title="units per window like 480/minute,8000/day, each at least "
        f"{COLD_WEEK_UNITS} (what a week at a new place can cost)"
    ),
    _is_budget(COLD_WEEK_UNITS),
]
Count = Annotated[int, Meta(ge=1, le=MAX_NUMBER, title="a whole number above 0, at most 100,000")]
Share = Annotated[float, Meta(gt=0, le=1, title="a number above 0, at most 1")]
Radii = Annotated[
    tuple[Annotated[float, Meta(gt=0)], ...],
    Meta(min_length=5, max_length=5, title="five decreasing numbers above 0, separated by commas"),
    Check(lambda radii: math.isfinite(radii[0]) and all(a > b for a, b in pairwise(radii))),
]
Networks = Annotated[
    tuple[str, ...],
    Meta(title="CIDRs like 10.0.0.0/8, separated by commas"),
    Check(lambda cidrs: all(map(ipaddress.ip_network, cidrs))),
]
Origins = Annotated[
    tuple[str, ...],
    Meta(title="origins like https://www.example.org,https://*.example.org, separated by commas"),
    Check(lambda origins: all(map(_is_origin, origins))),
]
Flag = Annotated[bool, Meta(title="true or false")]


def host_and_port(address: str) -> tuple[str, int]:
    """Return the host and the port in the text of a `HostPort` setting."""
    parts = urlsplit(f"//{address}")
    return parts.hostname or "", parts.port or 0


def variable(name: str) -> str:
    """Return the name of a setting's environment variable."""
    return PREFIX + name.upper()


def read_table(table: type[Table], environ: Mapping[str, str]) -> Table:
    """Return the settings that `table`, a Struct, declares; all other names are ignored.

    Raises:
        OperatorError: some settings are invalid, or the TOML file cannot be read.
    """
    given, unread = texts(environ, table)
    values, problems = parse_all(table, given)
    refuse(unread + problems)
    return table(**values)


def texts(
    environ: Mapping[str, str], table: type[msgspec.Struct]
) -> tuple[dict[str, str], list[str]]:
    """Return the settings' texts by name, and a message for each unusable secret file.

    The environment overrides the TOML file. A secret's text may come from the file in `NAME_FILE`.

    Raises:
        OperatorError: the TOML file cannot be read.
    """
    given = {name: _text(raw) for name, raw in _toml(environ.get(variable(CONFIG))).items()}
    names = {name: variable(name) for name in names_of(table)}
    over = {name: _text(environ[full]) for name, full in names.items() if full in environ}
    problems = []
    for secret in secrets_of(table):
        both = {secret, secret + FILE}
        if both & over.keys():  # either of the two in the environment overrides both in the file
            given = {name: text for name, text in given.items() if name not in both}
    given |= over
    for secret in secrets_of(table):
        if path := given.pop(secret + FILE, ""):
            try:
                given[secret] = _content(Path(path), other=given.get(secret, ""))
            except InvalidSetting as problem:
                problems.append(f"{variable(secret + FILE)}: {problem}")
    return given, problems


def names_of(table: type[msgspec.Struct]) -> set[str]:
    """Return all names that a table's settings may have, including `…_file` of its secrets."""
    return {*table.__struct_fields__, *(name + FILE for name in secrets_of(table))}


def secrets_of(table: type[msgspec.Struct]) -> list[str]:
    """Return the names of a table's secret settings, in the order of the table."""
    hints = get_type_hints(table, include_extras=True)
    return [name for name, annotation in hints.items() if get_args(annotation)[0] is Secret]


def parse_all(
    table: type[msgspec.Struct], given: Mapping[str, str]
) -> tuple[dict[str, Any], list[str]]:
    """Return the valid values by name, and a message for each invalid value."""
    values, problems = dict[str, Any](), list[str]()
    for name, annotation in get_type_hints(table, include_extras=True).items():
        if name in given:
            try:
                values[name] = parse(annotation, given[name])
            except InvalidSetting as problem:
                problems.append(f"{variable(name)}: {problem}")
    return values, problems


def refuse(problems: Sequence[str]) -> None:
    """Raise one `OperatorError` that lists all problems; return if there are none."""
    if problems:
        listed = "\n".join(f"- {problem}" for problem in problems)
        raise OperatorError(f"These settings are wrong:\n{listed}")


def entry_points(group: str) -> EntryPoints:
    """Return the entry points of a group; the metadata of installed packages are read once."""
    found: EntryPoints = _entry_points(tuple(sys.path)).select(group=group)
    return found


@lru_cache(maxsize=1)
def _entry_points(_: tuple[str, ...]) -> Any:  # its class differs between versions of Python
    return read_entry_points()


def tables_of_packages() -> list[type[msgspec.Struct]]:
    """Return the Structs of settings that installed packages declare, in order of name.

    Raises:
        OperatorError: a table cannot be imported.
    """
    tables = []
    for point in sorted(dict.fromkeys(entry_points(group=GROUP))):
        try:
            tables.append(point.load())
        except Exception as error:
            raise OperatorError(
                f"The settings of package {point.name!r} ({point.value}) cannot be loaded: {error}"
            ) from error
    return tables


def names_of_packages() -> set[str]:
    """Return the names of all settings that installed packages declare."""
    return {name for table in tables_of_packages() for name in names_of(table)}


def _toml(path: str | None) -> dict[str, Any]:
    if not path:
        return {}
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OperatorError(f"The settings file {path} cannot be read: {error}") from None


def _content(path: Path, other: str) -> str:
    """Return the secret in a file; `other` is the value of the setting without `_FILE`.

    The file's permissions are not checked: in a container of Docker or Kubernetes, all users can
    read its secrets.

    Raises:
        InvalidSetting: the file cannot be read, is empty or too large, or `other` is set too.
    """
    if other:
        raise InvalidSetting("the same setting without _FILE is set too; set only one of the two")
    if not path.is_absolute():  # not shown in the message: it may be the secret itself
        raise InvalidSetting("the value must be the absolute path of a file like /run/secrets/name")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SECRET_BYTES + 1)
        text = _text(content.decode())
    except UnicodeDecodeError:
        raise InvalidSetting(f"the file {path} is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        because = getattr(error, "strerror", None) or "not a path"
        raise InvalidSetting(f"the file {path} cannot be read: {because}") from None
    if len(content) > MAX_SECRET_BYTES:
        raise InvalidSetting(f"the file {path} is over {MAX_SECRET_BYTES:,} bytes, the limit")
    if not text:
        raise InvalidSetting(f"the file {path} is empty; it must contain the secret")
    return text


def _text(raw: object) -> str:
    return ",".join(map(str, raw)) if isinstance(raw, list) else str(raw).strip()
