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
from location_context.sections.events.imports.expansion import Line, Task

if TYPE_CHECKING:
    from collections.abc import Iterator

# 16 MB, the largest file, hold so many events of a calendar or a page as most are written, with 320
# bytes each; a server that refreshes such a feed holds 85 MB for it meanwhile
MOST_ENTRIES = 50_000
MOST_REFUSED = 1_000
_MEMORY = 1 << 30


def main() -> None:
    """Read the task and the data from stdin, and tell line by line."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # else a stop would write its memory to disk
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    task = msgspec.json.decode(sys.stdin.buffer.readline(), type=Task)
    # the first ends it with a signal that tells why, the second if that is not heard
    resource.setrlimit(resource.RLIMIT_CPU, (task.processor, task.processor + 1))
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
            yield Refused(
                "the rest",
                f"it holds more than {MOST_ENTRIES:,} events; the first {MOST_ENTRIES:,} are kept",
            )
            break
        else:
            entries += 1
            yield one
    if refused > MOST_REFUSED:
        yield Refused("the rest", f"{refused - MOST_REFUSED} more were refused")


if __name__ == "__main__":
    main()
