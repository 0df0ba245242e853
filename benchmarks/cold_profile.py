"""Where the CPU time of a cold page of the widget goes, by the part of the house that takes it.

    python benchmarks/cold_profile.py [--places 100] [--json]

In this process, with stand-ins of the providers that answer after 50 ms, pages are asked for at
places that nobody asked for before, and the stack is looked at after each millisecond of CPU. A
sample belongs to the innermost function of ours; where the event loop waits, to that of the thread
that works; where there is none, to the event loop and the libraries below it.
"""

import asyncio
import itertools
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from benchmarks import figures  # noqa: E402  found by the line above
from benchmarks.cold import DAYS, places, prepare, service, start_stand_ins  # noqa: E402  likewise
from benchmarks.in_process import get  # noqa: E402  likewise

from location_context.stay import system_clock  # noqa: E402  likewise

OURS = "/location_context/"
PARTS = {  # by what the path of the innermost function of ours begins with or holds
    "/card/": "cards and page",
    "widget/": "cards and page",
    "localisation/": "cards and page",
    "sections/weather/": "weather",
    "sections/events/": "events",
    "sections/astronomy/": "astronomy",
    "sections/guide/": "guide",
    "upstream/": "asking providers",
    "storage/": "storage",
    "web/": "HTTP and packing",
}
OTHERS, LOOP = "the rest of the service", "event loop and below"
WARMING, AT_ONCE = 30, 4
EVERY_SECONDS = 0.001


def part_of(frame: FrameType | None) -> str | None:
    """The part of the innermost function of ours on a stack."""
    while frame is not None:
        _, ours, path = frame.f_code.co_filename.rpartition(OURS)
        if ours:
            return next((part for begin, part in PARTS.items() if begin in path), OTHERS)
        frame = frame.f_back
    return None


class Sampler:
    """Samples by part, while it is started."""

    def __init__(self) -> None:
        self.samples = Counter[str]()

    def start(self) -> None:
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, EVERY_SECONDS, EVERY_SECONDS)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _sample(self, _: int, frame: FrameType | None) -> None:
        waits = frame is not None and frame.f_code.co_name == "select"
        stacks = [frame]
        if waits:
            main = threading.main_thread().ident
            stacks = [one for thread, one in sys._current_frames().items() if thread != main]  # noqa: SLF001  there is no other way
        found = (part for stack in stacks if (part := part_of(stack)))
        self.samples[next(found, LOOP)] += 1


async def profile(count: int) -> dict[str, dict[str, float]]:
    app, sampler, asked = service(), Sampler(), places()
    start = system_clock().date() + timedelta(12)
    stay = f"start={start}&end={start + timedelta(DAYS - 1)}"
    targets = (f"/v1/pulse?{place}&{stay}" for place in asked)

    async def ask(mine: list[str]) -> None:
        for target in mine:
            if await get(app, target) != 200:
                raise SystemExit(f"{target} was not answered")

    async with app.lifespan(app):
        for number in (WARMING, count):
            chosen = list(itertools.islice(targets, number))
            if number == count:
                sampler.start()
                began = time.process_time()
            await asyncio.gather(*(ask(chosen[nth::AT_ONCE]) for nth in range(AT_ONCE)))
        spent = (time.process_time() - began) * 1000 / count
        sampler.stop()
    total = sampler.samples.total()
    return {
        part: {"ms": round(spent * number / total, 2), "share": round(number / total, 3)}
        for part, number in sampler.samples.most_common()
    } | {"all": {"ms": round(spent, 2), "share": 1.0}}


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=1)
    parser.add_argument("--places", type=int, default=100)
    given = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        providers = start_stand_ins(folder, ["--events=60"], stack)
        os.environ |= prepare(folder, providers.port)
        os.environ["LOCATION_CONTEXT_LOG_LEVEL"] = "warning"
        figures.show(asyncio.run(profile(given.places)), given)


if __name__ == "__main__":
    main()
