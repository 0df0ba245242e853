"""Functions that all commands share: settings, options, output, CSV input, progress.

If a command raises an `OperatorError`, `main` prints the message on stderr and exits with code 1.
"""

import csv
import os
import re
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Self

import msgspec
import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from location_context.errors import OperatorError
from location_context.settings import Settings
from location_context.settings.data_dir import note_store
from location_context.settings.parsers import COMMAND, variable

_MAX_COLUMNS = 10_000  # so wide that tables are not cut off; the terminal wraps their lines
_COMMAND = re.compile(r"(?<![\w./-])location-context (?=[a-z])")
LINE_SECONDS = 10.0  # between two lines of progress, without a terminal
_LONGEST = {"--attribution": 300, "--license": 100}  # characters that fit into the footer

New = Annotated[
    bool, typer.Option("--new", help="Create a second data directory beside an existing one.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of readable text.")]
Attribution = Annotated[str, typer.Option(help="The attribution that the licence requires.")]
AttributionUrl = Annotated[str | None, typer.Option(help="Address of the source, for a link.")]
License = Annotated[str | None, typer.Option("--license", help="Name of the licence.")]


def settings(*, new: bool = False) -> Settings:
    """Return the settings of the environment; `new` allows the user a second data directory.

    Raises:
        OperatorError: a setting is invalid, or `note_store` rejects a second data directory.
    """
    settings = Settings.read(os.environ)
    if not settings.database_url:
        folder = settings.data_dir
        if first := note_store(os.environ, folder, second=new):
            warn(f"Notice: {folder.absolute()} is a second data directory; the first is {first}")
    return settings


def emit(value: object, *text: RenderableType, json: bool) -> None:
    """Print a command's result on stdout: `value` as indented JSON, or `text` for people."""
    if json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")
        return
    console = out()
    for part in text:
        console.width = _MAX_COLUMNS if isinstance(part, Table) else console.width
        console.print(part, markup=False)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table without borders."""
    result = Table(*columns, box=None)
    for row in rows:
        result.add_row(*row)
    return result


def warn(text: str) -> None:
    """Print a warning in yellow on stderr."""
    err().print(text, style="yellow", markup=False)


def step(text: str) -> None:
    """Print a step of a long command on stderr."""
    err().print(text, markup=False)


def check_notice(attribution: str, url: str | None, license_: str | None) -> None:
    """Check the notice about a data source: attribution, its URL and the licence.

    Raises:
        OperatorError: a text is too long or has several lines, or the URL is invalid.
    """
    # imported here: `serve` imports this module, and its parent must not load the sections
    from location_context.sections.addresses import web_address  # noqa: PLC0415  see above

    for option, text in (("--attribution", attribution), ("--license", license_ or "")):
        longest = _LONGEST[option]
        if len(text) > longest or len(text.splitlines()) > 1 or min(text, default=" ") < " ":
            raise OperatorError(
                f"{option} is {text[:40]!r} with {len(text)} characters; "
                f"accepted: one line of at most {longest}"
            )
    if url is not None and web_address(url) is None:
        raise OperatorError(f"--attribution-url is {url!r}; accepted: http://… or https://…")


def csv_rows(file: Path, columns: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a CSV file as (line number, values by column).

    Raises:
        OperatorError: the file cannot be read, or one of the columns is missing.
    """
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            reader = csv.DictReader(lines)
            header = reader.fieldnames or ()
            if missing := " and ".join(name for name in columns if name not in header):
                held = ", ".join(header)[:200] or "nothing"
                raise OperatorError(f"{file}, line 1: the header lacks {missing}; it has: {held}")
            return [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise OperatorError(f"{file} cannot be read: {reason}") from None


def hint(text: str) -> str:
    """Return the text, with the calling script's name, if any, in place of `location-context`."""
    command = os.environ.get(variable(COMMAND))
    return _COMMAND.sub(lambda _: f"{command} ", text) if command else text


def out() -> Console:
    """Return the console for results (stdout)."""
    return Console(highlight=False, soft_wrap=True)


def err() -> Console:
    """Return the console for progress, warnings and errors (stderr)."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


class ProgressReporter:
    """Progress on stderr: a bar on a terminal, otherwise a line every ten seconds and a last one.

    Example:
        with ProgressReporter("rows", len(rows)) as progress:
            for row in rows:
                progress.advance()
    """

    def __init__(self, noun: str, total: int | None = None) -> None:
        self._noun = noun
        self._done, self._total, self._note = 0, total, ""
        self._last_line = self._last_message = ""
        self._last_time = time.monotonic()
        self._console = err()
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), console=self._console,
            transient=True, disable=not self._console.is_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task(noun, total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        if self._bar.disable and self._done and self._line() != self._last_line:
            self._print()

    def advance(self, items: int = 1) -> None:
        """Count one or more items as done."""
        self.update(self._done + items, self._total)

    def update(self, done: int, total: int | None = None, note: str = "") -> None:
        """Show that `done` items of `total` are done; `note` follows the count."""
        self._done, self._total, self._note = done, total, note
        self._bar.update(self._task, description=self._line(), completed=done, total=total)
        if self._bar.disable and time.monotonic() - self._last_time >= LINE_SECONDS:
            self._print()

    def message(self, text: str) -> None:
        """Print the count and a message, unless the last printed message was the same."""
        if text != self._last_message:
            self._last_message = text
            self._console.print(f"{self._line()}: {text}", markup=False)

    def _line(self) -> str:
        total = "" if self._total is None else f" of {self._total:,}"
        return f"{self._done:,}{total} {self._noun}" + (f"; {self._note}" if self._note else "")

    def _print(self) -> None:
        self._last_time, self._last_line = time.monotonic(), self._line()
        self._console.print(self._last_line, markup=False)
