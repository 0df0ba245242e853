"""Small real sections for tests of the web: each keeps the whole protocol and does one thing."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from location_context.errors import UpstreamUnavailable
from location_context.sections.contract import (
    Applicable,
    DatedApplicable,
    DegradedReason,
    Query,
    SectionResult,
    StayBody,
    point_body,
)
from location_context.sections.section import DatasetInfo, Section
from location_context.sections.units import Measure
from location_context.stay import Clock, system_clock
from location_context.upstream.deadline import Deadline
from tests.moved_clock import NOON
from tests.patience import PATIENCE_SECONDS


class FakeBody(DatedApplicable, frozen=True, kw_only=True):
    """The made-up section's answer."""

    words: str
    reads: int


class PlainBody(Applicable, frozen=True, kw_only=True):
    """The same without dates."""

    words: str
    reads: int


class FakeSection(Section):
    """Answers at once, and counts how often it was read."""

    name = "tides"
    dated = True
    response = FakeBody

    def __init__(self, clock: Clock = system_clock, *, fresh: float = 900, words: str = "") -> None:
        self.clock = clock
        self.fresh = timedelta(seconds=fresh)
        self.words = words
        self.reads = 0
        self.seen: list[Query] = []
        self.lacking: DegradedReason | None = None
        self.ran = asyncio.Event()
        self.ended = False

    async def read(self, query: Query, deadline: Deadline) -> SectionResult:
        self.reads += 1
        self.seen.append(query)
        await self.before(query, deadline)
        return SectionResult(self.body(query), self.clock() + self.fresh)

    async def before(self, query: Query, deadline: Deadline) -> None:
        """What happens before the answer."""

    def body(self, query: Query) -> Applicable:
        point, stay = query.point, query.stay
        assert stay is not None
        return FakeBody(
            point=point_body(point),
            stay=StayBody(start=stay.start, end=stay.end),
            units=Measure(query.units).body,
            as_of=NOON,
            stale=False,
            degraded_reason=self.lacking,
            attribution=[],
            words=self.words,
            reads=self.reads,
        )

    def warnings(self) -> Sequence[str]:
        return ["Tides are made up."]

    async def run(self) -> None:
        self.ran.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True


class Broken(FakeSection):
    """Raises what no section should."""

    name = "broken"

    async def before(self, query: Query, deadline: Deadline) -> None:
        raise RuntimeError("the inside of the house lc_live_canary")


class Empty(FakeSection):
    """Holds nothing."""

    name = "empty"

    async def before(self, query: Query, deadline: Deadline) -> None:
        raise UpstreamUnavailable("The empty section holds nothing.", 7)


class Slow(FakeSection):
    """Answers when `release` is set."""

    name = "slow"

    def __init__(self, clock: Clock = system_clock) -> None:
        super().__init__(clock)
        self.release = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.entered = threading.Event()

    async def before(self, query: Query, deadline: Deadline) -> None:
        self.loop = asyncio.get_running_loop()
        self.entered.set()
        await self.release.wait()

    def let_go(self) -> None:
        """`release` from another thread."""
        assert self.entered.wait(PATIENCE_SECONDS)
        assert self.loop is not None
        self.loop.call_soon_threadsafe(self.release.set)


@contextmanager
def occupied(slow: Slow, *requests: Callable[[], Any]) -> Iterator[list[Future[Any]]]:
    """Make these requests, each in a thread; `slow` answers them at the end of the block."""
    with ThreadPoolExecutor(len(requests)) as pool:
        answers = [pool.submit(request) for request in requests]
        try:
            yield answers
        finally:
            slow.let_go()


class Busy(FakeSection):
    """Keeps the processor for `seconds` on every read, and never keeps an answer."""

    name = "busy"

    def __init__(self, seconds: float, clock: Clock = system_clock) -> None:
        super().__init__(clock, fresh=0)
        self.seconds = seconds

    async def before(self, query: Query, deadline: Deadline) -> None:
        until = time.perf_counter() + self.seconds
        while time.perf_counter() < until:
            pass


class FakeUndatedSection(FakeSection):
    """A section without dates."""

    name = "harbour"
    dated = False
    response = PlainBody
    dataset_info = DatasetInfo(name="harbours", description="Made up.", hint="none")

    def body(self, query: Query) -> Applicable:
        assert query.stay is None
        point = query.point
        return PlainBody(
            point=point_body(point),
            units=Measure(query.units).body,
            as_of=None,
            stale=False,
            degraded_reason=self.lacking,
            attribution=[],
            words=self.words,
            reads=self.reads,
        )
