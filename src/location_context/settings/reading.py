"""Reading: the texts of settings (the environment over a TOML file), and the values they give."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from location_context.errors import OperatorError
from location_context.settings.kinds import Kind, Unfit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PREFIX = "LOCATION_CONTEXT_"
CONFIG = "config"  # names the file; no setting itself
CLONE, COMMAND = "clone", "command"  # nor these of our scripts: their folder, how they are called


def variable(name: str) -> str:
    """The environment's name of a setting."""
    return PREFIX + name.upper()


def texts(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """What is given, by the settings' names; a name of the file may be one that is no setting.

    Raises:
        OperatorError: the file cannot be read.
    """
    given = _file(environ.get(variable(CONFIG)))
    given |= {name: environ[variable(name)] for name in names if variable(name) in environ}
    return {name: _text(raw) for name, raw in given.items()}


def values(table: type, given: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The values of what is well given, and a sentence for each that is not."""
    kinds = _kinds(table)
    taken, wrong = dict[str, Any](), list[str]()
    for name, text in given.items():
        if name not in kinds:
            wrong.append(f"{variable(name)} is no setting; docs/settings.md lists them")
            continue
        try:
            taken[name] = kinds[name].take(text)
        except Unfit as said:
            wrong.append(f"{variable(name)} {said}")
    return taken, wrong


def _kinds(table: type) -> dict[str, Kind]:
    return {
        name: next(part for part in hint.__metadata__ if isinstance(part, Kind))
        for name, hint in get_type_hints(table, include_extras=True).items()
    }


def _file(path: str | None) -> dict[str, Any]:
    if not path:
        return {}
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OperatorError(f"The settings file {path} cannot be read: {error}") from None


def _text(raw: object) -> str:
    return ",".join(map(str, raw)) if isinstance(raw, list) else str(raw).strip()
