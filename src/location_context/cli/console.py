"""What every command shares: settings from the environment, output for people or as JSON, errors.

A command raises `OperatorError`; `main` prints its sentence on stderr and exits with 1.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
import typer
from rich.console import Console

from location_context.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text for people.")]


def settings() -> Settings:
    """The settings of this process's environment."""
    return Settings.read(os.environ)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine to its end."""
    return asyncio.run(work)


def emit_json(value: object) -> None:
    """One JSON value on stdout, indented."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")


def out() -> Console:
    """The console for answers (stdout)."""
    return Console(highlight=False, soft_wrap=True)


def err() -> Console:
    """The console for progress, warnings and errors (stderr)."""
    return Console(stderr=True, highlight=False, soft_wrap=True)
