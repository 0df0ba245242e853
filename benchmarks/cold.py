"""Cold answers at places without any cached data, with providers that answer after 50 ms.

    python -m benchmarks.cold [--rounds 5] [--places 30] [--ahead 12] [--events 60] [--plain]
                              [--json]
    python -m benchmarks.cold --store [--rounds 5] [--places 30] [--json]
    python -m benchmarks.cold --profile [--places 100] [--json]

Each place is a city that was not requested before, half a degree from every other. The service runs
in one worker with its real sections on SQLite, 7,000 restaurants and a customer's key of
Open-Meteo. The pace and budget of calls to Ticketmaster are off: they would limit the pages to four
a second. `CPU ms` is the server's CPU for an answer; `beyond` is the part above the uncached answer
of an empty section; `a second and core` is what one core could answer. A stay begins `--ahead` days
from today and lasts a week: after 12 days it needs a forecast and ten years of the archive.

A thousand callers request the page of one place at once: each resource of a provider should be
requested once. The longest piece on the event loop is measured in this process, on asyncio's own
loop and in CPU time, so other load does not change it. CPU time is from /proc: Linux only.

`--store` puts a climate store of the whole Earth in place, and measures widgets whose stay is far
(60 days ahead) and near (2 days): a far one calls no provider of weather, a near one asks for one
forecast. `--store --profile` shows where the CPU of a far one goes.

`--profile` shows which part of the service takes the CPU of a cold page, in this process. The stack
is sampled after each millisecond of CPU. A sample belongs to the innermost function of ours; while
the event loop waits, to that of a working thread; else to the event loop and libraries below it.
"""

import argparse
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
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import numpy as np
from starlette.types import ASGIApp

from benchmarks.harness import figures
from benchmarks.harness.clients import ask_all, get
from benchmarks.harness.servers import Server, key_without_limit
from benchmarks.harness.service import places, prepare, service, start_stand_ins, stay
from location_context.app import create_app
from location_context.settings import Settings
from location_context.web import logs
from tests.sections.weather.climate.stores import POWER_GRID, seasons, write_store
from tests.web.sections import FakeSection

CALLERS = 1000
NOTED_SECONDS = 0.001  # of a piece on the event loop
QUIET_SECONDS = 1.0  # without a call: nothing is fetched any more
FAR = 60  # days ahead
CLIENTS = 4  # at once: fewer than the calls of the archive that may wait
QUICK = 8  # times as many places for what takes a millisecond, since /proc counts in hundredths
SECTIONS = {
    "weather": ("/v1/pulse/weather", None),  # None: as far ahead as --ahead says
    "weather, forecast alone": ("/v1/pulse/weather", 2),
    "weather, archive alone": ("/v1/pulse/weather", 60),
    "events": ("/v1/pulse/events", None),
    "astronomy": ("/v1/pulse/astronomy", None),
    "guide": ("/v1/pulse/guide", -1),  # it has no dates
}


def trivial() -> ASGIApp:
    """Return the application with an empty section only: the framework's own cost."""
    settings = Settings.read(os.environ)
    logs.configure(settings)
    return create_app(settings, sections=[FakeSection()])


