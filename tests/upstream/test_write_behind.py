"""WriteBehind: one write for all that gathers, at once where somebody asks for it."""

import asyncio

from location_context.upstream.deadline import WriteBehind
from tests.patience import wait_in_loop_until

NEVER = 3600.0  # seconds: a write that nobody asks for does not come in a test


class Pages:
    """What is to be written, and each write of it; a write waits until it is let go."""

    def __init__(self, gather: float) -> None:
        self.pending: list[str] = []
        self.written: list[list[str]] = []
        self.go = asyncio.Event()
        self.go.set()
        self.behind = WriteBehind(self._write, gather)

    def add(self, page: str) -> None:
        self.pending.append(page)
        self.behind.start()

    async def _write(self) -> bool:
        pages, self.pending = self.pending, []
        await self.go.wait()
        self.written.append(pages)
        return bool(self.pending)


async def test_flush_writes_all_pending_rows_in_one_write():
    pages = Pages(NEVER)
    for name in "abc":
        pages.add(name)
    assert (pages.written, pages.behind.active) == ([], True)
    await pages.behind.flush()
    assert (pages.written, pages.behind.active) == ([["a", "b", "c"]], False)


async def test_flush_includes_rows_added_during_a_write():
    pages = Pages(NEVER)
    pages.go.clear()
    pages.add("a")
    flushed = asyncio.ensure_future(pages.behind.flush())
    while pages.pending:  # noqa: ASYNC110  until the write has begun
        await asyncio.sleep(0)
    pages.add("b")
    pages.go.set()
    await flushed
    assert pages.written == [["a"], ["b"]]


async def test_pending_rows_are_written_without_a_flush():
    pages = Pages(0.0)
    pages.add("a")
    await wait_in_loop_until(lambda: pages.written)
    assert (pages.pending, pages.written) == ([], [["a"]])
