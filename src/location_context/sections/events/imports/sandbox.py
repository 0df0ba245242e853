"""Sandbox: the process in which a calendar, page or table is read.

It takes a `Task` on its first line of input and the bytes after it, and prints a line of JSON for
each entry or rejection as it goes.
"""

import contextlib
import sys
from collections.abc import Generator, Iterable
from importlib import import_module

import msgspec

from location_context.sections import sandbox
from location_context.sections.events.imports import entries
from location_context.sections.events.records import ProviderEvent

# three times and more what a core of 2026 takes for the slowest 16 MB: 50,000 events of a calendar
# 24 s, events of a page 5 s, a table whose rows are all rejected 20 s
CPU_SECONDS: dict[entries.Format, int] = {"ics": 120, "jsonld": 30, "csv": 60}
FEED_CPU_SECONDS = 20  # of any format: a stranger's feed is read again every hour
# 16 MB, the largest file, hold so many events of a calendar or a page as most are written, with 320
# bytes each; a server that refreshes such a feed holds 85 MB for it meanwhile
MAX_ENTRIES = 50_000
MAX_REJECTED = 1_000  # more than anybody reads


class Task(msgspec.Struct, frozen=True):
    """What is to be read, and in which format."""

    format: entries.Format
    reading: entries.Reading

    @property
    def cpu_seconds(self) -> int:
        """How long the processor may take, in seconds; a feed has less."""
        is_feed = self.reading.calendar.kind == "feed"
        return FEED_CPU_SECONDS if is_feed else CPU_SECONDS[self.format]


class _Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of output: an event, or a rejection."""

    event: ProviderEvent | None = None
    rejected: entries.RejectedEntry | None = None


class Sandbox(sandbox.Sandbox):
    """One reading of `data`. `parse_in_subprocess` blocks: for a thread."""

    def __init__(self, data: bytes, task: Task) -> None:
        super().__init__(__name__, msgspec.json.encode(task) + b"\n" + data, task.cpu_seconds)

    def parse_in_subprocess(
        self,
    ) -> Generator[ProviderEvent | entries.RejectedEntry, None, None]:
        """Yield all that the process finds.

        Raises:
            OperatorError: it did not come to its end, so that what it found is a part.
        """
        for text in self.lines():
            with contextlib.suppress(msgspec.DecodeError):  # the last one may be cut
                line = msgspec.json.decode(text, type=_Line)
                if found := line.event or line.rejected:
                    yield found


def main() -> None:
    """What the process runs: reads the task and the data from stdin, and prints line by line."""
    sandbox.confine()
    task = msgspec.json.decode(sys.stdin.buffer.readline(), type=Task)
    # each format's part is loaded only where it is needed: the others cost a third of a second
    readers = {"ics": "ics:read_ics", "jsonld": "jsonld:read_jsonld", "csv": "table:read_table"}
    module, _, function = readers[task.format].partition(":")
    read = getattr(import_module(f"{__spec__.parent}.{module}"), function)
    out = sys.stdout.buffer
    for one in _bounded(read(sys.stdin.buffer.read(), task.reading)):
        line = _Line(event=one) if isinstance(one, ProviderEvent) else _Line(rejected=one)
        out.write(msgspec.json.encode(line) + b"\n")
    out.flush()


def _bounded(found: Iterable[ProviderEvent | entries.RejectedEntry]) -> entries.Entries:
    """As many entries as are kept, and as many rejections as anybody reads."""
    kept = rejected = 0
    for one in found:
        if isinstance(one, entries.RejectedEntry):
            rejected += 1
            if rejected <= MAX_REJECTED:
                yield one
        elif kept == MAX_ENTRIES:
            reason = (
                f"it holds more than {MAX_ENTRIES:,} events; the first {MAX_ENTRIES:,} are kept"
            )
            yield entries.RejectedEntry("the rest", reason)
            break
        else:
            kept += 1
            yield one
    if rejected > MAX_REJECTED:
        yield entries.RejectedEntry("the rest", f"{rejected - MAX_REJECTED} more were refused")


if __name__ == "__main__":
    main()