class Bench:
    """The servers, and the places that were not requested yet."""

    def __init__(self, folder: Path, given: argparse.Namespace, stack: ExitStack) -> None:
        self._given = given
        self._places = places()
        options = [f"--events={given.events}", *(["--plain"] if given.plain else [])]
        self.providers = start_stand_ins(folder, options, stack)
        self.environ = prepare(folder, self.providers.port)
        if given.store:
            write_world_store(folder / "data")
        if not given.events:
            self.environ["LOCATION_CONTEXT_TICKETMASTER_API_KEY"] = ""
        self._key = key_without_limit(Settings(data_dir=folder / "data"))
        log = folder / "log"
        self.ours = stack.enter_context(
            Server.of("benchmarks.harness.service:service", self.environ, log)
        )
        self.empty = stack.enter_context(Server.of("benchmarks.cold:trivial", self.environ, log))
        for server in (self.ours, self.empty):
            server.wait("/v1/health")
        for path, ahead in (("/v1/pulse", None), *SECTIONS.values()):  # fills shared caches
            self._ask(self.ours, self.targets(path, ahead, given.places))
        self._ask(self.empty, self.targets("/v1/pulse/tides", None, given.places))

    def targets(self, path: str, ahead: int | None, count: int) -> list[str]:
        """Return requests for places that were not requested yet."""
        ahead = self._given.ahead if ahead is None else ahead
        dates = f"&{stay(ahead)}" if ahead >= 0 else ""
        return [f"{path}?{place}{dates}" for place in itertools.islice(self._places, count)]

    def _ask(self, server: Server, targets: Sequence[str], at_once: int = CLIENTS) -> list[float]:
        """Return the seconds of each answer; end unless every status is 200."""
        answers = asyncio.run(ask_all(server.port, targets, self._key, at_once))
        wrong = Counter(status for status, _ in answers if status != 200)
        if wrong:
            again = server.ask(targets[0], {"Authorization": f"Bearer {self._key}"}).body[:500]
            state = server.ask("/v1/status").body
            raise SystemExit(f"{targets[0]} and others: {dict(wrong)}\n{again!r}\n{state!r}")
        return [seconds for _, seconds in answers]

    def spent(self, server: Server, path: str, ahead: int | None, count: int) -> float:
        """Return milliseconds of the server's CPU for an answer."""
        targets = self.targets(path, ahead, count)
        before = server.cpu_seconds()
        self._ask(server, targets)
        return (server.cpu_seconds() - before) / count * 1000

    def alone(self, count: int) -> list[float]:
        """Return the milliseconds of pages that are requested in turn."""
        targets = self.targets("/v1/pulse", None, count)
        return [1000 * seconds for seconds in self._ask(self.ours, targets, at_once=1)]

    def round(self) -> dict[str, float]:
        """Return the CPU of an answer of each kind."""
        given = self._given
        found = {"widget": self.spent(self.ours, "/v1/pulse", None, given.places)}
        found["nothing"] = self.spent(self.empty, "/v1/pulse/tides", None, QUICK * given.places)
        for name, (path, ahead) in SECTIONS.items():
            count = QUICK * given.places if name in {"guide", "astronomy"} else given.places
            found[name] = self.spent(self.ours, path, ahead, count)
        return found

    def with_store(self) -> dict[str, dict[str, Any]]:
        """Return far and near widgets a second and core, and the calls of weather providers."""
        found = {}
        for name, ahead in (("far widget", FAR), ("near widget", 2)):
            self.calls()  # begins to count anew
            spent = [
                self.spent(self.ours, "/v1/pulse", ahead, self._given.places)
                for _ in range(self._given.rounds)
            ]
            calls = self.calls()
            found[name] = {
                "cpu_ms": figures.median(spent, 2),
                "a_second_and_core": figures.median(1000 / value for value in spent),
                "widgets": self._given.places * self._given.rounds,
                **{f"calls of {path}": sum(calls[path]) for path in sorted(calls)},
            }
        return found

    def crowd(self) -> dict[str, int]:
        """Count the statuses for a thousand callers of one place.

        Return also, by path, how often the resource that was called most was called.
        """
        target = self.targets("/v1/pulse", None, 1) * CALLERS
        while self.calls():  # for earlier answers
            time.sleep(QUIET_SECONDS)
        answers = asyncio.run(ask_all(self.ours.port, target, self._key, CALLERS))
        statuses = Counter(f"status {status}" for status, _ in answers)
        calls = self.calls()
        most = {f"calls of {path}": max(calls[path]) for path in sorted(calls)}
        return {**dict(statuses), **most}

    def calls(self) -> dict[str, list[int]]:
        """Return by path how often each resource was called since the last time."""
        counts = msgspec.json.decode(self.providers.ask("/calls").body, type=dict[str, int])
        by_path: dict[str, list[int]] = {}
        for target, count in counts.items():
            by_path.setdefault(target.partition("?")[0], []).append(count)
        return by_path


def write_world_store(data_dir: Path) -> None:
    """Write a store of the whole Earth, whose cells all have the weather of one."""
    first = date(2015, 12, 1)
    folder = write_store(data_dir, {(0.0, 0.0): seasons(first, 3800)}, first)
    np.save(folder / "index.npy", np.zeros((POWER_GRID.rows, POWER_GRID.columns), np.int32))


class Pieces:
    """CPU time for which each callback holds the event loop."""

    def __init__(self) -> None:
        self.longest: dict[str, float] = {}  # seconds, by whose piece it was
        self._run = asyncio.Handle._run  # noqa: SLF001  all callbacks pass here

    def watch(self) -> None:
        def timed(handle: asyncio.Handle) -> None:
            name = _name(handle)
            began = time.thread_time()
            self._run(handle)
            if (spent := time.thread_time() - began) > NOTED_SECONDS:
                self.longest[name] = max(spent, self.longest.get(name, 0.0))

        asyncio.Handle._run = timed  # noqa: SLF001  as above

    def stop(self) -> None:
        asyncio.Handle._run = self._run  # noqa: SLF001  as above


def _name(handle: asyncio.Handle) -> str:
    """Name the innermost two functions of a callback's task."""
    task = getattr(handle._callback, "__self__", None)  # noqa: SLF001  for people
    if not isinstance(task, asyncio.Task):
        return getattr(handle._callback, "__qualname__", repr(handle._callback))  # noqa: SLF001
    names, work = [], task.get_coro()
    while hasattr(work, "cr_await"):
        names.append(f"{Path(work.cr_code.co_filename).stem}.{work.__qualname__}")
        work = work.cr_await
    return " > ".join(names[-2:])


async def _longest_piece(rounds: Sequence[Sequence[str]]) -> list[Pieces]:
    """Return the pieces of each round after the first, which warms up."""
    app, found = service(), []
    async with app.lifespan(app):
        for targets in rounds:
            pieces = Pieces()
            pieces.watch()
            for target in targets:
                if await get(app, target) != 200:
                    raise SystemExit(f"{target}: not 200")
            pieces.stop()
            found.append(pieces)
    return found[1:]


