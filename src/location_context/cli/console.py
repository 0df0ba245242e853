"""What every command shares: settings, output for people or as JSON, progress.

A command raises `OperatorError`; `main` prints its message on stderr and exits with 1.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Coroutine
from typing import Annotated, Any, Self, TypeVar

import msgspec
import typer
from rich.console import Console
from rich.progress import Progress

from location_context.settings import Settings
from location_context.settings.data_dir import note_store, other_store, refuse_second_store
from location_context.settings.loader import COMMAND, variable

T = TypeVar("T")
_COMMAND = re.compile(r"(?<![\w./-])location-context (?=[a-z])")

New = Annotated[
    bool, typer.Option("--new", help="Create a second data directory beside an existing one.")
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
    """The text with its commands as this user runs them: by a clone's script, or by name."""
    called = os.environ.get(variable(COMMAND))
    return _COMMAND.sub(lambda _: f"{called} ", text) if called else text


def out() -> Console:
    """The console for answers (stdout)."""
    return Console(highlight=False, soft_wrap=True)


def err() -> Console:
    """The console for progress, warnings and errors (stderr)."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


class ProgressReporter:
    """Progress on stderr: a bar on a terminal, otherwise a line after every twentieth part.

    Example:
        with ProgressReporter("Reading", len(rows), "rows") as progress:
            for row in rows:
                progress.advance()
    """

    def __init__(self, activity: str, total: int, noun: str) -> None:
        self.total = total
        self._noun = noun
        self._count = self._last_printed = 0
        self._last_message = ""
        self._console = err()
        self._bar = Progress(console=self._console, transient=True)
        self._task = self._bar.add_task(activity, total=total)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def advance(self) -> None:
        """Count one more item as done."""
        self._count += 1
        self._bar.advance(self._task)
        interval = max(1, self.total // 20)
        if not self._console.is_terminal and self._count - self._last_printed >= interval:
            self._last_printed = self._count
            self._console.print(f"{self._count} of {self.total} {self._noun}", markup=False)

    def message(self, text: str) -> None:
        """Print a message with the count, unless it repeats the last one."""
        if text != self._last_message:
            self._last_message = text
            line = f"{self._count} of {self.total} {self._noun}: {text}"
            self._console.print(line, markup=False)
