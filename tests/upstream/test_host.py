"""Slots: no more calls at once than a host takes, over tasks, processes and machines."""

import asyncio
import os
import signal
import subprocess
import sys
import threading

import pytest

from location_context.settings import Secret
from location_context.storage.redis import RedisLink, RedisSlots
from location_context.upstream.host import FileSlots, LocalSlots
from tests.fakes.server import Answered, StandIn

pytestmark = pytest.mark.anyio
PROCESSES, CALLS, AT_ONCE = 4, 6, 3
CHILD = """
import asyncio, sys, urllib.request
from pathlib import Path
from location_context.settings import Secret
from location_context.storage.redis import RedisLink
from location_context.storage.redis import RedisSlots
from location_context.upstream.host import FileSlots

async def main(folder, address, redis, prefix):
    slots = FileSlots(Path(folder), "host", 3)
    link = RedisLink(Secret(redis), prefix, 60.0) if redis else None
    if link:
        slots = RedisSlots(link, "host", 3, slots)
    async def call():
        async with slots.hold():
            await asyncio.to_thread(lambda: urllib.request.urlopen(address).read())
    await asyncio.gather(*(call() for _ in range(6)))
    if link:
        assert not link.degraded
        await link.close()

asyncio.run(main(*sys.argv[1:5]))
"""


class Crowd:
    """A server that counts how many calls it holds at once."""

    def __init__(self) -> None:
        self.most = self.now = self.all = 0
        self._lock = threading.Lock()
        self.server = StandIn(self.respond)

    def respond(self, _: object) -> Answered:
        with self._lock:
            self.now, self.all = self.now + 1, self.all + 1
            self.most = max(self.most, self.now)
        self.server.stopping.wait(0.02)
        with self._lock:
            self.now -= 1
        return Answered({})


@pytest.mark.parametrize("kind", ["files", "redis"])
def test_processes_together_hold_no_more_calls_than_the_host_takes(kind, tmp_path, request):
    redis = request.getfixturevalue("redis_url") if kind == "redis" else ""
    prefix = request.getfixturevalue("redis_prefix") if kind == "redis" else ""
    crowd = Crowd()
    with crowd.server.running():
        arguments = [str(tmp_path / "slots"), crowd.server.url, redis, prefix]
        children = [
            subprocess.Popen([sys.executable, "-c", CHILD, *arguments]) for _ in range(PROCESSES)
        ]
        assert [child.wait(60) for child in children] == [0] * PROCESSES
    assert crowd.all == PROCESSES * CALLS
    assert crowd.most <= AT_ONCE


def test_a_slot_of_a_killed_process_comes_free(tmp_path):
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from location_context.upstream.host import FileSlots\n"
        "async def main():\n"
        "    async with FileSlots(Path(sys.argv[1]), 'host', 1).hold():\n"
        "        print('held', flush=True); await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"held\n"

    async def hold() -> None:
        async with FileSlots(tmp_path, "host", 1).hold():
            pass

    async def waits_until_it_is_killed() -> None:
        task = asyncio.ensure_future(hold())
        await asyncio.wait([task], timeout=0.1)
        assert not task.done()
        os.kill(child.pid, signal.SIGKILL)
        await asyncio.wait_for(task, 60)

    asyncio.run(waits_until_it_is_killed())
    child.wait(10)
    child.stdout.close()


async def held_at_once(slots, tasks: int) -> int:
    """How many of so many tasks hold a slot when all have tried."""
    held = [0, 0]
    release = asyncio.Event()

    async def one() -> None:
        async with slots.hold():
            held[0] += 1
            held[1] = max(held)
            if held[0] < AT_ONCE:
                await release.wait()
            else:
                release.set()
            held[0] -= 1

    await asyncio.gather(*(one() for _ in range(tasks)))
    return held[1]


async def test_tasks_of_one_process_share_the_slots(tmp_path):
    assert await held_at_once(LocalSlots(AT_ONCE), 12) == AT_ONCE
    assert await held_at_once(FileSlots(tmp_path, "host", AT_ONCE), 12) == AT_ONCE


async def test_without_a_folder_the_process_counts_alone(tmp_path):
    (tmp_path / "file").write_text("in the way")
    slots = FileSlots(tmp_path / "file" / "slots", "host", AT_ONCE)
    assert await held_at_once(slots, 12) == AT_ONCE


async def test_while_redis_is_gone_the_machine_counts(tmp_path):
    link = RedisLink(Secret("redis://127.0.0.1:1/0"), "test:")
    slots = RedisSlots(link, "host", AT_ONCE, FileSlots(tmp_path, "host", AT_ONCE))
    assert await held_at_once(slots, 12) == AT_ONCE
    assert link.degraded
    await link.close()


async def test_a_cancelled_holder_gives_its_slot_back(redis_url, redis_prefix, tmp_path):
    link = RedisLink(Secret(redis_url), redis_prefix, 60.0)
    for slots in (
        FileSlots(tmp_path, "host", 1),
        RedisSlots(link, "host", 1, LocalSlots(1)),
        LocalSlots(1),
    ):
        holding = asyncio.Event()

        async def hold(slots=slots, holding=holding) -> None:
            async with slots.hold():
                holding.set()
                await asyncio.Event().wait()

        task = asyncio.ensure_future(hold())
        await holding.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        async with asyncio.timeout(30), slots.hold():
            pass
    await link.close()
