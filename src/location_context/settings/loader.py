"""Loader: settings from the environment over a TOML file, for our table and those of packages.

A package declares settings of its own as a Struct annotated like `Settings`, registers it in the
entry-point group `location_context.settings`, so that its names count as known, and reads it:

    class TidesSettings(msgspec.Struct, frozen=True):
        tides_url: Annotated[Address, "Tide tables; empty switches them off."] = ""

    url = read_table(TidesSettings, os.environ).tides_url  # LOCATION_CONTEXT_TIDES_URL
"""

import tomllib
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import msgspec

from location_context.errors import OperatorError
from location_context.settings.parsers import InvalidSetting, parse

PREFIX = "LOCATION_CONTEXT_"
CONFIG = "config"  # names the file; not a setting itself
CLONE, COMMAND = "clone", "command"  # nor these of our scripts: their folder, how they are called
GROUP = "location_context.settings"
Table = TypeVar("Table", bound=msgspec.Struct)


def variable(name: str) -> str:
    """The environment's name of a setting."""
    return PREFIX + name.upper()


def read_table(table: type[Table], environ: Mapping[str, str]) -> Table:
    """The settings that a table declares; names of other tables are ignored.

    Raises:
        OperatorError: one or more are wrong, or the file cannot be read.
    """
    values, problems = parse_all(table, texts(environ, table))
    refuse(problems)
    return table(**values)


def texts(environ: Mapping[str, str], table: type[msgspec.Struct]) -> dict[str, str]:
    """What is given, by name: everything in the file, and the table's names in the environment.

    Raises:
        OperatorError: the file cannot be read.
    """
    names = {name: variable(name) for name in table.__struct_fields__}
    given = _file(environ.get(variable(CONFIG)))
    given |= {name: environ[full] for name, full in names.items() if full in environ}
    return {name: _text(raw) for name, raw in given.items()}


def parse_all(
    table: type[msgspec.Struct], given: Mapping[str, str]
) -> tuple[dict[str, Any], list[str]]:
    """The values of what is right, and a sentence for each that is not."""
    values, problems = dict[str, Any](), list[str]()
    for name, annotation in get_type_hints(table, include_extras=True).items():
        if name in given:
            try:
                values[name] = parse(annotation, given[name])
            except InvalidSetting as problem:
                problems.append(f"{variable(name)} {problem}")
    return values, problems


def refuse(problems: Sequence[str]) -> None:
    """Raise one OperatorError with all problems, if there are any."""
    if problems:
        listed = "\n".join(f"- {problem}" for problem in problems)
        raise OperatorError(f"These settings are wrong:\n{listed}")


def tables_of_packages() -> list[type[msgspec.Struct]]:
    """The tables that installed packages declare.

    Raises:
        OperatorError: one cannot be imported.
    """
    tables = []
    for point in sorted(dict.fromkeys(entry_points(group=GROUP))):
        try:
            tables.append(point.load())
        except Exception as error:
            raise OperatorError(
                f"The settings {point.name!r} ({point.value}) cannot be loaded: {error}"
            ) from error
    return tables


def names_of_packages() -> set[str]:
    """The settings that installed packages declare."""
    return {name for table in tables_of_packages() for name in table.__struct_fields__}


def _file(path: str | None) -> dict[str, Any]:
    if not path:
        return {}
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OperatorError(f"The settings file {path} cannot be read: {error}") from None


def _text(raw: object) -> str:
    return ",".join(map(str, raw)) if isinstance(raw, list) else str(raw).strip()
