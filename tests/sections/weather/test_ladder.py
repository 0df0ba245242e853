"""The ladder: the best answer in time, the silent blamed, and no one else."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest

from location_context.errors import ProviderUnreachable
from location_context.sections.weather.fetching.ladder import Ladder, Rung
from location_context.upstream.breaker import Breaker
from location_context.upstream.deadline import Deadline

pytestmark = pytest.mark.anyio


class Source:
    """Answers when told to; counts how often it was asked and blamed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked = self.blamed = 0
        self.started = asyncio.Event()
        self.answer = asyncio.get_event_loop().create_future()
        self.breaker = Breaker()
        self.last_success_at = None
        self.upstream = SimpleNamespace(breaker=self.breaker, last_success_at=None, late=self._late)

    def _late(self) -> None:
        self.blamed += 1

    async def attempt(self) -> str | None:
        self.asked += 1
        self.started.set()
        return await asyncio.shield(self.answer)

    def says(self, value: object) -> Source:
        if isinstance(value, Exception):
            self.answer.set_exception(value)
        else:
            self.answer.set_result(value)
        return self


async def climb(*sources: Source, seconds: float = 0.3, grace: float = 0.05) -> str | None:
    rungs = [Rung(source.attempt, source.upstream) for source in sources]
    return await Ladder(rungs, Deadline.after(seconds), grace).climb()


async def test_the_first_that_answers_is_taken_and_no_other_is_asked():
    first, second = Source("first").says("first"), Source("second")
    assert await climb(first, second) == "first"
    assert second.asked == 0


async def test_the_next_is_asked_as_soon_as_one_fails_or_has_nothing():
    failing = Source("a").says(ProviderUnreachable("a", "down"))
    empty, last = Source("b").says(None), Source("c").says("c")
    began = time.monotonic()
    assert await climb(failing, empty, last, seconds=30) == "c"
    assert time.monotonic() - began < 5
    assert (failing.blamed, empty.blamed) == (0, 0)


async def test_a_lower_answer_waits_its_grace_for_a_higher_one():
    slow, quick = Source("slow"), Source("quick").says("quick")
    asyncio.get_running_loop().call_later(0.25, slow.says, "slow")
    assert await climb(slow, quick, seconds=0.5, grace=20) == "slow"
    other = Source("slow")
    assert await climb(other, Source("quick").says("quick"), seconds=0.5) == "quick"
    assert other.blamed == 1


async def test_at_the_deadline_all_that_said_nothing_are_blamed():
    one, other = Source("one"), Source("other")
    assert await climb(one, other) is None
    assert (one.blamed, other.blamed) == (1, 1)


async def test_a_source_that_answered_someone_meanwhile_is_not_blamed():
    busy = Source("busy")
    asyncio.get_running_loop().call_later(
        0.05, lambda: setattr(busy.upstream, "last_success_at", "now")
    )
    assert await climb(busy) is None
    assert busy.blamed == 0


async def test_a_caller_that_goes_away_blames_no_one_and_leaves_the_source_at_work():
    source = Source("source")
    task = asyncio.ensure_future(climb(source, seconds=30))
    await source.started.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert source.blamed == 0
    assert not source.answer.cancelled()


async def test_a_probing_source_is_waited_for_no_longer_than_the_grace():
    probing = Source("probing")
    probing.breaker.late()
    probing.breaker._until = time.monotonic()
    began = time.monotonic()
    assert await climb(probing, seconds=30) is None
    assert time.monotonic() - began < 10


async def test_a_fault_of_ours_costs_one_source_and_not_the_answer(capsys):
    broken, well = Source("broken").says(ValueError("ours")), Source("well").says("well")
    assert await climb(broken, well, seconds=30) == "well"
