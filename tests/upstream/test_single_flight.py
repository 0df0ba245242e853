"""SingleFlight: one fetch for all who want it, which outlives each of them."""

import asyncio

import pytest

from location_context.upstream.deadline import Deadline, SingleFlight


class Fetch:
    """A fetch that waits until it is let go, and counts how often it was begun."""

    def __init__(self) -> None:
        self.begun = 0
        self.go = asyncio.Event()

    async def __call__(self) -> str:
        self.begun += 1
        await self.go.wait()
        return "answer"


async def test_concurrent_callers_share_one_fetch():
    flights, fetch = SingleFlight[str](), Fetch()
    waiting = [
        asyncio.ensure_future(flights.run("cell", fetch, Deadline.after(30))) for _ in range(200)
    ]
    await asyncio.sleep(0)
    fetch.go.set()
    assert set(await asyncio.gather(*waiting)) == {"answer"}
    assert fetch.begun == 1
    assert len(flights) == 0


async def test_cancelling_the_first_caller_does_not_cancel_the_shared_fetch():
    flights, fetch = SingleFlight[str](), Fetch()
    leader = asyncio.ensure_future(flights.run("cell", fetch, Deadline.after(30)))
    await asyncio.sleep(0)
    other = asyncio.ensure_future(flights.run("cell", fetch, Deadline.after(30)))
    leader.cancel()
    await asyncio.gather(leader, return_exceptions=True)
    fetch.go.set()
    assert await other == "answer"
    assert fetch.begun == 1


async def test_fetch_continues_after_the_deadline_of_its_caller():
    flights, fetch = SingleFlight[str](), Fetch()
    with pytest.raises(TimeoutError):
        await flights.run("cell", fetch, Deadline.after(0.01))
    next_caller = asyncio.ensure_future(flights.run("cell", fetch, Deadline.after(30)))
    fetch.go.set()
    assert await next_caller == "answer"
    assert fetch.begun == 1


async def test_failure_of_a_shared_fetch_reaches_all_callers_and_the_next_call_fetches_again():
    flights, begun = SingleFlight[str](), []

    async def failing() -> str:
        begun.append(1)
        await asyncio.sleep(0)
        raise ValueError

    both = [flights.run("cell", failing, Deadline.after(30)) for _ in range(2)]
    errors = await asyncio.gather(*both, return_exceptions=True)
    assert [type(e) for e in errors] == [ValueError, ValueError]
    with pytest.raises(ValueError):  # noqa: PT011  the fetch's own error, as it is
        await flights.run("cell", failing, Deadline.after(30))
    assert len(begun) == 2


async def test_closing_the_single_flight_cancels_running_fetches():
    flights, fetch = SingleFlight[str](), Fetch()
    task = flights.start("cell", fetch)
    await flights.close()
    assert task.cancelled()
    assert len(flights) == 0
