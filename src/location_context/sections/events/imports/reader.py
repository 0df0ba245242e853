"""Reader: what the process of an expansion runs, within bounds of memory and processor time.

It takes a `Task` on its first line of input and the bytes after it, and prints a `Line` of JSON for
each entry or refusal as it goes.
"""

from __future__ import annotations

import resource
import sys
from typing import TYPE_CHECKING

import msgspec

from location_context.sections.events.imports.entries import Entry, Refused
from location_context.sections.events.imports.expansion import SECONDS, Line, Task

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_ENTRIES, MOST_REFUSED = 20_000, 1_000
_MEMORY = 1 << 30
_PROCESSOR = int(SECONDS) + 1  # should the one who stops it have died


def main() -> None:
    """Read the task and the data from stdin, and tell line by line."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_PROCESSOR, _PROCESSOR))
    task = msgspec.json.decode(sys.stdin.buffer.readline(), type=Task)
    out = sys.stdout.buffer
    for told in _bounded(_read(sys.stdin.buffer.read(), task)):
        line = Line(entry=told) if isinstance(told, Entry) else Line(refused=told)
        out.write(msgspec.json.encode(line) + b"\n")
        out.flush()


def _read(data: bytes, task: Task) -> Iterator[Entry | Refused]:
    # each format's part is loaded only where it is needed: the others cost a third of a second
    if task.format == "ics":
        from location_context.sections.events.imports.ics.reading import (  # noqa: PLC0415  see above
            read_ics as read,
        )
    elif task.format == "jsonld":
        from location_context.sections.events.imports.jsonld import (  # noqa: PLC0415  see above
            read_jsonld as read,
        )
    else:
        from location_context.sections.events.imports.table import (  # noqa: PLC0415  see above
            read_table as read,
        )
    return read(data, task.window)


def _bounded(told: Iterator[Entry | Refused]) -> Iterator[Entry | Refused]:
    """As many entries as are kept, and as many refusals as anybody reads."""
    entries = refused = 0
    for one in told:
        if isinstance(one, Refused):
            refused += 1
            if refused <= MOST_REFUSED:
                yield one
        elif entries == MOST_ENTRIES:
            yield Refused("the rest", f"only the first {MOST_ENTRIES} events are kept")
            break
        else:
            entries += 1
            yield one
    if refused > MOST_REFUSED:
        yield Refused("the rest", f"{refused - MOST_REFUSED} more were refused")


if __name__ == "__main__":
    main()
