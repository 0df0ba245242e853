"""Slots: no more calls at once than a host takes, and some of them for keyed traffic."""

import asyncio

import pytest

from location_context.upstream.budget import SECOND
from location_context.upstream.host import MAX_TURN_SECONDS, Hosts, Pace, Slots
from tests.moved_clock import skipped_waits


class Crowd:
    """Callers that hold their slot until they are cancelled.

    Attributes:
        held: how many hold one.
    """

    def __init__(self, slots: Slots) -> None:
        self.held = 0
        self._slots = slots
        self._tasks: list[asyncio.Task[None]] = []

    async def come(self, callers: int, *, public: bool) -> int:
        """Return how many of all callers hold a slot once so many more have tried."""
        self._tasks += [asyncio.create_task(self._hold(public=public)) for _ in range(callers)]
        for _ in range(10):  # turns of the loop, of which a caller needs one or two
            await asyncio.sleep(0)
        return self.held

    async def go(self) -> None:
        """Cancel all callers."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _hold(self, *, public: bool) -> None:
        async with self._slots.hold(public=public):
            self.held += 1
            try:
                await asyncio.Event().wait()
            finally:
                self.held -= 1


async def test_slots_of_a_host_limit_the_number_of_concurrent_callers():
    crowd = Crowd(Slots(3))
    assert await crowd.come(12, public=False) == 3
    await crowd.go()


@pytest.mark.parametrize(("count", "held"), [(1, 1), (2, 1), (3, 2), (4, 2), (8, 5), (32, 21)])
async def test_callers_without_a_key_hold_at_most_two_thirds_of_the_slots(count, held):
    crowd = Crowd(Slots(count))
    assert await crowd.come(50, public=True) == held
    assert await crowd.come(50, public=False) == count
    await crowd.go()


@pytest.mark.parametrize("public", [False, True])
async def test_cancelled_callers_release_their_slots(public):
    crowd = Crowd(Slots(3))
    await crowd.come(12, public=public)
    await crowd.go()
    assert await crowd.come(3, public=False) == 3
    await crowd.go()


@pytest.mark.parametrize(("workers", "held"), [(1, 3), (2, 1), (3, 1), (64, 1)])
async def test_workers_divide_the_slots_of_a_host(workers, held):
    host = Hosts(processes=workers).get("host", {}, at_once=3)
    assert host._slots is not None
    crowd = Crowd(host._slots)
    assert await crowd.come(9, public=False) == held
    await crowd.go()


@pytest.mark.parametrize("processes", [1, 2])
async def test_each_process_spaces_its_calls_by_its_share_of_the_rate_limit(processes):
    host = Hosts(processes=processes).get("host", {SECOND: 40.0})
    with skipped_waits() as clock:
        began = clock()
        assert await asyncio.gather(*(host.spend(3, public=False) for _ in range(4))) == [True] * 4
        assert clock() - began == pytest.approx(3 * 0.025 * processes)
    assert not host.budget.states()


async def test_host_is_overloaded_if_the_next_free_call_slot_is_too_far_ahead():
    pace = Pace(MAX_TURN_SECONDS + 1)
    assert not pace.is_crowded
    await pace.wait()
    assert pace.is_crowded
