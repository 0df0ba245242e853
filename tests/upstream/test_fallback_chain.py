"""`best_of`: the best result in time, whatever the sources do."""

import asyncio
import gc

import pytest

from location_context.errors import ProviderUnreachable
from location_context.upstream.deadline import Deadline
from location_context.upstream.fallback_chain import best_of
from tests.moved_clock import skipped_waits


@pytest.fixture(autouse=True)
async def clock():
    with skipped_waits() as moved:
        yield moved


class Source:
    """Answers when the test says so, and counts its requests."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.requests = 0
        self.started = asyncio.Event()
        self.answer = asyncio.get_event_loop().create_future()

    async def fetch(self) -> str | None:
        self.requests += 1
        self.started.set()
        return await asyncio.shield(self.answer)

    def says(self, value: object) -> "Source":
        if isinstance(value, Exception):
            self.answer.set_exception(value)
        else:
            self.answer.set_result(value)
        return self


async def race(*sources: Source, seconds: float = 0.3, settle_window: float = 0.05) -> str | None:
    fetches = [source.fetch for source in sources]
    return (await best_of(fetches, Deadline.after(seconds), settle_window))[0]


async def test_fallback_chain_returns_the_first_answer_and_requests_no_other_source():
    first, second = Source("first").says("first"), Source("second")
    assert await race(first, second) == "first"
    assert second.requests == 0


async def test_fallback_chain_requests_the_next_source_after_an_error_or_an_empty_answer():
    failing = Source("a").says(ProviderUnreachable("a", "down"))
    empty, last = Source("b").says(None), Source("c").says("c")
    assert await race(failing, empty, last, seconds=5) == "c"


async def test_failing_source_leaves_no_unretrieved_exception():
    said: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, report: said.append(report["message"])
    )
    first, second = Source("first"), Source("second")
    fetches = [first.fetch, second.fetch]
    running = asyncio.ensure_future(best_of(fetches, Deadline.after(0.5), 20.0))
    await second.started.wait()
    second.says(ProviderUnreachable("second", "down"))
    first.says("first")
    assert await running == ("first", None)
    del fetches, running, second
    gc.collect()
    assert not said


async def test_fallback_chain_waits_for_a_better_source_at_most_its_settle_window():
    slow, quick = Source("slow"), Source("quick").says("quick")
    asyncio.get_running_loop().call_later(0.25, slow.says, "slow")
    assert await race(slow, quick, seconds=0.5, settle_window=20) == "slow"
    other = Source("slow")
    assert await race(other, Source("quick").says("quick"), seconds=0.5) == "quick"


async def test_fallback_chain_requests_the_next_source_if_the_first_is_silent_for_its_stagger_time(
    clock,
):
    silent, second = Source("silent"), Source("second").says("second")
    began = clock()
    found, _ = await best_of([silent.fetch, second.fetch], Deadline.after(30), 0.0, stagger=1.5)
    assert found == "second"
    assert clock() - began == pytest.approx(1.5)


async def test_cancelled_caller_does_not_cancel_the_request_to_the_source():
    source = Source("source")
    task = asyncio.ensure_future(race(source, seconds=30))
    await source.started.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert not source.answer.cancelled()


async def test_fallback_chain_reports_the_first_failure_of_its_sources():
    failing, silent = Source("a").says(ProviderUnreachable("a", "down")), Source("b")
    for first, kind in ((failing, ProviderUnreachable), (silent, TimeoutError)):
        fetches = [first.fetch, Source("c").says("c").fetch]
        found, failure = await best_of(fetches, Deadline.after(0.3), 0.05)
        assert found == "c"
        assert isinstance(failure, kind)
    fetches = [Source("d").says("d").fetch]
    assert await best_of(fetches, Deadline.after(30), 0.05) == ("d", None)


async def test_exception_in_one_source_does_not_prevent_an_answer_of_another_source():
    broken, well = Source("broken").says(ValueError("ours")), Source("well").says("well")
    assert await race(broken, well, seconds=30) == "well"
