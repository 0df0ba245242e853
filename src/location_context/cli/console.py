"""What every command shares: settings from the environment, output for people or as JSON, errors.

A command raises `OperatorError`; `main` prints its sentence on stderr and exits with 1.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

import msgspec
import typer
from rich.console import Console
from rich.progress import Progress

from location_context.settings import Settings
from location_context.settings.data_dir import note_store, other_store, refuse_second_store
from location_context.settings.reading import COMMAND, variable

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")
_COMMAND = re.compile(r"(?<![\w./-])location-context (?=[a-z])")

New = Annotated[
    bool, typer.Option("--new", help="Begin a second data directory beside another one.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text for people.")]


def settings(*, new: bool = False) -> Settings:
    """The settings of this process's environment; `new` allows a second store.

    Raises:
        OperatorError: a setting is wrong, or a second store would be made by being elsewhere.
    """
    found = Settings.read(os.environ)
    if not found.database_url:
        if not new:
            refuse_second_store(os.environ, found.data_dir)
        if first := other_store(os.environ, found.data_dir):
            err().print(
                f"Notice: {found.data_dir.absolute()} is a second data directory; the first is "
                f"{first}",
                style="yellow",
                markup=False,
            )
        note_store(os.environ, found.data_dir)
    return found


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine to its end."""
    return asyncio.run(work)


def emit_json(value: object) -> None:
    """One JSON value on stdout, indented."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")


def hint(text: str) -> str:
    """A sentence with commands as this user calls them: by the script of a clone, or by name."""
    called = os.environ.get(variable(COMMAND))
    return _COMMAND.sub(lambda _: f"{called} ", text) if called else text


def out() -> Console:
    """The console for answers (stdout)."""
    return Console(highlight=False, soft_wrap=True)


def err() -> Console:
    """The console for progress, warnings and errors (stderr)."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


class Steps:
    """Progress on stderr: a bar on a terminal, else a line now and then.

    Example:
        with Steps("Reading", len(rows), "rows") as steps:
            for row in rows:
                steps.advance()
    """

    def __init__(self, doing: str, total: int, things: str) -> None:
        self.total = total
        self._things = things
        self._done = self._said = 0
        self._sentence = ""
        self._console = err()
        self._bar = Progress(console=self._console, transient=True)
        self._task = self._bar.add_task(doing, total=total)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def advance(self) -> None:
        """One more is done."""
        self._done += 1
        self._bar.advance(self._task)
        twentieth = max(1, self.total // 20)
        if not self._console.is_terminal and self._done - self._said >= twentieth:
            self._said = self._done
            self._console.print(f"{self._done} of {self.total} {self._things}", markup=False)

    def say(self, sentence: str) -> None:
        """A sentence, unless it was the last one."""
        if sentence != self._sentence:
            self._sentence = sentence
            told = f"{self._done} of {self.total} {self._things}: {sentence}"
            self._console.print(told, markup=False)
