"""Expansion: reading a calendar, page or table in a process of its own, which can be stopped.

Run as a module, it takes a `Task` on its first line of input and the bytes after it, and prints a
line of JSON for each entry or refusal as it goes, so that what came before a stop is kept. Memory
and processor time are bounded. `expand` is the caller's side.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec

from location_context.sections.events.imports.entries import Entry, Format, Refused, Window

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 4.5
MOST_ENTRIES = 50_000
_MEMORY = 1 << 30
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LANG", "LD_LIBRARY_PATH")


class Task(msgspec.Struct, frozen=True):
    """What is to be read: the format and the window."""

    format: Format
    window: Window


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of output: an entry, or a refusal."""

    entry: Entry | None = None
    refused: Refused | None = None


class Expanded(msgspec.Struct, frozen=True):
    """All that was read, and what was not."""

    entries: list[Entry]
    refused: list[Refused]


async def expand(data: bytes, task: Task, seconds: float = SECONDS) -> Expanded:
    """Read `data` in a process that is stopped after `seconds`; what it told until then counts."""
    return await asyncio.to_thread(_expand, data, task, seconds)


def _expand(data: bytes, task: Task, seconds: float) -> Expanded:
    command = [sys.executable, "-m", __name__]
    entries, refused = [], []
    # what reads a stranger's bytes has no business with the keys in our environment
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    with subprocess.Popen(  # noqa: S603  our own interpreter with our own module
        command, env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        given = msgspec.json.encode(task) + b"\n" + data
        try:
            output, _ = process.communicate(given, timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            refused.append(Refused("the rest", f"reading took more than {seconds:g} seconds"))
        if process.returncode not in {0, -9}:
            refused.append(Refused("the rest", "reading it took too much memory or time"))
    for line in output.splitlines():
        with contextlib.suppress(msgspec.DecodeError):  # the last one may be cut
            told = msgspec.json.decode(line, type=Line)
            entries += [told.entry] if told.entry else []
            refused += [told.refused] if told.refused else []
    return Expanded(entries, refused)


def _read(data: bytes, task: Task) -> Iterator[Entry | Refused]:
    # each format's part is loaded only where it is needed: the others cost a third of a second
    if task.format == "ics":
        from location_context.sections.events.imports.ics import read_ics as read  # noqa: PLC0415  see above
    elif task.format == "jsonld":
        from location_context.sections.events.imports.jsonld import (  # noqa: PLC0415  see above
            read_jsonld as read,
        )
    else:
        from location_context.sections.events.table import read_table as read  # noqa: PLC0415  see above
    return read(data, task.window)


def main() -> None:
    """Read the task and the data from stdin, and tell line by line."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS) + 1, int(SECONDS) + 1))
    task = msgspec.json.decode(sys.stdin.buffer.readline(), type=Task)
    out = sys.stdout.buffer
    for number, told in enumerate(_read(sys.stdin.buffer.read(), task)):
        if number >= MOST_ENTRIES:
            rest = f"only the first {MOST_ENTRIES} events are kept"
            told = Refused("the rest", rest)  # noqa: PLW2901  told in place of the entry
        line = Line(entry=told) if isinstance(told, Entry) else Line(refused=told)
        out.write(msgspec.json.encode(line) + b"\n")
        out.flush()
        if number >= MOST_ENTRIES:
            break


if __name__ == "__main__":
    main()
