"""FallbackChain: the best result in time, and who may be silent is not waited for."""

import asyncio
import gc
import math
import time
from types import SimpleNamespace

import pytest

from location_context.errors import ProviderUnreachable
from location_context.upstream.deadline import Deadline
from location_context.upstream.fallback_chain import Attempt, FallbackChain

pytestmark = pytest.mark.anyio


class Source:
    """Answers when told to; counts how often it was asked."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked = 0
        self.started = asyncio.Event()
        self.answer = asyncio.get_event_loop().create_future()
        self.suspect = False
        self.waited = 0.0
        self.client = SimpleNamespace(
            is_suspect=lambda _: self.suspect,
            wasted_wait=0.0,
            answered_at=-math.inf,
            record_timeout=lambda seconds: setattr(self, "waited", seconds),
        )

    async def fetch(self) -> str | None:
        self.asked += 1
        self.started.set()
        return await asyncio.shield(self.answer)

    def says(self, value: object) -> "Source":
        if isinstance(value, Exception):
            self.answer.set_exception(value)
        else:
            self.answer.set_result(value)
        return self


async def race(*sources: Source, seconds: float = 0.3, settle_window: float = 0.05) -> str | None:
    attempts = [Attempt(source.fetch, source.client) for source in sources]
    return await FallbackChain(attempts, Deadline.after(seconds), settle_window).run()


async def test_the_first_that_answers_is_taken_and_no_other_is_asked():
    first, second = Source("first").says("first"), Source("second")
    assert await race(first, second) == "first"
    assert second.asked == 0


async def test_the_next_is_asked_as_soon_as_one_fails_or_has_nothing():
    failing = Source("a").says(ProviderUnreachable("a", "down"))
    empty, last = Source("b").says(None), Source("c").says("c")
    began = time.monotonic()
    assert await race(failing, empty, last, seconds=30) == "c"
    assert time.monotonic() - began < 5


async def test_a_source_that_fails_as_a_better_one_answers_leaves_no_unretrieved_exception():
    said: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: said.append(told["message"]))
    first, second = Source("first"), Source("second")
    attempts = [Attempt(first.fetch), Attempt(second.fetch)]
    running = asyncio.ensure_future(FallbackChain(attempts, Deadline.after(0.5), 20.0).run())
    await second.started.wait()
    second.says(ProviderUnreachable("second", "down"))
    first.says("first")
    assert await running == "first"
    del attempts, running, second
    gc.collect()
    assert not said


async def test_a_lower_answer_waits_its_grace_for_a_higher_one():
    slow, quick = Source("slow"), Source("quick").says("quick")
    asyncio.get_running_loop().call_later(0.25, slow.says, "slow")
    assert await race(slow, quick, seconds=0.5, settle_window=20) == "slow"
    other = Source("slow")
    assert await race(other, Source("quick").says("quick"), seconds=0.5) == "quick"


async def test_while_a_source_answers_others_the_next_is_asked_later_but_in_time():
    busy, second = Source("busy"), Source("second").says("second")
    busy.client.answered_at = math.inf  # it never stops answering others
    began = time.monotonic()
    assert await race(busy, second, seconds=5) == "second"
    assert time.monotonic() - began >= 2.0  # else after one second
    queued = Source("queued")
    attempts = [Attempt(queued.fetch, queue=busy.client), Attempt(second.fetch)]
    began = time.monotonic()
    chain = FallbackChain(attempts, Deadline.after(5), math.inf, queue_share=0.1)
    assert await chain.run() == "second"
    assert time.monotonic() - began >= 0.45


async def test_a_caller_that_goes_away_leaves_the_source_at_work():
    source = Source("source")
    task = asyncio.ensure_future(race(source, seconds=30))
    await source.started.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert not source.answer.cancelled()


async def test_a_doubted_source_is_waited_for_no_longer_than_the_grace():
    suspect = Source("suspect")
    suspect.suspect = True
    began = time.monotonic()
    assert await race(suspect, seconds=30) is None
    assert time.monotonic() - began < 10


async def test_how_long_a_source_was_waited_for_in_vain_is_told_it():
    silent, failing = Source("silent"), Source("a").says(ProviderUnreachable("a", "down"))
    assert await race(failing, silent, seconds=0.3) is None
    assert 0.2 < silent.waited < 10
    assert failing.waited == 0


async def test_the_first_failure_tells_why_a_lesser_answer_was_taken():
    failing, silent = Source("a").says(ProviderUnreachable("a", "down")), Source("b")
    for first, kind in ((failing, ProviderUnreachable), (silent, TimeoutError)):
        attempts = [Attempt(first.fetch, first.client), Attempt(Source("c").says("c").fetch)]
        chain = FallbackChain(attempts, Deadline.after(0.3), 0.05)
        assert await chain.run() == "c"
        assert isinstance(chain.first_failure, kind)
    chain = FallbackChain([Attempt(Source("d").says("d").fetch)], Deadline.after(30), 0.05)
    assert await chain.run() == "d"
    assert chain.first_failure is None


async def test_a_fault_of_ours_costs_one_source_and_not_the_answer(capsys):
    broken, well = Source("broken").says(ValueError("ours")), Source("well").says("well")
    assert await race(broken, well, seconds=30) == "well"