def longest_piece(bench: Bench, given: argparse.Namespace) -> dict[str, Any]:
    os.environ.update(bench.environ)
    os.environ["LOCATION_CONTEXT_LOG_LEVEL"] = "warning"
    targets = [bench.targets("/v1/pulse", None, given.places) for _ in range(given.rounds + 1)]
    found = asyncio.run(_longest_piece(targets))
    worst: dict[str, float] = {}
    for pieces in found:
        worst |= {k: max(v, worst.get(k, 0.0)) for k, v in pieces.longest.items()}
    most = sorted(worst, key=lambda name: -worst[name])[:3]
    return {
        "longest_ms": figures.median(1000 * max(one.longest.values(), default=0) for one in found),
        "worst_ms": round(1000 * max(worst.values(), default=0), 1),
        "whose": "; ".join(f"{name} {1000 * worst[name]:.0f} ms" for name in most),
    }


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
WARMING = 30  # places
EVERY_SECONDS = 0.001


def part_of(frame: FrameType | None) -> str | None:
    """Return the part of the innermost function of ours on a stack."""
    while frame is not None:
        _, ours, path = frame.f_code.co_filename.rpartition(OURS)
        if ours:
            return next((part for begin, part in PARTS.items() if begin in path), OTHERS)
        frame = frame.f_back
    return None


class Sampler:
    """Samples by part, between start and stop."""

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
            stacks = [one for thread, one in sys._current_frames().items() if thread != main]  # noqa: SLF001  the only way
        found = (part for stack in stacks if (part := part_of(stack)))
        self.samples[next(found, LOOP)] += 1


async def _profile(count: int, ahead: int) -> dict[str, dict[str, float]]:
    app, sampler = service(), Sampler()
    targets = (f"/v1/pulse?{place}&{stay(ahead)}" for place in places())

    async def ask(mine: list[str]) -> None:
        for target in mine:
            if await get(app, target) != 200:
                raise SystemExit(f"{target}: not 200")

    async with app.lifespan(app):
        for number in (WARMING, count):
            chosen = list(itertools.islice(targets, number))
            if number == count:
                sampler.start()
                began = time.process_time()
            await asyncio.gather(*(ask(chosen[nth::CLIENTS]) for nth in range(CLIENTS)))
        spent = (time.process_time() - began) * 1000 / count
        sampler.stop()
    total = sampler.samples.total()
    return {
        part: {"ms": round(spent * number / total, 2), "share": round(number / total, 3)}
        for part, number in sampler.samples.most_common()
    } | {"all": {"ms": round(spent, 2), "share": 1.0}}


def profile(folder: Path, given: argparse.Namespace, stack: ExitStack) -> dict[str, Any]:
    """Return the milliseconds of a page by part of the service."""
    providers = start_stand_ins(folder, [f"--events={given.events}"], stack)
    os.environ |= prepare(folder, providers.port)
    os.environ["LOCATION_CONTEXT_LOG_LEVEL"] = "warning"
    if given.store:
        write_world_store(folder / "data")
    return asyncio.run(_profile(given.places, FAR if given.store else given.ahead))


def summary(rounds: Sequence[Mapping[str, float]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name in rounds[0]:
        values = [one[name] for one in rounds]
        found[name] = {
            "cpu_ms": figures.median(values, 2),
            "lowest": round(min(values), 2),
            "highest": round(max(values), 2),
        }
        if name == "widget":
            found[name]["a_second_and_core"] = figures.median(1000 / value for value in values)
        elif name != "nothing":
            found[name]["beyond_ms"] = figures.median(
                (one[name] - one["nothing"] for one in rounds), 2
            )
    return found


def measured(folder: Path, options: argparse.Namespace, stack: ExitStack) -> dict[str, Any]:
    """Return the figures of all rounds."""
    bench = Bench(folder, options, stack)
    if options.store:
        return bench.with_store()
    found = summary([bench.round() for _ in range(options.rounds)])
    alone = [ms for _ in range(options.rounds) for ms in bench.alone(options.places // 3)]
    found["widget alone"] = {"wall_ms": figures.median(alone), "best": round(min(alone), 1)}
    found["a thousand callers"] = dict(bench.crowd())
    found["event loop"] = longest_piece(bench, options)
    return found


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=5)
    parser.add_argument("--places", type=int, help="of each kind and round: 30, with --profile 100")
    parser.add_argument("--ahead", type=int, default=12, help="days until the stay")
    parser.add_argument("--events", type=int, default=60, help="of Ticketmaster a place; 0: no key")
    parser.add_argument("--plain", action="store_true", help="providers do not gzip their answers")
    parser.add_argument("--store", action="store_true", help="with a climate store in place")
    parser.add_argument("--profile", action="store_true", help="CPU by part of the service instead")
    options = parser.parse_args()
    options.places = options.places or (100 if options.profile else 30)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a connection for each caller
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        figures.show(
            profile(folder, options, stack)
            if options.profile
            else measured(folder, options, stack),
            options,
        )


if __name__ == "__main__":
    main()
